// SPDX-License-Identifier: Apache-2.0
// Something worth doing about the recorded steps: what was seen, the numbers that say so and where,
// the cause, what to do, and how much of a step that gives back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/say/message.h"

namespace stepscope {

// How far a gain can be trusted.
enum class Confidence : std::uint8_t {
  low,     // an upper bound, or the graph leaves more than 5 % of the step unexplained
  medium,  // an upper bound from the critical path; of a verdict: no held-out step checks the
           // replay
  high     // the recorded steps replayed without it
};
inline constexpr auto confidence_names = enum_names<Confidence::high>;

using FindingPlace = FaultPlace;  // on the timeline

enum class FindingSort : std::uint8_t {
  fault,        // wrong compared with peers, sibling groups, other steps or the machine
  opportunity,  // what a known change would buy
  bound         // what free communication or a free host would buy: no change reaches it
};
inline constexpr auto finding_sort_names = enum_names<FindingSort::bound>;

struct Finding {
  std::string_view id{};  // "exposed_communication"
  FindingSort sort = FindingSort::opportunity;
  std::string key{};    // of one list: "exposed_communication:all_reduce"
  std::string under{};  // key of the finding that recovers the same time, if any
  Message what{};       // one sentence
  Messages evidence{};  // numbers
  std::optional<FindingPlace> place{};
  std::vector<FindingPlace> places{};  // of a fault: all that it names, by time on each rank
  Message advice{};
  // A step; absent where it costs no time of its own (memory, too few steps).
  std::optional<Ns> gain{};
  std::string change{};  // the what-if that says so; empty: it is bounded
  Message bounded_by{};  // how
  Confidence confidence = Confidence::medium;
  // Findings that give the cause of this one. It is under a cause that gives back half of its gain.
  std::vector<std::string_view> reasons{};
};

// It gives nothing back by itself (too few steps, little memory left).
[[nodiscard]] inline bool costs_no_time(const Finding& f) {
  return f.sort == FindingSort::opportunity && !f.gain;
}

}  // namespace stepscope
