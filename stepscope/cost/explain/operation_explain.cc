// SPDX-License-Identifier: Apache-2.0
// The formulas behind one operation: its time on the device (compute_time.h) and what it sends.
#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/explain/operation_rows.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope::explain_parts {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the operators of an expression
using namespace formula;

Formula parameter(const ComputeModel& model, ComputeParameter p) { return count(of(model, p)); }
Formula launch(const ComputeModel& model, ComputeParameter p) {
  return seconds(of(model, p) * 1e-6);
}

Formula memory_rate(const ComputeModel& model) {
  return byte_rate(model.memory_rate) * parameter(model, ComputeParameter::memory_efficiency);
}

// 2 m n k batch (1 + tail (w - 1)) misaligned.
Formula slowed_flops(const ComputeModel& model, const MatmulShape& s) {
  Formula all = flops(2) * count(s.m) * count(s.n) * count(s.k) * count(s.batch);
  if (all.value() <= 0) return all;
  const Formula one = count(std::int64_t{1});
  const Formula lost =
      parameter(model, ComputeParameter::tail) * (count(matmul_waves(model, s)) - one);
  const Formula slowed = all * (one + lost);
  const bool aligned = s.m % 8 == 0 && s.n % 8 == 0 && s.k % 8 == 0;
  return aligned ? slowed : slowed * parameter(model, ComputeParameter::misaligned);
}

// What the shapes take, times the share of their products that a mask leaves.
Formula products(const ComputeModel& model, const MatmulRates& rates, const Pass& pass) {
  const Formula rate = flop_rate(rates.peak) * count(rates.efficiency);
  Formula all = flops(0);
  double counted = 0;
  for (const MatmulShape& s : pass.matmuls) {
    const Formula one = slowed_flops(model, s);
    all = counted == 0 ? one : all + one;
    counted += 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) *
               static_cast<double>(s.n) * static_cast<double>(s.k);
  }
  if (counted <= 0) return flops(pass.matrix.value) / rate;
  const double left = pass.matrix.value / counted;
  return left == 1 ? all / rate : all / rate * count(left);
}

struct Time {
  std::string_view words;
  Formula expression;
};

Formula vector_time(const ComputeModel& model, const Pass& pass) {
  return flops(pass.vector.value) / flop_rate(model.vector_rate);
}

Time matmul_time(const ComputeModel& model, const MatmulRates& rates, const Pass& pass,
                 Direction direction) {
  const double weights = pass.weight_bytes * (direction == Direction::forward ? 1 : 0.5);
  const double moved =
      pass.bytes() - (1 - rates.operands) * (pass.input_bytes + pass.other_bytes + weights);
  const Formula traffic =
      bytes(moved) / memory_rate(model) * parameter(model, ComputeParameter::matmul_memory_share);
  const Formula arithmetic = pass.vector.value > 0
                                 ? products(model, rates, pass) + vector_time(model, pass)
                                 : products(model, rates, pass);
  const auto calls = std::max<std::int64_t>(1, std::ssize(pass.matmuls));
  const Formula start = count(calls) * launch(model, ComputeParameter::matmul_launch_us);
  const Formula casts = count(rates.cast * (pass.matmuls.size() > 1 ? 0.5 : 1)) *
                        bytes(pass.input_bytes) / memory_rate(model);
  return {
      rates.cast > 0 ? "launch + norm(FLOPs / (peak eff), bytes / rate) + cast"
                     : "launch + norm(FLOPs / (peak eff), bytes / rate)",
      sum({start, norm(arithmetic, traffic, of(model, ComputeParameter::roofline_power)), casts},
          seconds(0))};
}

Time other_time(const ComputeModel& model, const Pass& pass, Direction direction, bool fused) {
  Formula arithmetic = vector_time(model, pass);
  if (fused) {
    Formula rate = flop_rate(model.full.peak) * count(model.attention_efficiency);
    if (direction == Direction::backward)
      rate = rate * parameter(model, ComputeParameter::attention_backward);
    const Formula core = flops(pass.matrix.value) / rate;
    arithmetic = pass.vector.value > 0 ? arithmetic + core : core;
  }
  const Formula traffic = bytes(pass.bytes()) / memory_rate(model);
  return {fused ? "launch + norm(vector / rate + FLOPs / (peak eff), bytes / rate)"
                : "launch + norm(vector / rate, bytes / rate)",
          sum({launch(model, ComputeParameter::launch_us),
               norm(arithmetic, traffic, of(model, ComputeParameter::roofline_power))},
              seconds(0))};
}

Time time_of(const ComputeModel& model, const Operation& o, Direction direction, bool full) {
  const Pass& pass = direction == Direction::forward ? o.forward : o.backward;
  if (pass.flops().value <= 0 && pass.bytes() <= 0) return {"nothing", seconds(0)};
  const bool attention = o.kind == OperationClass::attention;
  const bool fused = attention && o.forward.matmuls.size() > 1;
  if (o.kind == OperationClass::matmul || (attention && !fused)) {
    return matmul_time(model, full || attention ? model.full : model.matmul, pass, direction);
  }
  return other_time(model, pass, direction, fused);
}

std::string line(const OperationRow& row, std::string_view what, std::string_view words,
                 const Formula& expression, const Formula& result) {
  std::string name = std::string(row.operation.name) + " " + std::string(what);
  std::string where = "of " + std::string(row.part);
  if (row.count > 1) where += ", " + std::to_string(row.count) + " layers";
  return explained(name, words, expression, result, where);
}

double work_of(const OperationRow& row, Direction direction) {
  return direction == Direction::forward ? row.forward : row.backward;
}

// A line each for the calls of a pass alone, and for what stays of those that can overlap.
void add_calls(const Evaluated& e, const OperationRow& row, Direction direction,
               std::vector<std::string>& lines) {
  const bool forward = direction == Direction::forward;
  const Pass& pass = forward ? row.operation.forward : row.operation.backward;
  const double whole = work_of(row, direction);
  double left = whole;
  for (const Communication& c : pass.communications) {
    const auto& group = e.context.placements[static_cast<std::size_t>(c.dim)];
    if (!group) continue;
    const Bytes total{static_cast<std::int64_t>(std::llround(c.bytes))};
    const double time = static_cast<double>(c.count) *
                        collective_time(*e.context.network, c.kind, total, *group).count();
    std::string what = std::string(collective_kind_names[static_cast<std::size_t>(c.kind)]) +
                       " over " + std::string(parallel_dim_names[static_cast<std::size_t>(c.dim)]) +
                       (forward ? " forward" : " backward");
    const Formula once = collective_formula(*e.context.network, c.kind, total, *group);
    lines.push_back(line(row, what, "calls (start + combined(steps, transfer, exposed, fill))",
                         count(c.count) * once, seconds(time)));
    if (!c.can_overlap) continue;
    const CallWindow open = call_window(c, e.plan, row.operation, direction, whole, left);
    if (open.share == 0) continue;
    const double lost = call_slowdown(e.context.compute, *e.context.network, c, time);
    const double hidden = open.share * std::min(time, open.seconds);
    left -= hidden;
    const Formula call = seconds(time);
    const Formula beside = count(open.share) * min(call, seconds(open.seconds));
    lines.push_back(line(row, "exposed " + what, "call - hidden + slowdown hidden",
                         call - beside + count(lost) * beside,
                         seconds(time - hidden + lost * hidden)));
  }
}

}  // namespace

std::vector<std::string_view> operation_names(const Evaluated& e) {
  std::vector<std::string_view> names;
  for (const OperationRow& row : operation_rows(e.context, e.plan)) {
    if (std::ranges::find(names, row.operation.name) == names.end())
      names.push_back(row.operation.name);
  }
  return names;
}

std::vector<std::string> of_operations(const Evaluated& e, std::string_view name) {
  std::vector<std::string> lines;
  for (const OperationRow& row : operation_rows(e.context, e.plan)) {
    if (!name.empty() && row.operation.name != name) continue;
    const bool full = row.part == "head";
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const Time t = time_of(e.context.compute, row.operation, direction, full);
      lines.push_back(line(row, direction == Direction::forward ? "forward" : "backward", t.words,
                           t.expression, seconds(work_of(row, direction))));
      add_calls(e, row, direction, lines);
    }
  }
  return lines;
}

}  // namespace stepscope::explain_parts
