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

// each(members...) of a struct, which is const or not.
template <class T, class Each>
decltype(auto) with_members(T& value, Each&& each) {
  constexpr std::size_t count = members_up_to<std::remove_const_t<T>, plain_members + 1>();
  static_assert(count >= 1 && count <= plain_members, "no struct, or one with more members");
  if constexpr (count == 1) {
    auto& [a1] = value;
    return each(a1);
  } else if constexpr (count == 2) {
    auto& [a1, a2] = value;
    return each(a1, a2);
  } else if constexpr (count == 3) {
    auto& [a1, a2, a3] = value;
    return each(a1, a2, a3);
  } else if constexpr (count == 4) {
    auto& [a1, a2, a3, a4] = value;
    return each(a1, a2, a3, a4);
  } else if constexpr (count == 5) {
    auto& [a1, a2, a3, a4, a5] = value;
    return each(a1, a2, a3, a4, a5);
  } else if constexpr (count == 6) {
    auto& [a1, a2, a3, a4, a5, a6] = value;
    return each(a1, a2, a3, a4, a5, a6);
  } else if constexpr (count == 7) {
    auto& [a1, a2, a3, a4, a5, a6, a7] = value;
    return each(a1, a2, a3, a4, a5, a6, a7);
  } else if constexpr (count == 8) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8);
  } else if constexpr (count == 9) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9);
  } else if constexpr (count == 10) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10);
  } else if constexpr (count == 11) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
  } else if constexpr (count == 12) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12);
  } else if constexpr (count == 13) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13);
  } else if constexpr (count == 14) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14);
  } else if constexpr (count == 15) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15);
  } else if constexpr (count == 16) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16);
  } else if constexpr (count == 17) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17);
  } else if constexpr (count == 18) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18);
  } else if constexpr (count == 19) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19] =
        value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19);
  } else if constexpr (count == 20) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20);
  } else if constexpr (count == 21) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21);
  } else if constexpr (count == 22) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22);
  } else if constexpr (count == 23) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23);
  } else if constexpr (count == 24) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24);
  } else if constexpr (count == 25) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25);
  } else if constexpr (count == 26) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26);
  } else if constexpr (count == 27) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27);
  } else if constexpr (count == 28) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28);
  } else if constexpr (count == 29) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29);
  } else if constexpr (count == 30) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30);
  } else if constexpr (count == 31) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31);
  } else if constexpr (count == 32) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32);
  } else if constexpr (count == 33) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33);
  } else if constexpr (count == 34) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34);
  } else if constexpr (count == 35) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34,
                a35);
  } else if constexpr (count == 36) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36] =
        value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
                a36);
  } else if constexpr (count == 37) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36,
           a37] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
                a36, a37);
  } else if constexpr (count == 38) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37,
           a38] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
                a36, a37, a38);
  } else if constexpr (count == 39) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37,
           a38, a39] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
                a36, a37, a38, a39);
  } else if constexpr (count == 40) {
    auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
           a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37,
           a38, a39, a40] = value;
    return each(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18,
                a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
                a36, a37, a38, a39, a40);
  }
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
    if (!take_plain(in, size) || in.size() < size * (plain::Dense<T> ? sizeof(T) : 0)) return false;
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
