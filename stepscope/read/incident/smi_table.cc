// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/smi_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/incident/lines_around.h"

namespace stepscope {
namespace {

constexpr int most_lines = 400;
constexpr std::int64_t least_of_program = 1024;  // MiB: more than a context
constexpr std::int64_t busy_from = 90;           // percent

struct SmiGpu {
  std::int64_t number = -1;
  std::int64_t used = -1;  // MiB
  std::int64_t busy = -1;  // percent
};

std::int64_t number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return -1;
  std::size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return number_of<std::int64_t>(text.substr(begin, end - begin)).value_or(-1);
}

std::vector<SmiGpu> rows_of_table(std::string_view text) {
  std::vector<SmiGpu> rows;
  for (int i = 0; i < most_lines && !text.empty(); ++i) {
    const std::string_view line = trimmed(one_line(text));
    if (!line.starts_with('|') || contains(line, "Processes:")) {
      if (contains(line, "Processes:")) break;
      continue;
    }
    // "|   0  NVIDIA A100  On | 00000000:07:00.0 Off | 0 |"
    const std::string_view cell = trimmed(line.substr(1));
    const auto number = leading_number<std::int64_t>(cell);
    if (number && contains(line, ":00.") && !contains(line, "MiB")) {
      rows.push_back({.number = *number});
    } else if (!rows.empty() && rows.back().used < 0 && contains(line, "MiB /")) {
      rows.back().used = number_before(line, "MiB /");
      rows.back().busy = number_before(line.substr(line.find("MiB /")), "%");
    }
  }
  return rows;
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

}  // namespace

std::optional<IncidentEvent> idle_in_table(std::string_view line, std::string_view behind_it) {
  if (!contains(line, "| NVIDIA-SMI ")) return std::nullopt;
  std::vector<std::int64_t> idle;
  std::vector<std::int64_t> busy;
  for (const SmiGpu& row : rows_of_table(behind_it)) {
    if (row.busy < 0 || row.used < least_of_program) continue;  // no program of the job
    if (row.busy >= busy_from)
      busy.push_back(row.number);
    else if (row.busy == 0)
      idle.push_back(row.number);
    else
      return std::nullopt;  // the job runs
  }
  if (idle.empty() || busy.size() <= idle.size()) return std::nullopt;
  return IncidentEvent{
      .kind = IncidentKind::idle_device, .text = listed(idle), .where = listed(busy)};
}

}  // namespace stepscope
