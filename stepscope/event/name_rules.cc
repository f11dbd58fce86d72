// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/name_rules.h"

#include <cctype>

namespace stepscope::name_rules {
namespace {

// Libraries whose kernels are all communication, then names of communication functions.
constexpr auto comm_libraries = words(
    "ncclkernel", "nccldevkernel", "ncclsymk", "rccl_main_kernel", "mscclpp", "mscclkernel",
    "nvshmem", "deep_ep::", "dpsk::ep::", "userbuffers", "c10d::symmetric_memory", "quickreduce");
constexpr auto comm_starts = words("nccl", "rccl", "hccl", "oneccl", "mscclkern");
constexpr auto comm_words =
    words("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "reducescatter",
          "all_to_all", "alltoall", "all2all", "cross_device_reduce", "multimem_", "two_shot_",
          "one_shot_");

void erase_all(std::string& text, std::string_view word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.erase(at, word.size());
  }
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string head_of(std::string_view lower_name) {
  std::string head(lower_name);
  erase_all(head, "(anonymous namespace)::");
  erase_all(head, "fbgemm_gpu::");  // an embedding library whose name contains "gemm"
  erase_all(head, "fbgemm::");
  constexpr std::string_view type = ">::type ";
  if (head.starts_with("std::enable_if<")) {
    if (const auto at = head.find(type); at != std::string::npos) head.erase(0, at + type.size());
  }
  if (head.starts_with("void ")) head.erase(0, 5);
  return head.substr(0, head.find_first_of("<("));
}

std::string_view operator_stem(std::string_view name) {
  constexpr std::string_view engine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(engine)) name.remove_prefix(engine.size());
  name = name.substr(0, name.find('<'));
  if (const auto at = name.rfind("::"); at != std::string_view::npos) name.remove_prefix(at + 2);
  name = name.substr(0, name.find('.'));
  std::string_view bare = name;
  while (!bare.empty() && std::isdigit(static_cast<unsigned char>(bare.back())) != 0)
    bare.remove_suffix(1);
  if (bare.ends_with("backward")) name = bare.substr(0, bare.size() - 8);
  while (name.ends_with('_')) name.remove_suffix(1);
  while (name.starts_with('_')) name.remove_prefix(1);
  return name;
}

bool is_backend_annotation(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon + 1 >= name.size() || name[colon + 1] == ':')
    return false;
  const std::string_view backend = name.substr(0, colon);
  static constexpr auto others = words("gloo", "mpi", "ucc");
  const bool letters =
      std::ranges::all_of(backend, [](unsigned char c) { return std::isalpha(c) != 0; });
  return letters && (has(backend, "ccl") || contains(others, backend));
}

bool is_communication_kernel(std::string_view name, std::string_view head) {
  if (starts_with_any(head, comm_starts) || has_any(name, comm_libraries)) return true;
  if (has(head, " ") || head.starts_with("fsdp::") || has_any(head, comm_neighbours)) return false;
  return has_any(head, comm_words);
}

bool is_communication_operator(std::string_view name, std::string_view stem) {
  static constexpr auto starts =
      words("c10d::", "c10d_functional::", "_c10d_functional::", "symm_mem::", "record_param_comms",
            "stepscope::wait_");  // from our own engine (zero/engine/trace_recorder.h)
  // NCCL's API, as NCCL's own ranges name it.
  static constexpr auto api =
      words("ncclsend", "ncclrecv", "ncclbroadcast", "ncclreduce", "ncclgather", "ncclscatter");
  if (is_backend_annotation(name) || starts_with_any(name, starts) || starts_with_any(name, api))
    return true;
  // A phrase is a user's range around a collective. FSDP's own ranges are too.
  if (name.starts_with("fsdp::") || has(stem, " ") || has_any(stem, comm_neighbours)) return false;
  return has_any(stem, comm_words) || stem.ends_with("modelparallelregion");
}

}  // namespace stepscope::name_rules
