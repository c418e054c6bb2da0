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

/// Accessors of an optional field. NaN means that the field is empty.
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

/// Accessors that pass a field as a double. JavaScript would see a 64-bit integer as a BigInt, and
/// an empty std::optional has no counterpart there. Example:
/// `.field("seed", get_number<&RandomStream::seed>, set_number<&RandomStream::seed>)`.
template <auto Member>
constexpr auto get_number = &Field<Member>::get;
template <auto Member>
constexpr auto set_number = &Field<Member>::set;

}  // namespace attn::wasm
