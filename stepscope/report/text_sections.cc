// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/text_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "stepscope/diagnose/labels.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/link_report.h"
#include "stepscope/report/pipeline_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/kernel_name.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

constexpr std::size_t most_rows = 8;
constexpr std::size_t most_gaps = 6;
constexpr std::size_t most_ranks = 16;

using Rows = std::vector<std::vector<std::string>>;

std::string known_time(std::optional<Ns> t) { return t ? format_time(*t) : "-"; }

// "[[8, 4], [], []]" as PyTorch writes it; scalars, which have no shape, are left out.
std::string shape_text(std::string_view dims) {
  std::string text;
  for (const char c : dims)
    if (c != '\n' && c != ' ') text += c;
  for (std::size_t p = text.find(",[]"); p != std::string::npos; p = text.find(",[]"))
    text.erase(p, 3);
  if (text.starts_with("[[") && text.ends_with("]]")) text = text.substr(1, text.size() - 2);
  return printable(text);
}

std::string with_rest(std::string table, std::size_t shown, std::size_t all) {
  if (shown < all) table += fmt::format("  … and {} more\n", all - shown);
  return table;
}

bool on_cpu(const RankResult& r) { return r.device == "cpu"; }

double wall_of(const RankResult& r) { return static_cast<double>(r.budget.total.sum().count()); }

struct Share {
  std::string title;
  std::vector<BudgetCategory> categories;
};

const std::vector<Share>& shares() {
  using enum BudgetCategory;
  static const std::vector<Share> all = {{"compute", {compute}},
                                         {"overlap", {comm_overlapped}},
                                         {"wait", {comm_exposed_wait}},
                                         {"comm", {comm_exposed_transfer}},
                                         {"comm/wait", {comm_exposed_unsplit}},
                                         {"copy", {copy_exposed}},
                                         {"data", {idle_data}},
                                         {"host", {idle_host}},
                                         {"launch", {idle_launch}},
                                         {"sync", {idle_sync}},
                                         {"stream", {idle_dependency}},
                                         {"unknown", {idle_unexplained}}};
  return all;
}

double percent_of(const RankResult& r, const Share& share) {
  double sum = 0;
  for (const BudgetCategory c : share.categories)
    sum += static_cast<double>(r.budget.total[c].count());
  return wall_of(r) > 0 ? sum / wall_of(r) * 100 : 0;
}

// The ranks to list: of many those that wait least, because the others wait for them.
std::vector<const RankResult*> listed_ranks(const JobResult& job) {
  std::vector<const RankResult*> listed;
  for (const RankResult& r : job.ranks) listed.push_back(&r);
  if (listed.size() <= most_ranks) return listed;
  std::ranges::stable_sort(listed, {}, [](const RankResult* r) {
    return r->budget.total[BudgetCategory::comm_exposed_wait];
  });
  listed.resize(most_ranks);
  std::ranges::sort(listed, {}, &RankResult::rank);
  return listed;
}

// One line a rank: wall and budget in percent, so that ranks compare at a glance; causes that no
// rank has to a tenth of a percent have no column.
std::string ranks(const Analysis& report, std::size_t width) {
  const JobResult& job = report.job;
  const auto listed = listed_ranks(job);
  std::vector<Share> shown = shares();
  std::erase_if(shown, [&](const Share& share) {
    return std::ranges::none_of(listed,
                                [&](const RankResult* r) { return percent_of(*r, share) >= 0.05; });
  });
  const bool roles =
      std::ranges::any_of(job.ranks, [](const RankResult& r) { return r.role != "all"; });
  std::vector<Column> columns = {{"rank"}, {"steps"}, {"step"}};
  if (roles) columns.insert(columns.begin() + 1, {"role", false});
  for (const Share& share : shown) columns.push_back({share.title});
  Rows rows;
  for (const RankResult* r : listed) {
    const auto steps = static_cast<double>(std::max<std::size_t>(r->steps.size(), 1));
    std::vector<std::string> row = {std::to_string(r->rank), std::to_string(r->steps.size()),
                                    format_time(wall_of(*r) / steps)};
    if (roles) row.insert(row.begin() + 1, printable(r->role));
    for (const Share& share : shown) row.push_back(fmt::format("{:.1f}", percent_of(*r, share)));
    rows.push_back(std::move(row));
  }
  const bool some = listed.size() < job.ranks.size();
  return fmt::format("Ranks (% of the step{})\n",
                     some ? fmt::format("; the {} of {} that wait least for others", listed.size(),
                                        job.ranks.size())
                          : "") +
         text_table(columns, rows, width);
}

// The longest gap of each place where the host was, so that one place does not fill the table.
std::string gaps(const Analysis& report, std::size_t width) {
  struct Gap {
    int rank;
    bool cpu;
    BudgetCategory cause;
    const IdleInstance* instance;
  };
  std::vector<Gap> all;
  for (const RankResult& r : report.job.ranks)
    for (const IdleCause& c : r.idle)
      for (const IdleInstance& i : c.largest) all.push_back({r.rank, on_cpu(r), c.cause, &i});
  std::ranges::stable_sort(all, std::greater<>(), [](const Gap& g) { return g.instance->wall; });
  std::set<std::tuple<int, BudgetCategory, std::string>> seen;
  Rows rows;
  for (const Gap& g : all) {
    if (rows.size() == most_gaps) break;
    const bool device =
        g.cause == BudgetCategory::idle_launch || g.cause == BudgetCategory::idle_dependency;
    std::string culprit = printable(g.instance->culprit.value_or(""));
    if (device) culprit = short_kernel_name(culprit);
    const std::string activity = printable(g.instance->host_activity);
    if (!seen.insert({g.rank, g.cause, culprit.empty() ? activity : culprit}).second) continue;
    rows.push_back({std::string(words_of(g.cause, g.cpu)), std::to_string(g.rank),
                    std::to_string(g.instance->step), format_time(g.instance->wall), activity,
                    activity.find(culprit) != std::string::npos ? "" : culprit});
  }
  if (rows.empty()) return {};
  return fmt::format("Longest gaps {}\n", on_cpu(report.job.ranks.front())
                                              ? "between operators"
                                              : "without device work") +
         text_table({{"cause", false},
                     {"rank"},
                     {"step"},
                     {"takes"},
                     {"the host meanwhile", false},
                     {"culprit", false}},
                    rows, width);
}

std::string collectives(const Analysis& report, std::size_t width) {
  const auto& all = report.job.collectives.rows;
  Rows rows;
  for (const CollectiveRow& c : all) {
    if (rows.size() == most_rows) break;
    rows.push_back(
        {name_of(collective_kind_names, c.kind), c.group == "unknown" ? "-" : printable(c.group),
         c.dimension == Dimension::unknown ? "-" : name_of(dimension_names, c.dimension),
         c.group_size ? std::to_string(*c.group_size) : "-", std::to_string(c.count),
         c.bytes ? format_bytes(static_cast<double>(c.bytes->value)) : "-",
         c.busbw ? format_digits(c.busbw->value / 1e9) : "-", known_time(c.transfer),
         known_time(c.wait), format_time(c.exposed),
         c.last_rank ? fmt::format("{}", *c.last_rank) : "-", known_time(c.clock_uncertainty)});
  }
  if (rows.empty()) return {};
  return "Collectives (sums over calls; busbw in GB/s by the group's size)\n" +
         with_rest(text_table({{"collective", false},
                               {"group", false, 24},
                               {"dim", false},
                               {"n"},
                               {"calls"},
                               {"bytes"},
                               {"busbw"},
                               {"transfer"},
                               {"wait"},
                               {"exposed"},
                               {"last"},
                               {"clock ±"}},
                              rows, width),
                   rows.size(), all.size());
}

std::string stragglers(const Analysis& report, std::size_t width) {
  Rows rows;
  const auto& all = report.job.stragglers;
  for (const Straggler& s : all) {
    if (rows.size() == most_rows) break;
    if (!s.significant) continue;
    rows.push_back({std::to_string(s.rank), s.role == "all" ? "-" : printable(s.role),
                    format_time(s.upper_bound), format_percent(s.late_share),
                    fmt::format("{} of {}", s.last_count, s.collectives),
                    format_percent(s.persistence),
                    s.cause ? printable(cause_and_waiting(*s.cause)) : ""});
  }
  if (rows.empty()) return {};
  return "Late ranks (behind the median arrival a step: at most what it costs)\n" +
         text_table({{"rank"},
                     {"role", false},
                     {"late"},
                     {"of step"},
                     {"last in"},
                     {"latest in steps"},
                     {"cause", false, 120}},
                    rows, width);
}

std::string kernels(const Analysis& report, std::size_t width) {
  const RankResult& r = report.job.ranks.front();
  Rows rows;
  for (const KernelRow& k : r.kernels.kernels) {
    if (rows.size() == most_rows) break;
    rows.push_back({short_kernel_name(printable((*r.strings)[k.name])),
                    name_of(name_class_names, k.kind), std::to_string(k.count),
                    format_time(k.total), format_time(k.mean()), format_percent(k.share),
                    k.rate ? format_digits(k.rate->value / 1e12) : "-",
                    k.bandwidth ? format_digits(k.bandwidth->value / 1e9) : "-"});
  }
  if (rows.empty()) return {};
  return fmt::format("Kernels of rank {}\n", r.rank) + with_rest(text_table({{"kernel", false},
                                                                             {"class", false},
                                                                             {"calls"},
                                                                             {"total"},
                                                                             {"mean"},
                                                                             {"share"},
                                                                             {"TFLOP/s"},
                                                                             {"GB/s"}},
                                                                            rows, width),
                                                                 rows.size(),
                                                                 r.kernels.kernels.size());
}

std::string operators(const Analysis& report, std::size_t width) {
  const RankResult& r = report.job.ranks.front();
  const bool cpu = on_cpu(r);
  std::vector<Column> columns = {
      {"operator", false, 40}, {"calls"}, {cpu ? "time" : "device"}, {"share"}};
  if (!cpu) columns.insert(columns.begin() + 2, {"host self"});
  if (r.has_shapes) {
    columns.insert(columns.begin() + 1, {"shape", false, 40});
    columns.push_back({"TFLOP/s"});
  }
  Rows rows;
  for (const OperatorRow& o : r.operators) {
    if (rows.size() == most_rows) break;
    std::vector<std::string> row = {printable((*r.strings)[o.name])};
    if (r.has_shapes) row.push_back(shape_text((*r.strings)[o.dims]));
    row.push_back(std::to_string(o.calls));
    if (!cpu) row.push_back(format_time(o.host_self));
    row.push_back(format_time(o.device));
    row.push_back(format_percent(o.share));
    if (r.has_shapes) row.push_back(o.rate ? format_digits(o.rate->value / 1e12) : "-");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return fmt::format("Operators of rank {}\n", r.rank) +
         with_rest(text_table(columns, rows, width), rows.size(), r.operators.size());
}

// The rank whose device starves most, and of its host only what takes a hundredth of the steps.
std::string host(const Analysis& report, std::size_t width) {
  const RankResult& r = *std::ranges::max_element(
      report.job.ranks, {}, [](const RankResult& rank) { return rank.host.starved; });
  const HostTable& h = r.host;
  const double wall = wall_of(r);
  const auto matters = [&](Ns t) { return static_cast<double>(t.count()) > wall / 100; };
  std::vector<std::string> parts;
  if (h.launches > 0 && (h.launch_bound || matters(h.starved))) {
    parts.push_back(fmt::format("{} of {} launches find the device idle for {}",
                                h.empty_queue_launches, h.launches, format_time(h.starved)));
    if (h.slack_p50.value_or(Ns{}) > Ns{})
      parts.push_back(fmt::format("median {} from launch to start", format_time(*h.slack_p50)));
  }
  if (matters(h.sync)) parts.push_back(fmt::format("{} in sync calls", format_time(h.sync)));
  if (matters(h.allocator))
    parts.push_back(fmt::format("{} in allocator calls", format_time(h.allocator)));
  if (matters(h.gc)) parts.push_back(fmt::format("{} in garbage collection", format_time(h.gc)));
  if (parts.empty()) return {};
  return wrapped(fmt::format("Host of rank {} (over {}): {}", r.rank,
                             counted(r.steps.size(), "step"), fmt::join(parts, "; ")),
                 width);
}

std::string memory(const Analysis& report, std::size_t width) {
  std::string out;
  const RankResult& r = report.job.ranks.front();
  for (const DeviceMemory& d : r.memory.devices) {
    // On a GPU run the host's is a handful of scalars.
    if (d.device < 0 && d.peak_allocated.value < 1'000'000) continue;
    std::string line =
        fmt::format("Memory of rank {}, {}: peak {} allocated", r.rank,
                    d.device < 0 ? std::string("host") : fmt::format("GPU {}", d.device),
                    format_bytes(static_cast<double>(d.peak_allocated.value)));
    if (d.peak_reserved)
      line +=
          fmt::format(", {} reserved", format_bytes(static_cast<double>(d.peak_reserved->value)));
    if (d.headroom)
      line += fmt::format(", {} free", format_bytes(static_cast<double>(d.headroom->value)));
    if (!d.running_at_peak.empty())
      line += fmt::format(", in {}", shorten(printable(d.running_at_peak), 60));
    out += wrapped(line, width);
  }
  return out;
}

}  // namespace

std::vector<std::string> text_sections(const Analysis& report, std::size_t width) {
  std::vector<std::string> sections;
  if (report.job.ranks.size() > 1) sections.push_back(ranks(report, width));
  sections.push_back(stragglers(report, width));
  sections.push_back(pipeline_text(report.job, width));
  sections.push_back(gaps(report, width));
  sections.push_back(clocks_text(report.job.clocks, width));
  sections.push_back(collectives(report, width));
  sections.push_back(link_fits_text(report.link_fits, width));
  sections.push_back(kernels(report, width));
  sections.push_back(operators(report, width));
  sections.push_back(host(report, width));
  sections.push_back(memory(report, width));
  return sections;
}

}  // namespace stepscope
