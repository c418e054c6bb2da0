#include "attn/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "random.hpp"

namespace {

using attn::NamedTensor;
using attn::Safetensors;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Bytes = std::vector<std::byte>;

/// A file with this header, its length in front, and these bytes of data.
Bytes file(std::string_view header, std::size_t data_size = 0) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<std::byte>(std::uint64_t{header.size()} >> 8 * i & 0xFF));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t i = 0; i < data_size; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

/// A file whose data are 16-bit or 32-bit words.
template <class Word>
Bytes file_of(std::string_view header, const std::vector<Word>& words) {
  Bytes bytes = file(header);
  for (const Word word : words) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      bytes.push_back(static_cast<std::byte>(word >> 8 * i & 0xFF));
    }
  }
  return bytes;
}

std::string error_for(const Bytes& bytes) {
  return error_of([&] { Safetensors::view(bytes); });
}
std::string error_for(std::string_view header, std::size_t data_size = 0) {
  return error_for(file(header, data_size));
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- Reading

TEST(SafetensorsTest, reads_names_shapes_and_numbers) {
  const Bytes bytes =
      file_of<std::uint32_t>(R"({"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
                             R"( "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                             {0x3F800000, 0x40000000, 0xC0400000, 0, 0x80000000, 0x7F800000, 1});
  const Safetensors file = Safetensors::view(bytes);
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[1].name, "b");
  EXPECT_EQ(file.entry("b").dtype, "F32");
  EXPECT_THAT(file.entry("b").shape, ElementsAre(2, 3));
  EXPECT_THAT(file.entry("a").shape, ElementsAre());
  EXPECT_THAT(file.read("a"), ElementsAre(1.0F));
  const std::vector<float> b = file.read("b");
  EXPECT_TRUE(attn_test::same_bits(
      b, {2.0F, -3.0F, 0.0F, -0.0F, std::numeric_limits<float>::infinity(), 0x1p-149F}));
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FALSE(file.contains("c"));
  EXPECT_TRUE(file.metadata().empty());
}

TEST(SafetensorsTest, a_file_may_be_empty) {
  EXPECT_TRUE(Safetensors::view(file("{}")).tensors().empty());
  EXPECT_TRUE(Safetensors::view(file("{}      ")).tensors().empty());
}

TEST(SafetensorsTest, reads_metadata) {
  const Safetensors file =
      Safetensors::own(::file(R"({"__metadata__":{"format":"pt","note":"größer"}})"));
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair<std::string, std::string>("format", "pt"),
                                           std::pair<std::string, std::string>("note", "größer")));
  EXPECT_TRUE(file.tensors().empty());
}

TEST(SafetensorsTest, names_may_be_escaped_and_empty) {
  const Safetensors file =
      Safetensors::own(::file(R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                              R"("\u00e9\n\"":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                              8));
  EXPECT_TRUE(file.contains(""));
  EXPECT_TRUE(file.contains("é\n\""));
}

TEST(SafetensorsTest, tensors_without_elements_take_no_place) {
  const Safetensors file =
      Safetensors::own(::file(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                              R"("none":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]},)"
                              R"("also":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}})",
                              4));
  EXPECT_TRUE(file.read("none").empty());
  EXPECT_TRUE(file.read("also").empty());
  file.read("none", {nullptr, {3, 0}});
}

TEST(SafetensorsTest, every_layout_can_be_read_to) {
  const Bytes bytes = file_of<std::uint32_t>(
      R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
      {0x3F800000, 0x40000000, 0x40400000, 0x40800000, 0x40A00000, 0x40C00000});
  const Safetensors file = Safetensors::view(bytes);
  for (const Layout layout :
       {Layout::kContiguous, Layout::kSpread, Layout::kTransposed, Layout::kReversed}) {
    FloatTensor output = FloatTensor::filled({2, 3}, 77.0F, layout);
    file.read("x", output.view());
    EXPECT_THAT(output.values(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_TRUE(output.gaps_are_untouched());
  }
}

/// All 65536 numbers of a 16-bit type.
std::vector<float> all_of(const char* dtype) {
  std::vector<std::uint16_t> words(1 << 16);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
  return Safetensors::own(file_of(std::string(R"({"x":{"dtype":")") + dtype +
                                      R"(","shape":[65536],"data_offsets":[0,131072]}})",
                                  words))
      .read("x");
}

TEST(SafetensorsTest, every_float16_is_read_exactly) {
  const std::vector<float> got = all_of("F16");
  ASSERT_EQ(got.size(), 1U << 16);
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 1023;
    const float value = got[static_cast<std::size_t>(bits)];
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else if (exponent == 31) {
      ASSERT_EQ(value, sign * std::numeric_limits<double>::infinity()) << bits;
    } else {
      const double magnitude =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      ASSERT_EQ(static_cast<double>(value), sign * magnitude) << bits;
    }
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
  }
}

TEST(SafetensorsTest, every_bfloat16_is_read_exactly) {
  const std::vector<float> got = all_of("BF16");
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const float want = std::bit_cast<float>(bits << 16);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got[bits])) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[bits]), bits << 16);
    }
  }
}

TEST(SafetensorsTest, other_dtypes_are_listed) {
  std::string header = "{";
  std::int64_t end = 0;
  for (const auto& [dtype, bytes] : std::vector<std::pair<std::string, int>>{{"BOOL", 1},
                                                                             {"U8", 1},
                                                                             {"I8", 1},
                                                                             {"F8_E5M2", 1},
                                                                             {"F8_E4M3", 1},
                                                                             {"F8_E8M0", 1},
                                                                             {"F8_E4M3FNUZ", 1},
                                                                             {"F8_E5M2FNUZ", 1},
                                                                             {"I16", 2},
                                                                             {"U16", 2},
                                                                             {"I32", 4},
                                                                             {"U32", 4},
                                                                             {"F64", 8},
                                                                             {"C64", 8},
                                                                             {"I64", 8},
                                                                             {"U64", 8}}) {
    header += (end > 0 ? ",\"" : "\"");
    header += dtype + R"(":{"dtype":")" + dtype + R"(","shape":[3],"data_offsets":[)" +
              std::to_string(end) + "," + std::to_string(end + 3 * bytes) + "]}";
    end += 3 * bytes;
  }
  // Four and six bits: eight elements are four and six bytes.
  for (const auto& [dtype, bytes] :
       std::vector<std::pair<std::string, int>>{{"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}}) {
    header += ",\"" + dtype + R"(":{"dtype":")" + dtype + R"(","shape":[2,4],"data_offsets":[)" +
              std::to_string(end) + "," + std::to_string(end + bytes) + "]}";
    end += bytes;
  }
  const Safetensors file = Safetensors::own(::file(header + "}", static_cast<std::size_t>(end)));
  EXPECT_EQ(file.tensors().size(), 19U);
  for (const attn::SafetensorsEntry& entry : file.tensors()) {
    EXPECT_EQ(entry.name, entry.dtype);
    EXPECT_EQ(error_of([&] { file.read(entry.name); }),
              "unsupported: tensor \"" + entry.name + "\": got dtype " + entry.dtype +
                  ", needs F32, F16 or BF16 to be read as float32");
  }
}

TEST(SafetensorsTest, a_moved_file_can_be_read) {
  Safetensors file =
      Safetensors::own(::file(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  const std::vector<float> before = file.read("x");
  const Safetensors moved = std::move(file);
  EXPECT_TRUE(attn_test::same_bits(moved.read("x"), before));
}

// ---- Writing

TEST(SafetensorsTest, writes_the_official_bytes) {
  const std::vector<float> b{1, -2, 0.5F, 3, 4, 5}, a{7};
  const Bytes bytes = attn::to_safetensors(
      std::vector<NamedTensor>{{"b", {b.data(), {2, 3}}}, {"a", {a.data(), {1}}}},
      {{"format", "pt"}});
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]}}   )";
  ASSERT_EQ(header.size() % 8, 0U);
  EXPECT_EQ(bytes, file_of<std::uint32_t>(header, {0x40E00000, 0x3F800000, 0xC0000000, 0x3F000000,
                                                   0x40400000, 0x40800000, 0x40A00000}));
}

TEST(SafetensorsTest, nothing_is_a_file_too) {
  EXPECT_EQ(text_of(attn::to_safetensors({})), std::string("\10\0\0\0\0\0\0\0{}      ", 16));
}

TEST(SafetensorsTest, what_was_written_is_read) {
  attn_test::Random random;
  const std::vector<float> values = random.normals(4 * 5 * 6);
  std::vector<FloatTensor> tensors;
  for (const Layout layout : {Layout::kContiguous, Layout::kSpread, Layout::kReversed}) {
    tensors.emplace_back(std::vector<std::int64_t>{4, 5, 6}, values, layout);
  }
  const float one = 1.5F;
  const std::vector<NamedTensor> named{{"x.weight", std::as_const(tensors[0]).view()},
                                       {"x.\"bias\"\n", std::as_const(tensors[1]).view()},
                                       {"größe", std::as_const(tensors[2]).view()},
                                       {"scalar", {&one, {}}},
                                       {"none", {nullptr, {2, 0}}}};
  const Safetensors file = Safetensors::own(attn::to_safetensors(named, {{"a\"b", "c\\d"}}));
  EXPECT_EQ(file.tensors().size(), named.size());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(attn_test::same_bits(file.read(named[i].name), values));
    EXPECT_THAT(file.entry(named[i].name).shape, ElementsAre(4, 5, 6));
  }
  EXPECT_THAT(file.read("scalar"), ElementsAre(1.5F));
  EXPECT_THAT(file.entry("none").shape, ElementsAre(2, 0));
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair<std::string, std::string>("a\"b", "c\\d")));
}

TEST(SafetensorsTest, files_are_saved_and_loaded) {
  const std::string path = ::testing::TempDir() + "attn_safetensors_test.safetensors";
  const std::vector<float> x{1, 2, 3};
  attn::save_safetensors(path, std::vector<NamedTensor>{{"x", {x.data(), {3}}}});
  EXPECT_EQ(Safetensors::load(path).read("x"), x);
  std::remove(path.c_str());
  EXPECT_THAT(error_of([&] { Safetensors::load(path); }),
              ::testing::AllOf(StartsWith("file_error: path: \""), HasSubstr("could not be read")));
  EXPECT_THAT(
      error_of([&] { attn::save_safetensors(path + "/no/such/folder/x", {}); }),
      ::testing::AllOf(StartsWith("file_error: path: \""), HasSubstr("could not be opened")));
}

TEST(SafetensorsErrorTest, what_cannot_be_written) {
  const std::vector<float> x{1, 2};
  const auto error = [&](std::vector<NamedTensor> tensors,
                         attn::SafetensorsMetadata metadata = {}) {
    return error_of([&] { attn::to_safetensors(tensors, metadata); });
  };
  EXPECT_EQ(error({{"x", {x.data(), {2}}}, {"y", {x.data(), {2}}}, {"x", {x.data(), {1}}}}),
            "invalid_argument: name: got \"x\" twice");
  EXPECT_EQ(error({{"__metadata__", {x.data(), {2}}}}),
            "invalid_argument: name: got \"__metadata__\", which no tensor can have");
  EXPECT_EQ(error({{"a\xFF", {x.data(), {2}}}}),
            "invalid_argument: name: got \"a\uFFFD\", which is not UTF-8");
  EXPECT_EQ(error({}, {{"k", "\xC3"}}),
            "invalid_argument: metadata: got \"\uFFFD\", which is not UTF-8");
  EXPECT_EQ(error({}, {{"k", "1"}, {"k", "2"}}), "invalid_argument: metadata: got \"k\" twice");
  EXPECT_EQ(error({{"x", {nullptr, {2}}}}), "invalid_argument: \"x\": data is null");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const std::int64_t shape[] = {kHuge, kHuge}, strides[] = {0, 0};
  EXPECT_THAT(error({{"x", {x.data(), shape, strides}}}), StartsWith("size_overflow: \"x\": "));
  const std::int64_t large[] = {std::int64_t{1} << 60};
  const std::vector<NamedTensor> too_much{{"x", {x.data(), large, {strides, 1}}},
                                          {"y", {x.data(), large, {strides, 1}}}};
  EXPECT_THAT(error(too_much), StartsWith("size_overflow: safetensors: "));
}

// ---- What is asked of a file

TEST(SafetensorsErrorTest, unknown_names_and_wrong_shapes) {
  const Safetensors file =
      Safetensors::own(::file(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8));
  std::vector<float> output(3, 5.0F);
  EXPECT_EQ(error_of([&] { file.entry("y"); }),
            "not_found: name: got \"y\", which is not in the file");
  EXPECT_EQ(error_of([&] { file.read("y"); }),
            "not_found: name: got \"y\", which is not in the file");
  EXPECT_EQ(error_of([&] { file.read("x", {output.data(), {3}}); }),
            "shape_mismatch: output: got shape (3), needs shape (2) of tensor \"x\"");
  EXPECT_EQ(error_of([&] { file.read("x", {nullptr, {2}}); }),
            "invalid_argument: output: data is null");
  EXPECT_THAT(output, ::testing::Each(5.0F));
}

// ---- Hostile files

TEST(SafetensorsErrorTest, a_file_without_room_for_the_length) {
  EXPECT_EQ(error_for(Bytes{}),
            "invalid_format: safetensors: the file has 0 bytes, needs at least the 8 of the "
            "header's length");
  EXPECT_EQ(error_for(Bytes(7)),
            "invalid_format: safetensors: the file has 7 bytes, needs at least the 8 of the "
            "header's length");
}

TEST(SafetensorsErrorTest, a_header_length_beyond_the_limit_or_the_file) {
  Bytes bytes = file("{}");
  bytes[0] = std::byte{3};
  EXPECT_EQ(error_for(bytes),
            "invalid_format: safetensors: header: its length 3 reaches beyond the file, which has "
            "10 bytes");
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = std::byte{0xFF};
  EXPECT_EQ(error_for(bytes),
            "invalid_format: safetensors: header: its length 18446744073709551615 is more than "
            "100000000");
  const std::uint64_t limit = 100'000'000;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(limit >> 8 * i & 0xFF);
  EXPECT_THAT(error_for(bytes), HasSubstr("its length 100000000 reaches beyond the file"));
  bytes[0] = static_cast<std::byte>((limit & 0xFF) + 1);
  EXPECT_THAT(error_for(bytes), HasSubstr("its length 100000001 is more than 100000000"));
}

TEST(SafetensorsErrorTest, a_header_that_is_no_json) {
  const std::string start = "invalid_format: safetensors: header: ";
  EXPECT_EQ(error_for(""), start + "does not begin with {");
  EXPECT_EQ(error_for(" {}"), start + "does not begin with {");
  EXPECT_EQ(error_for("[]"), start + "does not begin with {");
  EXPECT_EQ(error_for("\xEF\xBB\xBF{}"), start + "does not begin with {");
  EXPECT_THAT(error_for("{"), StartsWith(start + "no JSON at byte 2: "));
  EXPECT_THAT(error_for("{} {}"), StartsWith(start + "no JSON at byte 4: "));
  EXPECT_THAT(error_for("{}}"), StartsWith(start + "no JSON at byte 3: "));
  EXPECT_THAT(error_for(R"({"a":{},})"), HasSubstr("has no dtype"));
  EXPECT_THAT(error_for(R"({"__metadata__":{},})"), StartsWith(start + "no JSON at byte "));
  EXPECT_THAT(error_for(R"({'a':1})"), StartsWith(start + "no JSON at byte "));
  EXPECT_THAT(error_for("{/**/}"), StartsWith(start + "no JSON at byte "));
  EXPECT_THAT(error_for(R"({"a":NaN})"), StartsWith(start + "no JSON at byte "));
}

TEST(SafetensorsErrorTest, zero_bytes_in_the_header) {
  EXPECT_EQ(error_for(std::string_view("{}\0", 3)),
            "invalid_format: safetensors: header: no JSON at byte 3: a zero byte");
  EXPECT_EQ(error_for(std::string_view("{}\0garbage", 10)),
            "invalid_format: safetensors: header: no JSON at byte 3: a zero byte");
}

TEST(SafetensorsErrorTest, text_that_is_not_utf8) {
  for (const char* bad : {"\xFF", "\xC3", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xC0\x80"}) {
    EXPECT_THAT(
        error_for(std::string("{\"") + bad + "\":{}}"),
        ::testing::AllOf(StartsWith("invalid_format: safetensors: header: no JSON at byte "),
                         HasSubstr("UTF-8")));
  }
  EXPECT_THAT(error_for(R"({"\ud800":{}})"),
              StartsWith("invalid_format: safetensors: header: no JSON at byte "));
}

TEST(SafetensorsErrorTest, deep_nesting_is_refused_at_once) {
  std::string header = R"({"a":)";
  header.append(200000, '[');
  EXPECT_EQ(error_for(header),
            "invalid_format: safetensors: tensor \"a\": is an array, needs an object");
  std::string objects = R"({"a":{"shape":)";
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  EXPECT_EQ(error_for(objects),
            "invalid_format: safetensors: tensor \"a\": shape is an object, needs an array of "
            "numbers");
  std::string arrays = R"({"a":{"shape":)";
  arrays.append(100000, '[');
  EXPECT_EQ(error_for(arrays),
            "invalid_format: safetensors: tensor \"a\": shape holds an array, needs whole numbers");
}

TEST(SafetensorsErrorTest, values_of_the_wrong_kind) {
  const auto tensor = [](std::string_view fields) {
    return error_for("{\"a\":{" + std::string(fields) + "}}");
  };
  const std::string start = "invalid_format: safetensors: tensor \"a\": ";
  EXPECT_EQ(error_for(R"({"a":1})"), start + "is 1, needs an object");
  EXPECT_EQ(error_for(R"({"a":-1})"), start + "is -1, needs an object");
  EXPECT_EQ(error_for(R"({"a":1.5})"), start + "is 1.5, needs an object");
  EXPECT_EQ(error_for(R"({"a":null})"), start + "is null, needs an object");
  EXPECT_EQ(error_for(R"({"a":true})"), start + "is true, needs an object");
  EXPECT_EQ(error_for(R"({"a":"F32"})"), start + "is \"F32\", needs an object");
  EXPECT_EQ(tensor(R"("dtype":32)"), start + "dtype is 32, needs a string");
  EXPECT_EQ(tensor(R"("dtype":["F32"])"), start + "dtype is an array, needs a string");
  EXPECT_EQ(tensor(R"("shape":3)"), start + "shape is 3, needs an array of numbers");
  EXPECT_EQ(tensor(R"("shape":"3")"), start + "shape is \"3\", needs an array of numbers");
  EXPECT_EQ(tensor(R"("shape":["3"])"), start + "shape holds \"3\", needs whole numbers");
  EXPECT_EQ(tensor(R"("shape":[null])"), start + "shape holds null, needs whole numbers");
  EXPECT_EQ(tensor(R"("shape":[{}])"), start + "shape holds an object, needs whole numbers");
  EXPECT_EQ(tensor(R"("data_offsets":{"begin":0})"),
            start + "data_offsets is an object, needs an array of numbers");
}

TEST(SafetensorsErrorTest, numbers_that_no_size_can_be) {
  const auto shape = [](const char* number) {
    return error_for(std::string(R"({"a":{"shape":[)") + number + "]}}");
  };
  const std::string start = "invalid_format: safetensors: tensor \"a\": shape holds ";
  EXPECT_EQ(shape("-1"), start + "-1, a negative number");
  EXPECT_EQ(shape("1.5"), start + "1.5, a number that is not whole");
  EXPECT_EQ(shape("1.0"), start + "1.0, a number that is not whole");
  EXPECT_EQ(shape("1e3"), start + "1e3, a number that is not whole");
  EXPECT_EQ(shape("9223372036854775808"), start + "9223372036854775808, a number beyond 2^63 − 1");
  EXPECT_EQ(shape("18446744073709551616"),
            start + "18446744073709551616, a number beyond 2^63 − 1");
  EXPECT_EQ(shape("-9223372036854775809"),
            start + "-9223372036854775809, a number beyond 2^63 − 1");
  EXPECT_EQ(shape("100000000000000000000000000000000000000000000000000"),
            start + "1000000000000000000000000000000000000000…, a number beyond 2^63 − 1");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,-8]}})"),
            "invalid_format: safetensors: tensor \"a\": data_offsets holds -8, a negative number");
  EXPECT_THAT(shape("1e999"), StartsWith("invalid_format: safetensors: "));
  EXPECT_THAT(shape("01"), StartsWith("invalid_format: safetensors: header: no JSON at byte "));
}

TEST(SafetensorsErrorTest, missing_unknown_and_duplicate_fields) {
  const std::string start = "invalid_format: safetensors: tensor \"a\": ";
  EXPECT_EQ(error_for(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), start + "has no dtype");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), start + "has no shape");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","shape":[1]}})", 4), start + "has no data_offsets");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","type":"F32"}})"),
            start + "has the unknown field \"type\"");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","dtype":"F32"}})"), start + "has dtype twice");
  EXPECT_EQ(error_for(R"({"a":{"shape":[1],"shape":[1]}})"), start + "has shape twice");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,4],"data_offsets":[0,4]}})"),
            start + "has data_offsets twice");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0]}})"),
            start + "data_offsets has 1 numbers, needs begin and end");
  EXPECT_EQ(error_for(R"({"a":{"data_offsets":[0,4,8]}})"),
            start + "data_offsets has 3 numbers, needs begin and end");
}

TEST(SafetensorsErrorTest, duplicate_names) {
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                      R"("\u0061":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                      12),
            "invalid_format: safetensors: tensor \"a\": the name is there twice");
}

TEST(SafetensorsErrorTest, metadata) {
  const std::string start = "invalid_format: safetensors: header: __metadata__ ";
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":1}})"), start + "\"k\" is 1, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":null}})"), start + "\"k\" is null, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":{"l":"m"}}})"),
            start + "\"k\" is an object, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":["m"]}})"),
            start + "\"k\" is an array, needs a string");
  EXPECT_EQ(error_for(R"({"__metadata__":"pt"})"), start + "is \"pt\", needs an object");
  EXPECT_EQ(error_for(R"({"__metadata__":{"k":"1","k":"2"}})"), start + "has \"k\" twice");
  EXPECT_EQ(error_for(R"({"__metadata__":{},"__metadata__":{}})"), start + "is there twice");
}

TEST(SafetensorsErrorTest, unknown_dtypes) {
  EXPECT_EQ(error_for(R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4),
            "invalid_format: safetensors: tensor \"a\": the dtype \"f32\" is unknown");
  EXPECT_EQ(error_for(R"({"a":{"dtype":"","shape":[1],"data_offsets":[0,4]}})", 4),
            "invalid_format: safetensors: tensor \"a\": the dtype \"\" is unknown");
}

TEST(SafetensorsErrorTest, places_that_do_not_fit) {
  const std::string start = "invalid_format: safetensors: tensor \"a\": data_offsets ";
  const auto at = [](const std::string& place, std::size_t data = 8) {
    return error_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + place + "}}", data);
  };
  EXPECT_EQ(at("[8,0]"), start + "[8, 0) end before they begin");
  EXPECT_EQ(at("[0,9]"), start + "[0, 9) reach beyond the 8 bytes of data");
  EXPECT_EQ(at("[0,9223372036854775807]"),
            start + "[0, 9223372036854775807) reach beyond the 8 bytes of data");
  EXPECT_EQ(at("[9223372036854775807,9223372036854775807]"),
            start + "[9223372036854775807, 9223372036854775807) reach beyond the 8 bytes of data");
  EXPECT_EQ(at("[0,4]"), start + "[0, 4) span 4 bytes, F32 with shape (2) needs 8");
  EXPECT_EQ(at("[0,12]", 12), start + "[0, 12) span 12 bytes, F32 with shape (2) needs 8");
  EXPECT_EQ(at("[4,12]", 12), start + "[4, 12) leave a gap: the data before ends at 0");
  EXPECT_EQ(at("[0,8]", 11),
            "invalid_format: safetensors: 3 bytes at the end of the data belong to no tensor");
  EXPECT_EQ(error_for("{}", 1),
            "invalid_format: safetensors: 1 bytes at the end of the data belong to no tensor");
}

TEST(SafetensorsErrorTest, truncated_files) {
  const Bytes whole = file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(error_for(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
                StartsWith("invalid_format: safetensors: "))
        << size;
  }
}

TEST(SafetensorsErrorTest, overlaps_and_gaps) {
  const auto two = [](const char* a, const char* b) {
    return error_for(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
                         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                     9);
  };
  EXPECT_EQ(two("[0,4]", "[3,7]"),
            "invalid_format: safetensors: tensor \"b\": data_offsets [3, 7) overlap tensor \"a\", "
            "which ends at 4");
  EXPECT_EQ(two("[0,4]", "[0,4]"),
            "invalid_format: safetensors: tensor \"b\": data_offsets [0, 4) overlap tensor \"a\", "
            "which ends at 4");
  EXPECT_EQ(two("[5,9]", "[0,4]"),
            "invalid_format: safetensors: tensor \"a\": data_offsets [5, 9) leave a gap: the data "
            "before ends at 4");
  // A tensor without elements inside another one.
  EXPECT_EQ(error_for(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                      4),
            "invalid_format: safetensors: tensor \"b\": data_offsets [2, 2) overlap tensor \"a\", "
            "which ends at 4");
}

TEST(SafetensorsErrorTest, shapes_that_overflow) {
  EXPECT_EQ(
      error_for(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                R"("data_offsets":[0,0]}})"),
      "invalid_format: safetensors: tensor \"a\": the shape (4294967296, 4294967296) has more "
      "elements than can be addressed");
  EXPECT_THAT(error_for(R"({"a":{"dtype":"F32","shape":[4611686018427387904],)"
                        R"("data_offsets":[0,0]}})"),
              HasSubstr("more elements than can be addressed"));
  EXPECT_EQ(error_for(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1),
            "invalid_format: safetensors: tensor \"a\": 12 bits of F4 with shape (3) are no whole "
            "bytes");
}

TEST(SafetensorsErrorTest, long_names_are_cut_in_messages) {
  const std::string error = error_for("{\"" + std::string(5000, 'x') + "\":1}");
  EXPECT_LT(error.size(), 200U);
  EXPECT_THAT(error, HasSubstr("xxx…\": is 1, needs an object"));
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
    // Whatever is thrown is an attn::Error of the reader's; anything else ends the test.
    const std::string error = error_of([&] {
      const Safetensors file = Safetensors::view(bytes);
      for (const attn::SafetensorsEntry& entry : file.tensors()) {
        if (entry.dtype == "F32") file.read(entry.name);
      }
    });
    if (error != "nothing") {
      ++errors;
      ASSERT_THAT(error, StartsWith("invalid_format: safetensors: "));
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(SafetensorsErrorTest, memory_that_cannot_be_had) {
  const Bytes bytes = file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  int successes = 0;
  for (bool done = false; !done; ++successes) {
    ASSERT_LT(successes, 100);
    try {
      attn_test::AllocationProbe probe;
      probe.fail_after(successes);
      const Safetensors file = Safetensors::view(bytes);
      done = file.read("a").size() == 2;
    } catch (const attn::Error& error) {
      ASSERT_EQ(error.code(), attn::ErrorCode::kOutOfMemory) << error.what();
    } catch (const std::bad_alloc&) {
      // Not even the message's memory could be had.
    }
  }
  EXPECT_GT(successes, 3);
}

TEST(SafetensorsTest, running_out_of_memory) {
  const std::vector<float> numbers(6, 9.0F);
  const std::vector<NamedTensor> tensors{{"weight", {numbers.data(), {3, 2}}}};
  const Bytes bytes = attn::to_safetensors(tensors);
  EXPECT_THAT(
      attn_test::out_of_memory_messages([&] { Safetensors::view(bytes); }),
      ::testing::Contains("out_of_memory: safetensors: memory for the header could not be had"));
  EXPECT_THAT(
      attn_test::out_of_memory_messages([&] { attn::to_safetensors(tensors); }),
      ::testing::Contains("out_of_memory: safetensors: memory for the file could not be had"));
}

}  // namespace
