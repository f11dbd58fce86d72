// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/memory/memory_summary.h"

#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/memory_size.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

struct SummaryRow {
  std::string_view metric;
  std::optional<SummarySizes> MemorySummary::* sizes;
};
constexpr std::array<SummaryRow, 3> summary_rows = {
    {{"| Allocated memory ", &MemorySummary::allocated},
     {"| GPU reserved memory ", &MemorySummary::reserved},
     {"| Non-releasable memory ", &MemorySummary::stranded}}};

// The first two cells behind the name of the metric.
std::optional<SummarySizes> cells_of(std::string_view row, std::string_view metric) {
  const auto now = behind(row.substr(row.find(metric) + metric.size()), "|");
  const auto peak = now ? behind(*now, "|") : std::nullopt;
  if (!peak) return std::nullopt;
  const auto first = size_at_front(*now, SizeUnits::binary);
  const auto second = size_at_front(*peak, SizeUnits::binary);
  if (!first || !second) return std::nullopt;
  return SummarySizes{.now = *first, .peak = *second};
}

std::optional<std::int64_t> count_behind(std::string_view text, std::string_view key) {
  const auto count = number_behind(text, key);
  return count && *count >= 0 ? count : std::nullopt;
}

}  // namespace

void MemorySummaryLines::line(std::string_view text) {
  if (const auto device = number_behind(text, "memory summary, device ID ");
      device && *device >= 0 && *device < 1'000'000) {
    mixed_ = open_.has_value();
    open_ = MemorySummary{.device = static_cast<int>(*device), .line = number_};
    return;
  }
  if (!open_ && summaries.empty()) return;
  if (open_ && contains(text, " OOMs: ")) {
    open_->ooms = count_behind(text, " OOMs: ");
    open_->retries = count_behind(text, " retries: ");
  }
  for (const SummaryRow& row : summary_rows) {
    if (!contains(text, row.metric)) continue;
    const auto sizes = cells_of(text, row.metric);
    if (!sizes) return;
    // Rows of tables that several processes write at once belong to no title.
    if (open_ && row.sizes == &MemorySummary::allocated) {
      open_->allocated = sizes;
      if (!mixed_) summaries.push_back(*open_);
      open_.reset();
    } else if (!open_ && !mixed_ && !(summaries.back().*row.sizes)) {
      summaries.back().*row.sizes = sizes;
    }
    return;
  }
}

void MemorySummaryLines::take(std::string_view block) {
  StepLines lines(block);
  for (std::string_view text; lines.next(text);) {
    ++number_;
    line(text);
  }
}

}  // namespace stepscope
