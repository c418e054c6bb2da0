#include "attn/id_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using attn::IdView;
using ::testing::ElementsAre;

TEST(IdViewTest, accepts_both_widths_and_any_contiguous_container) {
  const std::vector<std::int64_t> wide{5, 6, 7, 8, 9, 10};
  std::array<std::int32_t, 3> narrow{1, -2, 3};
  const auto first = [](const IdView& ids) { return ids(0); };
  EXPECT_EQ(first(wide), 5);
  EXPECT_EQ(first(narrow), 1);
  EXPECT_EQ(first(std::span(wide).subspan(2)), 7);
  EXPECT_EQ(first(attn::TensorView<std::int32_t>(narrow.data(), {3})), 1);
  EXPECT_EQ(first(attn::ConstLengths(narrow.data(), {3}).slice(0, 1, 3)), -2);
  const IdView rows({wide.data(), {2, 3}});
  EXPECT_THAT(rows.shape(), ElementsAre(2, 3));
  EXPECT_EQ(rows(1, 0), 8);
  EXPECT_TRUE(rows.is_wide());
  const IdView column = rows.slice(1, 2, 3);
  EXPECT_THAT(column.shape(), ElementsAre(2, 1));
  EXPECT_EQ(column(1, 0), 10);
  EXPECT_FALSE(IdView(narrow).is_wide());
  EXPECT_EQ(IdView().rank(), 0);
}

}  // namespace
