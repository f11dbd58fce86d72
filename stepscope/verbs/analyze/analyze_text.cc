// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <ranges>
#include <set>
#include <tuple>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/diagnose/step_rates.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"
#include "stepscope/verbs/analyze/expected_views.h"
#include "stepscope/verbs/analyze/explanation_views.h"
#include "stepscope/verbs/analyze/first_screen.h"
#include "stepscope/verbs/analyze/gpu_views.h"
#include "stepscope/verbs/analyze/pipeline_views.h"
#include "stepscope/verbs/analyze/range_views.h"
#include "stepscope/verbs/analyze/recording_views.h"
#include "stepscope/verbs/analyze/unit_views.h"
#include "stepscope/verbs/sections/account.h"
#include "stepscope/verbs/sections/findings_text.h"
#include "stepscope/verbs/sections/link_views.h"

namespace stepscope {
namespace {

constexpr std::size_t most_rows = 8;
constexpr std::size_t most_gaps = 6;
constexpr std::size_t most_ranks = 16;
constexpr std::size_t most_first_findings = 3;
constexpr double least_difference = 0.01;  // of two step lengths, to be explained

using Rows = std::vector<std::vector<std::string>>;

std::string known_time(std::optional<Ns> t) { return t ? format_time(*t) : "-"; }

std::string with_rest(std::string table, std::size_t shown, std::size_t all) {
  if (shown < all) table += fmt::format("  … and {} more\n", all - shown);
  return table;
}

// A row of the table of ranks: of the steps that count, as the time budget above it.
struct RankRow {
  const RankResult* rank = nullptr;
  Budget budget;
  std::size_t steps = 0;
};

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
                                         {"unknown", {idle_unexplained}},
                                         {"not rec.", {not_recorded}}};
  return all;
}

double percent_of(const RankRow& r, const Share& share) {
  double sum = 0;
  for (const BudgetCategory c : share.categories) sum += static_cast<double>(r.budget[c].count());
  const auto wall = static_cast<double>(r.budget.sum().count());
  return wall > 0 ? sum / wall * 100 : 0;
}

// The ranks to list: of many those that wait least, because the others wait for them.
std::vector<RankRow> listed_ranks(const JobResult& job) {
  std::vector<RankRow> listed;
  for (const RankResult& r : job.ranks)
    listed.push_back({&r, accounted_budget(r), accounted_count(r)});
  if (listed.size() <= most_ranks) return listed;
  std::ranges::stable_sort(
      listed, {}, [](const RankRow& r) { return r.budget[BudgetCategory::comm_exposed_wait]; });
  listed.resize(most_ranks);
  std::ranges::sort(listed, {}, [](const RankRow& r) { return r.rank->rank; });
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
                                [&](const RankRow& r) { return percent_of(r, share) >= 0.05; });
  });
  const bool roles =
      std::ranges::any_of(job.ranks, [](const RankResult& r) { return r.role != "all"; });
  std::vector<Column> columns = {{"rank"}, {"steps"}, {"step"}};
  if (roles) columns.insert(columns.begin() + 1, {"role", false});
  for (const Share& share : shown) columns.push_back({share.title});
  Rows rows;
  for (const RankRow& r : listed) {
    const auto steps = static_cast<std::int64_t>(std::max<std::size_t>(r.steps, 1));
    std::vector<std::string> row = {std::to_string(r.rank->rank), std::to_string(r.steps),
                                    format_time(r.budget.sum() / steps)};
    if (roles) row.insert(row.begin() + 1, printable(r.rank->role));
    for (const Share& share : shown) row.push_back(fmt::format("{:.1f}", percent_of(r, share)));
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
    for (const IdleCause& c : r.device.idle)
      for (const IdleInstance& i : c.largest)
        if (counts_in_length(report.job, i.step))
          all.push_back({r.rank, r.device.is_cpu(), c.cause, &i});
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
  return fmt::format("Longest gaps {}\n",
                     on_cpu(report.job.ranks) ? "between operators" : "without device work") +
         text_table({{"cause", false},
                     {"rank"},
                     {"step"},
                     {"takes"},
                     {"the host meanwhile", false},
                     {"culprit", false}},
                    rows, width);
}

std::string exposed_dimensions(const Analysis& report, std::size_t width) {
  const std::vector<double> exposed = step_rates(report).exposed;
  Messages parts;
  for (const DimensionRow& d : report.job.collectives.dimensions)
    if (!exposed.empty())
      parts.push_back(msg::name_and_share(name_of(dimension_names, d.dimension),
                                          Percent{exposed[static_cast<std::size_t>(d.dimension)]}));
  return parts.empty() ? "" : wrapped(say(msg::exposed_dimensions(std::move(parts))), width);
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
                   rows.size(), all.size()) +
         exposed_dimensions(report, width);
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
                    s.cause ? printable(say(cause_and_waiting(*s.cause))) : ""});
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
  std::vector<std::string> names;
  for (const KernelRow& k : r.work.kernels.kernels | std::views::take(most_rows))
    names.push_back(printable((*r.strings)[k.name]));
  constexpr std::size_t longest = 60;  // columns
  names = distinct_kernel_names(names, longest);
  Rows rows;
  for (const KernelRow& k : r.work.kernels.kernels | std::views::take(most_rows)) {
    rows.push_back({names[rows.size()], name_of(name_class_names, k.kind), std::to_string(k.count),
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
                                                                 r.work.kernels.kernels.size());
}

std::string operators(const Analysis& report, std::size_t width) {
  const RankResult& r = report.job.ranks.front();
  const bool cpu = r.device.is_cpu();
  std::vector<Column> columns = {
      {"operator", false, 40}, {"calls"}, {cpu ? "time" : "device"}, {"share"}};
  if (!cpu) columns.insert(columns.begin() + 2, {"host self"});
  const bool shapes = r.recording.shaped_operators > 0;
  if (shapes) {
    columns.insert(columns.begin() + 1, {"shape", false, 40});
    columns.push_back({"TFLOP/s"});
  }
  Rows rows;
  for (const OperatorRow& o : r.work.operators) {
    if (rows.size() == most_rows) break;
    std::vector<std::string> row = {printable((*r.strings)[o.name])};
    if (shapes) row.push_back(outer_shape_in_words((*r.strings)[o.dims]));
    row.push_back(std::to_string(o.calls));
    if (!cpu) row.push_back(format_time(o.host_self));
    row.push_back(format_time(o.device));
    row.push_back(format_percent(o.share));
    if (shapes) row.push_back(o.rate ? format_digits(o.rate->value / 1e12) : "-");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return fmt::format("Operators of rank {}\n", r.rank) +
         with_rest(text_table(columns, rows, width), rows.size(), r.work.operators.size());
}

// The rank whose device starves most, and of its host only what takes a hundredth of the steps.
std::string host(const Analysis& report, std::size_t width) {
  const RankResult& r = *std::ranges::max_element(
      report.job.ranks, {}, [](const RankResult& rank) { return rank.host.starved; });
  const HostTable& h = r.host;
  const auto wall = static_cast<double>(accounted_budget(r).sum().count());
  const auto matters = [&](Ns t) { return static_cast<double>(t.count()) > wall / 100; };
  Messages parts;
  if (h.launches > 0 && (h.launch_bound || matters(h.starved))) {
    parts.push_back(msg::launches_starve(h.empty_queue_launches, h.launches, h.starved));
    if (h.slack_p50.value_or(Ns{}) > Ns{}) parts.push_back(msg::launch_to_start(*h.slack_p50));
  }
  if (matters(h.sync)) parts.push_back(msg::in_sync_calls(h.sync));
  if (matters(h.allocator)) parts.push_back(msg::in_allocator_calls(h.allocator));
  if (matters(h.gc)) parts.push_back(msg::in_collection(h.gc));
  if (parts.empty()) return {};
  return wrapped(say(msg::host_of_rank(r.rank, accounted_count(r), std::move(parts))), width);
}

// The uses of the memory at the peak, largest first. Empty if they are not known.
Messages uses_at_peak(const DeviceMemory& device) {
  if (!device.composition) return {};
  std::vector<std::pair<Bytes, MemoryUse>> uses;
  for (std::size_t u = 0; u < memory_use_count; ++u)
    if (const Bytes bytes = (*device.composition)[u]; bytes.value > 0)
      uses.emplace_back(bytes, static_cast<MemoryUse>(u));
  std::ranges::stable_sort(uses, std::ranges::greater{}, [](const auto& use) { return use.first; });
  Messages parts;
  for (const auto& [bytes, use] : uses)
    parts.push_back(
        msg::name_and_amount(label_of("memory_use", name_of(memory_use_names, use)), bytes));
  return parts;
}

// The stretches of phases in the last step. If there are many, as with micro-batches: the one of
// each phase with the highest peak.
std::string memory_by_phase(const RankResult& r, const DeviceMemory& device, std::size_t width) {
  if (r.steps.empty()) return {};
  const Step& step = r.steps.back();
  std::vector<const MemoryPhase*> all;
  std::vector<const MemoryPhase*> highest;
  for (const MemoryPhase& p : device.phases) {
    if (p.start < step.host_start || p.start >= step.host_end) continue;
    all.push_back(&p);
    const auto same = std::ranges::find(highest, p.phase, &MemoryPhase::phase);
    if (same == highest.end())
      highest.push_back(&p);
    else if (p.peak > (*same)->peak)
      *same = &p;
  }
  if (all.empty()) return {};
  constexpr std::size_t most_stretches = 12;
  const bool many = all.size() > most_stretches;
  const auto or_unknown = [](const std::optional<Bytes>& b) {
    return b ? format_bytes(*b) : std::string("not recorded");
  };
  std::vector<std::vector<std::string>> rows;
  for (const MemoryPhase* p : many ? highest : all) {
    const auto share = p->not_allocated_share();
    rows.push_back({std::string(name_of(phase_names, p->phase)), format_bytes(p->at_start),
                    format_bytes(p->peak), format_bytes(p->at_end), or_unknown(p->reserved),
                    or_unknown(p->not_allocated()) + (share ? ", " + format_percent(*share) : "")});
  }
  return wrapped(say(msg::memory_by_phase(step.index, value_if(many, all.size()))), width) +
         text_table({{"phase", false},
                     {"at its start"},
                     {"peak"},
                     {"at its end"},
                     {"reserved at the peak"},
                     {"reserved, not allocated"}},
                    std::move(rows), width);
}

std::string memory(const Analysis& report, std::size_t width) {
  std::string out;
  const RankResult& r = report.job.ranks.front();
  for (const DeviceMemory& d : r.memory.devices) {
    // On a GPU run the host's is a handful of scalars.
    if (d.device < 0 && d.peak_allocated.value < 1'000'000) continue;
    const Message line =
        msg::memory_of_rank(r.rank, value_if(d.device >= 0, d.device), d.peak_allocated,
                            d.peak_reserved, d.headroom, shorten(printable(d.running_at_peak), 60));
    out += wrapped(say(line), width);
    Messages holds = uses_at_peak(d);
    if (holds.empty()) continue;
    const bool known = d.phase_at_peak != Phase::other;
    const Bytes older = d.before_recording;
    out += wrapped(say(msg::memory_at_peak(value_if(known, name_of(phase_names, d.phase_at_peak)),
                                           std::move(holds), value_if(older.value > 0, older))),
                   width);
    if (!d.older_counts) out += wrapped(say(msg::older_is_not_counted(d.uncounted)), width);
    out += memory_by_phase(r, d, width);
  }
  return out;
}

// The tables below the first screen, each empty where there is nothing to say.
std::vector<std::string> text_sections(const Analysis& report, std::size_t width) {
  std::vector<std::string> sections;
  if (report.job.ranks.size() > 1) sections.push_back(ranks(report, width));
  sections.push_back(stragglers(report, width));
  sections.push_back(gpu_readings_text(report.job.gpus, width));
  sections.push_back(pipeline_text(report.job, width));
  sections.push_back(gaps(report, width));
  sections.push_back(clocks_text(report.job.clocks, width));
  sections.push_back(collectives(report, width));
  sections.push_back(ddp_buckets_text(report.job, width));
  sections.push_back(link_fits_text(report.link_fits, width));
  sections.push_back(ranges_text(report.job.ranks.front(), width));
  sections.push_back(kernels(report, width));
  sections.push_back(counters_text(report.job.ranks, width));
  sections.push_back(operators(report, width));
  sections.push_back(host(report, width));
  sections.push_back(memory(report, width));
  return sections;
}

std::string phases(const JobResult& job, std::size_t width) {
  if (job.steps.phases.size() < 2) return {};
  std::vector<std::string> parts;
  for (const PhaseSummary& p : job.steps.phases)
    parts.push_back(fmt::format(
        "{} {}{}", phase_names[static_cast<std::size_t>(p.phase)], format_time(p.mean),
        p.communication.value_or(0) > 0
            ? fmt::format(" ({} of it exposed communication)", format_time(*p.communication))
            : ""));
  return wrapped(fmt::format("By phase: {}", fmt::join(parts, " · ")), width);
}

// "Rates: 14.6 of 989 TFLOP/s a device · 41.2 % of the communication that compute could hide is
// hidden · all_reduce 41.2 GB/s of bus bandwidth, 27.4 % of its link". What is not known is left
// out.
std::string rates(const Analysis& report, std::size_t width) {
  const StepRates r = step_rates(report);
  Messages parts;
  if (r.achieved)
    parts.push_back(msg::rate_a_device(r.achieved_is_least, Digits{r.achieved->value / tera},
                                       r.peak ? Value(Digits{r.peak->value / tera}) : Value()));
  if (r.overlap_efficiency)
    parts.push_back(msg::communication_hidden(Percent{*r.overlap_efficiency}));
  if (r.collective != nullptr)
    parts.push_back(msg::bus_bandwidth(name_of(collective_kind_names, r.collective->kind),
                                       Digits{r.collective->busbw->value / 1e9},
                                       r.link_share ? Value(Percent{*r.link_share}) : Value()));
  return parts.empty() ? "" : wrapped(say(msg::rates_are(std::move(parts))), width);
}

// What the length of a step is, where it differs from the mean of the annotated steps.
std::string step_note(const JobResult& job, std::size_t width) {
  if (!replay_tells(job)) return {};
  double annotated = 0;
  std::size_t steps = 0;
  for (const RankResult& r : job.ranks) {
    annotated += static_cast<double>(r.budget.total.sum().count());
    steps += r.steps.size();
  }
  annotated /= static_cast<double>(std::max<std::size_t>(1, steps));
  const auto step = static_cast<double>(step_length(job).count());
  if (std::abs(annotated - step) <= least_difference * step) return {};
  Message from = job.steps.common.size() > 1 ? msg::begin_to_begin() : msg::start_to_end();
  const auto next = [](const JobStep& a, const JobStep& b) { return a.index + 1 == b.index; };
  const bool several = job.ranks.size() > 1;
  const bool comparable = job.collectives.matches.clocks_comparable;
  // The rows of a device begin with its first operation.
  if (!on_cpu(job.ranks) &&
      std::ranges::adjacent_find(job.steps.common, next) != job.steps.common.end())
    from = msg::end_to_end(several && comparable, several && !comparable,
                           job.steps.common.front().index);
  return wrapped(msg::step_time(std::move(from)), width);
}

std::string budget(const Analysis& report, std::size_t width) {
  return account_of_step(report, every_line) + phases(report.job, width) + rates(report, width) +
         step_note(report.job, width);
}

// Every table.
std::string all_sections(const Analysis& report, std::size_t width) {
  std::string out;
  const auto add = [&](const std::string& section) {
    if (!section.empty()) out += '\n' + section;
  };
  add(expected_step_text(report, width));
  if (report.job.explanation) add(findings_text(report.findings, report.job, width));
  add(explanation_text(report.job.explanation, width));
  add(unit_waits_text(report.job.units, width));
  for (const std::string& section : text_sections(report, width)) add(section);
  add(expected_shapes_text(report, width));
  add(recording_text(report.job, width));
  std::string said;
  for (const Message& n : notes(report)) said += note_text(n, width);
  add(said);
  return out;
}

}  // namespace

std::string analyze_text(const Analysis& report, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  if (report.job.ranks.empty()) return say_stopped(report.answer.sentence) + '\n';
  const std::string where = details_line(options);
  if (options.detail == TextDetail::usual) return first_screen_text(report, options);
  if (options.detail == TextDetail::brief)
    return answer_text(report, options) + first_findings(report, most_first_findings, width) +
           where;
  return jobs_table(report, width) + headline(report) + '\n' + answer_text(report, options) + '\n' +
         budget(report, width) + where + all_sections(report, width);
}

}  // namespace stepscope
