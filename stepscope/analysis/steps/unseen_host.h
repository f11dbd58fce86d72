// SPDX-License-Identifier: Apache-2.0
// Stretches of the steps of which no row of the host tells: no thread of the process shows an
// operator, a call, a Python function, a data loader, or an annotation without rows inside it.
// Python ran there (logging, its garbage collector, a checkpoint), or it slept.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// Between two operators Python takes microseconds; what is shorter is not listed.
inline constexpr Ns least_unseen = std::chrono::milliseconds{1};

// Stretches of at least least_unseen from the start of the first step's annotation to the end of
// the last, ascending and disjoint. HostSpan::row is the last row to end before, or no_slice. Empty
// if no thread shows a row there. O(host rows log host rows).
[[nodiscard]] std::vector<HostSpan> unseen_host(const RankView& view);

struct UnseenWork {
  Ns of_step{};  // mean over the steps of the views with such work
  Ns least{};    // likewise of the view with least; zero if a view has none
  // "between a and b", if half or more lies between such rows in the view with most; else empty.
  std::string between;
  std::vector<int> ranks;  // of these views, ascending; empty: all
};

// What unseen_host lists, of views where at least three in four steps have some. Absent if these
// are fewer than half of the views: then they differ from their peers.
[[nodiscard]] std::optional<UnseenWork> unseen_work(std::span<const RankView> views);

}  // namespace stepscope
