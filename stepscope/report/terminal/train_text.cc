// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/train_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/diagnose/labels.h"
#include "stepscope/report/sentences/train_sentence.h"
#include "stepscope/report/terminal/account.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// Mean over the ranks of every counted step.
template <std::size_t n>
std::array<double, n> mean_over_steps(const TrainResult& r,
                                      std::array<Ns, n> TrainRankStep::* member) {
  std::array<double, n> sum{};
  std::size_t count = 0;
  for (const TrainStep& step : counted_steps(r)) {
    for (const TrainRankStep& rank : step.ranks) {
      for (std::size_t i = 0; i < n; ++i) sum[i] += nanoseconds_of((rank.*member)[i]);
      ++count;
    }
  }
  for (double& s : sum) s /= std::max(1.0, static_cast<double>(count));
  return sum;
}

std::string train_headline(const TrainResult& r) {
  const TrainSetup& s = r.setup;
  return fmt::format(
      "{} · {} parameters · {} × ZeRO-{} ({}, {}) · {} sequences of {} tokens a rank{}{}\n",
      printable(s.model), format_count(static_cast<double>(s.parameters)),
      counted(static_cast<std::uint64_t>(s.ranks), "rank"), s.zero, s.precision, s.transport,
      s.batch * s.accumulation, s.sequence,
      s.accumulation > 1 ? fmt::format(" in {} micro-batches", s.accumulation) : "",
      s.recompute == "none" || s.recompute.empty() ? "" : ", recompute " + s.recompute);
}

// Compute by phase, since that is what a trainer can change; the rest by cause.
std::string train_account_lines(const TrainResult& r) {
  const auto budget = mean_over_steps(r, &TrainRankStep::budget);
  const double step = std::accumulate(budget.begin(), budget.end(), 0.0);
  std::vector<AccountLine> lines;
  for (std::size_t c = 0; c < budget_category_count; ++c)
    lines.push_back({std::string(words_of(static_cast<BudgetCategory>(c), true)), budget[c],
                     step > 0 ? budget[c] / step * 100 : 0});
  return std::string("Where it goes") +
         (r.setup.ranks > 1 ? " (mean over ranks and steps):\n" : ":\n") +
         account_text(std::move(lines));
}

std::string train_phases_line(const TrainResult& r) {
  const auto mean = mean_over_steps(r, &TrainRankStep::phases);
  std::string out = "By phase:";
  for (std::size_t p = 0; p < phase_count; ++p)
    if (mean[p] > 0)
      out += fmt::format("{} {} {}", out.back() == ':' ? "" : " ·", phase_names[p],
                         format_time(mean[p]));
  return out + '\n';
}

std::string share_text(Ns part, Ns whole) {
  return whole.count() > 0
             ? fmt::format("{:.1f} %", 100 * nanoseconds_of(part) / nanoseconds_of(whole))
             : std::string("-");
}

std::string time_or_dash(std::optional<Ns> t) { return t ? format_time(nanoseconds_of(*t)) : "-"; }

std::string train_passes_table(const PerformanceSummary& s, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < pass_count; ++i) {
    const PassTimes& pass = s.passes[i];
    if (pass.count == 0) continue;
    rows.push_back({std::string(training_pass_names[i]), std::to_string(pass.count),
                    time_or_dash(pass.mean), time_or_dash(pass.min), time_or_dash(pass.p50),
                    time_or_dash(pass.p90), time_or_dash(pass.p99), time_or_dash(pass.max)});
  }
  if (rows.empty()) return {};
  return "Passes of all ranks and micro-batches, with their waits:\n" + text_table({{"", false},
                                                                                    {"count"},
                                                                                    {"mean"},
                                                                                    {"shortest"},
                                                                                    {"p50"},
                                                                                    {"p90"},
                                                                                    {"p99"},
                                                                                    {"longest"}},
                                                                                   std::move(rows),
                                                                                   width);
}

constexpr std::size_t shown_layers = 5;

std::string train_layers_table(const PerformanceSummary& s, std::size_t width) {
  std::vector<std::pair<std::string_view, const LayerTimingStats*>> layers;
  for (const auto& [name, layer] : s.layers) layers.emplace_back(name, &layer);
  std::ranges::stable_sort(layers, std::ranges::greater{}, [](const auto& l) {
    return l.second->total_forward_time + l.second->total_backward_time;
  });
  if (layers.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, layer] : std::span(layers).first(std::min(shown_layers, layers.size())))
    rows.push_back({printable(name), time_or_dash(layer->average_forward_time),
                    time_or_dash(layer->average_backward_time),
                    std::to_string(layer->slowest_rank)});
  std::string out = layers.size() > shown_layers
                        ? fmt::format("The {} longest of {} layers:\n", shown_layers, layers.size())
                        : std::string("Layers, the longest first:\n");
  return out + text_table({{"", false}, {"forward"}, {"backward"}, {"slowest rank"}},
                          std::move(rows), width);
}

// What the tables do not show.
std::string train_efficiency_lines(const PerformanceSummary& s, std::size_t width) {
  std::vector<std::string> parts;
  const auto share = [&](std::string_view name, std::optional<double> x) {
    if (x) parts.push_back(fmt::format("{} {:.1f} %", name, 100 * *x));
  };
  share("communication against the measured links", s.communication.efficiency);
  share("transfers against the measured rates", s.memory_transfers.efficiency);
  share("overlap", s.communication.overlap_efficiency);
  share("prefetch hits", s.efficiency.prefetch_hit_rate);
  share("goodput", s.efficiency.goodput);
  std::string out = "Efficiency:";
  for (const std::string& part : parts) out += (out.back() == ':' ? " " : " · ") + part;
  if (parts.empty()) out.clear();
  const auto if_any = [](Ns t) { return value_if(t > Ns{0}, t); };
  const bool any = s.gradient_sync_time > Ns{0} || s.parameter_transfer_time > Ns{0};
  return (out.empty() ? out : wrapped(out, width)) +
         (any ? wrapped(msg::synchronization_takes(if_any(s.gradient_sync_time),
                                                   if_any(s.parameter_transfer_time)),
                        width)
              : "");
}

std::string train_memory_table(const TrainResult& r, std::size_t width) {
  if (r.memory.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  Bytes planned{};
  Bytes measured{};
  const auto difference = [](Bytes a, Bytes b) {
    return a.value == 0 ? std::string("-")
                        : fmt::format("{:+.2f} %", 100.0 * static_cast<double>((b - a).value) /
                                                       static_cast<double>(a.value));
  };
  const auto text = [](Bytes b) { return format_bytes(static_cast<double>(b.value)); };
  for (const TrainMemory& m : r.memory) {
    rows.push_back({m.name, text(m.planned), text(m.measured), difference(m.planned, m.measured)});
    planned += m.planned;
    measured += m.measured;
  }
  rows.push_back({"all", text(planned), text(measured), difference(planned, measured)});
  return "Memory of the fullest rank, planned before step 1 and highest while training:\n" +
         text_table({{"", false}, {"planned"}, {"measured"}, {"difference"}}, std::move(rows),
                    width);
}

std::string train_collectives_table(const TrainResult& r, std::size_t width) {
  if (r.collectives.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const TrainCollective& c : r.collectives) {
    const double rate = c.transfer.count() > 0
                            ? static_cast<double>(c.sent.value) / nanoseconds_of(c.transfer)
                            : 0;  // bytes/ns = GB/s
    rows.push_back({c.kind, std::to_string(c.group), std::to_string(c.calls),
                    format_bytes(static_cast<double>(c.payload.value)),
                    format_bytes(static_cast<double>(c.sent.value)),
                    format_time(nanoseconds_of(c.transfer)), format_time(nanoseconds_of(c.wait)),
                    format_time(nanoseconds_of(c.stall)),
                    rate > 0 ? format_digits(rate) + " GB/s" : "-",
                    share_text(c.expected, c.expected > Ns{0} ? c.transfer : Ns{})});
  }
  return "Collectives of one rank, all steps:\n" + text_table({{"kind", false},
                                                               {"ranks"},
                                                               {"calls"},
                                                               {"buffers"},
                                                               {"sent"},
                                                               {"transfer"},
                                                               {"waiting"},
                                                               {"stalled"},
                                                               {"busbw"},
                                                               {"of link"}},
                                                              std::move(rows), width);
}

// Negative ones too.
std::string time_with_sign(Ns t) {
  return t.count() < 0 ? fmt::format("-{}", format_time(Ns{-t.count()})) : format_time(t);
}

Message isolation_sentence(const TrainIsolation& isolation, const TrainIsolation::Rank& mean) {
  const Ns slowest = std::ranges::max(isolation.ranks, {}, &TrainIsolation::Rank::compute).compute;
  const Ns contention = mean.contention();
  return msg::overlap_hides(
      value_if(mean.hidden() >= Ns{0}, share_text(mean.hidden(), mean.communication)),
      -mean.hidden(), share_text(std::chrono::abs(contention), mean.compute), contention < Ns{0},
      slowest);
}

}  // namespace

std::string isolation_text(const TrainIsolation& isolation, std::size_t width) {
  const TrainIsolation::Rank mean = isolation.mean();
  std::vector<std::vector<std::string>> rows;
  const auto measured = [&](std::string_view name, Ns t, const TrainIsolation::Range& range) {
    rows.push_back({std::string(name), time_with_sign(t),
                    fmt::format("{} … {}", time_with_sign(range.least), time_with_sign(range.most)),
                    share_text(t, mean.both)});
  };
  measured("compute alone", mean.compute, isolation.compute);
  measured("communication alone", mean.communication, isolation.communication);
  measured("both together", mean.both, isolation.both);
  measured("exposed communication", mean.exposed, isolation.exposed);
  rows.push_back({"hidden by overlap", time_with_sign(mean.hidden()), "",
                  share_text(mean.hidden(), mean.both)});
  rows.push_back({"cost of contention", time_with_sign(mean.contention()), "",
                  share_text(mean.contention(), mean.both)});
  std::string out = fmt::format("Isolated, {} each way (mean over ranks, shortest and longest):\n",
                                counted(static_cast<std::uint64_t>(isolation.steps), "step"));
  out += text_table({{"", false}, {"mean"}, {"range"}, {"of a step"}}, std::move(rows), width);
  return out + wrapped(isolation_sentence(isolation, mean), width);
}

std::string train_text(const TrainResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(40, options.width));
  std::string out = train_headline(r) + '\n' + wrapped(train_sentence(r), width);
  if (!r.steps.empty()) out += train_account_lines(r) + train_phases_line(r);
  if (const Message verdict = train_verdict_sentence(r); !verdict.empty() && !r.steps.empty())
    out += wrapped(verdict, width);
  for (const Message& s : r.offload) out += wrapped(s, width);
  for (const std::string& table : {train_memory_table(r, width), train_collectives_table(r, width),
                                   r.stats ? train_passes_table(*r.stats, width) : "",
                                   r.stats ? train_layers_table(*r.stats, width) : ""})
    if (!table.empty()) out += '\n' + table;
  if (const std::string lines = r.stats ? train_efficiency_lines(*r.stats, width) : "";
      !lines.empty())
    out += '\n' + lines;
  if (r.isolation) out += '\n' + isolation_text(*r.isolation, width);
  for (const std::string& w : say_all(r.warnings)) out += wrapped("note: " + w, width);
  return out + details_line(options);
}

}  // namespace stepscope
