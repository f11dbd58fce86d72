// SPDX-License-Identifier: Apache-2.0
// What a process does once: a library makes its handle within the first product, the code of a
// kernel is loaded at its first launch, a call of the runtime sets something up when it is called
// first. Later steps do not repeat it, so it is no fault of a step.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

enum class StartUpKind : std::uint8_t { library, code, first_launch, first_call };
inline constexpr std::array<std::string_view, 4> start_up_kind_names = {
    "library", "code", "first_launch", "first_call"};
static_assert(start_up_kind_names[static_cast<std::size_t>(StartUpKind::first_call)] ==
              "first_call");

// Shorter work is not worth telling from a step's own.
inline constexpr Ns least_start_up = std::chrono::milliseconds{1};

struct StartUpSpan {
  Ns start{};
  Ns end{};
  StartUpKind kind = StartUpKind::first_call;
  std::string what;  // the operator around a library's calls, else the kernel or the call
};

struct StartUp {
  std::vector<StartUpSpan> spans;  // by start; those of several threads may overlap
  Ns total{};                      // their union
  Ns idle{};                       // of it, what the device waits for within the steps (idle.h)

  // Whether an instant lies in one of them.
  [[nodiscard]] bool holds(Ns t) const;
};

// Spans of at least least_start_up:
//   library       calls of one thread without a launch between them that query the device's
//                 properties three times or more and allocate or free: cublasCreate, cudnnCreate.
//                 Of each operator the first.
//   code          calls that load or link modules.
//   first_launch  the first launch of a kernel's name, if the device has no work for half of the
//                 call. A launch into a full queue takes long, too, but then the device works.
//   first_call    other calls, the first of their name on their thread, that neither wait nor copy
//                 nor allocate.
// O(rows). `idle` is zero.
[[nodiscard]] StartUp find_start_up(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
