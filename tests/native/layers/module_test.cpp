#include "attn/layers/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "attn/layers/linear.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"

namespace {

using attn::Linear;
using attn::Module;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using ::testing::ElementsAre;

/// Two layers of which one is made of layers itself, with a child whose names stand as they are.
class Inner : public attn::CompositeModule {
 public:
  Linear linear1{2, 3};
  Linear linear2{3, 1, false};

 private:
  std::vector<Child> children() const override {
    auto& self = const_cast<Inner&>(*this);
    return {{"linear1", &self.linear1}, {"linear2", &self.linear2}};
  }
};

class Outer : public attn::CompositeModule {
 public:
  Inner first, second;
  Linear plain{1, 1};

 private:
  std::vector<Child> children() const override {
    auto& self = const_cast<Outer&>(*this);
    return {{"layers.0", &self.first}, {"", &self.second}, {"linear", &self.plain}};
  }
};

std::vector<float> values_of(const Module& module, const std::string& name) {
  const attn::ConstTensor parameter = module.parameter(name);
  std::int64_t count = 1;
  for (const std::int64_t size : parameter.shape()) count *= size;
  return {parameter.data(), parameter.data() + count};
}

TEST(ModuleTest, names_carry_those_of_the_layers_around_them) {
  const Outer outer;
  EXPECT_THAT(outer.parameter_names(),
              ElementsAre("layers.0.linear1.weight", "layers.0.linear1.bias",
                          "layers.0.linear2.weight", "linear1.weight", "linear1.bias",
                          "linear2.weight", "linear.weight", "linear.bias"));
}

TEST(ModuleTest, every_parameter_is_read_and_set_by_its_name) {
  Outer outer;
  float next = 1;
  for (const std::string& name : outer.parameter_names()) {
    const attn::ConstTensor zeros = outer.parameter(name);
    std::vector<float> values(values_of(outer, name).size());
    for (float& value : values) value = next++;
    const std::vector<std::int64_t> shape(zeros.shape().begin(), zeros.shape().end());
    const FloatTensor source(shape, values, Layout::kReversed);
    outer.set_parameter(name, source.view());
    EXPECT_EQ(values_of(outer, name), values) << name;
  }
  EXPECT_THAT(values_of(outer.first.linear2, "weight"), ElementsAre(10, 11, 12));
  EXPECT_THAT(values_of(outer.second.linear1, "bias"), ElementsAre(19, 20, 21));
}

TEST(ModuleTest, a_parameter_that_is_set_takes_part_in_forward) {
  Outer outer;
  const std::vector<float> weight{2}, x{3};
  outer.set_parameter("linear.weight", {weight.data(), {1, 1}});
  float y = 0;
  outer.plain.forward({x.data(), {1, 1}}, {&y, {1, 1}});
  EXPECT_EQ(y, 6);
}

TEST(ModuleTest, errors_give_the_whole_name) {
  Outer outer;
  const std::vector<float> values(6, 1.0F);
  EXPECT_EQ(
      error_of([&] { outer.set_parameter("layers.0.linear1.weight", {values.data(), {2, 3}}); }),
      "shape_mismatch: layers.0.linear1.weight: got shape (2, 3), needs shape (3, 2)");
  EXPECT_EQ(error_of([&] { outer.set_parameter("layers.0.linear1.weight", {nullptr, {3, 2}}); }),
            "invalid_argument: layers.0.linear1.weight: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { outer.set_parameter("layers.1.linear1.weight", {values.data(), {}}); }),
            "not_found: name: got \"layers.1.linear1.weight\", needs one of: "
            "layers.0.linear1.weight, layers.0.linear1.bias, layers.0.linear2.weight, "
            "linear1.weight, linear1.bias, linear2.weight, linear.weight, linear.bias");
  EXPECT_EQ(error_of([&] { outer.parameter("layers.0.weight"); }).substr(0, 41),
            "not_found: name: got \"layers.0.weight\", n");
  EXPECT_EQ(error_of([&] { outer.parameter("layers.0"); }).substr(0, 10), "not_found:");
  EXPECT_EQ(error_of([&] { outer.parameter(""); }).substr(0, 10), "not_found:");
}

/// As many layers as a real model has.
class Stack : public attn::CompositeModule {
 public:
  std::vector<Linear> layers;

 private:
  std::vector<Child> children() const override {
    auto& self = const_cast<Stack&>(*this);
    std::vector<Child> result;
    for (std::size_t i = 0; i < self.layers.size(); ++i) {
      result.push_back({"layers." + std::to_string(i), &self.layers[i]});
    }
    return result;
  }
};

TEST(ModuleTest, an_error_lists_a_readable_number_of_names) {
  Stack stack;
  for (int i = 0; i < 11; ++i) stack.layers.emplace_back(1, 1);
  EXPECT_EQ(stack.parameter("layers.10.weight").rank(), 2);
  const std::string error = error_of([&] { stack.parameter("layers.11.weight"); });
  EXPECT_THAT(error, ::testing::EndsWith("layers.7.weight, layers.7.bias and 6 more"));
}

}  // namespace
