// SPDX-License-Identifier: Apache-2.0
// The class of a kernel or an operator by its name, by the rules of name_rules.h. Each thread keeps
// what the program's own rules say of the last few thousand names (name_memo.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepscope/base/collective_kind.h"  // IWYU pragma: export

namespace stepscope {

enum class NameClass : std::uint8_t {
  matmul,
  attention,
  norm,
  softmax,
  elementwise,
  reduction,
  quantize,
  routing,
  optimizer,
  embedding,
  loss,
  communication,
  copy,
  wait,
  other
};
inline constexpr std::size_t name_class_count = 15;
inline constexpr std::array<std::string_view, name_class_count> name_class_names = {
    "matmul",    "attention",     "norm",    "softmax",   "elementwise",
    "reduction", "quantize",      "routing", "optimizer", "embedding",
    "loss",      "communication", "copy",    "wait",      "other"};
static_assert(name_class_names[static_cast<std::size_t>(NameClass::other)] == "other");

struct NameRules;

// The class of a device kernel's name. Memcpy and memset rows are `copy` by their category. A copy
// *kernel* is `copy` here and still counts as compute in every budget. The form without rules uses
// the program's own.
[[nodiscard]] NameClass classify_kernel(std::string_view name, const NameRules& rules);
[[nodiscard]] NameClass classify_kernel(std::string_view name);
// The class of a host operator (aten::, autograd nodes, c10d).
[[nodiscard]] NameClass classify_operator(std::string_view name, const NameRules& rules);
[[nodiscard]] NameClass classify_operator(std::string_view name);

// The collective that a name means. The name is a kernel's ("ncclDevKernel_AllGather_RING_LL"), an
// annotation's ("nccl:_all_gather_base"), a c10d operator's or a "Collective name" argument.
// `unknown` for communication whose kind the name hides (ncclDevKernel_Generic), `none` for a name
// that is not communication.
[[nodiscard]] CollectiveKind collective_kind(std::string_view name);

}  // namespace stepscope
