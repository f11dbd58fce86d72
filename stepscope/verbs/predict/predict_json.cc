// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/predict/peak_budget.h"
#include "stepscope/verbs/predict/predict_sentence.h"
#include "stepscope/verbs/sections/plan_words.h"

namespace stepscope {
namespace {

Json plan_tree(const Plan& plan) { return Json::parse(plan_json(plan)); }

Json terms(const PredictResult& r) {
  Json out = Json::array();
  const double step = r.cost.step().count();
  for (std::size_t t = 0; t < step_term_count; ++t)
    out.push_back({{"name", std::string(step_term_names[t])},
                   {"label", std::string(words_of(static_cast<StepTerm>(t), r.model))},
                   {"ns", r.cost.seconds[t] * ns_per_s},
                   {"share", r.cost.seconds[t] / step},
                   {"formula", text_or_null(r.formulas[t])}});
  return out;
}

Json peak_budget_tree(const PredictResult& r) {
  Json out = Json::array();
  const double step = r.cost.step().count();
  for (const PeakRow& row : peak_budget(r))
    out.push_back({{"name", row.name},
                   {"label", row.label},
                   {"ns", row.seconds * ns_per_s},
                   {"share", row.seconds / step}});
  return out;
}

Json equal_stages_tree(const PredictResult& r) {
  if (!r.equal_stages) return nullptr;
  const EqualStages& e = *r.equal_stages;
  return {{"bubble_share", e.bubble},
          {"efficiency", 1 - e.bubble},
          {"formula", text_or_null(r.equal_bubble)},
          {"own_share", e.own},
          {"busiest_device", e.busiest},
          {"busiest_ratio", e.ratio}};
}

Json memory(const PredictResult& r) {
  Json formulas = Json::object();
  for (std::size_t t = 0; t < memory_term_count; ++t)
    formulas[std::string(memory_term_names[t])] = text_or_null(r.memory_formulas[t]);
  const auto capacity = r.machine.memory;
  const double total = r.cost.memory.total();
  const Json headroom =
      capacity ? Json(static_cast<double>(capacity->value) - total) : Json(nullptr);
  return {{"capacity_bytes", value(capacity)},
          {"headroom_bytes", headroom},
          {"fits", capacity ? Json(!shortage(r.cost.memory, r.machine).any()) : Json(nullptr)},
          {"peak_stage", r.cost.fullest},
          {"host_bytes", r.cost.memory.host_bytes},
          {"host_capacity_bytes", value(r.machine.host ? r.machine.host->memory : std::nullopt)},
          {"nvme_bytes", r.cost.memory.nvme_bytes},
          {"nvme_capacity_bytes", value(r.machine.nvme ? r.machine.nvme->capacity : std::nullopt)},
          {"formulas", std::move(formulas)}};
}

// Nothing is null.
Json sent_by(const PassRow& pass) { return text_or_null(collectives_in_words(pass.sent_by)); }
Json tier(const PassRow& pass) { return text_or_null(tiers_in_words(pass)); }

// What a table of a layer has besides: by operand, at the peaks on paper, with communication.
void add_details(Json& row, const OperationRow& o) {
  const LayerRow& ideal = o.ideal;
  const std::int64_t group = std::max(ideal.forward.group, ideal.backward.group);
  const double forward = o.forward + o.communication_forward;
  const double backward = o.backward + o.communication_backward;
  row.update({{"other_fwd_bytes", ideal.other_bytes},
              {"gradient_bytes", ideal.gradient_bytes},
              {"weight_bytes", ideal.weight_bytes},
              {"weight_gradient_bytes", ideal.weight_gradient_bytes},
              {"comm_fwd", sent_by(ideal.forward)},
              {"comm_bwd", sent_by(ideal.backward)},
              {"comm_group", group > 0 ? Json(group) : Json(nullptr)},
              {"comm_tier_fwd", tier(ideal.forward)},
              {"comm_tier_bwd", tier(ideal.backward)},
              {"t_compute_fwd_ns", ideal.forward.compute.count() * ns_per_s},
              {"t_compute_bwd_ns", ideal.backward.compute.count() * ns_per_s},
              {"t_memory_fwd_ns", ideal.forward.memory.count() * ns_per_s},
              {"t_memory_bwd_ns", ideal.backward.memory.count() * ns_per_s},
              {"t_total_fwd_ns", forward * ns_per_s},
              {"t_total_bwd_ns", backward * ns_per_s},
              {"comm_share_fwd", share_or_zero(o.communication_forward, forward)},
              {"comm_share_bwd", share_or_zero(o.communication_backward, backward)}});
}

Json layers(const PredictResult& r) {
  Json out = Json::array();
  for (const OperationRow& o : r.operations) {
    const Pass& f = o.operation.forward;
    const Pass& b = o.operation.backward;
    out.push_back({{"part", std::string(o.part)},
                   {"name", std::string(o.operation.name)},
                   {"class", name_of(operation_class_names, o.operation.kind)},
                   {"count", o.count},
                   {"flops_fwd", f.matrix.value},
                   {"flops_bwd", b.matrix.value},
                   {"vector_flops_fwd", f.vector.value},
                   {"vector_flops_bwd", b.vector.value},
                   {"mem_fwd_bytes", f.bytes()},
                   {"mem_bwd_bytes", b.bytes()},
                   {"input_fwd_bytes", f.input_bytes},
                   {"weight_fwd_bytes", f.weight_bytes},
                   {"output_fwd_bytes", f.output_bytes},
                   {"kept_bytes", o.operation.kept_bytes},
                   {"parameters", o.operation.parameters},
                   {"comm_fwd_bytes", communicated_bytes(f)},
                   {"comm_bwd_bytes", communicated_bytes(b)},
                   {"t_fwd_ns", o.forward * ns_per_s},
                   {"t_bwd_ns", o.backward * ns_per_s},
                   {"t_comm_fwd_ns", o.communication_forward * ns_per_s},
                   {"t_comm_bwd_ns", o.communication_backward * ns_per_s},
                   {"intensity", o.intensity()}});
    add_details(out.back(), o);
  }
  return out;
}

Json layer_sums(const PredictResult& r) {
  Json out = Json::array();
  for (const OperationSum& s : operation_sums(r.operations)) {
    const double forward = s.forward + s.communication_forward;
    const double backward = s.backward + s.communication_backward;
    out.push_back({{"part", std::string(s.part)},
                   {"layers", s.count},
                   {"flops_fwd", s.matrix_forward.value},
                   {"flops_bwd", s.matrix_backward.value},
                   {"vector_flops_fwd", s.vector_forward.value},
                   {"vector_flops_bwd", s.vector_backward.value},
                   {"mem_fwd_bytes", s.bytes_forward},
                   {"mem_bwd_bytes", s.bytes_backward},
                   {"kept_bytes", s.kept_bytes},
                   {"parameters", s.parameters},
                   {"weight_bytes", s.weight_bytes},
                   {"weight_gradient_bytes", s.weight_gradient_bytes},
                   {"comm_fwd_bytes", s.sent_forward},
                   {"comm_bwd_bytes", s.sent_backward},
                   {"t_fwd_ns", s.forward * ns_per_s},
                   {"t_bwd_ns", s.backward * ns_per_s},
                   {"t_comm_fwd_ns", s.communication_forward * ns_per_s},
                   {"t_comm_bwd_ns", s.communication_backward * ns_per_s},
                   {"t_total_fwd_ns", forward * ns_per_s},
                   {"t_total_bwd_ns", backward * ns_per_s},
                   {"comm_share_fwd", share_or_zero(s.communication_forward, forward)},
                   {"comm_share_bwd", share_or_zero(s.communication_backward, backward)}});
  }
  return out;
}

// In the order of the notebook's columns; bytes are null without communication.
Json table_row(const LayerRow& row, std::string_view name) {
  const PassRow& f = row.forward;
  const PassRow& b = row.backward;
  const std::int64_t group = std::max(f.group, b.group);
  const auto ns = [](Seconds t) { return t.count() * ns_per_s; };
  const auto sent = [](const PassRow& p) { return p.group > 0 ? Json(p.sent_bytes) : Json(); };
  const auto share = [](const PassRow& p) {
    return share_or_zero(p.communication.count(), p.total().count());
  };
  return {{"layer", std::string(name)},
          {"flops_fwd", f.flops.value},
          {"input_fwd_bytes", row.input_bytes},
          {"other_fwd_bytes", row.other_bytes},
          {"output_fwd_bytes", row.output_bytes},
          {"kept_bytes", row.kept_bytes},
          {"weight_bytes", row.weight_bytes},
          {"mem_fwd_bytes", f.bytes},
          {"flops_bwd", b.flops.value},
          {"gradient_bytes", row.gradient_bytes},
          {"weight_gradient_bytes", row.weight_gradient_bytes},
          {"mem_bwd_bytes", b.bytes},
          {"comm_bwd_bytes", sent(b)},
          {"comm_bwd", sent_by(b)},
          {"comm_group", group > 0 ? Json(group) : Json()},
          {"comm_fwd_bytes", sent(f)},
          {"comm_fwd", sent_by(f)},
          {"t_compute_fwd_ns", ns(f.compute)},
          {"t_memory_fwd_ns", ns(f.memory)},
          {"t_compute_bwd_ns", ns(b.compute)},
          {"t_memory_bwd_ns", ns(b.memory)},
          {"intensity", f.intensity()},
          {"t_fwd_ns", ns(f.roofline())},
          {"t_bwd_ns", ns(b.roofline())},
          {"comm_tier_fwd", tier(f)},
          {"comm_tier_bwd", tier(b)},
          {"t_comm_fwd_ns", ns(f.communication)},
          {"t_comm_bwd_ns", ns(b.communication)},
          {"t_total_fwd_ns", ns(f.total())},
          {"t_total_bwd_ns", ns(b.total())},
          {"comm_share_fwd", share(f)},
          {"comm_share_bwd", share(b)}};
}

Json table_sum(const LayerSum& s, std::int64_t layers) {
  const PassSum& f = s.forward;
  const PassSum& b = s.backward;
  const auto ns = [](Seconds t) { return t.count() * ns_per_s; };
  return {{"layer", fmt::format("sum of {} layers", layers)},
          {"flops_fwd", f.flops.value},
          {"kept_bytes", s.kept_bytes},
          {"weight_bytes", s.weight_bytes},
          {"mem_fwd_bytes", f.bytes},
          {"flops_bwd", b.flops.value},
          {"weight_gradient_bytes", s.weight_gradient_bytes},
          {"mem_bwd_bytes", b.bytes},
          {"comm_bwd_bytes", b.sent_bytes},
          {"comm_fwd_bytes", f.sent_bytes},
          {"t_fwd_ns", ns(f.roofline)},
          {"t_bwd_ns", ns(b.roofline)},
          {"t_comm_fwd_ns", ns(f.communication)},
          {"t_comm_bwd_ns", ns(b.communication)},
          {"t_total_fwd_ns", ns(f.total())},
          {"t_total_bwd_ns", ns(b.total())},
          {"comm_share_fwd", share_or_zero(f.communication.count(), f.total().count())},
          {"comm_share_bwd", share_or_zero(b.communication.count(), b.total().count())}};
}

Json layer_tables(const PredictResult& r) {
  Json out = Json::array();
  for (const LayerTable& t : r.layer_tables) {
    Json rows = Json::array();
    for (const LayerRow& row : t.rows)
      rows.push_back(table_row(row, row_name(*r.conventions, row.name)));
    out.push_back({{"conventions", std::string(r.conventions->name)},
                   {"name", t.name},
                   {"layers", t.layers},
                   {"rows", std::move(rows)},
                   {"sum", table_sum(t.sum, t.layers)}});
  }
  return out;
}

Json comparison(const PredictResult& r) {
  Json out = Json::array();
  for (const ComparedPlan& p : r.comparison)
    out.push_back({{"label", p.label},
                   {"plan", plan_tree(p.plan)},
                   {"step_time_ns", p.cost ? Json(p.cost->step().count() * ns_per_s) : Json()},
                   {"mfu", p.cost ? Json(p.cost->mfu[0]) : Json()},
                   {"memory_bytes", p.cost ? memory_tree(p.cost->memory) : Json()},
                   {"communication_bytes", p.cost ? Json(p.communicated_bytes) : Json()},
                   {"data_bytes", p.cost ? Json(p.data_bytes) : Json()},
                   {"error", text_or_null(worded(p.why_not))}});
  return out;
}

Json conventions(const PredictResult& r) {
  Json out = Json::array();
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    out.push_back({{"name", std::string(convention_name(r.model, static_cast<FlopsConvention>(c)))},
                   {"model_flops_per_step", r.step_flops[c]},
                   {"mfu", r.cost.mfu[c]}});
  return out;
}

Json cost(const PredictResult& r) {
  if (!r.price_per_gpu_hour) return nullptr;
  const double a_second = *r.price_per_gpu_hour * static_cast<double>(r.plan.devices) / 3600;
  return {{"price_per_gpu_hour", *r.price_per_gpu_hour},
          {"per_step", a_second * r.cost.step().count()},
          {"per_giga_token", a_second / r.cost.tokens_per_second * 1e9}};
}

}  // namespace

Json memory_tree(const Memory& memory) {
  Json out = Json::object();
  for (std::size_t t = 0; t < memory_term_count; ++t)
    out[std::string(memory_term_names[t])] = memory.bytes[t];
  out["total"] = memory.total();
  return out;
}

Json interval_tree(const StepCost& cost) {
  const StepInterval interval = cost.interval();
  return {{"low", interval.low.count() * ns_per_s},
          {"high", interval.high.count() * ns_per_s},
          {"coverage", interval_coverage}};
}

Json predict_tree(const PredictResult& r) {
  const double devices = static_cast<double>(r.plan.devices);
  return {{"schema", "stepscope.predict/1"},
          {"version", version()},
          {"answer",
           {{"sentence", say_stopped(predict_sentence(r))}, {"plan", say(plan_in_words(r.plan))}}},
          {"model",
           {{"name", r.model.name},
            {"parameters", r.parameters.total},
            {"active_parameters", r.parameters.active},
            {"trained_parameters", r.trained_parameters},
            {"layers", r.model.layers}}},
          {"machine",
           {{"name", r.machine.name},
            {"devices", r.plan.devices},
            {"peak_flops", r.peak},
            {"memory_gb_per_s", r.memory_rate / 1e9}}},
          {"plan", plan_tree(r.plan)},
          {"step_time_ns", r.cost.step().count() * ns_per_s},
          {"step_interval_ns", interval_tree(r.cost)},
          {"terms", terms_json({"step_term", "predicted_memory"})},
          {"step_terms", terms(r)},
          {"peak_budget", peak_budget_tree(r)},
          {"equal_stages", equal_stages_tree(r)},
          {"mfu", r.cost.mfu[0]},
          {"hfu", r.hfu},
          {"convention", std::string(convention_name(r.model, FlopsConvention::causal_halved))},
          {"conventions", conventions(r)},
          {"tokens_per_second", r.cost.tokens_per_second},
          {"tokens_per_second_per_device", r.cost.tokens_per_second / devices},
          {"memory_bytes", memory_tree(r.cost.memory)},
          {"memory", memory(r)},
          {"layers", layers(r)},
          {"layer_sums", layer_sums(r)},
          {"layer_tables", layer_tables(r)},
          {"cost", cost(r)},
          {"comparison", comparison(r)},
          {"warnings", say_all(predict_warnings(r))}};
}

std::vector<TreeTable> predict_tables(const Json& tree) {
  Json memory = Json::array();
  for (const auto& [key, bytes] : tree["memory_bytes"].items())
    memory.push_back({{"name", key}, {"bytes", bytes}});
  std::vector<TreeTable> tables = {table_of("terms", tree["step_terms"]),
                                   table_of("memory", memory), table_of("layers", tree["layers"]),
                                   table_of("layer_sums", tree["layer_sums"])};
  for (const Json& of_layer : tree["layer_tables"]) {
    Json rows = of_layer["rows"];
    rows.push_back(of_layer["sum"]);
    std::string name = of_layer["name"].get<std::string>();
    std::ranges::replace(name, ' ', '_');
    tables.push_back(table_of(name, rows));
  }
  if (!tree["comparison"].empty()) tables.push_back(table_of("comparison", tree["comparison"]));
  return tables;
}

}  // namespace stepscope
