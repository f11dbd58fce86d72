// SPDX-License-Identifier: Apache-2.0
// The use of 100 % of the job's peak: MFU and every loss, as shares of the mean step time that sum
// to 100 %.
//
//   T = F_model/B + F_recompute/B + F_beyond/B + (t_matmul - F_hw/B) + t_other + exposed
//   communication + exposed copies + idle,   F_model + F_recompute + F_beyond = F_hw
//
// per device, then the mean over the traced ranks and their steps. B is the dense peak of the
// dtype; with several dtypes it is the time-weighted sum(F_d) / sum(F_d / B_d). Communication
// hidden behind compute counts as compute. See docs/explanation/mfu.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/fit/mfu_question.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class MfuTerm : std::uint8_t {
  mfu,
  recompute,
  beyond_model,
  executed_at_peak,
  kernel_inefficiency,
  memory_bound_compute,
  compute_unattributed,
  exposed_transfer,
  exposed_wait,
  exposed_comm_unsplit,
  exposed_copy,
  pipeline_bubble,
  idle_data,
  idle_host,
  idle_sync,
  idle_launch,
  idle_dependency,
  idle_unexplained,
  not_recorded,
};
inline constexpr auto mfu_term_names = enum_names<MfuTerm::not_recorded>;
inline constexpr std::size_t mfu_term_count = mfu_term_names.size();

// A share of a job's steps, over a day on all its devices.
struct DayCost {
  double gpu_hours = 0;
  std::optional<double> money;
};
[[nodiscard]] DayCost cost_of_a_day(double share, int devices,
                                    std::optional<double> price_per_gpu_hour);

struct MfuShare {
  MfuTerm term = MfuTerm::mfu;
  Ns time{};           // of the mean step; the terms sum to MfuBudget::step
  double percent = 0;  // of the mean step, from unrounded times; the terms sum to 100
  double gpu_hours_per_day = 0;
  std::optional<double> money_per_day;
};

struct ConventionMfu {
  ModelFlops model;
  double mfu = 0;
};

struct MfuBudget {
  std::string convention;  // of the model FLOPs; empty without them
  FlopRate peak{};         // per device
  std::string peak_source;
  std::optional<Flops> model_flops_per_step;  // whole job
  std::optional<Flops>
      executed_flops_per_step;  // whole job: mean of the traced ranks times the world size
  std::optional<double> mfu;    // fractions
  std::optional<double> hfu;
  std::vector<ConventionMfu> conventions;
  Ns step{};
  std::vector<MfuShare> terms;  // in the enum's order; the first three only with model FLOPs,
                                // kernel_inefficiency and memory_bound_compute only with shapes
  std::optional<Ns>
      contention;  // part of kernel_inefficiency: matmuls slowed by concurrent communication
  Messages warnings;
};

// Errors: no known peak (the text asks for --peak-tflops), no steps, or a world smaller than the
// number of ranks.
[[nodiscard]] Result<MfuBudget> mfu_budget(std::span<const MfuRank> ranks,
                                           const MfuQuestion& question);

}  // namespace stepscope
