#pragma once

#include <limits>
#include <optional>
#include <type_traits>

namespace attn::wasm {

template <auto Member>
struct Field;

template <class Struct, class T, T Struct::* Member>
struct Field<Member> {
  static double get(const Struct& options) { return static_cast<double>(options.*Member); }
  static void set(Struct& options, double value) { options.*Member = static_cast<T>(value); }
};

/// NaN stands for none.
template <class Struct, class T, std::optional<T> Struct::* Member>
struct Field<Member> {
  static double get(const Struct& options) {
    const std::optional<T>& value = options.*Member;
    return value ? static_cast<double>(*value) : std::numeric_limits<double>::quiet_NaN();
  }
  static void set(Struct& options, double value) {
    options.*Member = value == value ? std::optional(static_cast<T>(value)) : std::nullopt;
  }
};

/// For fields that cannot cross as they are: JavaScript would have a BigInt for 64 bits, and
/// an empty std::optional has no counterpart. Both cross as doubles:
/// `.field("seed", get_number<&RandomStream::seed>, set_number<&RandomStream::seed>)`.
template <auto Member>
constexpr auto get_number = &Field<Member>::get;
template <auto Member>
constexpr auto set_number = &Field<Member>::set;

}  // namespace attn::wasm
