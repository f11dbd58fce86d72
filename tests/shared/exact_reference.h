// SPDX-License-Identifier: Apache-2.0
// The GPU window of each rank against data/reference/exact: an exact recomputation in
// microseconds, made with HolisticTraceAnalysis' kernel classes. And both against that tool's own
// tables, data/reference/hta.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/shared/shared_data.h"

namespace stepscope::shared {

inline constexpr std::array<std::string_view, 7> window_quantities = {
    "kernel_time", "busy", "idle", "compute", "comm", "mem", "overlap"};
using WindowTimes = std::array<double, window_quantities.size()>;  // microseconds

// In percent, as that tool prints them: idle and compute of the window, overlap of communication.
struct WindowShares {
  std::optional<double> idle;
  std::optional<double> compute;
  std::optional<double> overlap;  // none where there is no communication
};

struct ExactRow {
  std::string set;   // of the reference
  std::string file;  // the trace, as data/runs.tsv names it
  int rank = 0;
  std::optional<WindowTimes> reference;
  std::optional<WindowTimes> ours;
  WindowShares reference_shares;
  WindowShares without_last_step;  // of the reference, where there are several steps
  std::size_t steps = 0;           // ProfilerStep annotations
  bool fractions = false;          // instants are finer than a microsecond
  WindowShares our_shares;
  std::optional<WindowShares> hta;
  std::string reason;  // why the two differ, where that is known
  // Beyond a microsecond, or one has a window and the other not.
  [[nodiscard]] bool differs() const;
  [[nodiscard]] double largest_difference() const;
};

// Every trace of the reference that data/runs.tsv lists.
[[nodiscard]] std::vector<ExactRow> exact_rows(const std::filesystem::path& folder);

// Markdown.
[[nodiscard]] std::string exact_table(const std::vector<ExactRow>& rows);
[[nodiscard]] std::string hta_table(const std::vector<ExactRow>& rows);

}  // namespace stepscope::shared
