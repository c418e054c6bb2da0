#include "attn/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "compare.hpp"
#include "host_tensor.hpp"
#include "io/safetensors_file.hpp"
#include "random.hpp"

namespace {

using attn::ElementType;
using attn::NamedTensor;
using attn::Safetensors;
using attn_test::Bytes;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::Layout;
using attn_test::safetensors_file;
using attn_test::safetensors_file_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- Reading

TEST(SafetensorsTest, reads_names_shapes_and_numbers) {
  const Bytes bytes = safetensors_file_of<std::uint32_t>(
      R"({"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
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
  EXPECT_TRUE(Safetensors::view(safetensors_file("{}")).tensors().empty());
  EXPECT_TRUE(Safetensors::view(safetensors_file("{}      ")).tensors().empty());
}

TEST(SafetensorsTest, reads_metadata) {
  const Safetensors file =
      Safetensors::own(safetensors_file(R"({"__metadata__":{"format":"pt","note":"größer"}})"));
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair<std::string, std::string>("format", "pt"),
                                           std::pair<std::string, std::string>("note", "größer")));
  EXPECT_TRUE(file.tensors().empty());
}

TEST(SafetensorsTest, metadata_may_be_null) {
  const Safetensors file = Safetensors::own(safetensors_file(R"({"__metadata__":null})"));
  EXPECT_TRUE(file.metadata().empty());
}

TEST(SafetensorsTest, names_may_be_escaped_and_empty) {
  const Safetensors file = Safetensors::own(
      safetensors_file(R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("\u00e9\n\"":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                       8));
  EXPECT_TRUE(file.contains(""));
  EXPECT_TRUE(file.contains("é\n\""));
  const Safetensors beyond = Safetensors::own(
      safetensors_file(R"({"\uD83d\uDE00":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"));
  EXPECT_TRUE(beyond.contains("😀"));
}

TEST(SafetensorsTest, text_is_read_as_it_was_written) {
  const std::string text = "\x01\x0F\x1F\b\t\n\f\r\"\\/é😀\x7F";
  const auto bytes = attn::to_safetensors({}, {{"note", text}});
  const Safetensors file = Safetensors::view(bytes);
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair<std::string, std::string>("note", text)));
  // JSON does not allow control characters in strings, so all must be escaped.
  for (std::size_t i = 8; i < bytes.size(); ++i) EXPECT_GE(std::to_integer<int>(bytes[i]), 0x20);
}

TEST(SafetensorsTest, tensors_without_elements_take_no_space) {
  const Safetensors file = Safetensors::own(
      safetensors_file(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("none":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]},)"
                       R"("also":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}})",
                       4));
  EXPECT_TRUE(file.read("none").empty());
  EXPECT_TRUE(file.read("also").empty());
  file.read("none", {nullptr, {3, 0}});
}

TEST(SafetensorsTest, tensors_can_be_read_into_every_layout) {
  const Bytes bytes = safetensors_file_of<std::uint32_t>(
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
  return Safetensors::own(
             safetensors_file_of(std::string(R"({"x":{"dtype":")") + dtype +
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

/// Stores the numbers in a file and reads them back.
std::vector<float> stored_as(ElementType dtype, const std::vector<float>& values) {
  const NamedTensor tensor{"x", {values.data(), {std::ssize(values)}}};
  return Safetensors::own(attn::to_safetensors({&tensor, 1}, {}, dtype)).read("x");
}

/// Tests floats between each number of a 16-bit type and the next larger number, for both signs.
/// The midpoint must round to the even neighbour, and all other floats must round to the nearer
/// neighbour.
void expect_rounded(ElementType dtype, const std::vector<float>& all, int infinity) {
  std::vector<float> values;
  std::vector<float> want;
  for (int bits = 0; bits < infinity; ++bits) {
    const auto at = static_cast<std::size_t>(bits);
    const double last = all[at];
    const double next = bits + 1 == infinity ? last + (last - static_cast<double>(all[at - 1]))
                                             : double{all[at + 1]};
    const auto middle = static_cast<float>((last + next) / 2);
    for (const float sign : {1.0F, -1.0F}) {
      const auto add = [&](float value, std::size_t rounded) {
        values.push_back(sign * value);
        want.push_back(sign * all[rounded]);
      };
      add(all[at], at);
      add(std::nextafter(middle, 0.0F), at);
      add(middle, at + static_cast<std::size_t>(bits % 2));
      add(std::nextafter(middle, std::numeric_limits<float>::infinity()), at + 1);
    }
  }
  EXPECT_TRUE(attn_test::same_bits(stored_as(dtype, values), want));
  const std::vector<float> special = stored_as(
      dtype, {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::max(), std::numeric_limits<float>::quiet_NaN(),
              -std::bit_cast<float>(0x7F80'0001U)});
  EXPECT_EQ(special[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(special[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(special[2], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(special[3]));
  EXPECT_TRUE(std::isnan(special[4]));
}

TEST(SafetensorsTest, numbers_are_rounded_to_float16) {
  expect_rounded(ElementType::kFloat16, all_of("F16"), 0x7C00);
}

TEST(SafetensorsTest, numbers_are_rounded_to_bfloat16) {
  expect_rounded(ElementType::kBFloat16, all_of("BF16"), 0x7F80);
}

TEST(SafetensorsTest, two_byte_numbers_take_half_of_the_bytes) {
  const FloatTensor x({3, 5}, std::vector<float>(15, 0.5F), Layout::kReversed);
  const NamedTensor tensor{"x", x.view()};
  const auto file = Safetensors::own(
      attn::to_safetensors({&tensor, 1}, {{"note", "half"}}, ElementType::kBFloat16));
  EXPECT_EQ(file.entry("x").dtype, "BF16");
  EXPECT_EQ(file.entry("x").end, 30);
  EXPECT_THAT(file.entry("x").shape, ElementsAre(3, 5));
  EXPECT_EQ(file.read("x"), std::vector<float>(15, 0.5F));
}

TEST(SafetensorsTest, tensors_of_two_byte_numbers_are_written_bit_by_bit) {
  // The numbers include signalling NaNs, which no conversion leaves unchanged.
  const std::vector<std::uint16_t> bits{0x3C00, 0xC001, 0x0001, 0x7F81, 0xFF80, 0x7D01};
  std::vector<attn::Float16> halves(6);
  std::vector<attn::BFloat16> brains(6);
  for (std::size_t i = 0; i < 6; ++i) {
    halves[i] = attn::Float16::from_bits(bits[i]);
    brains[i] = attn::BFloat16::from_bits(bits[i]);
  }
  const std::vector<float> floats{1.001F, 2};
  const std::array<std::int64_t, 2> shape{3, 2}, columns{1, 3};
  const std::vector<NamedTensor> tensors{{"a", {halves.data(), shape}},
                                         {"b", {brains.data(), shape, columns}},
                                         {"c", {floats.data(), {2}}}};
  for (const ElementType dtype :
       {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBFloat16}) {
    const Bytes bytes = attn::to_safetensors(tensors, {}, dtype);
    const Safetensors file = Safetensors::view(bytes);
    EXPECT_EQ(file.entry("a").dtype, "F16");
    EXPECT_EQ(file.entry("b").dtype, "BF16");
    EXPECT_EQ(file.entry("c").dtype, dtype == ElementType::kFloat32   ? "F32"
                                     : dtype == ElementType::kFloat16 ? "F16"
                                                                      : "BF16");
    EXPECT_THAT(file.entry("b").shape, ElementsAre(3, 2));
    const std::byte* const data =
        bytes.data() + attn::read_safetensors_header(bytes, std::ssize(bytes)).data_begin;
    for (std::size_t i = 0; i < 6; ++i) {
      const auto number = [&](std::size_t tensor, std::size_t at) {
        std::uint16_t result = 0;
        std::memcpy(&result, data + 12 * tensor + 2 * at, 2);
        return result;
      };
      EXPECT_EQ(number(0, i), bits[i]) << i;
      EXPECT_EQ(number(1, i), bits[i / 2 + i % 2 * 3]) << i;
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
  // Eight elements of a four-bit type take four bytes; eight elements of a six-bit type take six.
  for (const auto& [dtype, bytes] :
       std::vector<std::pair<std::string, int>>{{"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}}) {
    header += ",\"" + dtype + R"(":{"dtype":")" + dtype + R"(","shape":[2,4],"data_offsets":[)" +
              std::to_string(end) + "," + std::to_string(end + bytes) + "]}";
    end += bytes;
  }
  const Safetensors file =
      Safetensors::own(safetensors_file(header + "}", static_cast<std::size_t>(end)));
  EXPECT_EQ(file.tensors().size(), 19U);
  for (const attn::SafetensorsEntry& entry : file.tensors()) {
    EXPECT_EQ(entry.name, entry.dtype);
    if (entry.dtype == "F64") continue;
    EXPECT_EQ(error_of([&] { file.read(entry.name); }),
              "unsupported: tensor \"" + entry.name + "\": got dtype " + entry.dtype +
                  ", needs F32, F16, BF16 or F64 to be read as float32");
  }
}

TEST(SafetensorsTest, float64_is_rounded_to_the_nearest_float32) {
  std::vector<std::byte> bytes =
      safetensors_file(R"({"x":{"dtype":"F64","shape":[4],"data_offsets":[0,32]}})", 32);
  const std::vector<double> values{0.1, -1e-300, 16777217, 1 + 0x1.8p-24};
  std::memcpy(bytes.data() + bytes.size() - 32, values.data(), 32);
  const Safetensors file = Safetensors::own(std::move(bytes));
  EXPECT_EQ(file.read("x"), (std::vector<float>{0.1F, -0.0F, 16777216, 1 + 0x1p-23F}));
  std::vector<float> strided(8);
  const std::int64_t shape[] = {4}, strides[] = {2};
  file.read("x", attn::Tensor(strided.data(), shape, strides));
  EXPECT_EQ(strided[4], 16777216);
}

TEST(SafetensorsTest, files_in_other_formats_are_recognised) {
  const auto error_about = [](std::string text) {
    text.resize(200, 'x');
    const auto bytes = std::as_bytes(std::span(text));
    return error_of([&] { Safetensors::own({bytes.begin(), bytes.end()}); });
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(error_about("version https://git-lfs.github.com/spec/v1"),
            "invalid_format: safetensors: got a Git LFS pointer, which only names the real file, "
            "needs the real file; run \"git lfs pull\" or download it again");
  EXPECT_THAT(error_about("<!DOCTYPE html>"), HasSubstr("safetensors: got a web page, needs"));
  EXPECT_THAT(error_about("\n<html lang=en>"), HasSubstr("got a web page"));
  EXPECT_THAT(error_about("GGUF\x03"), HasSubstr("got a GGUF file"));
  EXPECT_THAT(error_about("PK\x03\x04"), HasSubstr("got a PyTorch checkpoint"));
  EXPECT_THAT(error_about("\x80\x02\x8A\x0Al\xFC\x9C"), HasSubstr("got a PyTorch checkpoint"));
  EXPECT_THAT(error_about("{\"error\": \"gated\"}"), HasSubstr("got JSON text"));
}

TEST(SafetensorsTest, a_moved_file_can_be_read) {
  Safetensors file = Safetensors::own(
      safetensors_file(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
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
  EXPECT_EQ(bytes, safetensors_file_of<std::uint32_t>(
                       header, {0x40E00000, 0x3F800000, 0xC0000000, 0x3F000000, 0x40400000,
                                0x40800000, 0x40A00000}));
}

TEST(SafetensorsTest, a_file_without_tensors_is_valid) {
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
  const std::string path =
      std::filesystem::path(::testing::TempDir() + "attn_safetensors_test.safetensors")
          .generic_string();
  const std::vector<float> x{1, 2, 3};
  attn::save_safetensors(path, std::vector<NamedTensor>{{"x", {x.data(), {3}}}});
  EXPECT_EQ(Safetensors::load(path).read("x"), x);
  std::remove(path.c_str());
  EXPECT_THAT(error_of([&] { Safetensors::load(path); }),
              ::testing::AllOf(StartsWith("file_error: path: got \"" + path + "\" ("),
                               HasSubstr("), needs a file that can be read")));
  EXPECT_THAT(
      error_of([&] { attn::save_safetensors(path + "/no/such/folder/x", {}); }),
      ::testing::AllOf(StartsWith("file_error: path: got \"" + path + "/no/such/folder/x\" ("),
                       HasSubstr("), needs a file that can be written")));
}

TEST(SafetensorsTest, names_of_files_are_utf8) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / u8"attn_Größe_Ελλάδα.safetensors";
  const std::u8string utf8 = path.generic_u8string();
  const std::string name(utf8.begin(), utf8.end());
  const std::vector<float> x{1, 2, 3};
  attn::save_safetensors(name, std::vector<NamedTensor>{{"x", {x.data(), {3}}}});
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(Safetensors::load(name).read("x"), x);
  std::filesystem::remove(path);
  EXPECT_THAT(error_of([&] { Safetensors::load(name); }), HasSubstr(name));
}

TEST(SafetensorsTest, running_out_of_memory) {
  const std::vector<float> numbers(6, 9.0F);
  const std::vector<NamedTensor> tensors{{"weight", {numbers.data(), {3, 2}}}};
  const Bytes bytes = attn::to_safetensors(tensors);
  EXPECT_GE(attn_test::out_of_memory_failures([&] { Safetensors::view(bytes); }), 1);
  EXPECT_GE(attn_test::out_of_memory_failures([&] { attn::to_safetensors(tensors); }), 1);
}

}  // namespace
