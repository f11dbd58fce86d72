// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit: bytes, FLOPs, their rates, and time. Bytes plus nanoseconds does not
// compile.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>

namespace stepscope {

// Instants and durations of a trace, in integer nanoseconds. An instant counts from the origin of
// its clock: the UNIX epoch or the profiler's start (event/trace.h says which).
using Ns = std::chrono::nanoseconds;
// Durations of the performance model.
using Seconds = std::chrono::duration<double>;

template <class Unit, class Rep>
struct Quantity {
  Rep value{};

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return {static_cast<Rep>(a.value + b.value)};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return {static_cast<Rep>(a.value - b.value)};
  }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return {static_cast<Rep>(a.value * k)}; }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return a * k; }
};

using Bytes = Quantity<struct BytesUnit, std::int64_t>;
using Flops = Quantity<struct FlopsUnit, double>;
using FlopRate = Quantity<struct FlopRateUnit, double>;  // flop/s
using ByteRate = Quantity<struct ByteRateUnit, double>;  // byte/s

constexpr Seconds seconds(Ns t) { return std::chrono::duration_cast<Seconds>(t); }
constexpr ByteRate operator/(Bytes b, Seconds t) {
  return {static_cast<double>(b.value) / t.count()};
}
constexpr FlopRate operator/(Flops f, Seconds t) { return {f.value / t.count()}; }
constexpr Seconds operator/(Flops f, FlopRate r) { return Seconds{f.value / r.value}; }
constexpr Seconds operator/(Bytes b, ByteRate r) {
  return Seconds{static_cast<double>(b.value) / r.value};
}

// Factors of SI prefixes, for numbers that leave the typed quantities.
inline constexpr double giga = 1e9;
inline constexpr double tera = 1e12;
inline constexpr double ns_per_s = 1e9;
constexpr double nanoseconds_of(Ns t) { return static_cast<double>(t.count()); }
constexpr double nanoseconds_of(Seconds t) { return t.count() * ns_per_s; }

}  // namespace stepscope
