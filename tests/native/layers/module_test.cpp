#include "attn/layers/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "attn/layers/initialization.hpp"
#include "attn/layers/linear.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "module_values.hpp"

namespace {

using attn::Linear;
using attn::Module;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::values_of;
using ::testing::ElementsAre;

/// A module of two layers. Outer contains two such modules and another layer. One of the two
/// modules has an empty name, so it adds no prefix.
class Inner : public Module {
 public:
  Inner() {
    add_child("linear1", linear1);
    add_child("linear2", linear2);
  }

  Linear linear1{2, 3};
  Linear linear2{3, 1, false};
};

class Outer : public Module {
 public:
  Outer() {
    add_child("layers.0", first);
    add_child("", second);
    add_child("linear", plain);
  }

  void replace_plain(Linear linear) {
    plain = std::move(linear);
    add_child("linear", plain);
  }

  Inner first, second;
  Linear plain{1, 1};
};

/// A module with its own parameters and with data computed from one of them.
class Scale : public Module {
 public:
  Scale() {
    weight = add_parameter("weight", {2, 3});
    when_changed([this](attn::Context&) { ++changes_of_weight; });
    bias = add_parameter("bias", {2}, attn::Initialization::ones());
    factor = add_parameter("factor", {});
  }

  using Module::add_parameter;

  attn::Tensor weight, bias, factor;
  int changes_of_weight = 0;
};

TEST(ModuleTest, names_begin_with_the_names_of_the_enclosing_layers) {
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

/// A module with as many layers as a real model.
class Stack : public Module {
 public:
  explicit Stack(int count) {
    for (int i = 0; i < count; ++i) {
      add_child("layers." + std::to_string(i), layers.emplace_back(1, 1));
    }
  }

  std::vector<Linear> layers;
};

TEST(ModuleTest, an_error_lists_a_readable_number_of_names) {
  const Stack stack(11);
  EXPECT_EQ(stack.parameter("layers.10.weight").rank(), 2);
  const std::string error = error_of([&] { stack.parameter("layers.11.weight"); });
  EXPECT_THAT(error, ::testing::EndsWith("layers.3.weight, layers.3.bias and 14 more"));
}

TEST(ModuleTest, a_layer_that_is_moved_keeps_its_parameters) {
  Stack stack(3);
  Stack moved = std::move(stack);
  const std::vector<float> weight{2}, x{3};
  moved.set_parameter("layers.1.weight", {weight.data(), {1, 1}});
  float y = 0;
  moved.layers[1].forward({x.data(), {1, 1}}, {&y, {1, 1}});
  EXPECT_EQ(y, 6);
}

TEST(ModuleTest, a_child_that_is_added_again_replaces_the_old_one) {
  Outer outer;
  outer.replace_plain(Linear(2, 1));
  EXPECT_THAT(outer.parameter("linear.weight").shape(), ElementsAre(1, 2));
  EXPECT_EQ(outer.parameter_names().size(), 8);
}

TEST(ModuleTest, a_parameter_begins_as_zeros_or_ones) {
  const Scale scale;
  EXPECT_THAT(scale.parameter_names(), ElementsAre("weight", "bias", "factor"));
  EXPECT_THAT(values_of(scale, "weight"), ::testing::Each(0.0F));
  EXPECT_THAT(values_of(scale, "bias"), ElementsAre(1, 1));
}

TEST(ModuleTest, values_of_every_layout_are_copied) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    Scale scale;
    scale.set_parameter("weight", FloatTensor({2, 3}, values, layout).view());
    EXPECT_EQ(values_of(scale, "weight"), values);
  }
}

TEST(ModuleTest, many_values_are_copied_by_several_threads) {
  attn::Context context({.num_threads = 3});
  Linear linear(300, 200);
  std::vector<float> values(60'000);
  std::iota(values.begin(), values.end(), 0.0F);
  const FloatTensor source({200, 300}, values, Layout::kTransposed);
  linear.set_parameter("weight", source.view(), context);
  EXPECT_EQ(values_of(linear, "weight"), values);
}

TEST(ModuleTest, a_parameter_of_rank_0_is_one_number) {
  Scale scale;
  const float value = 3.0F;
  scale.set_parameter("factor", attn::ConstTensor(&value, {}));
  EXPECT_EQ(*scale.factor.data(), 3.0F);
}

TEST(ModuleTest, a_failed_set_parameter_changes_nothing) {
  Scale scale;
  const std::vector<float> values(6, 1.0F);
  EXPECT_EQ(error_of([&] { scale.set_parameter("weight", {values.data(), {3, 2}}); }),
            "shape_mismatch: weight: got shape (3, 2), needs shape (2, 3)");
  EXPECT_EQ(error_of([&] { scale.set_parameter("weight", {nullptr, {2, 3}}); }),
            "invalid_argument: weight: got a null pointer, needs data");
  EXPECT_THAT(values_of(scale, "weight"), ::testing::Each(0.0F));
  EXPECT_EQ(scale.changes_of_weight, 0);
}

TEST(ModuleTest, sizes_beyond_the_address_space_are_errors) {
  Scale scale;
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(error_of([&] { scale.add_parameter("table", {kHuge, kHuge}); }),
              ::testing::StartsWith("size_overflow: table: "));
  EXPECT_THAT(attn_test::error_or_bad_alloc(
                  [&] { scale.add_parameter("table", {kHuge, kHuge / 1024 / 1024}); }),
              ::testing::AnyOf("bad_alloc", ::testing::StartsWith("size_overflow: ")));
  EXPECT_EQ(scale.parameter_names().size(), 3);
}

TEST(ModuleTest, a_visitor_sees_every_parameter_with_its_kind) {
  using Kind = attn::Initialization::Kind;
  const Outer outer;
  std::vector<std::string> names;
  std::vector<Kind> kinds;
  outer.visit_parameters([&](const attn::ConstParameter& parameter) {
    names.emplace_back(parameter.name);
    kinds.push_back(parameter.initialization.kind);
    EXPECT_EQ(parameter.values.data(), outer.parameter(parameter.name).data());
  });
  EXPECT_EQ(names, outer.parameter_names());
  EXPECT_THAT(kinds, ElementsAre(Kind::kXavierUniform, Kind::kZeros, Kind::kXavierUniform,
                                 Kind::kXavierUniform, Kind::kZeros, Kind::kXavierUniform,
                                 Kind::kXavierUniform, Kind::kZeros));
}

TEST(ModuleTest, what_a_visitor_writes_takes_part_in_forward) {
  Outer outer;
  outer.update_parameters([](const attn::Parameter& parameter) { *parameter.values.data() += 2; });
  const float x = 3;
  float y = 0;
  outer.plain.forward({&x, {1, 1}}, {&y, {1, 1}});
  EXPECT_EQ(y, 2 * 3 + 2);
}

TEST(ModuleTest, data_computed_from_a_parameter_is_computed_again_when_it_changes) {
  Scale scale;
  const std::vector<float> values(6, 1.0F);
  scale.set_parameter("bias", {values.data(), {2}});
  EXPECT_EQ(scale.changes_of_weight, 0);
  scale.set_parameter("weight", {values.data(), {2, 3}});
  EXPECT_EQ(scale.changes_of_weight, 1);
  scale.update_parameters([](const attn::Parameter&) {});
  EXPECT_EQ(scale.changes_of_weight, 2);
}

TEST(ModuleTest, an_update_that_throws_keeps_what_it_has_written) {
  Outer outer;
  const auto update = [](const attn::Parameter& parameter) {
    *parameter.values.data() = 5;
    if (parameter.name == "linear.weight") throw std::runtime_error("enough");
  };
  EXPECT_THROW(outer.update_parameters(update), std::runtime_error);
  const float x = 3;
  float y = 0;
  outer.plain.forward({&x, {1, 1}}, {&y, {1, 1}});
  EXPECT_EQ(y, 15);
}

TEST(ModuleTest, initialisation_gives_each_matrix_a_stream) {
  Outer outer;
  outer.initialize_xavier(7);
  std::uint64_t stream = 0;
  outer.visit_parameters([&](const attn::ConstParameter& parameter) {
    if (parameter.values.rank() != 2) return;
    const attn::ConstTensor& drawn = parameter.values;
    std::vector<float> want(static_cast<std::size_t>(drawn.size(0) * drawn.size(1)));
    attn::xavier_uniform({want.data(), drawn.shape()}, {.seed = 7, .stream = stream++});
    EXPECT_EQ(values_of(outer, std::string(parameter.name)), want) << parameter.name;
  });
  EXPECT_EQ(stream, 5);
}

}  // namespace
