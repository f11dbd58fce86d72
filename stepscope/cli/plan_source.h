// SPDX-License-Identifier: Apache-2.0
// A model, a machine and a plan from what was typed: files first, flags over them, and what
// follows from the rest.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/pipeline/plan_settings.h"

namespace stepscope {

// As given; empty and 0 = not given.
struct PlanSource {
  std::string model;
  std::string machine;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
  std::string plan_file;
  std::string ds_config;
  std::vector<std::string> values;  // one for each of plan_fields()
};

// Declares MODEL and --machine; `app` must not outlive `source`.
void declare_model_and_machine(CLI::App& app, PlanSource& source);
// These, where the plan comes from, and all its flags.
void declare_plan_source(CLI::App& app, PlanSource& source);
// A flag for each of plan_fields() that is among `names`; all of them where `names` is empty.
void declare_fields(CLI::App& app, PlanSource& source,
                    std::span<const std::string_view> names = {});

// One plan of a comparison: "zero=1, recompute=full" and what it sets.
struct Variant {
  std::string label;
  std::vector<std::pair<std::string, std::string>> settings;
};

// "zero=0,1,2,3" for each axis; the variants are their product, the last axis fastest. At most 256.
[[nodiscard]] Result<std::vector<Variant>> parse_variants(const std::vector<std::string>& axes);

// Defaults, then --ds-config or --plan, then flags, then `settings`. dp follows from the devices
// where nobody gave it, the sequence from a model of fixed length. Errors are wrong usage: they say
// which flag is missing or what is wrong with it. check_plan has still to be asked.
[[nodiscard]] Result<MadePlan> make_plan(
    const PlanSource& source, const Transformer& model, const Machine& machine,
    const std::vector<std::pair<std::string, std::string>>& settings = {});

// Devices that share a scale-up domain, where --gpus-per-node or --nodes say so.
[[nodiscard]] std::optional<int> domain_of(const PlanSource& source);

}  // namespace stepscope
