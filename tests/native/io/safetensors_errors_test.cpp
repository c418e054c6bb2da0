// Error messages of the safetensors reader and writer, especially for hostile files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocation.hpp"
#include "attn/error.hpp"
#include "attn/io/safetensors.hpp"
#include "compare.hpp"
#include "io/safetensors_file.hpp"
#include "random.hpp"

namespace {

using attn::NamedTensor;
using attn::Safetensors;
using attn_test::Bytes;
using attn_test::error_of;
using attn_test::safetensors_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_for(const Bytes& bytes) {
  return error_of([&] { Safetensors::view(bytes); });
}
std::string error_for(std::string_view header, std::size_t data_size = 0) {
  return error_for(safetensors_file(header, data_size));
}

TEST(SafetensorsErrorTest, a_header_alone_is_checked_against_the_size_of_its_file) {
  const Bytes file =
      safetensors_file(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  const std::int64_t size = std::ssize(file);
  const std::int64_t header = attn::safetensors_header_size(std::span(file).first(8), size);
  EXPECT_EQ(header, size - 8);
  const auto read = [&](std::int64_t bytes, std::int64_t of) {
    const auto beginning = std::span(file).first(static_cast<std::size_t>(bytes));
    return error_of([&] { attn::read_safetensors_header(beginning, of); });
  };
  EXPECT_EQ(read(header, size), "nothing");
  EXPECT_EQ(attn::read_safetensors_header(file, size).data_begin, header);
  EXPECT_EQ(read(header - 1, size), "invalid_format: safetensors header: got " +
                                        std::to_string(header - 1) +
                                        " bytes of the file, needs all " + std::to_string(header) +
                                        " up to the end of the header");
  EXPECT_THAT(read(header, size - 1), HasSubstr("needs to end within the 7 bytes of data"));
  EXPECT_THAT(read(header, size + 1), HasSubstr("1 bytes at the end of the data"));
  EXPECT_THAT(read(7, size), HasSubstr("got 7 bytes, needs at least 8"));
  EXPECT_THAT(read(8, 7), HasSubstr("got 7 bytes"));
}

TEST(SafetensorsErrorTest, what_cannot_be_written) {
  const std::vector<float> x{1, 2};
  const auto error = [&](std::vector<NamedTensor> tensors,
                         attn::SafetensorsMetadata metadata = {}) {
    return error_of([&] { attn::to_safetensors(tensors, metadata); });
  };
  EXPECT_EQ(error({{"x", {x.data(), {2}}}, {"y", {x.data(), {2}}}, {"x", {x.data(), {1}}}}),
            "invalid_argument: name: got \"x\" twice, needs each name only once");
  EXPECT_EQ(error({{"__metadata__", {x.data(), {2}}}}),
            "invalid_argument: name: got \"__metadata__\", needs another name; the format reserves "
            "this one");
  EXPECT_EQ(error({{"a\xFF", {x.data(), {2}}}}),
            "invalid_argument: name: got \"a\uFFFD\", needs valid UTF-8");
  EXPECT_EQ(error({}, {{"k", "\xC3"}}),
            "invalid_argument: metadata: got \"\uFFFD\", needs valid UTF-8");
  EXPECT_EQ(error({}, {{"k", "1"}, {"k", "2"}}),
            "invalid_argument: metadata: got \"k\" twice, needs each key only once");
  EXPECT_EQ(error({{"x", {nullptr, {2}}}}),
            "invalid_argument: \"x\": got a null pointer, needs data");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const std::int64_t shape[] = {kHuge, kHuge}, strides[] = {0, 0};
  EXPECT_THAT(error({{"x", {x.data(), shape, strides}}}), StartsWith("size_overflow: \"x\": "));
  const std::int64_t large[] = {std::int64_t{1} << 60};
  const std::vector<NamedTensor> too_much{{"x", {x.data(), large, {strides, 1}}},
                                          {"y", {x.data(), large, {strides, 1}}}};
  EXPECT_THAT(error(too_much), StartsWith("size_overflow: safetensors: "));
}

// ---- Requests for tensors

TEST(SafetensorsErrorTest, unknown_names_and_wrong_shapes) {
  const Safetensors file = Safetensors::own(
      safetensors_file(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8));
  std::vector<float> output(3, 5.0F);
  EXPECT_EQ(error_of([&] { file.entry("y"); }),
            "not_found: name: got \"y\", needs the name of a tensor in the file");
  EXPECT_EQ(error_of([&] { file.read("y"); }),
            "not_found: name: got \"y\", needs the name of a tensor in the file");
  EXPECT_EQ(error_of([&] { file.read("x", {output.data(), {3}}); }),
            "shape_mismatch: output: got shape (3), needs shape (2) of tensor \"x\"");
  EXPECT_EQ(error_of([&] { file.read("x", {nullptr, {2}}); }),
            "invalid_argument: output: got a null pointer, needs data");
  EXPECT_THAT(output, ::testing::Each(5.0F));
}

// ---- Hostile files

TEST(SafetensorsErrorTest, a_file_too_short_for_the_length) {
  EXPECT_EQ(error_for(Bytes{}),
            "invalid_format: safetensors: got 0 bytes, needs at least 8 for the length of the "
            "header");
  EXPECT_EQ(error_for(Bytes(7)),
            "invalid_format: safetensors: got 7 bytes, needs at least 8 for the length of the "
            "header");
}

TEST(SafetensorsErrorTest, a_header_length_beyond_the_limit_or_the_file) {
  Bytes bytes = safetensors_file("{}");
  bytes[0] = std::byte{3};
  EXPECT_EQ(
      error_for(bytes),
      "invalid_format: safetensors header: got length 3, needs to end within the 10 bytes of the "
      "file");
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = std::byte{0xFF};
  EXPECT_EQ(error_for(bytes),
            "invalid_format: safetensors header: got length 18446744073709551615, needs at most "
            "100000000");
  const std::uint64_t limit = 100'000'000;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(limit >> 8 * i & 0xFF);
  EXPECT_THAT(error_for(bytes), HasSubstr("got length 100000000, needs to end within the "));
  bytes[0] = static_cast<std::byte>((limit & 0xFF) + 1);
  EXPECT_THAT(error_for(bytes), HasSubstr("got length 100000001, needs at most 100000000"));
}

TEST(SafetensorsErrorTest, a_header_that_is_not_json) {
  const std::string start = "invalid_format: safetensors header: got ";
  EXPECT_EQ(error_for(""), start + "\"\" at byte 1, needs \"{\"");
  EXPECT_EQ(error_for(" {}"), start + "\" \" at byte 1, needs \"{\"");
  EXPECT_EQ(error_for("[]"), start + "\"[\" at byte 1, needs \"{\"");
  EXPECT_EQ(error_for("\xEF\xBB\xBF{}"), start + "\"\uFFFD\" at byte 1, needs \"{\"");
  EXPECT_EQ(error_for("{"), start + "the end of the text, needs a string");
  EXPECT_EQ(error_for("{} {}"), start + "\"{\" at byte 4, needs the end of the text");
  EXPECT_EQ(error_for("{}}"), start + "\"}\" at byte 3, needs the end of the text");
  EXPECT_THAT(error_for(R"({"a":{},})"), HasSubstr("got no dtype, needs one"));
  EXPECT_EQ(error_for(R"({"__metadata__":{},})"), start + "\"}\" at byte 20, needs a string");
  EXPECT_EQ(error_for(R"({'a':1})"), start + "\"'\" at byte 2, needs a string");
  EXPECT_EQ(error_for("{/**/}"), start + "\"/\" at byte 2, needs a string");
  EXPECT_EQ(error_for(R"({"a":NaN})"), start + "\"N\" at byte 6, needs a JSON value");
  EXPECT_EQ(error_for(R"({"a")"), start + "the end of the text, needs a colon");
  EXPECT_EQ(error_for(R"({"a":{"shape":[1;)"), start + "\";\" at byte 17, needs a comma or ]");
}

TEST(SafetensorsErrorTest, zero_bytes_in_the_header) {
  EXPECT_EQ(
      error_for(std::string_view("{}\0", 3)),
      "invalid_format: safetensors header: got \"\\u0000\" at byte 3, needs the end of the text");
  EXPECT_EQ(
      error_for(std::string_view("{}\0garbage", 10)),
      "invalid_format: safetensors header: got \"\\u0000\" at byte 3, needs the end of the text");
}

TEST(SafetensorsErrorTest, text_that_is_not_utf8) {
  for (const char* bad : {"\xFF", "\xC3", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xC0\x80"}) {
    EXPECT_EQ(error_for(std::string("{\"") + bad + "\":{}}"),
              "invalid_format: safetensors header: got \"\uFFFD\" at byte 3, needs valid UTF-8");
  }
  EXPECT_EQ(error_for(R"({"\ud800":{}})"),
            "invalid_format: safetensors header: got \"\\\"\" at byte 9, needs the other half of a "
            "surrogate pair");
}

TEST(SafetensorsErrorTest, invalid_escapes) {
  const std::string start = "invalid_format: safetensors header: got ";
  const auto name = [](const char* escape) {
    return error_for(std::string("{\"") + escape + "\":{}}");
  };
  for (const char* unknown : {"\\x", "\\'", "\\0", "\\U0041"}) {
    const std::string letter(1, unknown[1]);
    EXPECT_EQ(name(unknown), start + '"' + letter + "\" at byte 4, needs a JSON escape");
  }
  for (const char* half :
       {"\\udc00", "\\ud800", "\\ud800\\n", "\\ud800\\u0041", "\\udbff\\ue000"}) {
    EXPECT_THAT(name(half),
                ::testing::AllOf(StartsWith(start), HasSubstr(" half of a surrogate pair")))
        << half;
  }
  EXPECT_THAT(name("\\u12g4"), HasSubstr("\"g\" at byte 7, needs four hexadecimal digits"));
  EXPECT_THAT(name("\x1F"),
              HasSubstr("\"\\u001f\" at byte 3, needs a string without control characters"));
}

TEST(SafetensorsErrorTest, deep_nesting_is_rejected_at_once) {
  std::string header = R"({"a":)";
  header.append(200000, '[');
  EXPECT_EQ(error_for(header), "invalid_format: tensor \"a\": got an array, needs an object");
  std::string objects = R"({"a":{"shape":)";
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  EXPECT_EQ(error_for(objects),
            "invalid_format: tensor \"a\": got an object as shape, needs an array of numbers");
  std::string arrays = R"({"a":{"shape":)";
  arrays.append(100000, '[');
  EXPECT_EQ(error_for(arrays),
            "invalid_format: tensor \"a\": got an array in shape, needs whole numbers");
}

TEST(SafetensorsErrorTest, values_of_the_wrong_kind) {
  const auto tensor = [](std::string_view fields) {
    return error_for("{\"a\":{" + std::string(fields) + "}}");
  };
  const std::string start = "invalid_format: tensor \"a\": got ";
  EXPECT_EQ(error_for(R"({"a":1})"), start + "1, needs an object");
  EXPECT_EQ(error_for(R"({"a":-1})"), start + "-1, needs an object");
  EXPECT_EQ(error_for(R"({"a":1.5})"), start + "1.5, needs an object");
  EXPECT_EQ(error_for(R"({"a":null})"), start + "null, needs an object");
  EXPECT_EQ(error_for(R"({"a":true})"), start + "true, needs an object");
  EXPECT_EQ(error_for(R"({"a":"F32"})"), start + "\"F32\", needs an object");
  EXPECT_EQ(tensor(R"("dtype":32)"), start + "32 as dtype, needs a string");
  EXPECT_EQ(tensor(R"("dtype":["F32"])"), start + "an array as dtype, needs a string");
  EXPECT_EQ(tensor(R"("shape":3)"), start + "3 as shape, needs an array of numbers");
  EXPECT_EQ(tensor(R"("shape":"3")"), start + "\"3\" as shape, needs an array of numbers");
  EXPECT_EQ(tensor(R"("shape":["3"])"), start + "\"3\" in shape, needs whole numbers");
  EXPECT_EQ(tensor(R"("shape":[null])"), start + "null in shape, needs whole numbers");
  EXPECT_EQ(tensor(R"("shape":[{}])"), start + "an object in shape, needs whole numbers");
  EXPECT_EQ(tensor(R"("data_offsets":{"begin":0})"),
            start + "an object as data_offsets, needs an array of numbers");
}

TEST(SafetensorsErrorTest, numbers_that_cannot_be_sizes) {
  const auto shape = [](const char* number) {
    return error_for(std::string(R"({"a":{"shape":[)") + number + "]}}");
  };
  const std::string start = "invalid_format: tensor \"a\": got ";
  EXPECT_EQ(shape("-1"), start + "-1 in shape, needs numbers of 0 or more");
  EXPECT_EQ(shape("1.5"), start + "1.5 in shape, needs whole numbers");
  EXPECT_EQ(shape("1.0"), start + "1.0 in shape, needs whole numbers");
  EXPECT_EQ(shape("1e3"), start + "1e3 in shape, needs whole numbers");
  EXPECT_EQ(shape("9223372036854775808"),
            start + "9223372036854775808 in shape, needs numbers below 2^63");
  EXPECT_EQ(shape("18446744073709551616"),
            start + "18446744073709551616 in shape, needs numbers below 2^63");
  EXPECT_EQ(shape("-9223372036854775809"),
            start + "-9223372036854775809 in shape, needs numbers below 2^63");
  EXPECT_EQ(shape("100000000000000000000000000000000000000000000000000"),
            start + "1000000000000000000000000000000000000000… in shape, needs numbers below 2^63");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,-8]}})"),
            "invalid_format: tensor \"a\": got -8 in data_offsets, needs numbers of 0 or more");
  EXPECT_EQ(shape("1e999"), start + "1e999 in shape, needs whole numbers");
  for (const char* number : {"1.", "1.e3", "1e", "1e+", "-", "-x"}) {
    EXPECT_THAT(shape(number), ::testing::AllOf(StartsWith("invalid_format: safetensors header: "),
                                                HasSubstr("needs a digit")))
        << number;
  }
  EXPECT_EQ(shape("01"),
            "invalid_format: safetensors header: got \"1\" at byte 17, needs a number without a "
            "leading 0");
}

TEST(SafetensorsErrorTest, missing_unknown_and_duplicate_fields) {
  const std::string start = "invalid_format: tensor \"a\": got ";
  EXPECT_EQ(error_for(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4),
            start + "no dtype, needs one");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4),
            start + "no shape, needs one");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
            start + "no data_offsets, needs one");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","type":"F32"}})"),
            start + "the unknown field \"type\", needs only dtype, shape and data_offsets");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","dtype":"F32"}})"),
            start + "two dtype fields, needs only one");
  EXPECT_EQ(error_for(R"({"a":{"shape":[1],"shape":[1]}})"),
            start + "two shape fields, needs only one");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,4],"data_offsets":[0,4]}})"),
            start + "two data_offsets fields, needs only one");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0]}})"),
            start + "1 numbers in data_offsets, needs two: begin and end");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,4,8]}})"),
            start + "3 numbers in data_offsets, needs two: begin and end");
}

TEST(SafetensorsErrorTest, duplicate_names) {
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                      R"("\u0061":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                      12),
            "invalid_format: tensor \"a\": got two entries, needs only one");
}

TEST(SafetensorsErrorTest, metadata) {
  const std::string start = "invalid_format: safetensors header: got ";
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":1}})"),
            start + "1 for \"k\" in __metadata__, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":null}})"),
            start + "null for \"k\" in __metadata__, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":{"l":"m"}}})"),
            start + "an object for \"k\" in __metadata__, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":["m"]}})"),
            start + "an array for \"k\" in __metadata__, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":"pt"})"),
            start + "\"pt\" as __metadata__, needs an object");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":"1","k":"2"}})"),
            start + "\"k\" twice in __metadata__, needs each key only once");
  EXPECT_EQ(error_for(R"({"__metadata__":{},"__metadata__":{}})"),
            start + "two __metadata__ objects, needs only one");
}

TEST(SafetensorsErrorTest, unknown_dtypes) {
  EXPECT_EQ(
      error_for(R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4),
      "invalid_format: tensor \"a\": got dtype \"f32\", needs a dtype of the safetensors format");
  EXPECT_EQ(
      error_for(R"({"a":{"dtype":"","shape":[1],"data_offsets":[0,4]}})", 4),
      "invalid_format: tensor \"a\": got dtype \"\", needs a dtype of the safetensors format");
}

TEST(SafetensorsErrorTest, data_offsets_that_do_not_fit) {
  const std::string start = "invalid_format: tensor \"a\": got data_offsets ";
  const auto at = [](const std::string& place, std::size_t data = 8) {
    return error_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + place + "}}", data);
  };
  EXPECT_EQ(at("[8,0]"), start + "[8, 0), needs begin <= end");
  EXPECT_EQ(at("[0,9]"), start + "[0, 9), needs to end within the 8 bytes of data");
  EXPECT_EQ(at("[0,9223372036854775807]"),
            start + "[0, 9223372036854775807), needs to end within the 8 bytes of data");
  EXPECT_EQ(
      at("[9223372036854775807,9223372036854775807]"),
      start +
          "[9223372036854775807, 9223372036854775807), needs to end within the 8 bytes of data");
  EXPECT_EQ(at("[0,4]"), start + "[0, 4), needs 8 bytes for F32 of shape (2)");
  EXPECT_EQ(at("[0,12]", 12), start + "[0, 12), needs 8 bytes for F32 of shape (2)");
  EXPECT_EQ(at("[4,12]", 12),
            start + "[4, 12), needs to begin at 0, the end of the data before it");
  EXPECT_EQ(at("[0,8]", 11),
            "invalid_format: safetensors: got 3 bytes at the end of the data that belong to no "
            "tensor, needs none");
  EXPECT_EQ(error_for("{}", 1),
            "invalid_format: safetensors: got 1 bytes at the end of the data that belong to no "
            "tensor, needs none");
}

TEST(SafetensorsErrorTest, truncated_files) {
  const Bytes whole =
      safetensors_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(
        error_for(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
        ::testing::AnyOf(StartsWith("invalid_format: safetensors: got "),
                         StartsWith("invalid_format: safetensors header: got length "),
                         StartsWith("invalid_format: tensor \"a\": got data_offsets [0, 8), "
                                    "needs to end within the ")))
        << size;
  }
}

TEST(SafetensorsErrorTest, overlaps_and_gaps) {
  const auto two = [](const char* a, const char* b) {
    return error_for(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
                         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                     9);
  };
  EXPECT_EQ(
      two("[0,4]", "[3,7]"),
      "invalid_format: tensor \"b\": got data_offsets [3, 7), needs to begin at 4, the end of "
      "tensor \"a\"");
  EXPECT_EQ(
      two("[0,4]", "[0,4]"),
      "invalid_format: tensor \"b\": got data_offsets [0, 4), needs to begin at 4, the end of "
      "tensor \"a\"");
  EXPECT_EQ(
      two("[5,9]", "[0,4]"),
      "invalid_format: tensor \"a\": got data_offsets [5, 9), needs to begin at 4, the end of "
      "the data before it");
  // A tensor without elements, with an offset inside another tensor.
  EXPECT_EQ(
      error_for(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                4),
      "invalid_format: tensor \"b\": got data_offsets [2, 2), needs to begin at 4, the end of "
      "tensor \"a\"");
}

TEST(SafetensorsErrorTest, shapes_that_overflow) {
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                      R"("data_offsets":[0,0]}})"),
            "invalid_format: tensor \"a\": got shape (4294967296, 4294967296), needs few enough "
            "elements to be addressed");
  EXPECT_THAT(error_for(R"({"a":{"dtype":"F32","shape":[4611686018427387904],)"
                        R"("data_offsets":[0,0]}})"),
              HasSubstr("needs few enough elements to be addressed"));
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1),
            "invalid_format: tensor \"a\": got 12 bits of F4 in shape (3), needs a whole number of "
            "bytes");
}

TEST(SafetensorsErrorTest, long_names_are_cut_in_messages) {
  const std::string error = error_for("{\"" + std::string(5000, 'x') + "\":1}");
  EXPECT_LT(error.size(), 200U);
  EXPECT_THAT(error, HasSubstr("xxx…\": got 1, needs an object"));
}

TEST(SafetensorsErrorTest, damaged_files_are_errors_or_read) {
  attn_test::Random random;
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const Bytes whole = attn::to_safetensors(
      std::vector<NamedTensor>{{"weight", {x.data(), {2, 3}}}, {"bias", {x.data(), {2}}}},
      {{"format", "pt"}});
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = whole;
    for (std::int64_t n = random.integer(1, 4); n > 0; --n) {
      const auto at =
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
      switch (random.integer(0, 2)) {
        case 0:
          bytes[at] = static_cast<std::byte>(random.integer(0, 255));
          break;
        case 1:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                       static_cast<std::byte>("{}[]\",:0129"[random.integer(0, 10)]));
      }
    }
    // The reader must throw an attn::Error; any other exception ends the test.
    const std::string error = error_of([&] {
      const Safetensors file = Safetensors::view(bytes);
      for (const attn::SafetensorsEntry& entry : file.tensors()) {
        if (entry.dtype == "F32") file.read(entry.name);
      }
    });
    if (error != "nothing") {
      ++errors;
      ASSERT_THAT(error, ::testing::AnyOf(StartsWith("invalid_format: safetensors: "),
                                          StartsWith("invalid_format: safetensors header: "),
                                          StartsWith("invalid_format: tensor \"")));
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(SafetensorsErrorTest, running_out_of_memory) {
  const Bytes bytes =
      safetensors_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  int failures = 0;
  const auto count = [&](std::int64_t) { ++failures; };
  attn_test::expect_unchanged_until_memory_suffices([&] { Safetensors::view(bytes).read("a"); },
                                                    count);
  EXPECT_GE(failures, 3);
  const std::string path = ::testing::TempDir() + "attn_safetensors_errors_test.safetensors";
  const std::vector<float> x{1, 2};
  attn::save_safetensors(path, std::vector<NamedTensor>{{"a", {x.data(), {2}}}});
  failures = 0;
  attn_test::expect_unchanged_until_memory_suffices([&] { Safetensors::load(path).read("a"); },
                                                    count);
  EXPECT_GE(failures, 3);
  std::remove(path.c_str());
}

#ifdef __linux__
TEST(SafetensorsErrorTest, a_disk_that_is_full) {
  EXPECT_THAT(
      error_of([&] { attn::save_safetensors("/dev/full", {}); }),
      ::testing::AllOf(StartsWith("file_error: path: got \"/dev/full\" (No space left on device)"),
                       HasSubstr("needs a file that can be written")));
}
#endif

}  // namespace
