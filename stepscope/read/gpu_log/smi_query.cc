// SPDX-License-Identifier: Apache-2.0
// nvidia-smi --query-gpu=… --format=csv
#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"
#include "stepscope/read/gpu_log/monitor_time.h"

namespace stepscope {
namespace {

struct SmiColumn {
  GpuField field = GpuField::none;
  ClockReason reason{};
};

constexpr std::array<GpuFieldName, 20> smi_names = {{
    {"timestamp", GpuField::time},
    {"index", GpuField::index},
    {"uuid", GpuField::uuid},
    {"gpu_uuid", GpuField::uuid},
    {"name", GpuField::name},
    {"gpu_name", GpuField::name},
    {"clocks.sm", GpuField::sm_clock},
    {"clocks.current.sm", GpuField::sm_clock},
    {"clocks.max.sm", GpuField::max_sm_clock},
    {"clocks.mem", GpuField::memory_clock},
    {"clocks.current.memory", GpuField::memory_clock},
    {"power.draw", GpuField::power},
    {"power.draw.average", GpuField::power},
    {"power.draw.instant", GpuField::power},
    {"power.limit", GpuField::power_limit},
    {"enforced.power.limit", GpuField::power_limit},
    {"temperature.gpu", GpuField::temperature},
    {"utilization.gpu", GpuField::utilization},
    {"memory.used", GpuField::memory_used},
    {"clocks_event_reasons.active", GpuField::reasons},
}};

struct SmiReason {
  std::string_view name;
  ClockReason reason;
};
constexpr std::array<SmiReason, 8> smi_reasons = {{
    {"gpu_idle", ClockReason::idle},
    {"applications_clocks_setting", ClockReason::applications_clocks},
    {"sw_power_cap", ClockReason::sw_power_cap},
    {"hw_slowdown", ClockReason::hw_slowdown},
    {"sync_boost", ClockReason::sync_boost},
    {"sw_thermal_slowdown", ClockReason::sw_thermal_slowdown},
    {"hw_thermal_slowdown", ClockReason::hw_thermal_slowdown},
    {"hw_power_brake_slowdown", ClockReason::hw_power_brake},
}};

// "clocks.current.sm [MHz]" without its unit.
std::string_view smi_name(std::string_view cell) {
  cell = trimmed(cell.substr(0, cell.find('[')));
  if (cell.size() >= 2 && cell.front() == '"') cell.remove_prefix(1);
  if (!cell.empty() && cell.back() == '"') cell.remove_suffix(1);
  return cell;
}

SmiColumn smi_column(std::string_view cell) {
  const std::string_view name = smi_name(cell);
  for (const std::string_view group : {"clocks_event_reasons.", "clocks_throttle_reasons."}) {
    if (!name.starts_with(group)) continue;
    const std::string_view rest = name.substr(group.size());
    if (rest == "active") return {.field = GpuField::reasons};
    const auto at = std::ranges::find(smi_reasons, rest, &SmiReason::name);
    if (at != smi_reasons.end()) return {.field = GpuField::reason, .reason = at->reason};
  }
  return {.field = field_named(name, smi_names)};
}

// Calls take(cell) for each cell of a line. nvidia-smi writes no quotes; a GPU's name has no comma.
template <class Take>
void for_smi_cells(std::string_view line, Take&& take) {
  for (std::size_t at = 0;;) {
    const std::size_t comma = line.find(',', at);
    take(trimmed(line.substr(at, comma - at)));
    if (comma == std::string_view::npos) return;
    at = comma + 1;
  }
}

std::string_view first_smi_line(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  while (!head.empty() && is_space(head.front())) head.remove_prefix(1);
  return trimmed(head.substr(0, head.find_first_of("\r\n")));
}

bool is_smi_header(std::string_view line) {
  std::size_t known = 0;
  std::size_t own =
      0;  // "clocks.sm": other tables have columns called "timestamp" and "index", too
  for_smi_cells(line, [&](std::string_view cell) {
    if (smi_column(cell).field == GpuField::none) return;
    ++known;
    if (smi_name(cell).find('.') != std::string_view::npos) ++own;
  });
  return own > 0 && known > 1;
}

bool lacks_smi_header(std::string_view line) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos || line.size() < 5 || line[4] != '/') return false;
  const auto time = monitor_time(line.substr(0, comma));
  return time && !time->zoned;
}

class SmiQuery final : public GpuLogDialect {
 public:
  void take(std::string_view line, std::uint64_t byte, GpuRows& rows) override {
    if (is_smi_header(line)) return read_header(line);
    if (columns_.empty()) return rows.note("before_header", byte);
    GpuRow row;
    std::size_t cells = 0;
    bool good = true;
    bool local = false;
    for_smi_cells(line, [&](std::string_view cell) {
      if (cells < columns_.size())
        good = set_field(row, columns_[cells].field, columns_[cells].reason, cell, local) && good;
      ++cells;
    });
    if (cells != columns_.size()) return rows.note("wrong_cell_count", byte);
    if (!good) return rows.note("no_time", byte);
    rows.log().local_time = rows.log().local_time || local;
    rows.add(row, byte);
  }

  Result<Done> finish(GpuRows& rows) override {
    if (columns_.empty())
      return Error{.what = "readings of GPUs without the line that names their columns",
                   .hint =
                       "record without noheader, or make the words behind --query-gpu= the "
                       "first line"};
    if (!has(GpuField::time))
      return Error{.what = "readings of GPUs without their times",
                   .hint = "record with --query-gpu=timestamp,index,…"};
    if (!has(GpuField::index) && !has(GpuField::uuid))
      return Error{.what = "readings of GPUs that do not tell which GPU",
                   .hint = "record with --query-gpu=timestamp,index,uuid,…"};
    (void)rows;
    return Done{};
  }

 private:
  void read_header(std::string_view line) {
    columns_.clear();
    for_smi_cells(line, [&](std::string_view cell) {
      SmiColumn column = smi_column(cell);
      // power.draw and power.draw.instant: the first counts.
      if (column.field != GpuField::reason && has(column.field)) column = {};
      columns_.push_back(column);
    });
  }
  [[nodiscard]] bool has(GpuField field) const {
    return std::ranges::find(columns_, field, &SmiColumn::field) != columns_.end();
  }

  std::vector<SmiColumn> columns_;
};

}  // namespace

bool is_smi_query(std::string_view head) {
  const std::string_view line = first_smi_line(head);
  return is_smi_header(line) || lacks_smi_header(line);
}

std::unique_ptr<GpuLogDialect> make_smi_query() { return std::make_unique<SmiQuery>(); }

}  // namespace stepscope
