// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/reproducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/output_file.h"
#include "stepscope/verbs/inputs/launch_folder.h"
#include "stepscope/write/chrome_trace.h"

namespace stepscope {
namespace {

using nlohmann::json;

// Names of PyTorch, CUDA, ROCm and NCCL, which say nothing about the user's program.
bool is_public(std::string_view name) {
  constexpr std::array<std::string_view, 16> beginnings = {
      "ProfilerStep#", "Optimizer.", "aten::",    "autograd::",         "c10d::",
      "torch::",       "nccl",       "cuda",      "cuLaunch",           "hip",
      "Memcpy",        "Memset",     "void at::", "record_param_comms", "[memory]",
      "ac2g"};
  return std::ranges::any_of(beginnings, [&](auto b) { return name.starts_with(b); });
}

std::string hashed(std::string_view name) { return fmt::format("name_{:x}", text_hash(name)); }

// Texts of arguments that describe the work: kinds, types, shapes, ranks.
bool describes_work(std::string_view key) {
  constexpr std::array<std::string_view, 6> keys = {"Collective name",     "dtype",
                                                    "Process Group Ranks", "Input type",
                                                    "Input Dims",          "Concrete Inputs"};
  return std::ranges::find(keys, key) != keys.end();
}

void hide_names(json& event) {
  const bool names_a_row = event.value("ph", "") == "M";
  if (const auto name = event.find("name"); name != event.end() && !names_a_row)
    if (const std::string text = *name; !is_public(text)) *name = hashed(text);
  const auto args = event.find("args");
  if (args == event.end()) return;
  for (auto& [key, value] : args->items())
    if (value.is_string() && !describes_work(key) && !is_public(value.get<std::string>()))
      value = hashed(value.get<std::string>());
}

// Events without a time name rows, and are kept.
constexpr double infinite = std::numeric_limits<double>::infinity();

// The file's events in [from, until) of its clock in microseconds, and all that name rows.
json reduced(const json& whole, double from, double until) {
  json file = whole;
  json& events = file["traceEvents"];
  events = json::array();
  for (const json& event : whole.at("traceEvents")) {
    const double begin = event.value("ts", infinite);
    const bool inside = begin < until && (begin >= from || begin + event.value("dur", 0.0) > from);
    if (begin == infinite || inside) hide_names(events.emplace_back(event));
  }
  for (json& rank : file["stepscopeRanks"]) rank = {{"distributedInfo", rank["distributedInfo"]}};
  return file;
}

}  // namespace

Result<Done> write_reproducer(const Trace& trace, const StepOptions& steps,
                              const std::string& check, const std::string& path,
                              const FailedCheck& failed_check) {
  const auto folder = LaunchFolder::make({});
  if (!folder) return folder.error();
  const std::string trial = folder->path() + "/trial.json";
  const RankToWrite rank{.rank = trace.metadata.rank.value_or(0), .trace = &trace};
  if (const auto written = write_chrome_trace(std::span(&rank, 1), trial); !written)
    return written.error();
  const auto text = read_text(trial);
  if (!text) return text.error();
  const json whole = json::parse(*text);
  const auto base = whole.at("baseTimeNanoseconds").get<std::int64_t>();
  const auto microseconds = [&](Ns t) { return static_cast<double>(t.count() - base) / 1e3; };
  std::vector<std::pair<double, double>> windows;
  for (const Step& step : find_steps(trace, index_rank(trace), steps))
    windows.emplace_back(microseconds(std::min(step.start, step.host_start)),
                         microseconds(std::max(step.end, step.host_end)));
  windows.emplace_back(-infinite, infinite);
  for (const auto& [from, until] : windows) {
    const std::string part = reduced(whole, from, until).dump();
    if (const auto written = write_file(trial, part); !written) return written.error();
    if (failed_check(trial) == check) return write_file(path, part);
  }
  return Error{
      .what = "no reproducer is written: the check does not fail on the rows that would be in it",
      .file = path,
      .hint = "report it with the trace if you can"};
}

}  // namespace stepscope
