#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <random>
#include <string_view>
#include <vector>

namespace attn_test {

/// The seed of this run: ATTN_TEST_SEED from the environment, or a fixed seed. main() prints it.
std::uint64_t seed();

/// Test inputs. They are drawn from the run's seed and the name of the running test, so a test gets
/// the same numbers whether it runs alone or with others.
class Random {
 public:
  Random();
  /// Numbers that are the same for all parameters of a test. Use them if an expensive reference can
  /// be shared by all instruction sets.
  static Random of_all_parameters();

  /// A uniform number in [0, 1). `std::uniform_real_distribution` computes logarithms in extended
  /// precision for each number. These logarithms dominated the run time of many tests and of a fuzz
  /// target.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// A normally distributed number with mean 0, from the Box-Muller transform.
  float normal(float deviation = 1) {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return static_cast<float>(deviation * radius * std::cos(2 * std::numbers::pi * unit()));
  }
  /// A uniform number in [low, high); rounding may produce `high` itself.
  float uniform(float low, float high) {
    const double width = static_cast<double>(high) - static_cast<double>(low);
    return static_cast<float>(static_cast<double>(low) + width * unit());
  }
  /// A uniform integer in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  /// Picks one of several values.
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(integer(0, std::ssize(from) - 1))];
  }
  bool chance(double probability) { return unit() < probability; }

  std::vector<float> normals(std::int64_t count, float deviation = 1) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(deviation);
    return values;
  }
  std::vector<float> uniforms(std::int64_t count, float low, float high) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(low, high);
    return values;
  }

  /// For std::shuffle.
  std::mt19937_64& engine() { return engine_; }

 private:
  explicit Random(std::string_view test);
  std::mt19937_64 engine_;
};

}  // namespace attn_test
