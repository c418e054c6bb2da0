// Tests attention over tensors of float16 and bfloat16, in any mix, and over caches of every type.
// The result must equal the float32 result for the same numbers, rounded once. The tests therefore
// compare its bits with the result of a float32 call, which other tests compare with the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attn/any_tensor.hpp"
#include "attn/attention/key_value_cache.hpp"
#include "attn/attention/scaled_dot_product_attention.hpp"
#include "compare.hpp"
#include "every_instruction_set.hpp"
#include "host_tensor.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "typed_tensor.hpp"

namespace {

using attn::AnyTensor;
using attn::AttentionOptions;
using attn::BFloat16;
using attn::ConstAnyTensor;
using attn::Diagonal;
using attn::ElementType;
using attn::Float16;
using attn::KeyValueCache;
using attn_test::as_type;
using attn_test::count_of;
using attn_test::error_of;
using attn_test::FloatTensor;
using attn_test::HostTensor;
using attn_test::kInfinity;
using attn_test::kNaN;
using attn_test::Layout;
using attn_test::Random;
using attn_test::same_bits;
using attn_test::Shape;
using Typed = attn_test::TypedTensor;

using AttentionTypesTest = attn_test::EveryInstructionSet;
INSTANTIATE_EVERY_INT8_INSTRUCTION_SET(AttentionTypesTest);

const std::vector<ElementType> kTensorTypes{ElementType::kFloat32, ElementType::kFloat16,
                                            ElementType::kBFloat16};
const std::vector<ElementType> kCacheTypes{ElementType::kFloat32, ElementType::kFloat16,
                                           ElementType::kBFloat16, ElementType::kInt8};

struct Sizes {
  std::int64_t batch, query_heads, key_heads, queries, keys, dim, value_dim;
};

/// Compares a call on tensors of the element types `types` with the same call in float32.
void expect_float32_rounded_once(const Sizes& s, const std::vector<ElementType>& types,
                                 Layout layout, AttentionOptions options, Random& random,
                                 attn::Context& context) {
  const Shape query_shape{s.batch, s.query_heads, s.queries, s.dim};
  const Shape key_shape{s.batch, s.key_heads, s.keys, s.dim};
  const Shape value_shape{s.batch, s.key_heads, s.keys, s.value_dim};
  const Shape output_shape{s.batch, s.query_heads, s.queries, s.value_dim};
  Typed q(types[0], query_shape, random.normals(count_of(query_shape)), layout);
  Typed k(types[1], key_shape, random.normals(count_of(key_shape)), layout);
  Typed v(types[2], value_shape, random.normals(count_of(value_shape)), layout);
  Typed output(types[3], output_shape, std::vector<float>(count_of(output_shape), kNaN), layout);
  auto sums = FloatTensor::filled({s.batch, s.query_heads, s.queries}, kNaN);
  options.log_sum_exp = sums.view();
  attn::scaled_dot_product_attention(q.view(), k.view(), v.view(), output.view(), options, context);

  const FloatTensor wide_q(query_shape, q.values()), wide_k(key_shape, k.values()),
      wide_v(value_shape, v.values());
  auto want = FloatTensor::filled(output_shape, kNaN);
  auto want_sums = FloatTensor::filled({s.batch, s.query_heads, s.queries}, kNaN);
  options.log_sum_exp = want_sums.view();
  attn::scaled_dot_product_attention(wide_q.view(), wide_k.view(), wide_v.view(), want.view(),
                                     options, context);
  EXPECT_TRUE(same_bits(output.values(), as_type(types[3], want.values())));
  EXPECT_TRUE(same_bits(sums.values(), want_sums.values()));
  EXPECT_TRUE(output.gaps_are_untouched());
}

TEST_P(AttentionTypesTest, every_mix_of_types_gives_the_bits_of_float32_rounded_once) {
  Random random;
  for (const std::int64_t queries : {1, 5}) {
    for (const ElementType query : kTensorTypes) {
      for (const ElementType key : kTensorTypes) {
        for (const ElementType value : kTensorTypes) {
          for (const ElementType output : kTensorTypes) {
            SCOPED_TRACE(std::string(attn::to_string(query)) + " " + attn::to_string(key) + " " +
                         attn::to_string(value) + " " + attn::to_string(output));
            expect_float32_rounded_once({1, 2, 1, queries, 37, 16, 32}, {query, key, value, output},
                                        Layout::kContiguous, {}, random, context());
          }
        }
      }
    }
  }
}

TEST_P(AttentionTypesTest, awkward_sizes_and_strides) {
  Random random;
  for (const std::int64_t queries : {1, 2, 33}) {
    for (const std::int64_t keys : {1, 3, 16, 255, 257, 513}) {
      for (const auto& [dim, value_dim] :
           {std::pair{1, 1}, std::pair{3, 5}, std::pair{15, 17}, std::pair{20, 12},
            std::pair{64, 64}, std::pair{67, 128}, std::pair{128, 208}}) {
        const Layout layout =
            random.pick<Layout>({Layout::kContiguous, Layout::kHeadsInside, Layout::kSpread,
                                 Layout::kTransposed, Layout::kReversed});
        const std::vector<ElementType> types{random.pick(kTensorTypes), random.pick(kTensorTypes),
                                             random.pick(kTensorTypes), random.pick(kTensorTypes)};
        SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(keys) + " keys, " +
                     std::to_string(dim) + ", " + std::to_string(value_dim));
        expect_float32_rounded_once({2, 4, 2, queries, keys, dim, value_dim}, types, layout,
                                    {.causal = random.chance(0.5)}, random, context());
      }
    }
  }
}

TEST_P(AttentionTypesTest, no_keys_and_empty_tensors) {
  Random random;
  for (const ElementType type : kTensorTypes) {
    const std::vector<ElementType> types(4, type);
    expect_float32_rounded_once({1, 2, 1, 3, 0, 8, 8}, types, Layout::kContiguous, {}, random,
                                context());
    expect_float32_rounded_once({1, 2, 1, 1, 0, 8, 8}, types, Layout::kContiguous, {}, random,
                                context());
    expect_float32_rounded_once({1, 2, 1, 0, 3, 8, 8}, types, Layout::kContiguous, {}, random,
                                context());
    expect_float32_rounded_once({1, 2, 1, 2, 3, 8, 0}, types, Layout::kContiguous, {}, random,
                                context());
  }
}

/// Appends to the cache in pieces of different sizes.
void fill(KeyValueCache& cache, const FloatTensor& keys, const FloatTensor& values) {
  const std::int64_t length = keys.shape()[2];
  for (std::int64_t begin = 0, step = 1; begin < length; begin += step, step = 3 * step + 2) {
    const std::int64_t end = std::min(begin + step, length);
    cache.append(keys.view().slice(2, begin, end), values.view().slice(2, begin, end));
  }
}

TEST_P(AttentionTypesTest, a_cache_gives_the_result_for_its_stored_numbers) {
  Random random;
  for (const ElementType type : kCacheTypes) {
    for (const std::int64_t queries : {1, 7}) {
      for (const std::int64_t length : {1, 16, 256, 515}) {
        for (const std::int64_t dim : {1, 7, 32, 64, 67, 128}) {
          SCOPED_TRACE(std::string(attn::to_string(type)) + " " + std::to_string(queries) + " " +
                       std::to_string(length) + " " + std::to_string(dim));
          const std::int64_t value_dim = dim == 32 ? 48 : dim;
          const FloatTensor keys({2, 2, length, dim}, random.normals(4 * length * dim),
                                 Layout::kHeadsInside);
          const FloatTensor values({2, 2, length, value_dim},
                                   random.normals(4 * length * value_dim), Layout::kSpread);
          KeyValueCache cache(2, 2, dim, value_dim, 0, type);
          fill(cache, keys, values);
          auto stored_keys = FloatTensor::filled({2, 2, length, dim}, kNaN);
          auto stored_values = FloatTensor::filled({2, 2, length, value_dim}, kNaN);
          cache.read_keys(stored_keys.view());
          cache.read_values(stored_values.view());
          const FloatTensor q({2, 4, queries, dim}, random.normals(8 * queries * dim));
          AttentionOptions options;
          options.causal = true;
          options.diagonal = Diagonal::bottom_right();
          auto got = FloatTensor::filled({2, 4, queries, value_dim}, kNaN);
          auto want = FloatTensor::filled({2, 4, queries, value_dim}, kNaN);
          attn::scaled_dot_product_attention(q.view(), cache, got.view(), options, context());
          attn::scaled_dot_product_attention(q.view(), stored_keys.view(), stored_values.view(),
                                             want.view(), options, context());
          if (type != ElementType::kInt8 || queries > 1) {
            EXPECT_TRUE(same_bits(got.values(), want.values()));
            continue;
          }
          // For one query over an int8 cache, attn multiplies whole sums by the scales, not single
          // numbers. The last bits may therefore differ.
          const std::vector<float> a = got.values(), b = want.values();
          for (std::size_t i = 0; i < a.size(); ++i) {
            ASSERT_NEAR(a[i], b[i], 4e-6 * std::sqrt(static_cast<double>(dim))) << i;
          }
        }
      }
    }
  }
}

TEST_P(AttentionTypesTest, one_query_over_an_int8_cache_stays_within_the_bound) {
  Random random;
  constexpr std::int64_t kKeys = 600;
  // With more than 1024 columns, integer sums of products could overflow.
  for (const std::int64_t dim : {16, 64, 100, 192, 1024, 1030}) {
    for (const float size : {1.0F, 1e-32F, 1e30F}) {
      SCOPED_TRACE(std::to_string(dim) + " columns, values of size " + std::to_string(size));
      const std::vector<float> keys = random.normals(kKeys * dim), query = random.normals(dim);
      std::vector<float> values = random.normals(kKeys * dim);
      for (float& x : values) x *= size;
      KeyValueCache cache(1, 1, dim, dim, 0, ElementType::kInt8);
      fill(cache, FloatTensor({1, 1, kKeys, dim}, keys), FloatTensor({1, 1, kKeys, dim}, values));
      auto stored_keys = FloatTensor::filled({1, 1, kKeys, dim}, kNaN);
      auto stored_values = FloatTensor::filled({1, 1, kKeys, dim}, kNaN);
      cache.read_keys(stored_keys.view());
      cache.read_values(stored_values.view());
      const std::vector<float> k = stored_keys.values(), v = stored_values.values();
      std::vector<double> exact(static_cast<std::size_t>(dim));
      double total = 0, largest = 0;
      for (std::size_t j = 0; j < kKeys; ++j) {
        double score = 0;
        for (std::size_t d = 0; d < exact.size(); ++d) {
          score += double{query[d]} * k[j * exact.size() + d];
        }
        const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
        total += weight;
        for (std::size_t d = 0; d < exact.size(); ++d) {
          const double value = v[j * exact.size() + d];
          exact[d] += weight * value;
          largest = std::max(largest, std::abs(value));
        }
      }
      auto output = FloatTensor::filled({1, 1, 1, dim}, kNaN);
      const FloatTensor q({1, 1, 1, dim}, query);
      attn::scaled_dot_product_attention(q.view(), cache, output.view(), {}, context());
      const std::vector<float> got = output.values();
      using enum attn::InstructionSet;
      const bool rounds_weights = GetParam() == kAvx512Vnni || GetParam() == kNeonDotprod;
      const double bound =
          (2.5e-6 * std::sqrt(static_cast<double>(dim)) + (rounds_weights ? 0x1p-17 : 0)) * largest;
      for (std::size_t d = 0; d < exact.size(); ++d) {
        ASSERT_NEAR(got[d], exact[d] / total, bound) << d;
      }
    }
  }
}

TEST_P(AttentionTypesTest, one_query_over_an_int8_cache_may_be_tiny_huge_or_not_finite) {
  Random random;
  const FloatTensor rows({1, 1, 40, 64}, random.normals(40 * 64));
  KeyValueCache cache(1, 1, 64, 64, 0, ElementType::kInt8);
  fill(cache, rows, rows);
  const auto attend = [&](float size) {
    std::vector<float> query = random.normals(64);
    for (float& x : query) x *= size;
    auto output = FloatTensor::filled({1, 1, 1, 64}, 0);
    const FloatTensor q({1, 1, 1, 64}, query);
    attn::scaled_dot_product_attention(q.view(), cache, output.view(), {}, context());
    return output.values();
  };
  // All weights are equal.
  EXPECT_TRUE(same_bits(attend(1e-38F), attend(0)));
  // One weight is 1, so the output is a row of the cache.
  auto stored = FloatTensor::filled({1, 1, 40, 64}, kNaN);
  cache.read_values(stored.view());
  const std::vector<float> values = stored.values(), output = attend(1e30F);
  bool is_a_row = false;
  for (std::size_t j = 0; j < 40; ++j) {
    bool is_near = true;
    for (std::size_t d = 0; d < 64; ++d) {
      is_near = is_near && std::abs(output[d] - values[64 * j + d]) < 1e-5;
    }
    is_a_row = is_a_row || is_near;
  }
  EXPECT_TRUE(is_a_row);
  EXPECT_TRUE(std::isnan(attend(kInfinity)[0]));
  EXPECT_TRUE(std::isnan(attend(kNaN)[0]));
}

TEST_P(AttentionTypesTest, one_query_with_every_stage_of_its_scores) {
  Random random;
  for (const ElementType type : kCacheTypes) {
    const FloatTensor keys({1, 1, 300, 64}, random.normals(300 * 64));
    const FloatTensor values({1, 1, 300, 64}, random.normals(300 * 64));
    KeyValueCache cache(1, 1, 64, 64, 0, type);
    fill(cache, keys, values);
    auto stored_keys = FloatTensor::filled({1, 1, 300, 64}, kNaN);
    auto stored_values = FloatTensor::filled({1, 1, 300, 64}, kNaN);
    cache.read_keys(stored_keys.view());
    cache.read_values(stored_values.view());
    const FloatTensor q({1, 1, 1, 64}, random.normals(64));
    const auto all_stages = [&](const auto& call) {
      auto output = FloatTensor::filled({1, 1, 1, 64}, kNaN);
      auto scores = FloatTensor::filled({1, 1, 1, 300}, kNaN);
      auto weights = FloatTensor::filled({1, 1, 1, 300}, kNaN);
      AttentionOptions options;
      options.softcap = 5;
      options.scaled_scores = scores.view();
      options.weights = weights.view();
      call(output.view(), options);
      std::vector<float> result = output.values();
      for (const float x : scores.values()) result.push_back(x);
      for (const float x : weights.values()) result.push_back(x);
      return result;
    };
    const auto got = all_stages([&](const attn::Tensor& output, const AttentionOptions& options) {
      attn::scaled_dot_product_attention(q.view(), cache, output, options, context());
    });
    const auto want = all_stages([&](const attn::Tensor& output, const AttentionOptions& options) {
      attn::scaled_dot_product_attention(q.view(), stored_keys.view(), stored_values.view(), output,
                                         options, context());
    });
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], type == ElementType::kInt8 ? 2e-5 : 0) << i;
    }
  }
}

TEST_P(AttentionTypesTest, nan_and_infinity_in_excluded_keys_change_no_bit) {
  Random random;
  constexpr std::int64_t kKeys = 290;
  for (const ElementType type : kCacheTypes) {
    for (const std::int64_t queries : {1, 3}) {
      for (const std::int64_t dim : {20, 64}) {
        std::vector<float> numbers = random.normals(kKeys * dim);
        std::vector<std::uint8_t> mask(kKeys);
        for (auto& attends : mask) attends = random.chance(0.7) ? 1 : 0;
        const FloatTensor q({1, 1, queries, dim}, random.normals(queries * dim));
        const auto output = [&](const std::vector<float>& stored) {
          const FloatTensor rows({1, 1, kKeys, dim}, stored);
          KeyValueCache cache(1, 1, dim, dim, 0, type);
          fill(cache, rows, rows);
          auto result = FloatTensor::filled({1, 1, queries, dim}, kNaN);
          AttentionOptions options;
          options.mask = {mask.data(), {kKeys}};
          attn::scaled_dot_product_attention(q.view(), cache, result.view(), options, context());
          return result.values();
        };
        const std::vector<float> want = output(numbers);
        for (std::int64_t j = 0; j < kKeys; ++j) {
          if (mask[static_cast<std::size_t>(j)] != 0) continue;
          numbers[static_cast<std::size_t>(j * dim + j % dim)] =
              random.chance(0.5) ? kNaN : kInfinity;
        }
        EXPECT_TRUE(same_bits(output(numbers), want));
        // If a query attends to the key, the NaN reaches the output.
        for (std::int64_t j = 0; j < kKeys; ++j) mask[static_cast<std::size_t>(j)] = 1;
        EXPECT_TRUE(std::isnan(output(numbers)[0]));
      }
    }
  }
}

TEST_P(AttentionTypesTest, bits_do_not_depend_on_threads_and_batch) {
  Random random;
  constexpr std::int64_t kKeys = 1100, kDim = 64;
  for (const ElementType type : kCacheTypes) {
    for (const std::int64_t queries : {1, 70}) {
      const FloatTensor rows({3, 2, kKeys, kDim}, random.normals(6 * kKeys * kDim));
      const FloatTensor q({3, 4, queries, kDim}, random.normals(12 * queries * kDim));
      const auto outputs = [&](std::int64_t begin, std::int64_t end, int threads) {
        KeyValueCache cache(end - begin, 2, kDim, kDim, 0, type);
        cache.append(rows.view().slice(0, begin, end), rows.view().slice(0, begin, end));
        std::vector<Float16> result(static_cast<std::size_t>((end - begin) * 4 * queries * kDim));
        attn::scaled_dot_product_attention(
            q.view().slice(0, begin, end), cache,
            attn::TensorView<Float16>(result.data(), {end - begin, 4, queries, kDim}), {},
            context(threads));
        return std::vector<float>(result.begin(), result.end());
      };
      const std::vector<float> want = outputs(0, 3, 1);
      EXPECT_TRUE(same_bits(outputs(0, 3, 3), want));
      const std::vector<float> last = outputs(2, 3, 2);
      EXPECT_TRUE(same_bits(last, {want.end() - std::ssize(last), want.end()}));
    }
  }
}

TEST_P(AttentionTypesTest, errors_leave_outputs_untouched) {
  std::vector<Float16> numbers(64, Float16(1.0F));
  std::vector<BFloat16> output(16, BFloat16(7.0F));
  const attn::TensorView<const Float16> q(numbers.data(), {1, 1, 2, 4});
  const attn::TensorView<BFloat16> out(output.data(), {1, 1, 2, 4});
  EXPECT_EQ(error_of([&] {
              attn::scaled_dot_product_attention(q, q.slice(3, 0, 3), q, out, {}, context());
            }),
            "shape_mismatch: key: got head dimension 3, needs 4, the head dimension of query");
  EXPECT_EQ(error_of([&] {
              attn::scaled_dot_product_attention(
                  q, attn::TensorView<const BFloat16>(nullptr, {1, 1, 2, 4}), q, out, {},
                  context());
            }),
            "invalid_argument: key: got a null pointer, needs data");
  const KeyValueCache cache(1, 1, 3, 4, 0, ElementType::kInt8);
  EXPECT_EQ(error_of([&] { attn::scaled_dot_product_attention(q, cache, out, {}, context()); }),
            "shape_mismatch: key: got head dimension 3, needs 4, the head dimension of query");
  for (const BFloat16 x : output) EXPECT_EQ(x, 7.0F);
}

}  // namespace
