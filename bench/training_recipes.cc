// SPDX-License-Identifier: Apache-2.0
#include "training_recipes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "training_notes.h"
#include "training_setup.h"

namespace stepscope::bench {
namespace {

// The recipes of Megatron-Bridge: scripts/performance/configs at its tags v0.2.0 (container 25.11),
// v0.3.0 (26.02), v0.4.0 (26.04) and v0.5.0 (26.06), and src/megatron/bridge/perf_recipes at v0.6.0
// (26.08). `modules` as in the recipe, in parentheses.
struct Recipe {
  std::array<std::string_view, 3> releases;  // at the start of the release
  std::string_view model;
  std::string_view gpu;  // at the start of the GPU's name
  std::string_view precision;
  std::array<std::int64_t, 4> degrees;  // tp, pp, virtual stages, ep
  CudaGraphs cuda_graphs;
  std::string_view modules;
  bool grouped_experts = false;
};
constexpr std::array<Recipe, 16> recipes = {{
    {{"26.08"}, "nemotron_3_super", "gb300", "fp8", {1, 1, 1, 64}, CudaGraphs::layers, "()", true},
    {{"26.08"}, "nemotron_3_super", "gb200", "fp8", {2, 1, 1, 64}, CudaGraphs::layers, "()", true},
    {{"26.04", "26.06", "26.08"},
     "nemotron_3_super",
     "gb300",
     "",
     {1, 1, 1, 64},
     CudaGraphs::layers,
     "()"},
    {{"26.04", "26.06", "26.08"},
     "nemotron_3_super",
     "gb200",
     "",
     {2, 1, 1, 64},
     CudaGraphs::layers,
     "()"},
    {{"26.04", "26.06"}, "nemotron_3_super", "b300", "fp8", {1, 1, 1, 8}, CudaGraphs::layers, "()"},
    {{"26.04", "26.06"},
     "nemotron_3_super",
     "b300",
     "fp4",
     {1, 1, 1, 8},
     CudaGraphs::layers,
     "(moe_act,layernorm)"},
    {{"26.04", "26.06"},
     "nemotron_3_super",
     "b200",
     "fp8",
     {1, 1, 1, 64},
     CudaGraphs::none,
     "(moe_act,layernorm)"},
    {{"26.04", "26.06"},
     "nemotron_3_super",
     "b200",
     "fp4",
     {2, 1, 1, 64},
     CudaGraphs::layers,
     "()"},
    // Its graphs hold the Mamba layers only.
    {{"26.04", "26.06"},
     "nemotron_3_nano",
     "h100",
     "fp8",
     {1, 1, 1, 8},
     CudaGraphs::none,
     "(moe,layernorm,core_attn,moe_act)"},
    {{"26.02", "26.04", "26.06"},
     "kimi_k2",
     "gb300",
     "",
     {1, 4, 4, 64},
     CudaGraphs::none,
     "(mla_up_proj)"},
    {{"25.11"},
     "gpt oss 120b",
     "h100",
     "bf16",
     {1, 4, 1, 8},
     CudaGraphs::none,
     "(layernorm,moe_act)"},
    {{"25.11"}, "deepseekv3", "b200", "", {1, 16, 1, 8}, CudaGraphs::none, "(mla_up_proj)"},
    {{"25.11"}, "deepseekv3", "gb300", "", {1, 4, 4, 64}, CudaGraphs::layers, "(moe_act)"},
    {{"25.11"}, "deepseekv3", "gb200", "", {1, 4, 4, 64}, CudaGraphs::layers, "(mla_up_proj)"},
    {{"25.11"}, "qwen3_30b_a3b", "b200", "", {1, 1, 1, 8}, CudaGraphs::none, "()"},
    {{"25.11"}, "qwen3_235b_a22b", "h100", "", {2, 8, 4, 32}, CudaGraphs::none, "()"},
}};

bool released(const Recipe& recipe, std::string_view framework) {
  return std::ranges::any_of(recipe.releases, [&](std::string_view release) {
    return !release.empty() && has(framework, release);
  });
}

// MaxText at e591f30cb, src/maxtext/configs/tpu/{v4,v5e,v5p}/*.sh. A global_parameter_scale of 2^(3
// n + r) multiplies base.yml's 16 layers by 2^n, its 2048 of hidden size by 2^n (r = 2: 2^(n + 1)),
// its 16 heads and 7168 of feed-forward by 2^n (r > 0: 2^(n + 1)). remat_policy "minimal" keeps the
// outputs of all products with weights.
constexpr std::array<MaxTextModel, 9> maxtext = {{
    {"22b", "tpu v4", 48, 6144, 24, 24576, 13, 1, Recompute::full},
    {"16b", "tpu v5e", 32, 4096, 64, 28672, 6, 1, Recompute::full},
    {"32b", "tpu v5e", 32, 8192, 64, 28672, 4, 1, Recompute::full},
    {"128b", "tpu v5e", 64, 8192, 128, 57344, 1, 16, Recompute::none, true},
    {"64b", "tpu v5p", 64, 8192, 64, 28672, 3, 4, Recompute::none},
    {"128b", "tpu v5p", 64, 8192, 128, 57344, 2, 8, Recompute::none},
    {"256b", "tpu v5p", 64, 16384, 128, 57344, 1, 8, Recompute::none},
    {"512b", "tpu v5p", 128, 16384, 128, 57344, 2, 8, Recompute::full},
    {"1024b", "tpu v5p", 128, 16384, 256, 114688, 2, 16, Recompute::full},
}};

}  // namespace

const MaxTextModel* maxtext_model(std::string_view model, std::string_view gpu) {
  const std::string_view name = model.substr(0, model.find(' '));
  const auto* at = std::ranges::find_if(
      maxtext, [&](const MaxTextModel& m) { return name == m.name && gpu.starts_with(m.tpu); });
  return at == maxtext.end() ? nullptr : at;
}

std::optional<std::int64_t> slice_chips(std::string_view interconnect) {
  struct Slice {
    std::string_view word;
    std::int64_t cores_of_a_chip;
  };
  constexpr std::array<Slice, 3> slices = {{{"x v4-", 2}, {"x v5p-", 2}, {"x v5e-", 1}}};
  for (const Slice& slice : slices) {
    const std::size_t at = interconnect.find(slice.word);
    if (at == interconnect.npos) continue;
    const std::string_view rest = interconnect.substr(at + slice.word.size());
    std::int64_t cores = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), cores);
    if (cores > 0) return cores / slice.cores_of_a_chip;
  }
  return std::nullopt;
}

std::optional<RecipeSettings> recipe_settings(const RecipeQuery& row, const Plan& plan) {
  if (!has(row.framework, "megatron-bridge")) return std::nullopt;
  const std::array<std::int64_t, 4> degrees = {plan.tp, plan.pp, plan.pipeline.virtual_stages,
                                               plan.ep};
  const auto* at = std::ranges::find_if(recipes, [&](const Recipe& recipe) {
    return released(recipe, row.framework) && has(row.model, recipe.model) &&
           row.gpu.starts_with(recipe.gpu) && has(row.precision, recipe.precision) &&
           degrees == recipe.degrees;
  });
  if (at == recipes.end()) return std::nullopt;
  const auto modules = stated_modules(at->modules);
  return RecipeSettings{at->cuda_graphs, modules.value_or(RecomputeModules{}), at->grouped_experts};
}

}  // namespace stepscope::bench
