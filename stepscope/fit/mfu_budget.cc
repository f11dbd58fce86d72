// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_budget.h"

#include <algorithm>
#include <cmath>

#include "stepscope/stats/round_to_sum.h"

namespace stepscope {
namespace {

using Terms = std::array<double, mfu_term_count>;  // ns of the mean step

double& at(Terms& terms, MfuTerm term) { return terms[static_cast<std::size_t>(term)]; }

double ns(Ns t) { return static_cast<double>(t.count()); }

// Sums over the ranks and their steps.
struct Totals {
  double steps = 0;
  Budget budget;
  std::array<double, dtype_count> flops{};  // placed: of a dtype with a peak
  double recompute = 0;                     // of them, FLOPs that are executed again
  double known_ns = 0;                      // matmul and attention, placed
  double unknown_ns = 0;                    // matmul and attention, the rest
  double unclassed_ns = 0;                  // kernels of unknown class
  double other_ns = 0;                      // other compute
  double contention_ns = 0;
  double receive_wait_ns = 0;
  bool any_work = false;
  bool any_contention = false;
  bool any_receive_wait = false;
  std::array<bool, dtype_count> without_peak{};
};

std::optional<FlopRate> peak_of(const MfuQuestion& question, Dtype dtype) {
  if (question.peak) return question.peak;
  return question.machine ? peak(*question.machine, dtype) : std::nullopt;
}

// Splits the rank's compute time. Kernels may overlap, so matmuls come first and other compute is
// the rest of the union. Matmul time beyond the union is scaled down to it.
void add_work(const MfuQuestion& question, const ComputeWork& work, double compute, Totals& sums) {
  sums.any_work = true;
  double known = 0;
  double unknown = ns(work.unknown_busy);
  for (const MatmulWork& w : work.known) {
    if (w.flops.value <= 0) {
      unknown += ns(w.busy);
    } else if (peak_of(question, w.dtype)) {
      sums.flops[index(w.dtype)] += w.flops.value;
      sums.recompute += w.recompute.value;
      known += ns(w.busy);
    } else {
      sums.without_peak[index(w.dtype)] = true;
      unknown += ns(w.busy);
    }
  }
  known = std::min(known, compute);
  unknown = std::min(unknown, compute - known);
  const double unclassed = std::min(ns(work.unclassed_busy), compute - known - unknown);
  sums.known_ns += known;
  sums.unknown_ns += unknown;
  sums.unclassed_ns += unclassed;
  sums.other_ns += compute - known - unknown - unclassed;
  if (work.contention) {
    sums.contention_ns += ns(*work.contention);
    sums.any_contention = true;
  }
}

Totals add_up(std::span<const MfuRank> ranks, const MfuQuestion& question) {
  Totals sums;
  for (const MfuRank& rank : ranks) {
    sums.steps += static_cast<double>(rank.steps);
    sums.budget += rank.budget;
    const double compute =
        ns(rank.budget[BudgetCategory::compute]) + ns(rank.budget[BudgetCategory::comm_overlapped]);
    if (rank.work)
      add_work(question, *rank.work, compute, sums);
    else
      sums.unknown_ns += compute;
    if (!rank.pipeline_receive_wait) continue;
    sums.any_receive_wait = true;
    sums.receive_wait_ns += std::min(ns(*rank.pipeline_receive_wait),
                                     ns(rank.budget[BudgetCategory::comm_exposed_wait]));
  }
  return sums;
}

struct Peak {
  FlopRate rate;
  std::string source;
};

// If the trace shows no FLOPs, the dtype is the user's, else the usual one of training. The answer
// says so.
std::optional<Peak> peak_without_flops(const MfuQuestion& question, Message& warning) {
  for (const Dtype dtype : {question.dtype.value_or(Dtype::bf16), Dtype::fp16}) {
    const auto rate = peak_of(question, dtype);
    if (!rate) {
      if (question.dtype) break;
      continue;
    }
    if (question.peak) return Peak{*rate, "--peak-tflops"};
    if (!question.dtype) warning = msg::mfu_format_assumed(name(dtype));
    return Peak{*rate, question.machine->name + ", " + std::string(name(dtype)) + " dense"};
  }
  return std::nullopt;
}

// Names the formats with at least a hundredth of the time at peak.
std::string formats_text(const std::array<double, dtype_count>& at_peak, double all) {
  std::string formats;
  int count = 0;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (at_peak[d] < 0.01 * all) continue;
    formats.append(count == 0 ? "" : " and ").append(dtype_names[d]);
    ++count;
  }
  return formats + (count > 1 ? " dense, weighted by time at peak" : " dense");
}

// sum(F_d) / sum(F_d / B_d): the rate of this mix of formats at its peaks.
std::optional<Peak> choose_peak(const MfuQuestion& question, const Totals& sums, Message& warning) {
  double flops = 0;
  double all = 0;
  std::array<double, dtype_count> at_peak{};
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (sums.flops[d] <= 0) continue;
    at_peak[d] = sums.flops[d] / peak_of(question, static_cast<Dtype>(d))->value;
    flops += sums.flops[d];
    all += at_peak[d];
  }
  if (flops <= 0) return peak_without_flops(question, warning);
  if (question.peak) return Peak{*question.peak, "--peak-tflops"};
  return Peak{FlopRate{flops / all}, question.machine->name + ", " + formats_text(at_peak, all)};
}

// The compute terms from the mean ns of a step. Work without shapes may have any FLOPs up to its
// peak. Model FLOPs beyond the known work are therefore assigned to it first. Executed FLOPs beyond
// the model's are recompute as far as the trace shows it; the others have another cause. Model
// FLOPs that fit nowhere make that rest negative, which is shown and never clamped.
struct ComputeSplit {
  double known = 0;
  double unknown = 0;
  double other = 0;
  double hardware_at_peak = 0;
  double recompute_at_peak = 0;  // the part of it that the trace shows to be executed again
  std::optional<double> model_at_peak;
};

void split_compute(const ComputeSplit& c, Terms& terms, Messages& warnings) {
  at(terms, MfuTerm::kernel_inefficiency) = c.known - c.hardware_at_peak;
  at(terms, MfuTerm::memory_bound_compute) = c.other;
  if (!c.model_at_peak) {
    at(terms, MfuTerm::executed_at_peak) = c.hardware_at_peak;
    at(terms, MfuTerm::compute_unattributed) = c.unknown;
    return;
  }
  const double missing = *c.model_at_peak - c.hardware_at_peak;
  const double hidden = std::clamp(missing, 0.0, c.unknown);
  at(terms, MfuTerm::mfu) = *c.model_at_peak;
  const double again = std::clamp(hidden - missing, 0.0, c.recompute_at_peak);
  at(terms, MfuTerm::recompute) = again;
  at(terms, MfuTerm::beyond_model) = hidden - missing - again;
  at(terms, MfuTerm::compute_unattributed) = c.unknown - hidden;
  if (hidden < missing)
    warnings.push_back(
        msg::mfu_of_too_many_flops(Digits{100 * ((missing - hidden) / *c.model_at_peak)}));
}

void warn_of_coverage(const Totals& sums, const MfuQuestion& question, double inefficiency,
                      Messages& warnings) {
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (!sums.without_peak[d]) continue;
    warnings.push_back(msg::mfu_without_peak(
        dtype_names[d], question.machine ? question.machine->name : question.gpu_name));
  }
  if (!sums.any_work) {
    warnings.push_back(msg::mfu_without_shapes());
  } else if (sums.unknown_ns > 0.005 * (sums.known_ns + sums.unknown_ns)) {
    warnings.push_back(msg::mfu_of_unknown_flops(
        Digits{100 * (sums.unknown_ns / (sums.known_ns + sums.unknown_ns))}));
  }
  if (inefficiency < 0) warnings.push_back(msg::mfu_beyond_peak());
  if (!question.model) warnings.push_back(msg::mfu_without_model());
}

void split_rest(const Totals& sums, Terms& terms) {
  const auto mean = [&](BudgetCategory c) { return ns(sums.budget[c]) / sums.steps; };
  const double bubble = sums.receive_wait_ns / sums.steps;
  at(terms, MfuTerm::pipeline_bubble) = bubble;
  at(terms, MfuTerm::exposed_wait) = mean(BudgetCategory::comm_exposed_wait) - bubble;
  at(terms, MfuTerm::exposed_transfer) = mean(BudgetCategory::comm_exposed_transfer);
  at(terms, MfuTerm::exposed_comm_unsplit) = mean(BudgetCategory::comm_exposed_unsplit);
  at(terms, MfuTerm::exposed_copy) = mean(BudgetCategory::copy_exposed);
  at(terms, MfuTerm::idle_data) = mean(BudgetCategory::idle_data);
  at(terms, MfuTerm::idle_host) = mean(BudgetCategory::idle_host);
  at(terms, MfuTerm::idle_sync) = mean(BudgetCategory::idle_sync);
  at(terms, MfuTerm::idle_launch) = mean(BudgetCategory::idle_launch);
  at(terms, MfuTerm::idle_dependency) = mean(BudgetCategory::idle_dependency);
  at(terms, MfuTerm::idle_unexplained) = mean(BudgetCategory::idle_unexplained);
  at(terms, MfuTerm::not_recorded) = mean(BudgetCategory::not_recorded);
}

bool applies(MfuTerm term, bool has_model, bool has_work) {
  switch (term) {
    case MfuTerm::mfu:
    case MfuTerm::recompute:
    case MfuTerm::beyond_model:
      return has_model;
    case MfuTerm::executed_at_peak:
      return has_work && !has_model;
    case MfuTerm::kernel_inefficiency:
    case MfuTerm::memory_bound_compute:
      return has_work;
    default:
      return true;
  }
}

std::vector<MfuShare> share_out(const Terms& terms, const MfuQuestion& question, bool has_work,
                                double step) {
  std::vector<MfuShare> shares;
  const std::vector<std::int64_t> whole = round_to_sum(terms);
  for (std::size_t i = 0; i < mfu_term_count; ++i) {
    const auto term = static_cast<MfuTerm>(i);
    if (!applies(term, question.model.has_value(), has_work)) continue;
    const DayCost day =
        cost_of_a_day(terms[i] / step, question.world_size, question.price_per_gpu_hour);
    shares.push_back({.term = term,
                      .time = Ns{whole[i]},
                      .percent = 100 * terms[i] / step,
                      .gpu_hours_per_day = day.gpu_hours,
                      .money_per_day = day.money});
  }
  return shares;
}

std::optional<Error> refusal(std::span<const MfuRank> ranks, const MfuQuestion& question,
                             const Totals& sums) {
  if (sums.steps <= 0 || sums.budget.sum() <= Ns{0}) {
    return Error{.what = "no step to take an MFU of"};
  }
  if (question.world_size < static_cast<int>(ranks.size())) {
    return Error{.what = "the world size is " + std::to_string(question.world_size) + " but " +
                         std::to_string(ranks.size()) + " ranks were traced",
                 .hint = "give the degrees --tp, --pp and --dp of the whole run"};
  }
  return std::nullopt;
}

void warn_of_scope(std::span<const MfuRank> ranks, const MfuQuestion& question, const Totals& sums,
                   Messages& warnings) {
  const Ns wait = sums.budget[BudgetCategory::comm_exposed_wait] +
                  sums.budget[BudgetCategory::comm_exposed_unsplit];
  const bool matters = ns(wait) > 0.01 * ns(sums.budget.sum());
  if (!sums.any_receive_wait && !question.one_stage && question.world_size > 1 && matters) {
    warnings.push_back(msg::mfu_bubble_unknown());
  }
  if (static_cast<int>(ranks.size()) < question.world_size) {
    warnings.push_back(msg::mfu_of_some_ranks(ranks.size(), question.world_size));
  }
}

// MFU, HFU and their parts. `at_peak` converts FLOPs of one device into ns at the peak.
void rate(const MfuQuestion& question, Flops executed, double at_peak, double step,
          MfuBudget& result) {
  const double world = question.world_size;
  const auto share_of = [&](Flops job) { return job.value / world * at_peak / step; };
  if (question.model) {
    result.convention = question.model->convention;
    result.model_flops_per_step = question.model->per_step;
    result.mfu = share_of(question.model->per_step);
    for (const ModelFlops& other : question.other_conventions) {
      result.conventions.push_back({other, share_of(other.per_step)});
    }
  }
  if (executed.value > 0) {
    result.executed_flops_per_step = executed * world;
    result.hfu = share_of(*result.executed_flops_per_step);
  }
}

}  // namespace

DayCost cost_of_a_day(double share, int devices, std::optional<double> price_per_gpu_hour) {
  const double gpu_hours = 24.0 * devices * share;
  return {gpu_hours,
          price_per_gpu_hour ? std::optional(gpu_hours * *price_per_gpu_hour) : std::nullopt};
}

Result<MfuBudget> mfu_budget(std::span<const MfuRank> ranks, const MfuQuestion& question) {
  const Totals sums = add_up(ranks, question);
  if (auto error = refusal(ranks, question, sums)) return *std::move(error);
  MfuBudget result;
  Message assumed;
  const std::optional<Peak> peak = choose_peak(question, sums, assumed);
  if (!peak) return unknown_peak(question.gpu_name);
  if (!assumed.empty() && question.model) result.warnings.push_back(assumed);
  result.peak = peak->rate;
  result.peak_source = peak->source;

  const double step = ns(sums.budget.sum()) / sums.steps;
  const double at_peak = 1e9 / peak->rate.value;
  Flops executed{};  // per rank and step
  for (const double flops : sums.flops) executed += Flops{flops / sums.steps};
  rate(question, executed, at_peak, step, result);

  Terms terms{};
  ComputeSplit compute{.known = sums.known_ns / sums.steps,
                       .unknown = (sums.unknown_ns + sums.unclassed_ns) / sums.steps,
                       .other = sums.other_ns / sums.steps,
                       .hardware_at_peak = executed.value * at_peak,
                       .recompute_at_peak = sums.recompute / sums.steps * at_peak,
                       .model_at_peak = {}};
  if (result.mfu) compute.model_at_peak = *result.mfu * step;
  split_compute(compute, terms, result.warnings);
  split_rest(sums, terms);
  warn_of_coverage(sums, question, compute.known - compute.hardware_at_peak, result.warnings);
  warn_of_scope(ranks, question, sums, result.warnings);
  result.terms = share_out(terms, question, sums.any_work, step);
  for (const MfuShare& share : result.terms) result.step += share.time;
  if (sums.any_contention) {
    result.contention = Ns{std::llround(sums.contention_ns / sums.steps)};
  }
  return result;
}

}  // namespace stepscope
