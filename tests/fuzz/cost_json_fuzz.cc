// SPDX-License-Identifier: Apache-2.0
// Any text as a model, a machine, a plan and a DeepSpeed config. An accepted one survives writing
// and reading, counts without overflow, and can be checked and printed as flags.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/plan/deepspeed_config.h"
#include "stepscope/cost/plan/plan_flags.h"
#include "stepscope/cost/plan/plan_json.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void try_model(std::string_view json) {
  const Result<Transformer> model = parse_model(json, "input");
  if (!model) return expect(!model.error().message().empty(), "an error says something");
  const std::string text = model_json(*model);
  const Result<Transformer> again = parse_model(text, "again");
  expect(again.has_value(), "a written model is read");
  expect(model_json(*again) == text, "a model is read back to the same");
  // Counting walks over the layers.
  if (model->layers > 1000) return;
  const ParameterCount n = parameter_count(*model);
  expect(n.total > 0 && n.active > 0 && n.active <= n.total, "parameters are counted");
  for (const FlopsConvention c : {FlopsConvention::causal_halved, FlopsConvention::torchtitan}) {
    expect(std::isfinite(model_flops(*model, 4096, 1024, c).per_step.value), "FLOPs are finite");
  }
}

void try_plan(const Transformer& model, const Plan& plan) {
  const Result<Done> checked = check_plan(model, plan);
  if (!checked) return expect(!checked.error().message().empty(), "an error says something");
  expect(micro_batches(plan) > 0, "a plan has micro-batches");
  for (const auto& flags : {megatron_flags(model, plan), torchtitan_flags(model, plan)}) {
    expect(!flags.text.empty(), "flags are printed");
  }
  const FrameworkFlags deepspeed = deepspeed_flags(model, plan);
  if (!deepspeed.not_expressed.empty()) return;
  const auto again = parse_deepspeed(
      deepspeed.text, "again", {.devices = plan.devices, .sequence = plan.batch.sequence}, model);
  expect(again.has_value(), "a printed DeepSpeed config is read");
  expect(again->plan.batch.global == plan.batch.global && again->plan.dp == plan.dp,
         "a printed DeepSpeed config is the same plan");
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  static const Transformer dense = *find_model("llama-3-8b");
  static const Transformer mixture = *find_model("deepseek-v2-lite");
  try_model(json);
  (void)parse_machine(json, "input").has_value();
  if (const auto plan = parse_plan(json, "input")) {
    const auto again = parse_plan(plan_json(*plan), "again");
    expect(again && plan_json(*again) == plan_json(*plan), "a plan is read back to the same");
    try_plan(dense, *plan);
    try_plan(mixture, *plan);
  }
  for (const std::int64_t devices : {1, 64}) {
    const auto plan = parse_deepspeed(json, "input", {.devices = devices}, dense);
    if (plan) expect(check_plan(dense, plan->plan).has_value(), "a config that is read can run");
  }
  return 0;
}
