// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/report/format.h"
#include "stepscope/report/text_table.h"

namespace stepscope {
namespace {

constexpr std::size_t most_rows = 12;

using Rows = std::vector<std::vector<std::string>>;

template <class Names, class Enum>
std::string name_of(const Names& names, Enum e) {
  return std::string(names[static_cast<std::size_t>(e)]);
}

std::string known_time(std::optional<Ns> t) { return t ? format_time(*t) : "-"; }
std::string known_digits(std::optional<double> v) { return v ? format_digits(*v) : "-"; }

std::string with_rest(std::string table, std::size_t shown, std::size_t all) {
  if (shown < all) table += fmt::format("  … and {} more\n", all - shown);
  return table;
}

// One line a rank: wall and budget in percent, so that ranks compare at a glance.
std::string ranks(const AnalyzeReport& report, std::size_t width) {
  const JobResult& job = *report.job;
  Rows rows;
  for (const RankResult& r : job.ranks) {
    const double wall = static_cast<double>(r.budget.total.sum().count());
    const auto steps = static_cast<double>(std::max<std::size_t>(r.steps.size(), 1));
    const auto share = [&](std::initializer_list<BudgetCategory> categories) {
      double sum = 0;
      for (const BudgetCategory c : categories)
        sum += static_cast<double>(r.budget.total[c].count());
      return wall > 0 ? fmt::format("{:.1f}", sum / wall * 100) : "-";
    };
    using enum BudgetCategory;
    rows.push_back({std::to_string(r.rank), r.role, std::to_string(r.steps.size()),
                    format_time(wall / steps), share({compute}), share({comm_overlapped}),
                    share({comm_exposed_wait}),
                    share({comm_exposed_transfer, comm_exposed_unsplit}), share({copy_exposed}),
                    share({idle_data}), share({idle_host, idle_launch}), share({idle_sync}),
                    share({idle_dependency}), share({idle_unexplained})});
    if (rows.size() == 64) break;
  }
  return "Ranks (% of the step)\n" + with_rest(text_table({{"rank"},
                                                           {"role", false},
                                                           {"steps"},
                                                           {"step"},
                                                           {"compute"},
                                                           {"overlap"},
                                                           {"wait"},
                                                           {"comm"},
                                                           {"copy"},
                                                           {"data"},
                                                           {"host"},
                                                           {"sync"},
                                                           {"depend"},
                                                           {"?"}},
                                                          rows, width),
                                               rows.size(), job.ranks.size());
}

std::string gaps(const AnalyzeReport& report, std::size_t width) {
  struct Gap {
    int rank;
    const IdleCause* cause;
    const IdleInstance* instance;
  };
  std::vector<Gap> all;
  for (const RankResult& r : report.job->ranks)
    for (const IdleCause& c : r.idle)
      for (const IdleInstance& i : c.largest) all.push_back({r.rank, &c, &i});
  std::ranges::stable_sort(all, std::greater<>(), [](const Gap& g) { return g.instance->wall; });
  Rows rows;
  for (const Gap& g : all) {
    if (rows.size() == most_rows) break;
    rows.push_back({name_of(budget_category_names, g.cause->cause), std::to_string(g.rank),
                    std::to_string(g.instance->step), format_time(g.instance->wall),
                    printable(g.instance->host_activity),
                    g.instance->culprit ? printable(*g.instance->culprit) : ""});
  }
  if (rows.empty()) return {};
  return "Longest gaps without device work\n" + text_table({{"cause", false},
                                                            {"rank"},
                                                            {"step"},
                                                            {"takes"},
                                                            {"the host meanwhile", false},
                                                            {"culprit", false}},
                                                           rows, width);
}

std::string collectives(const AnalyzeReport& report, std::size_t width) {
  const auto& all = report.job->collectives.rows;
  Rows rows;
  for (const CollectiveRow& c : all) {
    if (rows.size() == most_rows) break;
    rows.push_back(
        {name_of(collective_kind_names, c.kind), printable(c.group),
         name_of(dimension_names, c.dimension), c.group_size ? std::to_string(*c.group_size) : "-",
         std::to_string(c.count), c.bytes ? format_bytes(static_cast<double>(c.bytes->value)) : "-",
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

std::string stragglers(const AnalyzeReport& report, std::size_t width) {
  Rows rows;
  const auto& all = report.job->stragglers;
  for (const Straggler& s : all) {
    if (rows.size() == most_rows) break;
    rows.push_back({std::to_string(s.rank), s.role, format_time(s.upper_bound),
                    format_percent(s.late_share),
                    fmt::format("{} of {}", s.last_count, s.collectives),
                    format_percent(s.persistence), printable(s.cause)});
  }
  if (rows.empty()) return {};
  return "Ranks by arrival (time behind the median arrival a step: at most what it costs)\n" +
         text_table({{"rank"},
                     {"role", false},
                     {"late"},
                     {"of step"},
                     {"last in"},
                     {"steps"},
                     {"cause", false, 120}},
                    rows, width);
}

std::string kernels(const AnalyzeReport& report, std::size_t width) {
  const RankResult& r = report.job->ranks.front();
  Rows rows;
  for (const KernelRow& k : r.kernels.kernels) {
    if (rows.size() == most_rows) break;
    rows.push_back({printable((*r.strings)[k.name]), name_of(name_class_names, k.kind),
                    std::to_string(k.count), format_time(k.total), format_time(k.mean()),
                    format_percent(k.share), k.rate ? format_digits(k.rate->value / 1e12) : "-",
                    k.bandwidth ? format_digits(k.bandwidth->value / 1e9) : "-"});
  }
  if (rows.empty()) return {};
  return fmt::format("Kernels of rank {} (TFLOP/s and GB/s from recorded shapes)\n", r.rank) +
         with_rest(text_table({{"kernel", false},
                               {"class", false},
                               {"calls"},
                               {"total"},
                               {"mean"},
                               {"share"},
                               {"TFLOP/s"},
                               {"GB/s"}},
                              rows, width),
                   rows.size(), r.kernels.kernels.size());
}

std::string operators(const AnalyzeReport& report, std::size_t width) {
  const RankResult& r = report.job->ranks.front();
  Rows rows;
  for (const OperatorRow& o : r.operators) {
    if (rows.size() == most_rows) break;
    rows.push_back({printable((*r.strings)[o.name]), printable((*r.strings)[o.dims]),
                    std::to_string(o.calls), format_time(o.host_self), format_time(o.device),
                    format_percent(o.share), o.rate ? format_digits(o.rate->value / 1e12) : "-"});
  }
  if (rows.empty()) return {};
  return fmt::format("Operators of rank {}\n", r.rank) +
         with_rest(text_table({{"operator", false, 40},
                               {"shape", false, 40},
                               {"calls"},
                               {"host self"},
                               {"device"},
                               {"share"},
                               {"TFLOP/s"}},
                              rows, width),
                   rows.size(), r.operators.size());
}

std::string host(const AnalyzeReport& report) {
  const RankResult& r = report.job->ranks.front();
  const HostTable& h = r.host;
  if (h.launches == 0) return {};
  std::string out = fmt::format(
      "Host of rank {}: {} launches, {} into an empty queue; slack median {}, p10 {}; queue {} "
      "mean, {} most",
      r.rank, h.launches, h.empty_queue_launches, known_time(h.slack_p50), known_time(h.slack_p10),
      known_digits(h.queue_mean), h.queue_max);
  if (h.launch_bound) out += "; launch-bound";
  if (h.sync.count() > 0) out += fmt::format("; {} in sync calls", format_time(h.sync));
  if (h.allocator.count() > 0)
    out += fmt::format("; {} in allocator calls", format_time(h.allocator));
  if (h.gc.count() > 0) out += fmt::format("; {} in garbage collection", format_time(h.gc));
  return out + '\n';
}

std::string memory(const AnalyzeReport& report) {
  std::string out;
  const RankResult& r = report.job->ranks.front();
  for (const DeviceMemory& d : r.memory.devices) {
    out += fmt::format("Memory of rank {}, {}: peak {} allocated", r.rank,
                       d.device < 0 ? std::string("host") : fmt::format("GPU {}", d.device),
                       format_bytes(static_cast<double>(d.peak_allocated.value)));
    if (d.peak_reserved)
      out +=
          fmt::format(", {} reserved", format_bytes(static_cast<double>(d.peak_reserved->value)));
    if (d.headroom)
      out += fmt::format(", {} free", format_bytes(static_cast<double>(d.headroom->value)));
    if (!d.running_at_peak.empty())
      out += fmt::format(", in {}", shorten(printable(d.running_at_peak), 60));
    out += '\n';
  }
  return out;
}

}  // namespace

std::vector<std::string> text_sections(const AnalyzeReport& report, std::size_t width) {
  std::vector<std::string> sections;
  if (report.job->ranks.size() > 1) sections.push_back(ranks(report, width));
  sections.push_back(stragglers(report, width));
  sections.push_back(gaps(report, width));
  sections.push_back(collectives(report, width));
  sections.push_back(kernels(report, width));
  sections.push_back(operators(report, width));
  sections.push_back(host(report));
  sections.push_back(memory(report));
  return sections;
}

}  // namespace stepscope
