// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/stats_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

Json value(std::optional<Ns> t) { return t ? Json(t->count()) : Json(nullptr); }
Json value(std::optional<double> x) { return x ? Json(*x) : Json(nullptr); }

Json throughput_json(const ThroughputMetrics& t) {
  return {{"steps", t.steps},
          {"tokens", t.tokens},
          {"wall_ns", t.wall.count()},
          {"tokens_per_second", value(t.tokens_per_second)},
          {"tokens_per_second_per_rank", value(t.tokens_per_second_per_rank)},
          {"forward_tokens_per_second", value(t.forward_tokens_per_second)},
          {"backward_tokens_per_second", value(t.backward_tokens_per_second)},
          {"rolling_tokens_per_second", value(t.rolling_tokens_per_second)},
          {"decayed_tokens_per_second", value(t.decayed_tokens_per_second)},
          {"peak_tokens_per_second", value(t.peak_tokens_per_second)},
          {"step_p50_ns", value(t.step_p50)},
          {"step_p90_ns", value(t.step_p90)},
          {"step_p99_ns", value(t.step_p99)}};
}

Json transfers_json(const MemoryTransferMetrics& t) {
  Json links = Json::array();
  for (const TransferLinkStats& link : t.links)
    links.push_back({{"direction", transfer_direction_names[slot(link.direction)]},
                     {"count", link.sum.calls},
                     {"bytes", link.sum.bytes.value},
                     {"parameter_bytes", link.sum.parameter_bytes.value},
                     {"total_ns", link.sum.time.count()},
                     {"busy_ns", link.sum.busy.count()},
                     {"gb_per_s", value(link.gb_per_s)},
                     {"efficiency", value(link.efficiency)}});
  return {{"bytes", t.bytes.value},
          {"gb_per_s", value(t.gb_per_s)},
          {"efficiency", value(t.efficiency)},
          {"links", links}};
}

Json kind_json(const CollectiveKindStats& kind) {
  const JobCollective& c = kind.calls;
  const bool timed = c.sum.timed_calls > 0;
  const auto where_timed = [&](Ns t) { return timed ? Json(t.count()) : Json(nullptr); };
  return {{"group", c.group.name},
          {"group_size", c.group.size},
          {"kind", collective_kind_names[slot(c.kind)]},
          {"purpose", collective_purpose_names[slot(c.purpose)]},
          {"count", c.unique},
          {"calls", c.sum.calls},
          {"bytes", c.sum.bytes.value},
          {"padding_bytes", c.sum.padding.value},
          {"bus_bytes", c.bus_bytes().value},
          {"most_bytes", c.most_bytes.value},
          {"total_ns", c.sum.time.count()},
          {"stall_ns", c.sum.stall.count()},
          {"wait_ns", where_timed(c.sum.peer_wait)},
          {"transfer_ns", where_timed(c.sum.transfer)},
          {"busbw_gb_per_s", value(kind.busbw_gb_per_s)},
          {"efficiency", value(kind.efficiency)},
          {"p50_ns", value(kind.p50)},
          {"p99_ns", value(kind.p99)}};
}

Json communication_json(const CommunicationStats& c) {
  Json kinds = Json::array();
  for (const CollectiveKindStats& kind : c.kinds) kinds.push_back(kind_json(kind));
  return {{"count", c.operations},
          {"bus_bytes", c.bytes.value},
          {"efficiency", value(c.efficiency)},
          {"efficiency_with_waiting", value(c.efficiency_with_waiting)},
          {"overlap_efficiency", value(c.overlap_efficiency)},
          {"exposed_share", value(c.exposed_share)},
          {"collectives", kinds}};
}

Json efficiency_json(const OptimizationEfficiency& e) {
  Json terms = Json::array();
  for (const EfficiencyTerm& term : e.terms)
    terms.push_back({{"name", term.name}, {"share", term.share}});
  return {{"mfu", value(e.mfu)},
          {"hfu", value(e.hfu)},
          {"references_too_low", e.references_too_low},
          {"terms", terms},
          {"goodput", value(e.goodput)},
          {"prefetch_hit_rate", value(e.prefetch_hit_rate)},
          {"prefetch_hidden", value(e.prefetch_hidden)},
          {"prefetch_wasted_bytes", e.prefetch_wasted.value},
          {"imbalance", value(e.imbalance)}};
}

Json passes_json(const PerformanceSummary& summary) {
  Json passes = Json::object();
  for (std::size_t i = 0; i < pass_count; ++i) {
    const PassTimes& pass = summary.passes[i];
    passes[std::string(training_pass_names[i])] = {{"count", pass.count},
                                                   {"items", pass.items},
                                                   {"total_ns", pass.total.count()},
                                                   {"mean_ns", value(pass.mean)},
                                                   {"min_ns", value(pass.min)},
                                                   {"p50_ns", value(pass.p50)},
                                                   {"p90_ns", value(pass.p90)},
                                                   {"p99_ns", value(pass.p99)},
                                                   {"max_ns", value(pass.max)}};
  }
  return passes;
}

Json layers_json(const PerformanceSummary& summary) {
  Json layers = Json::array();
  for (const auto& [name, layer] : summary.layers)
    layers.push_back({{"name", name},
                      {"forward_count", layer.forward_count},
                      {"forward_total_ns", layer.total_forward_time.count()},
                      {"forward_mean_ns", value(layer.average_forward_time)},
                      {"forward_min_ns", value(layer.min_forward_time)},
                      {"forward_max_ns", value(layer.max_forward_time)},
                      {"backward_count", layer.backward_count},
                      {"backward_total_ns", layer.total_backward_time.count()},
                      {"backward_mean_ns", value(layer.average_backward_time)},
                      {"backward_min_ns", value(layer.min_backward_time)},
                      {"backward_max_ns", value(layer.max_backward_time)},
                      {"recompute_count", layer.recompute_count},
                      {"recompute_total_ns", layer.total_recompute_time.count()},
                      {"recompute_mean_ns", value(layer.average_recompute_time)},
                      {"recompute_min_ns", value(layer.min_recompute_time)},
                      {"recompute_max_ns", value(layer.max_recompute_time)},
                      {"slowest_rank", layer.slowest_rank}});
  return layers;
}

// A row of a collective, or of a direction of transfers.
Json reference_json(const LinkReference& link, Json group, Json kind, Json direction) {
  return {{"group", std::move(group)},
          {"kind", std::move(kind)},
          {"direction", std::move(direction)},
          {"start_ns", link.start.count() * 1e9},
          {"gb_per_s", link.rate.value / 1e9}};
}

Json references_json(const ReferenceRates& references) {
  Json rows = Json::array();
  for (const CollectiveReference& c : references.collectives)
    rows.push_back(
        reference_json(c.link, c.group, collective_kind_names[slot(c.kind)], Json(nullptr)));
  for (std::size_t d = 0; d < transfer_direction_count; ++d)
    if (const auto& link = references.transfers[d])
      rows.push_back(reference_json(*link, nullptr, nullptr, transfer_direction_names[d]));
  return rows;
}

Json memory_json(const PerformanceSummary& summary) {
  Json memory = Json::object();
  const auto row = [](const MemoryTotals& m) {
    return Json{{"current_bytes", m.current.value}, {"peak_bytes", m.peak.value}};
  };
  for (std::size_t i = 0; i < memory_class_count; ++i)
    if (summary.memory_most[i].peak.value > 0)
      memory[std::string(memory_class_names[i])] = row(summary.memory_most[i]);
  memory["total"] = summary.memory_total_most ? row(*summary.memory_total_most) : Json(nullptr);
  return memory;
}

}  // namespace

std::string stats_json(const PerformanceSummary& summary) {
  Json budget = Json::object();
  for (std::size_t i = 0; i < activity_count; ++i)
    budget[std::string(activity_names[i])] = summary.budget[i].count();
  const Json out = {{"ranks", summary.ranks},
                    {"forward_passes", summary.forward_passes},
                    {"backward_passes", summary.backward_passes},
                    {"optimizer_steps", summary.optimizer_steps},
                    {"total_forward_ns", summary.total_forward_time.count()},
                    {"total_backward_ns", summary.total_backward_time.count()},
                    {"total_optimizer_ns", summary.total_optimizer_time.count()},
                    {"parameter_transfer_ns", summary.parameter_transfer_time.count()},
                    {"gradient_sync_ns", summary.gradient_sync_time.count()},
                    {"passes", passes_json(summary)},
                    {"rank_wall_ns", summary.rank_wall.count()},
                    {"activities_ns", budget},
                    {"beyond_wall_ns", summary.beyond_wall.count()},
                    {"throughput", throughput_json(summary.throughput)},
                    {"memory_transfers", transfers_json(summary.memory_transfers)},
                    {"communication", communication_json(summary.communication)},
                    {"efficiency", efficiency_json(summary.efficiency)},
                    {"memory", memory_json(summary)},
                    {"references", references_json(summary.references)},
                    {"layers", layers_json(summary)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stepscope
