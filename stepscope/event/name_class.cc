// SPDX-License-Identifier: Apache-2.0
// Classes of kernels and operators: the word lists of name_rules.h, first match wins.
#include "stepscope/event/name_class.h"

#include <cctype>

#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace name_rules {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

namespace {
void erase_all(std::string& text, std::string_view word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.erase(at, word.size());
  }
}
}  // namespace

std::string head_of(std::string_view lower_name) {
  std::string head(lower_name);
  erase_all(head, "(anonymous namespace)::");
  erase_all(head, "fbgemm_gpu::");  // a library of embeddings that is called after a matmul
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
            "stepscope::wait_");  // of our own engine (zero/engine/trace_recorder.h)
  // NCCL's API, as its own ranges name it.
  static constexpr auto api =
      words("ncclsend", "ncclrecv", "ncclbroadcast", "ncclreduce", "ncclgather", "ncclscatter");
  if (is_backend_annotation(name) || starts_with_any(name, starts) || starts_with_any(name, api))
    return true;
  // A phrase is a user's range around a collective, and so are FSDP's own ranges.
  if (name.starts_with("fsdp::") || has(stem, " ") || has_any(stem, comm_neighbours)) return false;
  return has_any(stem, comm_words) || stem.ends_with("modelparallelregion");
}

}  // namespace name_rules

namespace {

using namespace name_rules;

NameClass first_match(std::string_view name, std::string_view head) {
  for (const ClassRule& rule : kernel_rules) {
    if (has_any(name, rule.anywhere) || has_any(head, rule.head) ||
        starts_with_any(head, rule.start)) {
      return rule.result;
    }
  }
  return NameClass::other;
}

// Inductor names a kernel after the operators it fuses, and neighbours leave their names behind
// too: a pointwise kernel after an attention is no attention. Only reductions and templates are
// looked into.
NameClass classify_triton(std::string_view name) {
  static constexpr auto norms =
      words("rms_norm", "layer_norm", "batch_norm", "group_norm", "norm_backward", "rsqrt");
  static constexpr auto losses = words("log_softmax", "nll_loss", "cross_entropy", "_loss");
  static constexpr auto templates = words("triton_tem_", "triton_mm", "triton_bmm");
  if (starts_with_any(name, templates)) {
    return has(name, "attention") || has(name, "sdpa") ? NameClass::attention : NameClass::matmul;
  }
  if (name.starts_with("triton_poi_fused_embedding")) return NameClass::embedding;
  if (name.starts_with("triton_poi_") || name.starts_with("triton_for_"))
    return NameClass::elementwise;
  if (has_any(name, losses)) return NameClass::loss;
  if (has_any(name, norms)) return NameClass::norm;
  return has(name, "embedding") ? NameClass::embedding : NameClass::other;
}

// softmax_warp_forward<in, out, accumulate, log2_elements, is_log_softmax, …>: the log variant is a
// loss's.
bool is_log_softmax_warp(std::string_view name) {
  const auto at = name.find("softmax_warp_");
  if (at == std::string_view::npos) return false;
  std::string_view rest = name.substr(at);
  for (int i = 0; i < 4; ++i) {
    const auto comma = rest.find(',');
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
  return rest.starts_with(" true") || rest.starts_with("true");
}

// "flash_attn_3::fwd": the library says what its operators leave out.
bool is_attention_library(std::string_view operator_name) {
  const auto at = operator_name.rfind("::");
  return at != std::string_view::npos && has_any(operator_name.substr(0, at), attention_anywhere);
}

}  // namespace

NameClass classify_kernel(std::string_view text) {
  const std::string name = lower(text);
  const std::string head = head_of(name);
  if (is_communication_kernel(name, head)) return NameClass::communication;
  if (head.starts_with("triton_")) return classify_triton(head);
  return is_log_softmax_warp(name) ? NameClass::loss : first_match(name, head);
}

NameClass classify_operator(std::string_view text) {
  const std::string name = lower(text);
  const std::string_view stem = operator_stem(name);
  if (is_communication_operator(name, stem)) return NameClass::communication;
  if (stem.starts_with("triton_")) return classify_triton(stem);
  std::string flat(stem);
  std::erase(flat, '_');
  if (starts_with_any(flat, optimizer_stems) || name.starts_with("optimizer."))
    return NameClass::optimizer;
  if (is_attention_library(name) && (has(stem, "fwd") || has(stem, "bwd")))
    return NameClass::attention;
  static constexpr auto purposes = std::span(kernel_rules).subspan(1, 4);  // attention … embedding
  for (const ClassRule& rule : purposes) {
    if (has_any(stem, rule.anywhere) || has_any(stem, rule.head)) return rule.result;
  }
  if (has(name, "embedding")) return NameClass::embedding;
  if (contains(matmul_stems, flat) || has(flat, "convolution") || flat.starts_with("linearwith")) {
    return NameClass::matmul;
  }
  if (contains(copy_stems, flat) || has_any(stem, comm_neighbours)) return NameClass::copy;
  return contains(elementwise_stems, flat) ? NameClass::elementwise : NameClass::other;
}

}  // namespace stepscope
