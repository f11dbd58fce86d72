// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/idle_cause.h"

#include <algorithm>

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
    IdlePiece piece;
    piece.start = start;
    piece.end = end;
    piece.delayed = op_;
    piece.culprit = culprit;
    piece.host = host;
    piece.cause = cause;
    out_.push_back(piece);
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

}  // namespace

void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId op,
                 std::vector<IdlePiece>& out) {
  const Slices& s = context.trace.slices;
  Pieces pieces(context, op, out);
  if (op == no_slice) return pieces.after_last(start, end);
  const SliceId call = context.rank.launch(op);
  if (call == no_slice) return pieces.add(start, end, idle_unexplained, no_row);

  const Ns launched = s.start[index(call)];
  const std::uint32_t thread = index(s.track[index(call)]);
  const Ns split = std::clamp(launched, start, end);
  pieces.before_launch(thread, start, split);
  if (split == end) return;
  SliceId producer = no_slice;
  if (!context.events.waits.empty())
    producer = producer_of(context.events, context.trace, context.rank, op);
  const bool waited =
      producer != no_slice && s.end(producer) >= start && s.end(producer) >= launched;
  pieces.add(split, end, waited ? idle_dependency : idle_launch, thread,
             waited ? producer : no_slice);
}

}  // namespace stepscope
