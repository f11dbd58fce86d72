// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "stepscope/diagnose/labels.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr std::size_t bar_width = 20;

struct CountedLine {
  AccountLine line;
  std::size_t causes = 1;  // that it stands for
};

// The lines from `first` on as one, "n smaller causes", if they are several.
void fold(std::vector<CountedLine>& lines, std::size_t first) {
  if (first + 1 >= lines.size()) return;
  CountedLine rest{.line = {}, .causes = 0};
  for (std::size_t i = first; i < lines.size(); ++i) {
    rest.line.ns += lines[i].line.ns;
    rest.line.percent += lines[i].line.percent;
    rest.causes += lines[i].causes;
  }
  rest.line.name = fmt::format("{} smaller causes", rest.causes);
  lines.resize(first);
  lines.push_back(std::move(rest));
}

}  // namespace

std::string account_text(std::vector<AccountLine> account, std::size_t most_lines) {
  std::erase_if(account, [](const AccountLine& l) { return l.ns == 0; });
  std::ranges::stable_sort(account, std::greater<>(), &AccountLine::percent);
  std::vector<CountedLine> lines;
  for (AccountLine& l : account) lines.push_back({.line = std::move(l)});
  const auto large = [](const CountedLine& l) { return std::abs(l.line.percent) >= 0.1; };
  const auto small = std::ranges::stable_partition(lines, large).begin();
  fold(lines, static_cast<std::size_t>(small - lines.begin()));
  constexpr double least_shown = 0.05;  // rounds to 0.1 %
  std::erase_if(lines,
                [](const CountedLine& l) { return std::fabs(l.line.percent) < least_shown; });
  if (lines.size() > most_lines) fold(lines, most_lines - 1);
  double most = 0;
  for (const CountedLine& l : lines) most = std::max(most, l.line.percent);
  std::string out;
  for (const auto& [l, causes] : lines) {
    const std::string b = bar(most > 0 ? l.percent / most : 0, bar_width);
    out += fmt::format(
        "  {:<32} {:>8}  {:>7}  {}{}{}", l.name, format_time(l.ns), format_percent(l.percent / 100),
        b, l.note.empty() ? "" : std::string(bar_width - columns_of(b) + 2, ' '), l.note);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string mfu_account(const MfuBudget& mfu, bool cpu, std::size_t most_lines) {
  double below_peak = 0;
  for (const MfuShare& t : mfu.terms)
    if (t.term == MfuTerm::kernel_inefficiency) below_peak = t.percent / 100;
  const double hfu = mfu.hfu.value_or(0);
  std::vector<AccountLine> lines;
  for (const MfuShare& t : mfu.terms) {
    AccountLine line{std::string(words_of(t.term, cpu)), static_cast<double>(t.time.count()),
                     t.percent};
    if (t.term == MfuTerm::kernel_inefficiency && hfu > 0 && below_peak > 0)
      line.note = fmt::format("mean {} of peak", format_percent(hfu / (hfu + below_peak)));
    if (t.term == MfuTerm::executed_at_peak) line.note = "HFU";
    if (t.money_per_day)
      line.note += fmt::format("{}{:.2f} a day", line.note.empty() ? "" : "; ", *t.money_per_day);
    lines.push_back(std::move(line));
  }
  return wrapped(fmt::format("Where 100 % of the peak goes ({} TFLOP/s a device: {}):",
                             format_digits(mfu.peak.value / 1e12), mfu.peak_source),
                 100) +
         account_text(std::move(lines), most_lines);
}

std::string budget_account(const JobResult& job, std::size_t most_lines,
                           std::optional<double> a_day) {
  const bool cpu = on_cpu(job.ranks);
  double step = 0;
  for (const CategorySpread& s : job.steps.spread) step += s.mean;
  std::vector<AccountLine> lines;
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    const auto category = static_cast<BudgetCategory>(c);
    const CategorySpread& s = job.steps.spread[c];
    std::string note;
    if (job.ranks.size() > 1 && s.worst > s.mean * 1.2 && s.worst - s.mean > step / 100)
      note = fmt::format("rank {}: {}", s.worst_rank, format_time(s.worst));
    const double share = step > 0 ? s.mean / step : 0;
    if (a_day && is_loss(category) && share > 0)
      note += fmt::format("{}{:.2f} a day", note.empty() ? "" : "; ", *a_day * share);
    lines.push_back({std::string(words_of(category, cpu)), s.mean, share * 100, note});
  }
  return std::string("Where it goes") +
         (job.ranks.size() == 1          ? ":\n"
          : job.steps.common.size() == 1 ? " (mean over ranks):\n"
                                         : " (mean over ranks and steps):\n") +
         account_text(std::move(lines), most_lines);
}

}  // namespace stepscope
