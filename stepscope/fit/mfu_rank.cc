// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_rank.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

Ns compute_of(const Budget& budget) {
  return budget[BudgetCategory::compute] + budget[BudgetCategory::comm_overlapped];
}

Budget total_of(const DeviceBudget& device, std::span<const std::size_t> places) {
  Budget total;
  for (const std::size_t place : places) total += device.steps[place];
  return total;
}

void add_budgets(const TimeBudget& budget, std::span<const std::size_t> places, MfuRank& result) {
  Ns busiest{};
  for (const DeviceBudget& d : budget.devices) {
    busiest = std::max(busiest, compute_of(total_of(d, places)));
  }
  for (std::size_t i = 0; i < budget.devices.size(); ++i) {
    const Budget total = total_of(budget.devices[i], places);
    if (i != budget.chosen && compute_of(total) * 100 < busiest) continue;
    result.budget += total;
    result.steps += static_cast<std::int64_t>(places.size());
  }
}

// Products of different formats may run concurrently, so their times shrink to their union.
Ns shrunk(Ns time, double share) {
  return Ns{std::llround(static_cast<double>(time.count()) * share)};
}

ComputeWork work_of(const Executed& executed, std::span<const std::size_t> places) {
  std::array<ExecutedProducts, precision_count> sums{};
  Ns together{};
  Ns separate{};
  ComputeWork work;
  for (const std::size_t place : places) {
    const ExecutedStep& step = executed.steps[place];
    together += step.product_union;
    work.unclassed_busy += step.unclassed_union;
    separate += step.time() + step.unknown_time();
    for (std::size_t p = 0; p < precision_count; ++p) {
      sums[p].flops += step.products[p].flops;
      sums[p].recompute += step.products[p].recompute;
      sums[p].time += step.products[p].time;
      sums[p].unknown_time += step.products[p].unknown_time;
    }
  }
  const double share = together < separate ? static_cast<double>(together.count()) /
                                                 static_cast<double>(separate.count())
                                           : 1;
  for (std::size_t p = 0; p < precision_count; ++p) {
    work.unknown_busy += shrunk(sums[p].unknown_time, share);
    if (sums[p].time == Ns{0}) continue;
    const auto dtype = dtype_of(static_cast<OperandFormat>(p));
    const Ns busy = shrunk(sums[p].time, share);
    if (dtype)
      work.known.push_back(
          {.dtype = *dtype, .flops = sums[p].flops, .busy = busy, .recompute = sums[p].recompute});
    else
      work.unknown_busy += busy;
  }
  return work;
}

}  // namespace

std::optional<Dtype> dtype_of(OperandFormat precision) {
  switch (precision) {
    case OperandFormat::fp64:
      return Dtype::fp64;
    case OperandFormat::fp32:
      return Dtype::fp32;
    case OperandFormat::tf32:
      return Dtype::tf32;
    case OperandFormat::fp16:
      return Dtype::fp16;
    case OperandFormat::bf16:
      return Dtype::bf16;
    case OperandFormat::fp8:
      return Dtype::fp8;
    case OperandFormat::int8:
    case OperandFormat::other:
      break;
  }
  return std::nullopt;
}

MfuRank mfu_rank(int rank, const TimeBudget& budget, std::span<const std::size_t> budget_places,
                 const Executed& executed, std::span<const std::size_t> places) {
  MfuRank result{.rank = rank, .steps = 0, .budget = {}, .work = {}, .pipeline_receive_wait = {}};
  add_budgets(budget, budget_places, result);
  if (executed.any_shapes) result.work = work_of(executed, places);
  return result;
}

std::optional<Ns> product_contention(std::span<const Contention> rows) {
  std::optional<Ns> lost;
  for (const Contention& row : rows) {
    if (row.kind == NameClass::matmul || row.kind == NameClass::attention) {
      lost = lost.value_or(Ns{}) + row.lost;
    }
  }
  return lost;
}

}  // namespace stepscope
