// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/compare/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stepscope/face/tree/version.h"
#include "stepscope/verbs/inputs/launch_folder.h"

namespace stepscope {
namespace {

Result<Done> check_usage(const SweepRequest& r) {
  const std::string usage = "write --vary bucket=1MB,5MB and {bucket} in the command";
  const std::set<std::string> distinct(r.values.begin(), r.values.end());
  if (r.values.empty() || distinct.contains("") || r.name.empty() || r.name == "out")
    return Error{.what = "--vary " + r.name + " names no values", .hint = usage};
  if (distinct.size() != r.values.size())
    return Error{.what = "--vary " + r.name + " names a value twice", .hint = usage};
  if (r.command.empty())
    return Error{.what = "the command is missing", .hint = "write it behind --"};
  const std::string key = "{" + r.name + "}";
  if (std::ranges::none_of(r.command,
                           [&](const auto& word) { return word.find(key) != std::string::npos; }))
    return Error{.what = key + " is not in the command", .hint = usage};
  return Done{};
}

std::vector<std::string> words_with(const SweepRequest& r, std::size_t value) {
  std::vector<std::string> words = r.command;
  for (std::string& word : words)
    word = replaced(std::move(word), "{" + r.name + "}", r.values[value]);
  return words;
}

// Forth and back, so that a drift of the machine favours no value.
Result<Done> launch_all(const SweepRequest& r, const Progress& progress,
                        std::vector<SweepValue>& values, SweepResult& result) {
  auto folder = LaunchFolder::make(r.limits.keep);
  if (!folder) return folder.error();
  const std::size_t all = r.limits.launches * r.values.size();
  for (std::size_t i = 0; i < all; ++i) {
    const std::size_t round = i / r.values.size();
    const std::size_t place = i % r.values.size();
    const std::size_t v = round % 2 == 0 ? place : r.values.size() - 1 - place;
    const LaunchOrder launch{.words = words_with(r, v),
                             .name = fmt::format("{}={} {}", r.name, r.values[v], round + 1),
                             .folder = fmt::format("{}/{}-{}", folder->path(), v + 1, round + 1),
                             .seconds = r.limits.seconds};
    if (progress.launching) progress.launching(i + 1, all, launch.name);
    auto steps = run_launch(launch, r.reading, progress, result.warnings);
    if (!steps) return steps.error();
    values[v].launches.push_back(std::move(*steps));
    result.order.push_back(r.values[v]);
  }
  return Done{};
}

}  // namespace

Result<SweepResult> sweep(const SweepRequest& r, const Progress& progress) {
  if (const auto checked = check_usage(r); !checked) return checked.error();
  std::vector<SweepValue> values;
  for (const std::string& value : r.values) values.push_back({value, {}});
  SweepResult result{
      .version = std::string(version()), .name = r.name, .sweep = {}, .options = r.options};
  if (const auto launched = launch_all(r, progress, values, result); !launched)
    return launched.error();
  if (progress.stopped()) return interrupted();
  result.sweep = compare_values(values, r.options);
  return result;
}

}  // namespace stepscope
