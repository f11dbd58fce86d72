// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/event_edges.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace stepscope {
namespace {

// The edges of one track, in order.
class Pairing {
 public:
  explicit Pairing(Trace& trace) : trace_(trace) {}

  void run(std::span<const Edge> edges) {
    for (const Edge& edge : edges)
      if (edge.begin)
        open_.push_back(&edge);
      else
        end(edge);
    while (!open_.empty()) {
      trace_.notes.add("begin_without_end", open_.back()->byte);
      close(open_.size() - 1, edges.back().time);
    }
  }

 private:
  void end(const Edge& edge) {
    if (open_.empty()) return trace_.notes.add("end_without_begin", edge.byte);
    std::size_t at = open_.size();
    if (edge.name != empty_string) {
      while (at > 0 && open_[at - 1]->name != edge.name) --at;
      if (at == 0) trace_.notes.add("end_of_other_name", edge.byte);
    }
    close((at == 0 ? open_.size() : at) - 1, edge.time);
  }
  void close(std::size_t at, Ns time) {
    const Edge& b = *open_[at];
    append(trace_, {.start = b.time,
                    .dur = time - b.time,
                    .name = b.name,
                    .track = b.track,
                    .category = b.category});
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Trace& trace_;
  std::vector<const Edge*> open_;
};

}  // namespace

void pair_edges(Trace& trace, std::vector<Edge>&& edges) {
  std::ranges::sort(edges, {},
                    [](const Edge& e) { return std::tuple(index(e.track), e.time, e.byte); });
  Pairing pairing(trace);
  for (std::size_t begin = 0; begin < edges.size();) {
    std::size_t end = begin;
    while (end < edges.size() && edges[end].track == edges[begin].track) ++end;
    pairing.run(std::span(edges).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace stepscope
