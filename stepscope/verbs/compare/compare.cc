// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/warnings.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/verbs/inputs/launch_folder.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {
namespace {

struct Arms {
  std::vector<LaunchSteps> a{};
  std::vector<LaunchSteps> b{};
  std::vector<bool> order{};
  Messages remarks{};
  std::vector<Error> failures{};
};

// A B B A A B B A …
std::vector<bool> interleaved(std::size_t launches) {
  std::vector<bool> order;
  for (std::size_t i = 0; i < launches; ++i) {
    order.push_back(i % 2 == 1);
    order.push_back(i % 2 == 0);
  }
  return order;
}

Result<Done> check_order(const CompareRequest& r) {
  const auto in_b = static_cast<std::size_t>(std::ranges::count(r.order, true));
  const std::size_t in_a = r.order.size() - in_b;
  if (r.order.empty() || (in_a == r.a.size() && in_b == r.b.size())) return Done{};
  std::string letters;
  for (const bool b : r.order) letters += b ? 'B' : 'A';
  return Error{
      .what = fmt::format("--order {} names {} launches of A and {} of B; there are {} and {}",
                          letters, in_a, in_b, r.a.size(), r.b.size()),
      .hint = "name each launch once"};
}

void read_arms(const CompareRequest& r, const Progress& progress, Arms& arms) {
  for (const auto& [inputs, launches] : {std::pair{&r.a, &arms.a}, std::pair{&r.b, &arms.b}})
    for (const std::string& input : *inputs)
      if (auto launch = read_launch(input, r.reading, progress, arms.remarks, arms.failures))
        launches->push_back(std::move(*launch));
}

Result<Done> launch_arms(const CompareRequest& r, const Progress& progress, Arms& arms) {
  auto folder = LaunchFolder::make(r.limits.keep);
  if (!folder) return folder.error();
  const std::vector<bool> order = interleaved(r.limits.launches);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& launches = order[i] ? arms.b : arms.a;
    LaunchOrder launch{.words = shell_words(order[i] ? r.commands->second : r.commands->first),
                       .name = fmt::format("{} {}", order[i] ? 'B' : 'A', launches.size() + 1),
                       .folder = {},
                       .seconds = r.limits.seconds};
    launch.folder = fmt::format("{}/{}", folder->path(), replaced(launch.name, " ", ""));
    if (progress.launching) progress.launching(i + 1, order.size(), launch.name);
    auto steps = run_launch(launch, r.reading, progress, arms.remarks);
    if (!steps) return steps.error();
    launches.push_back(std::move(*steps));
    arms.order.push_back(order[i]);
  }
  return Done{};
}

}  // namespace

std::optional<bool> regression_of(const RunComparison& runs, std::optional<double> max_regression) {
  const RatioTest& t = runs.ratio;
  if (!max_regression || t.verdict == Verdict::not_enough_data) return std::nullopt;
  if (t.verdict == Verdict::slower) return t.ratio - 1 > *max_regression;
  if (t.verdict == Verdict::inconclusive && t.interval->second - 1 > *max_regression)
    return std::nullopt;
  return false;
}

Result<Comparison> compare(const CompareRequest& r, const Progress& progress) {
  if (const auto ordered = check_order(r); !ordered) return ordered.error();
  Arms arms{.order = r.order};
  if (r.commands) {
    if (const auto launched = launch_arms(r, progress, arms); !launched) return launched.error();
  } else {
    read_arms(r, progress, arms);
  }
  if (progress.stopped()) return interrupted();
  if (arms.a.empty() || arms.b.empty())
    return arms.failures.empty()
               ? Error{.what = "there is nothing to compare", .hint = "give launches of A and of B"}
               : arms.failures.front();
  if (arms.order.size() != arms.a.size() + arms.b.size()) arms.order.clear();
  Comparison c{.version = std::string(version()),
               .label_a = !r.label_a.empty() ? r.label_a
                          : r.commands       ? r.commands->first
                                             : r.a.front(),
               .label_b = !r.label_b.empty() ? r.label_b
                          : r.commands       ? r.commands->second
                                             : r.b.front(),
               .runs = {},
               .options = r.options,
               .max_regression = r.max_regression};
  if (r.max_regression) c.options.ratio.floor = std::min(c.options.ratio.floor, *r.max_regression);
  c.runs = compare_runs(arms.a, arms.b, arms.order, c.options);
  c.regression = regression_of(c.runs, c.max_regression);
  for (const bool in_b : arms.order) c.order += in_b ? 'B' : 'A';
  c.warnings = compare_warnings(c.runs);
  append(c.warnings, arms.remarks);
  c.failures = std::move(arms.failures);
  return c;
}

}  // namespace stepscope
