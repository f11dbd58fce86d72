// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "stepscope/diagnose/labels.h"
#include "stepscope/report/terminal/account.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/stats/round_to_sum.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

std::span<const TrainStep> counted_steps(const TrainReport& r) {
  const std::span<const TrainStep> all(r.steps);
  return all.size() < 3 ? all : all.subspan(1);
}

// Mean over the ranks of every counted step.
template <std::size_t n>
std::array<double, n> mean_of(const TrainReport& r, std::array<Ns, n> TrainRankStep::* member) {
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

std::string headline(const TrainReport& r) {
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
std::string account(const TrainReport& r) {
  const auto budget = mean_of(r, &TrainRankStep::budget);
  const double step = std::accumulate(budget.begin(), budget.end(), 0.0);
  std::vector<AccountLine> lines;
  for (std::size_t c = 0; c < budget_category_count; ++c)
    lines.push_back({std::string(words_of(static_cast<BudgetCategory>(c), true)), budget[c],
                     step > 0 ? budget[c] / step * 100 : 0});
  return std::string("Where it goes") +
         (r.setup.ranks > 1 ? " (mean over ranks and steps):\n" : ":\n") +
         account_text(std::move(lines));
}

std::string phases(const TrainReport& r) {
  const auto mean = mean_of(r, &TrainRankStep::phases);
  std::string out = "By phase:";
  for (std::size_t p = 0; p < phase_count; ++p)
    if (mean[p] > 0)
      out += fmt::format("{} {} {}", out.back() == ':' ? "" : " ·", phase_names[p],
                         format_time(mean[p]));
  return out + '\n';
}

std::string memory_table(const TrainReport& r, std::size_t width) {
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

std::string collectives_table(const TrainReport& r, std::size_t width) {
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
                    rate > 0 ? format_digits(rate) + " GB/s" : "-"});
  }
  return "Collectives of one rank, all steps:\n" + text_table({{"kind", false},
                                                               {"ranks"},
                                                               {"calls"},
                                                               {"buffers"},
                                                               {"sent"},
                                                               {"transfer"},
                                                               {"waiting"},
                                                               {"stalled"},
                                                               {"busbw"}},
                                                              std::move(rows), width);
}

template <std::size_t n>
Json by_name(const std::array<Ns, n>& values, const std::array<std::string_view, n>& names) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) json[std::string(names[i])] = values[i].count();
  return json;
}

// Mean over ranks in whole ns that sum to the mean wall time, rounded.
template <std::size_t n>
std::array<Ns, n> mean_over_ranks(const TrainStep& step,
                                  std::array<Ns, n> TrainRankStep::* member) {
  std::vector<double> sum(n, 0);
  for (const TrainRankStep& rank : step.ranks)
    for (std::size_t i = 0; i < n; ++i) sum[i] += nanoseconds_of((rank.*member)[i]);
  for (double& s : sum) s /= std::max<double>(1, static_cast<double>(step.ranks.size()));
  const std::vector<std::int64_t> whole = round_to_sum(sum);
  std::array<Ns, n> mean{};
  for (std::size_t i = 0; i < n; ++i) mean[i] = Ns{whole[i]};
  return mean;
}

Json step_json(const TrainStep& s) {
  return {{"index", s.index},
          {"loss", s.loss},
          {"validation_loss", real(s.validation_loss)},
          {"gradient_norm", real(s.gradient_norm)},
          {"learning_rate", s.learning_rate},
          {"tokens", s.tokens},
          {"skipped", s.skipped},
          {"wall_ns", s.wall.count()},
          {"budget_ns", by_name(mean_over_ranks(s, &TrainRankStep::budget), budget_category_names)},
          {"phases_ns", by_name(mean_over_ranks(s, &TrainRankStep::phases), phase_names)}};
}

Json rank_steps(const TrainReport& r) {
  Json rows = Json::array();
  for (const TrainStep& step : r.steps)
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
      rows.push_back({{"rank", rank},
                      {"index", step.index},
                      {"tokens", step.ranks[rank].tokens},
                      {"wall_ns", step.ranks[rank].wall.count()},
                      {"budget_ns", by_name(step.ranks[rank].budget, budget_category_names)},
                      {"phases_ns", by_name(step.ranks[rank].phases, phase_names)}});
  return rows;
}

Json memory_json(const TrainReport& r) {
  Json rows = Json::array();
  for (const TrainMemory& m : r.memory)
    rows.push_back({{"name", m.name},
                    {"planned_bytes", m.planned.value},
                    {"measured_bytes", m.measured.value}});
  return rows;
}

Json collectives_json(const TrainReport& r) {
  Json rows = Json::array();
  for (const TrainCollective& c : r.collectives)
    rows.push_back({{"kind", c.kind},
                    {"group_size", c.group},
                    {"calls", c.calls},
                    {"bytes", c.payload.value},
                    {"sent_bytes", c.sent.value},
                    {"transfer_ns", c.transfer.count()},
                    {"wait_ns", c.wait.count()},
                    {"stall_ns", c.stall.count()}});
  return rows;
}

Json setup_json(const TrainSetup& s) {
  return {{"model", s.model},        {"parameters", s.parameters},     {"ranks", s.ranks},
          {"zero", s.zero},          {"precision", s.precision},       {"batch", s.batch},
          {"sequence", s.sequence},  {"accumulation", s.accumulation}, {"recompute", s.recompute},
          {"transport", s.transport}};
}

}  // namespace

TrainRates train_rates(const TrainReport& r) {
  TrainRates rates;
  const auto steps = counted_steps(r);
  if (steps.empty()) return rates;
  double wall = 0;
  double tokens = 0;
  for (const TrainStep& step : steps) {
    wall += nanoseconds_of(step.wall);
    tokens += static_cast<double>(step.tokens);
  }
  if (wall <= 0) return rates;
  rates.step_ns = wall / static_cast<double>(steps.size());
  rates.tokens_per_second = tokens / wall * ns_per_s;
  if (r.peak && r.model_flops.value > 0) {
    const double available = r.peak->value * r.setup.ranks * rates.step_ns / ns_per_s;
    rates.mfu = r.model_flops.value / available;
    rates.hfu = r.executed_flops.value / available;
  }
  return rates;
}

std::string train_sentence(const TrainReport& r) {
  if (r.steps.empty()) return "No step was completed.";
  const TrainRates rates = train_rates(r);
  std::string out = fmt::format("A step takes {}: {} tokens/s", format_time(rates.step_ns),
                                format_count(rates.tokens_per_second));
  if (rates.mfu) {
    out += fmt::format(", {} of the {} peak of {} (MFU, causal attention counted half",
                       format_percent(*rates.mfu), r.setup.precision,
                       counted(static_cast<std::uint64_t>(r.setup.ranks), "core"));
    out += rates.hfu && *rates.hfu > *rates.mfu
               ? fmt::format("; HFU {})", format_percent(*rates.hfu))
               : std::string(")");
  }
  return out + fmt::format("; loss {:.3f} → {:.3f} in {}.", r.steps.front().loss,
                           r.steps.back().loss, counted(r.steps.size(), "step"));
}

std::string train_text(const TrainReport& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(40, options.width));
  std::string out = headline(r) + '\n' + wrapped(train_sentence(r), width);
  if (!r.steps.empty()) out += account(r) + phases(r);
  for (const std::string& s : r.stragglers) out += wrapped(s, width);
  for (const std::string& s : r.offload) out += wrapped(s, width);
  for (const std::string& table : {memory_table(r, width), collectives_table(r, width)})
    if (!table.empty()) out += '\n' + table;
  if (r.isolation) out += '\n' + isolation_text(*r.isolation, width);
  for (const std::string& w : r.warnings) out += wrapped("note: " + w, width);
  if (!options.details.empty()) out += fmt::format("Details: {}\n", options.details);
  return out;
}

Json train_tree(const TrainReport& r) {
  const TrainRates rates = train_rates(r);
  Json steps = Json::array();
  for (const TrainStep& step : r.steps) steps.push_back(step_json(step));
  return {{"schema", "stepscope.train/1"},
          {"version", r.version},
          {"answer", {{"sentence", train_sentence(r)}}},
          {"setup", setup_json(r.setup)},
          {"peak_flops", r.peak ? Json(r.peak->value) : Json(nullptr)},
          {"peak_source", text_or_null(r.peak_source)},
          {"model_flops_per_step", r.model_flops.value},
          {"executed_flops_per_step", r.executed_flops.value},
          {"step_time_ns", rates.step_ns},
          {"tokens_per_second", rates.tokens_per_second},
          {"mfu", real(rates.mfu)},
          {"hfu", real(rates.hfu)},
          {"steps", std::move(steps)},
          {"rank_steps", rank_steps(r)},
          {"memory", memory_json(r)},
          {"collectives", collectives_json(r)},
          {"isolation", r.isolation ? isolation_tree(*r.isolation) : Json(nullptr)},
          {"stragglers", r.stragglers},
          {"offload", r.offload},
          {"checkpoints", r.checkpoints},
          {"stats", r.stats},
          {"warnings", r.warnings}};
}

std::vector<CsvFile> train_csv(const TrainReport& r) {
  const Json tree = train_tree(r);
  std::vector<CsvFile> files;
  for (const char* name : {"steps", "rank_steps", "memory", "collectives"})
    if (!tree[name].empty()) files.push_back(csv_table(std::string(name) + ".csv", tree[name]));
  return files;
}

}  // namespace stepscope
