// SPDX-License-Identifier: Apache-2.0
// Splits names of kernels and operators into parts, and finds the names that are communication. All
// text is lower-case.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace stepscope::name_rules {

using Words = std::span<const std::string_view>;
template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> words(Text... text) {
  return {std::string_view(text)...};
}

inline bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}
inline bool has_any(std::string_view text, Words list) {
  return std::ranges::any_of(list, [&](std::string_view w) { return has(text, w); });
}
inline bool starts_with_any(std::string_view text, Words list) {
  return std::ranges::any_of(list, [&](std::string_view w) { return text.starts_with(w); });
}
inline bool contains(Words list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

[[nodiscard]] std::string lower(std::string_view text);
// "void at::(anonymous namespace)::f<int>(int)" → "at::f". Mangled names stay whole.
[[nodiscard]] std::string head_of(std::string_view lower_name);
// "autograd::engine::evaluate_function: AddmmBackward0", "aten::addmm_", "aten::addmm.out" →
// "addmm".
[[nodiscard]] std::string_view operator_stem(std::string_view lower_name);
// "nccl:all_reduce", "gloo:barrier": a process group's annotation.
[[nodiscard]] bool is_backend_annotation(std::string_view lower_name);
[[nodiscard]] bool is_communication_kernel(std::string_view lower_name, std::string_view head);
[[nodiscard]] bool is_communication_operator(std::string_view lower_name, std::string_view stem);

// Names with communication words that move data inside one device.
inline constexpr auto comm_neighbours =
    words("copy_in", "copy_out", "split_with_sizes_copy", "chunk_cat", "triton_");

}  // namespace stepscope::name_rules
