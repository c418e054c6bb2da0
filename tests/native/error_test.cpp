#include "attn/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

using attn::Error;
using attn::ErrorCode;

constexpr ErrorCode kCodes[] = {ErrorCode::kInvalidArgument, ErrorCode::kShapeMismatch,
                                ErrorCode::kSizeOverflow,    ErrorCode::kUnsupported,
                                ErrorCode::kNotFound,        ErrorCode::kInvalidFormat,
                                ErrorCode::kFileError};

TEST(ErrorTest, carries_its_code_and_message) {
  const Error error(ErrorCode::kShapeMismatch, "key", "length 6", "5, the length of value");
  EXPECT_EQ(error.code(), ErrorCode::kShapeMismatch);
  EXPECT_STREQ(error.what(), "key: got length 6, needs 5, the length of value");
}

TEST(ErrorTest, says_what_the_argument_got_and_needs) {
  const Error error(ErrorCode::kShapeMismatch, "key", "length 6, needs", "5: got, needs 6");
  EXPECT_EQ(error.argument(), "key");
  EXPECT_EQ(error.got(), "length 6, needs");
  EXPECT_EQ(error.needs(), "5: got, needs 6");
}

TEST(ErrorTest, a_copy_outlives_the_original) {
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
  static_assert(std::is_nothrow_copy_assignable_v<Error>);
  Error copy(ErrorCode::kNotFound, "name", "\"b\"", "\"a\"");
  {
    const Error error(ErrorCode::kShapeMismatch, "key", "length 6", "5");
    copy = error;
  }
  EXPECT_EQ(copy.code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(copy.argument(), "key");
  EXPECT_EQ(copy.got(), "length 6");
  EXPECT_EQ(copy.needs(), "5");
}

TEST(ErrorTest, a_zero_byte_does_not_truncate_the_message) {
  using namespace std::string_view_literals;
  const Error error(ErrorCode::kNotFound, "a\0b"sv, "c\0d"sv, "e\0f"sv);
  EXPECT_STREQ(error.what(), "a b: got c d, needs e f");
  EXPECT_EQ(error.argument(), "a b");
  EXPECT_EQ(error.got(), "c d");
  EXPECT_EQ(error.needs(), "e f");
}

TEST(ErrorTest, can_be_caught_as_runtime_error) {
  EXPECT_THROW(throw Error(ErrorCode::kNotFound, "name", "\"x\"", "\"y\""), std::runtime_error);
}

TEST(ErrorTest, numbers_and_names_are_stable) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kShapeMismatch), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::kSizeOverflow), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kUnsupported), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::kNotFound), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidFormat), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kFileError), 8);
  EXPECT_STREQ(to_string(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_STREQ(to_string(ErrorCode::kShapeMismatch), "shape_mismatch");
  EXPECT_STREQ(to_string(ErrorCode::kSizeOverflow), "size_overflow");
  EXPECT_STREQ(to_string(ErrorCode::kUnsupported), "unsupported");
  EXPECT_STREQ(to_string(ErrorCode::kNotFound), "not_found");
  EXPECT_STREQ(to_string(ErrorCode::kInvalidFormat), "invalid_format");
  EXPECT_STREQ(to_string(ErrorCode::kFileError), "file_error");
}

TEST(ErrorTest, every_code_has_its_own_name) {
  std::set<std::string> names;
  for (const ErrorCode code : kCodes) names.insert(to_string(code));
  EXPECT_EQ(names.size(), std::size(kCodes));
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(4)), "unknown");
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(99)), "unknown");
}

}  // namespace
