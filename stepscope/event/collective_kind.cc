// SPDX-License-Identifier: Apache-2.0
// The collective that a name means. NCCL's algorithm and protocol suffixes are not read: they do
// not say what ran.
#include <algorithm>
#include <array>
#include <string>

#include "stepscope/event/name_match.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

struct KindWord {
  std::string_view word;
  CollectiveKind kind;
};
// Words in names without underscores. Longer words precede those they contain. DeepEP's dispatch
// and combine are all-to-alls.
constexpr std::array<KindWord, 24> kind_words = {{
    {"barrier", CollectiveKind::barrier},
    {"allreduce", CollectiveKind::all_reduce},
    {"crossdevicereduce", CollectiveKind::all_reduce},
    {"quickreduce", CollectiveKind::all_reduce},
    {"reducefrommodelparallel", CollectiveKind::all_reduce},
    {"reducescatter", CollectiveKind::reduce_scatter},
    {"allgather", CollectiveKind::all_gather},
    {"gatherfrommodelparallel", CollectiveKind::all_gather},
    {"alltoall", CollectiveKind::all_to_all},
    {"all2all", CollectiveKind::all_to_all},
    {"dispatch", CollectiveKind::all_to_all},
    {"combine", CollectiveKind::all_to_all},
    {"sendrecv", CollectiveKind::send_recv},
    {"pushrecv", CollectiveKind::recv},
    {"pushsend", CollectiveKind::send},
    {"pullsend", CollectiveKind::send},
    {"rrag", CollectiveKind::all_gather},      // Transformer Engine's userbuffers: …_gpu_rr_ag
    {"rrrs", CollectiveKind::reduce_scatter},  // …_gpu_rr_rs
    {"broadcast", CollectiveKind::broadcast},
    {"gather", CollectiveKind::gather},
    {"scatter", CollectiveKind::scatter},
    {"reduce", CollectiveKind::reduce},
    {"send", CollectiveKind::send},
    {"recv", CollectiveKind::recv},
}};

CollectiveKind kind_in(std::string_view text) {
  std::string name(text);
  std::erase(name, '_');
  for (const KindWord& word : kind_words) {
    if (name.find(word.word) != name.npos) return word.kind;
  }
  return CollectiveKind::unknown;
}

CollectiveKind kind_of_name(std::string_view text) {
  const std::string name = plain_name(text);
  const std::string head = kernel_parts(name).head;
  // Values of a "Collective name" argument that mean something else inside a longer name
  // (aten::gather).
  static constexpr std::array<std::string_view, 15> bare = {
      "broadcast",      "_broadcast_oop", "broadcast_oop", "broadcast_uniqueid",
      "reduce",         "_reduce_oop",    "gather",        "scatter",
      "send",           "recv",           "sendrecv",      "send_recv",
      "recv_anysource", "recvanysource",  "barrier"};
  if (std::ranges::find(bare, name) != bare.end()) return kind_in(name);
  if (head.find("wait") != head.npos) return CollectiveKind::none;  // moves no data
  if (is_backend_annotation(name))
    return kind_in(std::string_view(name).substr(name.find(':') + 1));
  if (classify_kernel(name) == NameClass::communication) return kind_in(head);
  return classify_operator(name) == NameClass::communication ? kind_in(operator_stem(name))
                                                             : CollectiveKind::none;
}

}  // namespace

CollectiveKind collective_kind(std::string_view name) {
  thread_local NameMemo<CollectiveKind> known;
  return known.of(name, kind_of_name);
}

}  // namespace stepscope
