#include "attn/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using attn::Error;
using attn::ErrorCode;

constexpr ErrorCode kCodes[] = {ErrorCode::kInvalidArgument, ErrorCode::kShapeMismatch,
                                ErrorCode::kSizeOverflow,    ErrorCode::kOutOfMemory,
                                ErrorCode::kUnsupported,     ErrorCode::kNotFound,
                                ErrorCode::kInvalidFormat,   ErrorCode::kFileError};

TEST(ErrorTest, carries_its_code_and_message) {
  const Error error(ErrorCode::kShapeMismatch, "key: length 6 does not match value length 5");
  EXPECT_EQ(error.code(), ErrorCode::kShapeMismatch);
  EXPECT_STREQ(error.what(), "key: length 6 does not match value length 5");
}

TEST(ErrorTest, can_be_caught_as_runtime_error) {
  EXPECT_THROW(throw Error(ErrorCode::kNotFound, "parameter: no \"x\""), std::runtime_error);
}

TEST(ErrorTest, numbers_and_names_are_stable) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kShapeMismatch), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::kSizeOverflow), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kOutOfMemory), 4);
  EXPECT_EQ(static_cast<int>(ErrorCode::kUnsupported), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::kNotFound), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidFormat), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kFileError), 8);
  EXPECT_STREQ(to_string(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_STREQ(to_string(ErrorCode::kShapeMismatch), "shape_mismatch");
  EXPECT_STREQ(to_string(ErrorCode::kSizeOverflow), "size_overflow");
  EXPECT_STREQ(to_string(ErrorCode::kOutOfMemory), "out_of_memory");
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
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(99)), "unknown");
}

}  // namespace
