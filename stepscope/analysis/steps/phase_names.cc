// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phase_names.h"

#include <cctype>
#include <string>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// Fragments of names of annotations and operators, in lower case.
constexpr std::array<std::string_view, 6> optimizer_parts = {
    "optimizer", "optim_step", "zero_grad", "clip_grad", "fusedadam", "unscale_and_clip"};
constexpr std::array<std::string_view, 13> data_parts = {"enumerate(dataloader)",
                                                         "dataloader.__next__",
                                                         "data_load",
                                                         "load_data",
                                                         "next_batch",
                                                         "get_batch",
                                                         "training_batch",
                                                         "load_batch",
                                                         "fetch_batch",
                                                         "batch_to_gpu",
                                                         "batch_to_device",
                                                         "wait_for_batch",
                                                         "data loading"};

// The function of a Python frame decides. If the function's name is too common, the file decides;
// folders may have any name.
std::optional<Phase> phase_of_frame(std::string_view file, std::string_view function) {
  const auto is = [&](std::string_view f) { return function == f; };
  if (is("unpack_hook") || is("recompute_fn")) return Phase::recompute;
  if (is("backward") || is("run_backward") || is("_engine_run_backward") || is("backward_step"))
    return Phase::backward;
  if (is("forward") || is("_call_impl") || is("_wrapped_call_impl") || is("forward_step"))
    return Phase::forward;
  if (is("zero_grad") || function.starts_with("clip_grad_")) return Phase::optimizer;
  if (is("step") && (contains(file, "optim") || contains(file, "deepspeed")))
    return Phase::optimizer;
  const bool next = is("__next__") || is("_next_data") || is("_get_data") || is("_try_get_data");
  if (next && contains(file, "dataloader")) return Phase::data;
  return std::nullopt;
}

// "torch/optim/adam.py(120): step" or "<built-in method run_backward of ...>".
std::optional<Phase> phase_of_python(std::string_view name) {
  if (name.starts_with("<built-in method run_backward")) return Phase::backward;
  const std::size_t colon = name.rfind("): ");
  if (name.starts_with("<built-in") || colon == std::string_view::npos) return std::nullopt;
  return phase_of_frame(name.substr(0, colon), name.substr(colon + 3));
}

}  // namespace

std::optional<Phase> phase_of_name(std::string_view name) {
  if (name.starts_with("nn.Module: ")) return Phase::forward;
  if (name.starts_with("<built-in") || contains(name, ".py(")) return phase_of_python(name);
  if (name.starts_with("ProfilerStep")) return std::nullopt;
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (contains(lower, "checkpointfunctionbackward") || contains(lower, "recompute"))
    return Phase::recompute;
  if (contains_any(lower, data_parts)) return Phase::data;
  if (lower.starts_with("autograd::engine::evaluate_function") || contains(lower, "accumulategrad"))
    return Phase::backward;
  if (contains(lower, "ddp.reducer::") || contains(lower, "distributed::reducer::"))
    return Phase::backward;
  const bool backward = contains(lower, "backward") || contains(lower, "bwd");
  const bool forward = contains(lower, "forward") || contains(lower, "fwd");
  if (backward != forward) return backward ? Phase::backward : Phase::forward;
  if (!backward && contains_any(lower, optimizer_parts)) return Phase::optimizer;
  return std::nullopt;
}

std::optional<Phase> whole_phase_of_name(std::string_view name) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return std::nullopt;
  std::optional<Phase> phase;
  const auto take = [&](std::string_view word) {
    if (word == "pass" || word == "step" || word == "phase") return true;
    const auto said = word == "forward" || word == "fwd"       ? std::optional(Phase::forward)
                      : word == "backward" || word == "bwd"    ? std::optional(Phase::backward)
                      : word == "optimizer" || word == "optim" ? std::optional(Phase::optimizer)
                                                               : std::nullopt;
    if (!said || (phase && *phase != *said)) return false;
    phase = said;
    return true;
  };
  std::string word;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (letter >= 0x80) return std::nullopt;
    if (std::isalpha(letter) != 0) {
      word += static_cast<char>(std::tolower(letter));
    } else if (!word.empty()) {
      if (!take(word)) return std::nullopt;
      word.clear();
    }
  }
  if (!word.empty() && !take(word)) return std::nullopt;
  return phase;
}

std::vector<std::optional<Phase>> phases_of_names(const StringPool& strings) {
  return by_name(strings, phase_of_name);
}

}  // namespace stepscope
