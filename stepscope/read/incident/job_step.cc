// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/job_step.h"

#include <algorithm>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

constexpr std::size_t most_tasks = 5000;  // as events of a job: a list of more stays one event

// "2,4-6" of "srun: error: n3: tasks 2,4-6: Exited …".
std::optional<std::string_view> list_of_tasks(std::string_view line) {
  const auto rest = behind(line, "srun: error: ");
  const auto tasks = rest ? behind(*rest, ": task") : std::nullopt;
  if (!tasks) return std::nullopt;
  std::string_view list = *tasks;
  if (list.starts_with('s')) list.remove_prefix(1);
  const std::size_t end = list.find(": ");
  if (!list.starts_with(' ') || end == std::string_view::npos) return std::nullopt;
  return list.substr(1, end - 1);
}

}  // namespace

std::optional<ScriptStep> begin_of_step(std::string_view line) {
  const std::size_t text = line.find_first_not_of('+');
  if (text == 0 || text == std::string_view::npos) return std::nullopt;
  if (!line.substr(text).starts_with(" srun ")) return std::nullopt;
  // The program of the step may have such flags too.
  std::string_view flags = line.substr(text + 6);
  ScriptStep step;
  while (flags.starts_with('-')) {
    const std::string_view flag = flags.substr(0, std::min(flags.find(' '), flags.size()));
    if (flag == "-l" || flag == "--label") step.labelled = true;
    flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
  }
  return step;
}

bool is_end_of_tasks(std::string_view line) { return list_of_tasks(line).has_value(); }

std::vector<int> ended_tasks(std::string_view line) {
  std::vector<int> out;
  std::string_view list = list_of_tasks(line).value_or(std::string_view());
  while (!list.empty()) {
    const auto first = take_number<int>(list);
    if (!first || *first < 0) return {};
    int last = *first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      const auto number = take_number<int>(list);
      if (!number || *number < *first) return {};
      last = *number;
    }
    if (static_cast<std::size_t>(last - *first) + out.size() >= most_tasks) return {};
    for (int task = *first; task <= last; ++task) out.push_back(task);
    if (!list.empty() && !list.starts_with(',')) return {};
    list.remove_prefix(std::min<std::size_t>(1, list.size()));
  }
  return out;
}

}  // namespace stepscope
