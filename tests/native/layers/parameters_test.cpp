#include "attn/layers/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"

namespace {

using attn::ConstTensor;
using attn::Parameters;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using ::testing::Each;
using ::testing::ElementsAre;

Parameters weight_and_bias() {
  Parameters parameters;
  parameters.add("weight", std::array<std::int64_t, 2>{2, 3});
  parameters.add("bias", std::array<std::int64_t, 1>{2});
  return parameters;
}

std::vector<float> values_of(const ConstTensor& view, std::size_t count) {
  return {view.data(), view.data() + count};
}

TEST(ParametersTest, are_zeros_in_the_order_they_were_added) {
  const Parameters parameters = weight_and_bias();
  EXPECT_THAT(parameters.names(), ElementsAre("weight", "bias"));
  EXPECT_TRUE(parameters.contains("bias"));
  EXPECT_FALSE(parameters.contains("Bias"));
  EXPECT_THAT(parameters.get("weight").shape(), ElementsAre(2, 3));
  EXPECT_THAT(values_of(parameters.get("weight"), 6), Each(0.0F));
}

TEST(ParametersTest, take_values_of_every_layout) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    Parameters parameters = weight_and_bias();
    const FloatTensor source({2, 3}, values, layout);
    parameters.set("weight", source.view());
    EXPECT_EQ(values_of(parameters.get("weight"), 6), values);
  }
}

TEST(ParametersTest, are_written_in_place) {
  Parameters parameters = weight_and_bias();
  parameters.mutable_view("bias")(1) = 7.0F;
  EXPECT_THAT(values_of(parameters.get("bias"), 2), ElementsAre(0.0F, 7.0F));
}

TEST(ParametersTest, a_parameter_of_rank_0_is_one_number) {
  Parameters parameters;
  parameters.add("scale", {});
  const float value = 3.0F;
  parameters.set("scale", ConstTensor(&value, {}));
  EXPECT_EQ(*parameters.get("scale").data(), 3.0F);
}

TEST(ParametersTest, a_failed_set_changes_nothing) {
  Parameters parameters = weight_and_bias();
  const std::vector<float> values(6, 1.0F);
  EXPECT_EQ(error_of([&] { parameters.set("weight", {values.data(), {3, 2}}); }),
            "shape_mismatch: weight: got shape (3, 2), needs shape (2, 3)");
  EXPECT_EQ(error_of([&] { parameters.set("weight", {nullptr, {2, 3}}); }),
            "invalid_argument: weight: got a null pointer, needs data");
  EXPECT_EQ(error_of([&] { parameters.set("gain", {values.data(), {2, 3}}); }),
            "not_found: name: got \"gain\", needs one of: weight, bias");
  EXPECT_THAT(values_of(parameters.get("weight"), 6), Each(0.0F));
}

TEST(ParametersTest, sizes_beyond_the_address_space_are_errors) {
  Parameters parameters;
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(
      error_of([&] { parameters.add("weight", std::array<std::int64_t, 2>{kHuge, kHuge}); }),
      ::testing::StartsWith("size_overflow: weight: "));
  EXPECT_THAT(attn_test::error_or_bad_alloc([&] {
                parameters.add("weight", std::array<std::int64_t, 2>{kHuge, kHuge / 1024 / 1024});
              }),
              ::testing::AnyOf("bad_alloc", ::testing::StartsWith("size_overflow: ")));
  EXPECT_FALSE(parameters.contains("weight"));
}

}  // namespace
