// SPDX-License-Identifier: Apache-2.0
// The flags of the verbs that take traces: which files, steps, ranks and groups.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/verbs/inputs/job_description.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

struct TracesFlags {
  TracesRequest request;  // what needs no understanding is written here at once
  std::string steps;      // the others as given
  std::string ranks;
  std::string window;
  std::string groups_file;
  int tp = 0;
  int pp = 0;
  int dp = 0;
};

// `app` must not outlive `flags`.
void declare_traces(CLI::App& app, TracesFlags& flags);
// The same without --tp, --pp and --dp.
void declare_trace_inputs(CLI::App& app, TracesFlags& flags);
// --model, --global-batch, --seq, --model-flops-per-step, --machine, --peak-tflops.
void declare_job(CLI::App& app, JobDescription& job);
// Single flags that several verbs have, each in a group of the caller's.
void declare_steps(CLI::App& app, std::string& steps, const char* group);
void declare_step_annotation(CLI::App& app, std::string& name, const char* group);
void declare_kernel_rules(CLI::App& app, std::string& file, const char* group);
void declare_threads(CLI::App& app, unsigned& threads, const char* group);
void declare_machine(CLI::App& app, std::string& machine, const char* what, const char* group);
// The error says which flag is wrong and how it is written.
[[nodiscard]] Result<TracesRequest> traces_request(const TracesFlags& flags);

}  // namespace stepscope
