// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/idle_cause.h"

#include <algorithm>
#include <string_view>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// Appends pieces of one gap.
class Pieces {
 public:
  Pieces(const IdleContext& context, SliceId op, std::vector<IdlePiece>& out)
      : context_(context), op_(op), out_(out) {}

  void add(Ns start, Ns end, BudgetCategory cause, std::uint32_t host, SliceId culprit = no_slice) {
    if (start >= end) return;
    out_.push_back({.start = start,
                    .end = end,
                    .delayed = op_,
                    .culprit = culprit,
                    .host = host,
                    .cause = cause});
  }

  // The thread's own data and sync rows; `otherwise(start, end)` gets the rest.
  template <class Otherwise>
  void of_thread(std::uint32_t thread, Ns start, Ns end, Otherwise&& otherwise) {
    const ThreadWaits& waits = context_.waits[thread];
    const auto no_data = [&](Ns from, Ns to) {
      const auto sync = [&](Ns s, Ns e, SliceId row) { add(s, e, idle_sync, thread, row); };
      cut(waits.sync, from, to, sync, otherwise);
    };
    const auto data = [&](Ns s, Ns e, SliceId row) { add(s, e, idle_data, thread, row); };
    cut(waits.data, start, end, data, no_data);
  }

  // The part of a gap before the launch call. If the launching thread shows no row, it waits for
  // the main thread. The thread of the backward graph does so before it wakes.
  void before_launch(std::uint32_t thread, Ns start, Ns end) {
    const auto& main = context_.rank.main_track;
    const bool other = main && index(*main) != thread;
    of_thread(thread, start, end, [&](Ns from, Ns to) {
      if (!other) return add(from, to, idle_host, thread);
      const auto present = [&](Ns s, Ns e, SliceId) { add(s, e, idle_host, thread); };
      const auto absent = [&](Ns s, Ns e) {
        const std::uint32_t at = index(*main);
        of_thread(at, s, e, [&](Ns f, Ns t) { add(f, t, idle_host, at); });
      };
      cut(context_.waits[thread].present, from, to, present, absent);
    });
  }

  // Nothing more was launched, so only rows of the main thread count.
  void after_last(Ns start, Ns end) {
    if (!context_.rank.main_track) return add(start, end, idle_unexplained, no_row);
    const std::uint32_t main = index(*context_.rank.main_track);
    of_thread(main, start, end, [&](Ns from, Ns to) {
      const auto present = [&](Ns s, Ns e, SliceId) { add(s, e, idle_host, main); };
      const auto absent = [&](Ns s, Ns e) { add(s, e, idle_unexplained, main); };
      cut(context_.waits[main].present, from, to, present, absent);
    });
  }

 private:
  const IdleContext& context_;
  SliceId op_;
  std::vector<IdlePiece>& out_;
};

Ns launched_at(const IdleContext& context, SliceId op, Ns otherwise) {
  if (op == no_slice) return otherwise;
  const SliceId call = context.rank.launch(op);
  return context.trace.slices.start[index(call == no_slice ? op : call)];
}

// The first launch without a row between those of the operations around a gap.
SliceId lost_between(const IdleContext& context, SliceId before, SliceId op) {
  const std::vector<SliceId>& lost = context.rank.lost_launches;
  const auto start = [&](SliceId call) { return context.trace.slices.start[index(call)]; };
  const auto at =
      std::ranges::upper_bound(lost, launched_at(context, before, Ns::min()), {}, start);
  return at == lost.end() || start(*at) >= launched_at(context, op, Ns::max()) ? no_slice : *at;
}

// The operation before on the stream, or no_slice.
SliceId before_on_stream(const Trace& trace, SliceId op) {
  std::uint32_t row = index(op);
  const std::uint32_t first = trace.track(trace.slices.track[row]).first;
  while (row-- > first)
    if (is_device_work(trace.slices.category[row])) return SliceId{row};
  return no_slice;
}

// Whether work from before the recording held the operation back, which began so long after its
// launch call.
bool waits_for_earlier(const IdleContext& context, SliceId op, SliceId call) {
  const Slices& s = context.trace.slices;
  if (s.start[index(op)] - s.end(call) < first_row_delay) return false;
  const SliceId previous = before_on_stream(context.trace, op);
  if (previous == no_slice) return true;
  const auto wait =
      std::ranges::upper_bound(context.earlier, launched_at(context, previous, Ns::min()));
  return wait != context.earlier.end() && *wait < s.start[index(call)];
}

}  // namespace

std::vector<Ns> waits_for_earlier_work(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  const auto names_with = [&](std::string_view part) {
    return by_name(trace.strings, [&](std::string_view name) { return contains(name, part); });
  };
  const std::vector<bool> records = names_with("EventRecord");
  const std::vector<bool> waits = names_with("StreamWaitEvent");
  std::vector<Ns> called;
  Ns first_record = Ns::max();
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_call(s.category[i])) continue;
      if (records[index(s.name[i])]) first_record = std::min(first_record, s.start[i]);
      if (waits[index(s.name[i])]) called.push_back(s.start[i]);
    }
  }
  std::ranges::sort(called);
  called.erase(std::ranges::lower_bound(called, first_record), called.end());
  return called;
}

void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId before, SliceId op,
                 std::vector<IdlePiece>& out) {
  const Slices& s = context.trace.slices;
  Pieces pieces(context, op, out);
  if (const SliceId lost = lost_between(context, before, op); lost != no_slice) {
    const Ns from = std::clamp(s.start[index(lost)], start, end);
    pieces.before_launch(index(s.track[index(lost)]), start, from);
    return pieces.add(from, end, not_recorded, index(s.track[index(lost)]), lost);
  }
  if (op == no_slice) return pieces.after_last(start, end);
  const SliceId call = context.rank.launch(op);
  if (call == no_slice) return pieces.add(start, end, idle_unexplained, no_row);

  const Ns launched = s.start[index(call)];
  const std::uint32_t thread = index(s.track[index(call)]);
  if (before != no_slice && context.rank.launch(before) == call && end - start > graph_node_gap &&
      is_graph_launch(context.trace.name(call)))
    return pieces.add(start, end, not_recorded, thread, call);
  const Ns split = std::clamp(launched, start, end);
  pieces.before_launch(thread, start, split);
  if (split == end) return;
  SliceId producer = no_slice;
  if (!context.events.waits.empty())
    producer = producer_of(context.events, context.trace, context.rank, op);
  const bool waited =
      producer != no_slice && s.end(producer) >= start && s.end(producer) >= launched;
  const bool earlier = !waited && waits_for_earlier(context, op, call);
  const Ns returned = earlier ? std::clamp(s.end(call), split, end) : end;
  pieces.add(split, returned, waited ? idle_dependency : idle_launch, thread,
             waited ? producer : no_slice);
  pieces.add(returned, end, not_recorded, thread, call);
}

}  // namespace stepscope
