// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope analyze`, as given and as understood.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/read/bytes/time_window.h"

namespace stepscope {

struct AnalyzeFlags {
  // As given.
  std::vector<std::string> inputs;
  std::string json;
  std::string html;
  std::string csv;
  std::string perfetto;
  std::string write_machine;
  bool timeline = false;
  std::string steps_text;
  std::string ranks_text;
  std::string window_text;
  std::string step_annotation;
  std::string groups_file;
  std::string machine_file;
  std::string dtype_text;
  double model_flops_per_step = 0;
  std::string model_name;
  std::int64_t global_batch = 0;
  std::int64_t sequence = 0;
  double peak_tflops = 0;
  double price_per_gpu_hour = 0;
  int tp = 0;
  int pp = 0;
  int dp = 0;
  PlanSource plan;  // what the run's plan is, but for the model and what stands above
  unsigned threads = 0;

  // As understood, by resolve().
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> last_step;
  std::set<int> ranks;  // empty = all
  std::optional<TimeWindow> window;
  GroupDimensions dimensions;
  ParallelSizes sizes;
  std::optional<Machine> machine;
  std::optional<Dtype> dtype;
  std::optional<Transformer> model;
  std::vector<ModelFlops> model_flops;  // the convention to tell MFU in, then the others
  std::optional<FlopRate> peak;
  std::optional<double> price;
};

// Which traces, steps, ranks and groups: what all verbs that take traces share.
void declare_traces(CLI::App& app, AnalyzeFlags& flags);
// These and all others of `analyze`.
void declare(CLI::App& app, AnalyzeFlags& flags);
// Reads what the flags name. The error says which flag is wrong and how it is written.
[[nodiscard]] Result<Done> resolve(AnalyzeFlags& flags);

// --machine, else what the catalogue knows of the ranks' GPU; null where it knows none.
[[nodiscard]] const Machine* machine_of(const AnalyzeFlags& flags, const JobResult& job);

}  // namespace stepscope
