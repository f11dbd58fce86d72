// SPDX-License-Identifier: Apache-2.0
// The bytes of plain values, both ways, for messages between processes of one build. Numbers and
// enums are as memory has them; texts, lists, maps and optionals have their sizes in front; structs
// without constructors are member by member, which the compiler finds. Pointers and views do not
// compile. A class of its own specialises Plain.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepscope {

// How a type becomes bytes. take() gives false where the bytes end too early; `in` loses what was
// taken.
template <class T>
struct Plain;

template <class T>
void append_plain(std::string& out, const T& value) {
  Plain<T>::append(out, value);
}
template <class T>
[[nodiscard]] bool take_plain(std::string_view& in, T& value) {
  return Plain<T>::take(in, value);
}

namespace plain {

template <class T>
inline constexpr bool is_time = false;
template <class Rep, class Period>
inline constexpr bool is_time<std::chrono::duration<Rep, Period>> = true;
template <class T>
inline constexpr bool is_view = std::is_pointer_v<T>;
template <class C>
inline constexpr bool is_view<std::basic_string_view<C>> = true;
template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T> || is_time<T>;
// Elements whose list is one piece of memory.
template <class T>
concept Dense = Scalar<T> && !std::same_as<T, bool>;

// Converts to anything, to find the number of a struct's members. Never run; it has a body because
// some compilers define the constructors that would call it.
struct Anything {
  template <class T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    std::abort();
  }
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, std::size_t N>
constexpr std::size_t members_up_to() {
  if constexpr (N == 0 || takes<T>(std::make_index_sequence<N>()))
    return N;
  else
    return members_up_to<T, N - 1>();
}
inline constexpr std::size_t plain_members = 40;

// STEPSCOPE_NAMES_3(a) is "a1, a2, a3".
#define STEPSCOPE_NAMES_1(x) x##1
#define STEPSCOPE_NAMES_2(x) STEPSCOPE_NAMES_1(x), x##2
#define STEPSCOPE_NAMES_3(x) STEPSCOPE_NAMES_2(x), x##3
#define STEPSCOPE_NAMES_4(x) STEPSCOPE_NAMES_3(x), x##4
#define STEPSCOPE_NAMES_5(x) STEPSCOPE_NAMES_4(x), x##5
#define STEPSCOPE_NAMES_6(x) STEPSCOPE_NAMES_5(x), x##6
#define STEPSCOPE_NAMES_7(x) STEPSCOPE_NAMES_6(x), x##7
#define STEPSCOPE_NAMES_8(x) STEPSCOPE_NAMES_7(x), x##8
// Gives the members of a struct of `size` members to each(), under the names that follow.
#define STEPSCOPE_IF_MEMBERS(size, ...) \
  if constexpr (count == (size)) {      \
    auto& [__VA_ARGS__] = value;        \
    return each(__VA_ARGS__);           \
  }
// For one to eight members more than `least`, whose names follow.
#define STEPSCOPE_IF_EIGHT(x, least, ...)                             \
  STEPSCOPE_IF_MEMBERS((least) + 1, __VA_ARGS__ STEPSCOPE_NAMES_1(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 2, __VA_ARGS__ STEPSCOPE_NAMES_2(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 3, __VA_ARGS__ STEPSCOPE_NAMES_3(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 4, __VA_ARGS__ STEPSCOPE_NAMES_4(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 5, __VA_ARGS__ STEPSCOPE_NAMES_5(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 6, __VA_ARGS__ STEPSCOPE_NAMES_6(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 7, __VA_ARGS__ STEPSCOPE_NAMES_7(x)) \
  STEPSCOPE_IF_MEMBERS((least) + 8, __VA_ARGS__ STEPSCOPE_NAMES_8(x))

// each(members...) of a struct, which is const or not.
template <class T, class Each>
decltype(auto) with_members(T& value, Each&& each) {
  constexpr std::size_t count = members_up_to<std::remove_const_t<T>, plain_members + 1>();
  static_assert(count >= 1 && count <= plain_members, "no struct, or one with more members");
  STEPSCOPE_IF_EIGHT(a, 0)
  STEPSCOPE_IF_EIGHT(b, 8, STEPSCOPE_NAMES_8(a), )
  STEPSCOPE_IF_EIGHT(c, 16, STEPSCOPE_NAMES_8(a), STEPSCOPE_NAMES_8(b), )
  STEPSCOPE_IF_EIGHT(d, 24, STEPSCOPE_NAMES_8(a), STEPSCOPE_NAMES_8(b), STEPSCOPE_NAMES_8(c), )
  STEPSCOPE_IF_EIGHT(e, 32, STEPSCOPE_NAMES_8(a), STEPSCOPE_NAMES_8(b), STEPSCOPE_NAMES_8(c),
                     STEPSCOPE_NAMES_8(d), )
}

}  // namespace plain

template <class T>
struct Plain {
  static void append(std::string& out, const T& value) {
    static_assert(!plain::is_view<T>, "another process has no such memory");
    if constexpr (plain::Scalar<T>)
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    else if constexpr (!plain::is_view<T>)
      plain::with_members(value, [&](const auto&... member) { (append_plain(out, member), ...); });
  }
  static bool take(std::string_view& in, T& value) {
    if constexpr (plain::Scalar<T>) {
      if (in.size() < sizeof value) return false;
      std::memcpy(&value, in.data(), sizeof value);
      in.remove_prefix(sizeof value);
      return true;
    } else {
      return plain::with_members(value,
                                 [&](auto&... member) { return (take_plain(in, member) && ...); });
    }
  }
};

template <class T, std::size_t N>
struct Plain<std::array<T, N>> {
  static void append(std::string& out, const std::array<T, N>& items) {
    for (const T& item : items) append_plain(out, item);
  }
  static bool take(std::string_view& in, std::array<T, N>& items) {
    for (T& item : items)
      if (!take_plain(in, item)) return false;
    return true;
  }
};

template <>
struct Plain<std::string> {
  static void append(std::string& out, const std::string& text) {
    append_plain(out, std::uint64_t{text.size()});
    out += text;
  }
  static bool take(std::string_view& in, std::string& text) {
    std::uint64_t size = 0;
    if (!take_plain(in, size) || in.size() < size) return false;
    text = in.substr(0, size);
    in.remove_prefix(size);
    return true;
  }
};

template <class T>
struct Plain<std::vector<T>> {
  static void append(std::string& out, const std::vector<T>& items) {
    append_plain(out, std::uint64_t{items.size()});
    if constexpr (plain::Dense<T>) {
      out.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
    } else {
      for (const T& item : items) append_plain(out, item);
    }
  }
  static bool take(std::string_view& in, std::vector<T>& items) {
    std::uint64_t size = 0;
    // An item has a byte at least.
    if (!take_plain(in, size) || in.size() / (plain::Dense<T> ? sizeof(T) : 1) < size) return false;
    items.clear();
    if constexpr (std::same_as<T, bool>) {
      for (bool item = false; items.size() < size; items.push_back(item))
        if (!take_plain(in, item)) return false;
    } else if constexpr (plain::Dense<T>) {
      items.resize(size);
      if (size > 0) std::memcpy(items.data(), in.data(), size * sizeof(T));
      in.remove_prefix(size * sizeof(T));
    } else {
      items.resize(size);
      for (T& item : items)
        if (!take_plain(in, item)) return false;
    }
    return true;
  }
};

template <class T>
struct Plain<std::optional<T>> {
  static void append(std::string& out, const std::optional<T>& value) {
    append_plain(out, value.has_value());
    if (value) append_plain(out, *value);
  }
  static bool take(std::string_view& in, std::optional<T>& value) {
    bool there = false;
    if (!take_plain(in, there)) return false;
    value.reset();
    return !there || take_plain(in, value.emplace());
  }
};

template <class A, class B>
struct Plain<std::pair<A, B>> {
  static void append(std::string& out, const std::pair<A, B>& value) {
    append_plain(out, value.first);
    append_plain(out, value.second);
  }
  static bool take(std::string_view& in, std::pair<A, B>& value) {
    return take_plain(in, value.first) && take_plain(in, value.second);
  }
};

template <class K, class V, class Less>
struct Plain<std::map<K, V, Less>> {
  static void append(std::string& out, const std::map<K, V, Less>& items) {
    append_plain(out, std::uint64_t{items.size()});
    for (const auto& [key, value] : items) {
      append_plain(out, key);
      append_plain(out, value);
    }
  }
  static bool take(std::string_view& in, std::map<K, V, Less>& items) {
    std::uint64_t size = 0;
    if (!take_plain(in, size)) return false;
    items.clear();
    for (std::uint64_t i = 0; i < size; ++i) {
      K key{};
      if (!take_plain(in, key) || !take_plain(in, items[key])) return false;
    }
    return true;
  }
};

}  // namespace stepscope
