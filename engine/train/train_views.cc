// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/telemetry/stats_json.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/stats/round_to_sum.h"
#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/sections/account.h"

namespace stepscope {

Message train_sentence(const TrainResult& r) {
  if (r.steps.empty()) return msg::no_step_completed();
  const TrainRates rates = train_rates(r);
  return msg::trained_at(Nanoseconds(rates.step_ns), format_count(rates.tokens_per_second),
                         percent_of(rates.mfu), r.setup.precision, r.setup.ranks,
                         rates.hfu > rates.mfu ? percent_of(rates.hfu) : Value(),
                         Digits{r.steps.front().loss}, Digits{r.steps.back().loss}, r.steps.size());
}

Message train_verdict_sentence(const TrainResult& r) {
  const TrainVerdict& v = r.verdict;
  if (v.culprits.empty()) return v.why_none.empty() ? Message() : msg::no_verdict(v.why_none);
  const Culprit& first = v.culprits.front();
  if (!is_fault(first.kind) && r.setup.ranks < 2) return {};
  return msg::verdict_of_steps(v.first_step, v.last_step,
                               is_fault(first.kind) ? first.sentence : msg::no_rank_stands_out());
}

namespace {

template <std::size_t n>
Json times_by_name(const std::array<Ns, n>& values, const std::array<std::string_view, n>& names) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) json[std::string(names[i])] = values[i].count();
  return json;
}

// Mean in whole ns that sum to the mean wall time, rounded.
template <std::size_t n>
std::array<Ns, n> mean_of_rank_steps(std::span<const TrainRankStep* const> steps,
                                     std::array<Ns, n> TrainRankStep::* member) {
  std::vector<double> sum(n, 0);
  for (const TrainRankStep* step : steps)
    for (std::size_t i = 0; i < n; ++i) sum[i] += nanoseconds_of((step->*member)[i]);
  for (double& s : sum) s /= std::max<double>(1, static_cast<double>(steps.size()));
  const std::vector<std::int64_t> whole = round_to_sum(sum);
  std::array<Ns, n> mean{};
  for (std::size_t i = 0; i < n; ++i) mean[i] = Ns{whole[i]};
  return mean;
}

Json budget_and_phases(std::span<const TrainRankStep* const> steps) {
  return {
      {"budget_ns",
       times_by_name(mean_of_rank_steps(steps, &TrainRankStep::budget), budget_category_names)},
      {"phases_ns", times_by_name(mean_of_rank_steps(steps, &TrainRankStep::phases), phase_names)}};
}

// The steps of each rank among `steps`.
std::vector<std::vector<const TrainRankStep*>> steps_by_rank(std::span<const TrainStep> steps) {
  std::vector<std::vector<const TrainRankStep*>> ranks;
  for (const TrainStep& step : steps) {
    ranks.resize(std::max(ranks.size(), step.ranks.size()));
    for (std::size_t r = 0; r < step.ranks.size(); ++r) ranks[r].push_back(&step.ranks[r]);
  }
  return ranks;
}

// Means over the counted steps: of all ranks together, and of each.
Json train_means_json(const TrainResult& r) {
  std::vector<const TrainRankStep*> all;
  Json ranks = Json::array();
  for (const auto& steps : steps_by_rank(counted_steps(r))) {
    all.insert(all.end(), steps.begin(), steps.end());
    double wall = 0;
    for (const TrainRankStep* step : steps) wall += nanoseconds_of(step->wall);
    Json row = {{"rank", ranks.size()},
                {"steps", steps.size()},
                {"wall_ns", wall / static_cast<double>(std::max<std::size_t>(1, steps.size()))}};
    row.update(budget_and_phases(steps));
    ranks.push_back(std::move(row));
  }
  Json means = budget_and_phases(all);
  means["ranks"] = std::move(ranks);
  return means;
}

Json train_step_json(const TrainStep& s) {
  std::vector<const TrainRankStep*> ranks;
  for (const TrainRankStep& rank : s.ranks) ranks.push_back(&rank);
  Json row = {{"index", s.index},
              {"loss", s.loss},
              {"validation_loss", real(s.validation_loss)},
              {"gradient_norm", real(s.gradient_norm)},
              {"learning_rate", s.learning_rate},
              {"tokens", s.tokens},
              {"skipped", s.skipped},
              {"wall_ns", s.wall.count()},
              {"added_ns", s.added.count()}};
  row.update(budget_and_phases(ranks));
  return row;
}

Json train_rank_steps_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainStep& step : r.steps)
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
      rows.push_back({{"rank", rank},
                      {"index", step.index},
                      {"tokens", step.ranks[rank].tokens},
                      {"wall_ns", step.ranks[rank].wall.count()},
                      {"budget_ns", times_by_name(step.ranks[rank].budget, budget_category_names)},
                      {"phases_ns", times_by_name(step.ranks[rank].phases, phase_names)}});
  return rows;
}

Json train_memory_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainMemory& m : r.memory)
    rows.push_back({{"name", m.name},
                    {"planned_bytes", m.planned.value},
                    {"padding_bytes", m.padding.value},
                    {"unused_bytes", m.unused.value},
                    {"measured_bytes", m.measured.value}});
  return rows;
}

Json train_collectives_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainCollective& c : r.collectives)
    rows.push_back({{"kind", c.kind},
                    {"group_size", c.group},
                    {"calls", c.calls},
                    {"bytes", c.payload.value},
                    {"padding_bytes", c.padding.value},
                    {"sent_bytes", c.sent.value},
                    {"transfer_ns", c.transfer.count()},
                    {"wait_ns", c.wait.count()},
                    {"stall_ns", c.stall.count()}});
  return rows;
}

Json train_setup_json(const TrainSetup& s) {
  return {{"model", s.model},        {"parameters", s.parameters},     {"ranks", s.ranks},
          {"zero", s.zero},          {"precision", s.precision},       {"batch", s.batch},
          {"sequence", s.sequence},  {"accumulation", s.accumulation}, {"recompute", s.recompute},
          {"transport", s.transport}};
}

Json steps_of_verdict(const TrainVerdict& verdict) {
  if (verdict.culprits.empty()) return nullptr;
  return Json::array({verdict.first_step, verdict.last_step});
}

Json isolation_range_json(Ns mean, const TrainIsolation::Range& range) {
  return {
      {"mean_ns", mean.count()}, {"min_ns", range.least.count()}, {"max_ns", range.most.count()}};
}

}  // namespace

Json isolation_tree(const TrainIsolation& isolation) {
  const TrainIsolation::Rank mean = isolation.mean();
  Json ranks = Json::array();
  for (std::size_t r = 0; r < isolation.ranks.size(); ++r) {
    const TrainIsolation::Rank& rank = isolation.ranks[r];
    ranks.push_back({{"rank", r},
                     {"both_ns", rank.both.count()},
                     {"exposed_ns", rank.exposed.count()},
                     {"compute_ns", rank.compute.count()},
                     {"communication_ns", rank.communication.count()},
                     {"hidden_ns", rank.hidden().count()},
                     {"contention_ns", rank.contention().count()}});
  }
  return {{"steps", isolation.steps},
          {"both", isolation_range_json(mean.both, isolation.both)},
          {"exposed", isolation_range_json(mean.exposed, isolation.exposed)},
          {"compute", isolation_range_json(mean.compute, isolation.compute)},
          {"communication", isolation_range_json(mean.communication, isolation.communication)},
          {"hidden_ns", mean.hidden().count()},
          {"contention_ns", mean.contention().count()},
          {"possible", mean.possible()},
          {"hidden_share", mean.possible() ? real(mean.hidden_share()) : Json(nullptr)},
          {"overlap_efficiency", mean.possible() ? real(mean.efficiency()) : Json(nullptr)},
          {"ranks", std::move(ranks)}};
}

Json train_tree(const TrainResult& r) {
  const TrainRates rates = train_rates(r);
  Json steps = Json::array();
  for (const TrainStep& step : r.steps) steps.push_back(train_step_json(step));
  Json offload = Json::array();
  for (const Message& m : r.offload) offload.push_back(say_stopped(m));
  return {{"schema", "stepscope.train/1"},
          {"version", r.version},
          {"answer",
           {{"sentence", say_stopped(train_sentence(r))},
            {"verdict", verdict_json(r.verdict.culprits)},
            {"verdict_steps", steps_of_verdict(r.verdict)},
            {"no_verdict", text_or_null(say(r.verdict.why_none))}}},
          {"setup", train_setup_json(r.setup)},
          {"peak_flops", r.peak ? Json(r.peak->value) : Json(nullptr)},
          {"peak_source", text_or_null(r.peak_source)},
          {"model_flops_per_step", r.model_flops.value},
          {"executed_flops_per_step", r.executed_flops.value},
          {"step_time_ns", rates.step_ns},
          {"tokens_per_second", rates.tokens_per_second},
          {"mfu", real(rates.mfu)},
          {"hfu", real(rates.hfu)},
          {"means", train_means_json(r)},
          {"steps", std::move(steps)},
          {"rank_steps", train_rank_steps_json(r)},
          {"memory", train_memory_json(r)},
          {"collectives", train_collectives_json(r)},
          {"isolation", r.isolation ? isolation_tree(*r.isolation) : Json(nullptr)},
          {"offload", std::move(offload)},
          {"checkpoints", r.checkpoints},
          {"stats", r.stats ? Json::parse(stats_json(*r.stats)) : Json(nullptr)},
          {"terms", terms_json({"budget", "phase"}, true)},
          {"warnings", say_all(r.warnings)}};
}

namespace {

// Steps and rows of ranks that a page holds.
constexpr std::size_t most_page_steps = 1000;
constexpr std::size_t most_page_rows = 20'000;

Json without_zeros(const Json& times) {
  Json kept = Json::object();
  for (const auto& [name, ns] : times.items())
    if (ns != 0) kept[name] = ns;
  return kept;
}

}  // namespace

Json train_page_tree(Json tree) {
  const std::size_t ranks = std::max<std::size_t>(1, tree["means"]["ranks"].size());
  const std::size_t most = std::clamp<std::size_t>(most_page_rows / ranks, 50, most_page_steps);
  const std::size_t all = tree["steps"].size();
  const std::size_t every = std::max<std::size_t>(1, (all + most - 1) / most);
  Json steps = Json::array();
  std::set<std::int64_t> kept;
  for (std::size_t begin = 0; begin < all; begin += every) {
    std::size_t longest = begin;
    for (std::size_t i = begin; i < std::min(all, begin + every); ++i)
      if (tree["steps"][i]["wall_ns"] > tree["steps"][longest]["wall_ns"]) longest = i;
    Json& step = tree["steps"][longest];
    kept.insert(step["index"].get<std::int64_t>());
    step["budget_ns"] = without_zeros(step["budget_ns"]);
    step.erase("phases_ns");
    steps.push_back(std::move(step));
  }
  Json rows = Json::array();
  for (Json& row : tree["rank_steps"]) {
    if (!kept.contains(row["index"].get<std::int64_t>())) continue;
    rows.push_back({{"rank", row["rank"]},
                    {"index", row["index"]},
                    {"wall_ns", row["wall_ns"]},
                    {"budget_ns", without_zeros(row["budget_ns"])}});
  }
  tree["drawn"] = {{"of_steps", all}, {"every", every}};
  tree["steps"] = std::move(steps);
  tree["rank_steps"] = std::move(rows);
  return tree;
}

std::vector<TreeTable> train_tables(const Json& tree) {
  std::vector<TreeTable> tables;
  for (const char* name : {"steps", "rank_steps", "memory", "collectives"})
    if (!tree[name].empty()) tables.push_back(table_of(name, tree[name]));
  if (tree["stats"].is_null()) return tables;
  Json passes = Json::array();
  for (const auto& [name, pass] : tree["stats"]["passes"].items()) {
    passes.push_back({{"name", name}});
    passes.back().update(pass);
  }
  tables.push_back(table_of("passes", passes));
  for (const char* name : {"layers", "references"})
    if (!tree["stats"][name].empty()) tables.push_back(table_of(name, tree["stats"][name]));
  return tables;
}

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
  return "Passes of all ranks, micro-batches and steps, with their waits:\n" +
         text_table({{"", false},
                     {"count"},
                     {"mean"},
                     {"shortest"},
                     {"p50"},
                     {"p90"},
                     {"p99"},
                     {"longest"}},
                    std::move(rows), width);
}

constexpr std::size_t shown_layers = 5;

std::string train_layers_table(const PerformanceSummary& s, std::size_t width) {
  std::vector<std::pair<std::string_view, const LayerTimingStats*>> layers;
  for (const auto& [name, layer] : s.layers) layers.emplace_back(name, &layer);
  std::ranges::stable_sort(layers, std::ranges::greater{}, [](const auto& l) {
    return l.second->total_forward_time + l.second->total_backward_time +
           l.second->total_recompute_time;
  });
  if (layers.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, layer] : std::span(layers).first(std::min(shown_layers, layers.size())))
    rows.push_back({printable(name), time_or_dash(layer->average_forward_time),
                    time_or_dash(layer->average_recompute_time),
                    time_or_dash(layer->average_backward_time),
                    std::to_string(layer->slowest_rank)});
  std::string out = layers.size() > shown_layers
                        ? fmt::format("The {} longest of {} layers, mean of a pass:\n",
                                      shown_layers, layers.size())
                        : std::string("Layers, the longest first, mean of a pass:\n");
  return out + text_table({{"", false}, {"forward"}, {"recompute"}, {"backward"}, {"slowest rank"}},
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
  if (mean.faster_than_alone())
    return msg::rounds_too_noisy(msg::less_than_alone(share_text(-contention, mean.compute)));
  if (mean.hides_more_than_there_is())
    return msg::rounds_too_noisy(msg::hides_more_than_there_is());
  const auto share = [](std::optional<double> of_one) {
    return of_one ? fmt::format("{:.1f} %", 100 * *of_one) : std::string("-");
  };
  return msg::overlap_hides(value_if(mean.hidden() >= Ns{0}, share(mean.hidden_share())),
                            share(mean.efficiency()), -mean.hidden(),
                            share_text(std::chrono::abs(contention), mean.compute),
                            contention < Ns{0}, slowest);
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
