// SPDX-License-Identifier: Apache-2.0
// tests/roundtrip/torch_pftrace.py compares budgets without categories with those with them.
#include "stepscope/read/perfetto/perfetto_category.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 9> overheads = {"Activity Buffer Request",
                                                       "Buffer Flush",
                                                       "Command Buffer Full",
                                                       "Driver Compiler",
                                                       "Instrumentation",
                                                       "Lazy Function Loading",
                                                       "Resource",
                                                       "Runtime Triggered Module Loading",
                                                       "Unrecognized"};

constexpr std::array<std::string_view, 9> annotation_beginnings = {"ProfilerStep#",
                                                                   "Optimizer.",
                                                                   "enumerate(",
                                                                   "DistributedDataParallel.",
                                                                   "FSDP::",
                                                                   "FullySharded",
                                                                   "Torch-Compiled Region",
                                                                   "## Call",
                                                                   "PyTorch Profiler"};

bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// "nccl:all_reduce", "gloo:barrier": a word and one colon.
bool names_backend(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon != std::string_view::npos && colon > 1 && colon + 1 < name.size() &&
         name[colon + 1] != ':' && std::ranges::all_of(name.substr(0, colon), is_lower);
}

bool is_annotation(std::string_view name) {
  return names_backend(name) || std::ranges::any_of(annotation_beginnings, [&](auto beginning) {
           return name.starts_with(beginning);
         });
}

// Driver calls begin with "cu", runtime calls with "cuda".
bool is_driver_call(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") &&
         std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

bool is_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos || name == "record_param_comms" ||
         name == "detach" || name == "detach_";
}

}  // namespace

std::string_view category_without_word(std::string_view name, const RawEvent& arguments,
                                       const ArgumentHints& hints) {
  if (hints.sync) return "cuda_sync";
  if (hints.python) return "python_function";
  if (hints.call || name.starts_with("cuda") || name.starts_with("hip"))
    return is_driver_call(name) ? "cuda_driver" : "cuda_runtime";
  if (arguments.has(Field::stream) && arguments.has(Field::device)) {
    const std::string_view stage = category_of_stage(name);
    return stage == "gpu_user_annotation" ? "kernel" : stage;
  }
  const bool from_profiler = hints.function_id || hints.event_id ||
                             arguments.has(Field::external_id) || arguments.has(Field::sequence) ||
                             arguments.has(Field::input_dims) ||
                             arguments.has(Field::forward_thread);
  if (is_annotation(name)) return "user_annotation";
  if (is_operator(name)) return "cpu_op";
  if (from_profiler)
    return hints.function_id || arguments.has(Field::sequence) ||
                   arguments.has(Field::input_dims) || arguments.has(Field::forward_thread)
               ? "cpu_op"
               : "user_annotation";
  if (std::ranges::find(overheads, name) != overheads.end()) return "overhead";
  return "other";
}

std::string_view category_of_stage(std::string_view stage) {
  const auto begins = [&](std::string_view word) { return stage.starts_with(word); };
  if (begins("Memcpy") || begins("CopyHostTo") || begins("CopyDeviceTo")) return "gpu_memcpy";
  if (begins("Memset") || begins("FillBuffer")) return "gpu_memset";
  if (begins("Annotation")) return "gpu_user_annotation";
  return "kernel";
}

}  // namespace stepscope
