// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/allocation_site.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, text) != all.end();
}

bool is_python(std::string_view file) {
  return file.ends_with(".py") || file.starts_with("<frozen") || file.starts_with("<eval_with_key");
}
bool is_library(std::string_view file) {
  if (file.starts_with("<frozen") || file.starts_with("torch/")) return true;
  if (contains_any(file, {"/torch/", "/einops/", "/functorch/", "/triton/", "/jaxtyping/"}))
    return true;
  return contains(file, "/lib/python") && !contains(file, "-packages/");
}

// "AddmmBackward0" of "torch::autograd::generated::AddmmBackward0::apply(...)", also for custom
// functions. Empty if the frame is not that of a node.
std::string_view backward_node(std::string_view name) {
  const std::size_t apply = name.find("::apply(");
  if (apply == std::string_view::npos) return {};
  const std::string_view path = name.substr(0, apply);
  const std::size_t colon = path.rfind("::");
  const std::string_view node = colon == std::string_view::npos ? path : path.substr(colon + 2);
  if (contains(node, "Backward")) return node;
  return node == "AccumulateGrad" || node == "CopySlices" || node == "PyNode" ? node
                                                                              : std::string_view();
}

// "zeros_like" of "at::_ops::zeros_like::call(...)", "div" of "at::_ops::div_Tensor::redispatch".
std::string_view operation_of(std::string_view name) {
  constexpr std::string_view ops = "at::_ops::";
  const std::size_t at = name.find(ops);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + ops.size());
  const std::size_t end = rest.find("::");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

bool is_optimizer_file(std::string_view file) {
  if (!is_python(file)) return false;
  const std::size_t slash = file.rfind('/');
  std::string last(slash == std::string_view::npos ? file : file.substr(slash + 1));
  std::ranges::transform(last, last.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return contains_any(file, {"/optim/", "/optimizers/", "/optimizer/"}) ||
         contains_any(last, {"optim", "adam", "lamb.py", "lion.py", "muon", "sgd", "adafactor"});
}

AllocationPhase phase_of(std::string_view name, std::string_view file) {
  if (contains_any(name, {"torch::autograd::Engine::", "_engine_run_backward"}) ||
      !backward_node(name).empty())
    return AllocationPhase::backward;
  if (name == "backward" && contains_any(file, {"torch/_tensor.py", "torch/autograd/"}))
    return AllocationPhase::backward;
  if (is_optimizer_file(file) &&
      (is_one_of(name, {"step", "_init_group", "zero_grad", "_step", "init_state",
                        "wrapper"}) ||  // of torch.optim, around the step of a user's optimizer
       contains_any(name, {"foreach_", "multi_tensor", "_single_tensor", "_use_grad"})))
    return AllocationPhase::optimizer;
  if (is_one_of(name, {"forward", "_call_impl", "_wrapped_call_impl"}) && is_python(file))
    return AllocationPhase::forward;
  if (is_python(file) &&
      (is_one_of(name, {"__init__", "_apply", "reset_parameters", "init_weights", "_init_weights",
                        "load_state_dict", "from_pretrained", "to_empty",
                        "_load_state_dict_into_model", "_sync_module_states"}) ||
       contains(file, "torch/nn/init.py")))
    return AllocationPhase::setup;
  return AllocationPhase::unknown;
}

enum class FrameKind : std::uint8_t { silent, native, library, program };

// The facts of one frame, whatever stack contains it.
struct FrameFacts {
  AllocationPhase phase = AllocationPhase::unknown;
  FrameKind kind = FrameKind::silent;
  bool zeroes_gradients = false;
  bool casts = false;
  std::string_view operation{};
  std::string_view node{};
};

// No program has longer names.
constexpr std::size_t longest_name = 4096;

FrameFacts facts_of(std::string_view name, std::string_view file) {
  FrameFacts facts;
  facts.phase = phase_of(name, file);
  facts.zeroes_gradients = name == "zero_grad";
  facts.casts = contains(name, "autocast::cached_cast");
  facts.operation = operation_of(name);
  facts.node = backward_node(name);
  if (is_python(file))
    facts.kind = is_library(file) ? FrameKind::library : FrameKind::program;
  else if (is_telling_frame(name, file) && !contains_any(name, {"at::", "c10::", "torch::"}))
    facts.kind = FrameKind::native;
  return facts;
}

AllocationSite site_of(const MemorySnapshot& snapshot, std::span<const std::uint32_t> stack,
                       std::span<const FrameFacts> facts) {
  AllocationSite site;
  std::array<std::optional<std::uint32_t>, 4> first;  // by kind
  std::string_view node;
  std::string_view operation;
  const auto of = [&](FrameKind kind) -> std::optional<std::uint32_t>& {
    return first[static_cast<std::size_t>(kind)];
  };
  for (const std::uint32_t frame : stack) {
    const FrameFacts& f = facts[frame];
    if (site.phase == AllocationPhase::unknown) site.phase = f.phase;
    if (f.zeroes_gradients) site.zeroes_gradients = true;
    if (f.casts) site.casts = true;
    // The operator that the program called is the outermost one inside its line.
    const bool inside = !of(FrameKind::program) && !of(FrameKind::library) && node.empty();
    if (inside && !f.operation.empty()) operation = f.operation;
    if (inside && !f.node.empty()) node = f.node;
    if (!of(f.kind)) of(f.kind) = frame;
  }
  site.operation = operation;
  if (site.phase == AllocationPhase::unknown) site.phase = AllocationPhase::other;
  const bool in_autograd =
      site.phase == AllocationPhase::backward && !of(FrameKind::library).has_value();
  if (!of(FrameKind::program) && (!node.empty() || in_autograd)) {
    site.name = node.empty() ? "autograd" : node;
    return site;
  }
  for (const FrameKind kind : {FrameKind::program, FrameKind::library, FrameKind::native}) {
    if (!of(kind)) continue;
    const SnapshotFrame& f = snapshot.stacks.frames[*of(kind)];
    site.name = snapshot.strings[f.name].substr(0, longest_name);
    site.file = snapshot.strings[f.file].substr(0, longest_name);
    site.line = f.line;
    break;
  }
  return site;
}

}  // namespace

bool is_telling_frame(std::string_view name, std::string_view file) {
  if (is_python(file)) return true;
  if (name.empty() || name == "??") return false;
  if (contains_any(name, {"unwind::unwind",  "CapturedTraceback::gather",
                          "gather_with_cpp", "_PyEval_",
                          "PyEval_",         "PyObject_",
                          "PyFunction_",     "_PyFunction",
                          "_PyObject",       "__libc_",
                          "pymain_",         "Py_RunMain",
                          "Py_BytesMain",    "c10::impl::wrap_kernel",
                          "_PyRun_",         "pyrun_file",
                          "run_mod",         "run_eval_code",
                          "cfunction_call",  "method_vectorcall",
                          "slot_tp_",        "_PyVectorcall",
                          "::redispatch(",   "CUDACachingAllocator"}))
    return false;
  if (is_one_of(name, {"_start", "start_thread", "__clone3", "clone", "__xmknodat"})) return false;
  return !contains_any(file,
                       {"core/boxing", "/Register", "Objects/call.c", "Objects/methodobject.c",
                        "Modules/main.c", "pythonrun.c", "ceval.c", "cpython/abstract.h"});
}

std::vector<AllocationSite> allocation_sites(const MemorySnapshot& snapshot) {
  std::vector<FrameFacts> facts;
  facts.reserve(snapshot.stacks.frames.size());
  for (const SnapshotFrame& f : snapshot.stacks.frames)
    facts.push_back(facts_of(snapshot.strings[f.name].substr(0, longest_name),
                             snapshot.strings[f.file].substr(0, longest_name)));
  std::vector<AllocationSite> sites(snapshot.stacks.size());
  for (std::uint32_t i = 1; i < sites.size(); ++i)
    sites[i] = site_of(snapshot, snapshot.stacks[i], facts);
  return sites;
}

}  // namespace stepscope
