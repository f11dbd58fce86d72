// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_edges.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

namespace stepscope {
namespace {

// The edges of one thread, in order.
class Pairing {
 public:
  explicit Pairing(Trace& trace) : trace_(trace) {}

  void run(std::span<const Edge> edges) {
    for (const Edge& edge : edges)
      if (edge.begin)
        begin(edge);
      else
        end(edge);
    while (const auto at = innermost()) {
      trace_.notes.add("begin_without_end", open_[*at]->byte);
      close(*at, edges.back().time);
    }
    by_name_.clear();
  }

 private:
  void begin(const Edge& edge) {
    by_name_[edge.name].push_back(open_.size());
    open_.push_back(&edge);
  }
  void end(const Edge& edge) {
    const auto last = innermost();
    if (!last) return trace_.notes.add("end_without_begin", edge.byte);
    const auto named = edge.name == empty_string ? last : innermost_of(edge.name);
    if (!named) trace_.notes.add("end_of_other_name", edge.byte);
    close(named.value_or(*last), edge.time);
  }
  std::optional<std::size_t> innermost() {
    while (!open_.empty() && open_.back() == nullptr) open_.pop_back();
    return open_.empty() ? std::nullopt : std::optional(open_.size() - 1);
  }
  std::optional<std::size_t> innermost_of(StringId name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return std::nullopt;
    std::vector<std::size_t>& places = at->second;
    const auto is_open = [&](std::size_t place) {
      return place < open_.size() && open_[place] != nullptr && open_[place]->name == name;
    };
    while (!places.empty() && !is_open(places.back())) places.pop_back();
    return places.empty() ? std::nullopt : std::optional(places.back());
  }
  void close(std::size_t at, Ns time) {
    const Edge& b = *open_[at];
    append(trace_, {.start = b.time,
                    .dur = time - b.time,
                    .name = b.name,
                    .track = b.track,
                    .category = b.category});
    open_[at] = nullptr;
  }

  Trace& trace_;
  std::vector<const Edge*> open_;                                   // null once closed
  std::unordered_map<StringId, std::vector<std::size_t>> by_name_;  // indices in open_, outer first
};

}  // namespace

void pair_edges(Trace& trace, std::vector<Edge>&& edges) {
  // Compares texts and not ids, because ids depend on how the file was cut for its reading threads.
  const auto thread_of = [&](const Edge& e) {
    return std::tuple(e.pid.number, trace.strings[e.pid.text], e.tid.number,
                      trace.strings[e.tid.text]);
  };
  std::ranges::sort(edges, {}, [&](const Edge& e) {
    return std::tuple_cat(thread_of(e), std::tuple(e.time, e.byte));
  });
  Pairing pairing(trace);
  for (std::size_t begin = 0; begin < edges.size();) {
    std::size_t end = begin;
    while (end < edges.size() && thread_of(edges[end]) == thread_of(edges[begin])) ++end;
    pairing.run(std::span(edges).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace stepscope
