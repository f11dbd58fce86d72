// SPDX-License-Identifier: Apache-2.0
// One rank without a device: the main and the backward threads, and collectives on other threads.
#include <algorithm>
#include <map>
#include <optional>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/graph/step_graph_draft.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

constexpr int late_record = 20;  // a hole is at least 20 times as long as each delay
// A hole is at least 8 times as long as the time from the last member's arrival to the hole's end.
// Experiment: with 8 a capture of DDP's fp16 hook names its late rank, with the gain that it has.
// The culprits that 245 other captures name stay the same.
constexpr int after_arrival = 8;

// Time of a thread in one innermost operator.
struct CpuPiece {
  Ns start{};
  Ns end{};
  SliceId row = no_slice;
  TrackId track{};
  bool communication = false;  // inside a communication operator
};

// The rows open at an instant, innermost last.
struct OpenRow {
  std::uint32_t row = 0;
  Ns end{};
  bool computes = false;
  bool communication = false;
};

class CpuDraft {
 public:
  explicit CpuDraft(const ViewInput& input)
      : input_(input),
        trace_(*input.view.trace),
        from_(input.view.steps.front().start),
        until_(input.view.steps.back().end),
        in_flight_(backend_row_names(trace_.strings)) {}

  ViewDraft run() {
    draft_.arrival.assign(input_.calls.calls.size(), no_node);
    draft_.transfer.assign(input_.calls.calls.size(), no_node);
    add_calls();
    const std::vector<bool> computes = operator_names(trace_.strings);
    std::vector<CpuWork> threads = cpu_work(trace_, *input_.view.index);
    std::erase_if(threads, [](const CpuWork& w) { return !w.main && w.computing.empty(); });
    std::size_t rows = 0;
    for (const CpuWork& work : threads) rows += trace_.track(work.thread).count;
    // Before and after the row inside. Pages without pieces cost nothing.
    pieces_.reserve(2 * rows);
    for (const CpuWork& work : threads) pieces_of(work.thread, computes);
    run_sort(pieces_, [](const CpuPiece& a, const CpuPiece& b) { return a.start < b.start; });
    draft_.reserve(pieces_.size() + pieces_.size() / 4);
    done_.reserve(pieces_.size());
    add_pieces();
    begin_calls();
    draft_.end = draft_.add(NodeKind::end, until_, until_, no_slice);
    for (const std::uint32_t last : last_)
      if (last != no_node) draft_.connect(last, draft_.end);
    return std::move(draft_);
  }

 private:
  void pieces_of(TrackId id, const std::vector<bool>& computes) {
    const Slices& s = trace_.slices;
    const Track& track = trace_.track(id);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if ((s.category[i] == Category::cpu_op || is_host_communication(trace_, SliceId{i})) &&
          !in_flight_[index(s.name[i])])
        rows.push_back(i);
    std::vector<OpenRow> open;
    Ns at = Ns::min();
    const auto pass_to = [&](Ns instant) {
      while (!open.empty() && at < instant) {
        const OpenRow& inner = open.back();
        const Ns until = std::min(instant, inner.end);
        if (until > at && (inner.computes || inner.communication)) add_piece(at, until, inner, id);
        at = std::max(at, until);
        if (inner.end > instant) return;
        open.pop_back();
      }
      at = std::max(at, instant);
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint32_t row = rows[i];
      pass_to(s.start[row]);
      const Ns end = s.start[row] + s.dur[row];
      const bool leaf = i + 1 == rows.size() || s.start[rows[i + 1]] >= end;
      const bool outer = !open.empty() && open.back().computes;
      open.push_back({row, end, computes[index(s.name[row])] || leaf || outer,
                      is_host_communication(trace_, SliceId{row}) ||
                          (!open.empty() && open.back().communication)});
    }
    pass_to(Ns::max());
  }

  void add_piece(Ns from, Ns to, const OpenRow& row, TrackId track) {
    from = std::max(from, from_);
    to = std::min(to, until_);
    auto cut = std::ranges::upper_bound(submissions_, from);
    while (from < to) {
      const Ns until = cut != submissions_.end() && *cut < to ? *cut++ : to;
      if (until > from)
        pieces_.push_back({from, until, SliceId{row.row}, track, row.communication});
      from = until;
    }
  }

  // Overlapping collectives of one group are worked on one after the other. Messages are not: each
  // takes its time from when both sides have called.
  void add_calls() {
    const auto& calls = input_.calls.calls;
    std::map<std::uint32_t, std::uint32_t> last_of_group;  // no_row: of unknown groups
    for (std::uint32_t c = 0; c < calls.size(); ++c) {
      const CollectiveCall& call = calls[c];
      if (call.start < from_ || call.start >= until_) continue;
      submissions_.push_back(call.start);
      std::uint32_t first = no_node;
      const std::uint32_t node = add_call(draft_, input_, c, first);
      communication_.push_back({call.end, node, std::max(call.end, trace_.slices.end(call.slice))});
      begun_.push_back({call.start, first});
      if (call.edge_count > 0) continue;
      std::uint32_t& before = last_of_group.try_emplace(call.group, no_node).first->second;
      if (before != no_node && draft_.end_of(before) > draft_.start[node] &&
          draft_.end_of(before) <= call.end) {
        draft_.start[node] = draft_.end_of(before);
        draft_.duration[node] = call.end - draft_.start[node];
        draft_.edges.emplace_back(before, node);
      }
      before = node;
    }
    std::ranges::stable_sort(communication_, {}, &Done::at);
  }

  void add_pieces() {
    last_.assign(trace_.tracks.size(), no_node);
    draft_.begin = draft_.add(NodeKind::host, from_, from_, no_slice);
    done_.push_back({from_, draft_.begin});
    if (input_.view.index->main_track) last_[index(*input_.view.index->main_track)] = draft_.begin;
    for (const CpuPiece& piece : pieces_) {
      std::uint32_t& last = last_[index(piece.track)];
      const Ns free = last == no_node ? from_ : draft_.end_of(last);
      std::uint32_t other = no_node;
      if (last == no_node || piece.start - free >= shortest_hole) {
        const auto after = first_after(done_, piece.start);
        if (after != done_.begin() && (after - 1)->at >= free) other = (after - 1)->node;
        if (other == last) other = no_node;
      }
      const Ns ready = other == no_node ? free : draft_.end_of(other);
      if (piece.start > ready || other != no_node) {
        const Ns resumed = wait_in_hole(ready, piece, last, other);
        add_host(resumed, piece, last, other);
      }
      const Done* held = piece.communication ? held_until(piece.start, piece.end) : nullptr;
      const std::uint32_t node =
          held != nullptr ? draft_.add(NodeKind::sync, piece.end, piece.end, piece.row)
                          : draft_.add(piece.communication ? NodeKind::host : NodeKind::compute,
                                       piece.start, piece.end, piece.row);
      draft_.connect(last, node);
      if (held != nullptr) wait_for(*held, node, piece.row);
      last = node;
      const Ended ended{piece.end, node};
      done_.insert(first_after(done_, ended.at), ended);
    }
  }

  // The thread of a call records the call's start and end only when it has a core. The start is
  // then after the submission, and the end after the waiting thread has gone on. A call is recorded
  // late if it runs from shortly after the begin of a hole until shortly after the hole's end. It
  // may run until later if another member shows that the collective was done when the hole ended,
  // or if the hole ends shortly after the last member's arrival: a row also lasts while a thread
  // runs what follows the collective (the hooks of DDP).
  [[nodiscard]] bool recorded_late(std::uint32_t node, Ns ready, Ns resumed) const {
    const std::uint32_t call = draft_.detail[node];
    const CallTime& time = input_.times[call];
    const bool arrived = !input_.joined[call] || time.ready <= resumed;
    Ns delay = draft_.end_of(node) - resumed;
    if (time.first_end != Ns::max())
      delay = std::min(delay, std::chrono::abs(time.first_end - resumed));
    const bool soon = delay * late_record <= resumed - ready ||
                      (input_.joined[call] && time.ready > ready &&
                       (resumed - time.ready) * after_arrival <= resumed - ready);
    const Ns begun = input_.calls.calls[call].start - ready;
    return arrived && soon && begun * late_record <= resumed - ready;
  }

  // A thread without a row until a collective of its rank ended (DDP's hook at the end of the
  // backward pass) waited for that collective. The time after it is the host's own. `last` and
  // `other`, which ended by `ready`, become that wait.
  Ns wait_in_hole(Ns ready, const CpuPiece& piece, std::uint32_t& last, std::uint32_t& other) {
    auto after = std::ranges::upper_bound(communication_, piece.start, {}, &Done::at);
    for (; after != communication_.end() && recorded_late(after->node, ready, piece.start);
         ++after) {
      Ns& start = draft_.start[after->node];
      start = std::min(start, piece.start);
      draft_.duration[after->node] = piece.start - start;
      after->at = after->collected = piece.start;
    }
    const Done* held = held_until(ready, piece.start);
    if (held == nullptr || held->at - ready < shortest_hole) return ready;
    const std::uint32_t node = draft_.add(NodeKind::sync, held->at, held->at, piece.row);
    draft_.connect(last, node);
    draft_.connect(other, node);
    wait_for(*held, node, piece.row);
    last = node;
    other = no_node;
    return held->at;
  }

  // The host's own time before a piece, cut where calls are submitted meanwhile. `last` and `other`
  // end before it; `last` becomes its end.
  void add_host(Ns from, const CpuPiece& piece, std::uint32_t& last, std::uint32_t other) {
    auto cut = std::ranges::upper_bound(submissions_, from);
    for (bool whole = false; !whole;) {
      whole = cut == submissions_.end() || *cut >= piece.start;
      const Ns until = whole ? piece.start : *cut;
      const std::uint32_t host = draft_.add(NodeKind::host, from, until, piece.row);
      draft_.connect(last, host);
      draft_.connect(other, host);
      other = no_node;
      last = host;
      resumed_.insert(first_after(resumed_, until), {until, host});
      from = until;
      cut = std::ranges::upper_bound(submissions_, from);
    }
  }

  // A call begins after the work that the threads had done at its submission. This includes a
  // thread without a row until then, which loaded data. If the threads had done nothing for a
  // while, the call also begins after the previous call.
  void begin_calls() {
    for (const Ended& call : begun_) {
      const auto after = std::ranges::upper_bound(done_, call.at, {}, &Ended::at);
      Ns idle_from = after == done_.begin() ? Ns::min() : (after - 1)->at;
      const auto resumed = std::ranges::upper_bound(resumed_, call.at, {}, &Ended::at);
      if (resumed != resumed_.begin() && (resumed - 1)->at > idle_from) {
        idle_from = (resumed - 1)->at;
        draft_.connect((resumed - 1)->node, call.node);
      } else if (after != done_.begin()) {
        draft_.connect((after - 1)->node, call.node);
      }
      const Done* before = held_until(idle_from, call.at);
      if (before != nullptr && call.at - idle_from >= shortest_hole)
        draft_.connect(before->node, call.node);
    }
  }

  struct Ended {
    Ns at{};
    std::uint32_t node = no_node;
  };
  struct Done {
    Ns at{};
    std::uint32_t node = no_node;
    Ns collected{};  // when the row ends: a thread may collect a message after it has come
  };
  // The last call that ended and was collected between these instants: a thread that shows no
  // operator meanwhile waited for it. Null without such a call.
  [[nodiscard]] const Done* held_until(Ns from, Ns until) const {
    auto at = std::ranges::upper_bound(communication_, until, {}, &Done::at);
    while (at != communication_.begin() && (--at)->at > from)
      if (at->collected <= until) return &*at;
    return nullptr;
  }
  void wait_for(const Done& held, std::uint32_t node, SliceId row) {
    const std::uint32_t wait = draft_.add(NodeKind::wait, held.at, held.at, row);
    draft_.edges.emplace_back(held.node, wait);
    draft_.edges.emplace_back(wait, node);
  }

  const ViewInput& input_;
  const Trace& trace_;
  Ns from_;
  Ns until_;
  std::vector<bool> in_flight_;  // names of rows that hold no thread
  ViewDraft draft_;
  std::vector<Ns> submissions_;  // starts of calls, sorted
  std::vector<CpuPiece> pieces_;
  std::vector<Ended> done_;          // nodes of threads, by end
  std::vector<Ended> resumed_;       // `host` nodes before them, by end
  std::vector<Done> communication_;  // calls, by end
  std::vector<Ended> begun_;         // first nodes of calls, at their begin
  std::vector<std::uint32_t> last_;  // by thread
};
}  // namespace

ViewDraft draft_cpu_view(const ViewInput& input) { return CpuDraft(input).run(); }

}  // namespace stepscope
