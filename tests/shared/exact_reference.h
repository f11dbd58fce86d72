// SPDX-License-Identifier: Apache-2.0
// Compares the GPU window of each rank with data/reference/exact, an exact recomputation in
// microseconds with HolisticTraceAnalysis' kernel classes, and both with that tool's own tables,
// data/reference/hta.
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

// In percent, as HolisticTraceAnalysis prints them: idle and compute of the window, overlap of
// communication.
struct WindowShares {
  std::optional<double> idle;
  std::optional<double> compute;
  std::optional<double> overlap;  // absent without communication
};

struct ExactRow {
  std::string set;   // set of the reference
  std::string file;  // the trace, named as in data/runs.tsv
  int rank = 0;
  std::optional<WindowTimes> reference;
  std::optional<WindowTimes> ours;
  WindowShares reference_shares;
  WindowShares without_last_step;  // of the reference, if there are several steps
  std::size_t steps = 0;           // ProfilerStep annotations
  bool fractions = false;          // instants are finer than a microsecond
  WindowShares our_shares;
  std::optional<WindowShares> hta;
  std::string reason;  // reason for a difference, if known
  // They differ by more than a microsecond, or only one has a window.
  [[nodiscard]] bool differs() const;
  [[nodiscard]] double largest_difference() const;
};

// Every trace of the reference that data/runs.tsv lists.
[[nodiscard]] std::vector<ExactRow> exact_rows(const std::filesystem::path& folder);

// Markdown.
[[nodiscard]] std::string exact_table(const std::vector<ExactRow>& rows);
[[nodiscard]] std::string hta_table(const std::vector<ExactRow>& rows);

}  // namespace stepscope::shared
