// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/prefetch_replay.h"

#include <algorithm>
#include <map>
#include <set>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Sets of incoming edges to remove: all but those from a launch, all, those from waits.
constexpr unsigned all_but_launch = 1;
constexpr unsigned all_edges = 2;
constexpr unsigned waits_only = 4;

// An operation of a stream (without a device: of a group), in stream order.
struct Item {
  std::uint32_t first = no_node;  // first node; waits for its launch
  std::uint32_t last = no_node;   // last node; ends with it
  Ns issued{};
  bool moved = false;
  bool gone = false;
};

struct Channel {
  std::uint32_t view = 0;
  std::uint32_t id = 0;
  std::vector<Item> items;
};

class Mover {
 public:
  Mover(const Replay& replay, std::span<const RankView> views, const Collectives& job,
        std::span<const UnitWaits> units, const PrefetchChange& change)
      : replay_(replay),
        graph_(*replay.graph),
        views_(views),
        job_(job),
        units_(units),
        change_(change),
        recorded_(recorded_prefetch(units).value_or(0)),
        times_(measured_times(replay)),
        instant_(measured_starts(replay)),
        loses_(graph_.size()),
        channel_item_(graph_.size(), {no_row, no_row}) {}

  PrefetchReplay run();

 private:
  struct Nodes {  // of one view
    std::vector<std::uint32_t> first_of_call;
    std::vector<std::uint32_t> last_of_call;
    std::vector<std::uint32_t> of_slice;           // first node of a device operation
    std::vector<std::uint32_t> launch_of;          // by slice of the launch call
    std::vector<std::pair<Ns, SliceId>> launched;  // device operations by launch
    TrackId computes{};                            // the stream that computes
    std::vector<std::uint32_t> thread;             // nodes of host threads, by end
    std::vector<std::uint32_t> thread_start;       // the same, by start
  };

  void index_nodes();
  void index_node(std::uint32_t node);
  void read_fetches(std::uint32_t view);
  void free_waits(std::uint32_t view, const UnitUse& use, Ns from, std::uint32_t to);
  void change_fetches(std::uint32_t view);
  void move(std::uint32_t view, std::uint32_t use, std::uint32_t target);
  void move_call(std::uint32_t view, std::uint32_t first, SliceId launch, std::uint32_t anchor,
                 Ns at);
  void add_fetch(std::uint32_t view, std::uint32_t use, std::uint32_t target,
                 std::uint32_t ordinal);
  void drop(std::uint32_t view, std::uint32_t call);
  void make_channel(std::uint32_t view, std::uint32_t id);
  void chain_channels();
  [[nodiscard]] std::uint32_t channel_id(std::uint32_t view, const CollectiveCall& call) const;
  [[nodiscard]] std::uint32_t anchor(std::uint32_t view, TrackId thread, Ns at) const;
  [[nodiscard]] std::uint32_t reader(std::uint32_t view, const UnitUse& use,
                                     const UnitFetch* fetch) const;
  [[nodiscard]] std::vector<bool> kept(const UnitMarks& marks, std::uint32_t ahead) const;
  [[nodiscard]] Ns transfer_of_unit(const UnitWaits& units, std::uint32_t unit) const;
  std::uint32_t new_node(Ns at, Ns duration);
  void depends(std::uint32_t from, std::uint32_t to);  // only if it held in the recorded steps too
  [[nodiscard]] bool stays(const GraphEdge& edge) const;
  [[nodiscard]] Ns finish();

  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  const Collectives& job_;
  std::span<const UnitWaits> units_;
  const PrefetchChange& change_;
  std::uint32_t recorded_;
  NodeTimes times_;
  std::vector<Ns> instant_;
  std::vector<std::uint8_t> loses_;  // by node: which of its edges to remove
  std::vector<std::pair<std::uint32_t, std::uint32_t>> channel_item_;  // by node
  std::vector<Channel> channels_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> made_;                 // view and id
  std::vector<Nodes> nodes_;                                               // by view
  std::vector<GraphEdge> edges_;                                           // new ones
  std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> joins_;  // of added fetches
  PrefetchReplay out_;
};

bool on_thread(const StepGraph& graph, std::uint32_t node, bool cpu_only) {
  const NodeKind k = graph.kind[node];
  return k == NodeKind::host || k == NodeKind::sync || (cpu_only && k == NodeKind::compute);
}

void Mover::index_node(std::uint32_t n) {
  const std::uint32_t view = graph_.view[n];
  Nodes& nodes = nodes_[view];
  const bool cpu_only = views_[view].index->cpu_only();
  const NodeKind kind = graph_.kind[n];
  const bool call =
      kind == NodeKind::comm || kind == NodeKind::arrival || kind == NodeKind::transfer;
  if (call && graph_.detail[n] != no_row) {
    if (kind != NodeKind::transfer) nodes.first_of_call[graph_.detail[n]] = n;
    if (kind != NodeKind::arrival) nodes.last_of_call[graph_.detail[n]] = n;
  }
  if (on_thread(graph_, n, cpu_only)) nodes.thread.push_back(n);
  if (graph_.slice[n] == no_slice || cpu_only) return;
  if (kind == NodeKind::launch) nodes.launch_of[index(graph_.slice[n])] = n;
  const bool operation = kind == NodeKind::compute || kind == NodeKind::copy ||
                         kind == NodeKind::comm || kind == NodeKind::arrival;
  if (operation) nodes.of_slice[index(graph_.slice[n])] = n;
}

void Mover::index_nodes() {
  nodes_.resize(views_.size());
  for (std::size_t v = 0; v < views_.size(); ++v) {
    Nodes& nodes = nodes_[v];
    nodes.first_of_call.assign(job_.matches.ranks[v].calls.size(), no_node);
    nodes.last_of_call = nodes.first_of_call;
    if (views_[v].index->cpu_only()) continue;
    const Slices& slices = views_[v].trace->slices;
    nodes.of_slice.assign(slices.size(), no_node);
    nodes.launch_of = nodes.of_slice;
    nodes.computes = compute_stream(views_[v]).stream;
    for (const DeviceLane& lane : views_[v].index->devices)
      for (const SliceId op : lane.ops)
        if (const SliceId launch = views_[v].index->launch(op); launch != no_slice)
          nodes.launched.emplace_back(slices.start[index(launch)], op);
    std::ranges::stable_sort(nodes.launched, {}, [](const auto& l) { return l.first; });
  }
  for (std::uint32_t n = 0; n < graph_.size(); ++n) index_node(n);
  for (Nodes& nodes : nodes_) {
    nodes.thread_start = nodes.thread;
    std::ranges::stable_sort(nodes.thread, {}, [&](auto n) { return replay_.end[n]; });
    std::ranges::stable_sort(nodes.thread_start, {}, [&](auto n) { return replay_.start(n); });
  }
}

std::uint32_t Mover::channel_id(std::uint32_t view, const CollectiveCall& call) const {
  return views_[view].index->cpu_only() ? call.group : index(call.stream);
}

// Everything that a stream, or a group, carries in the recorded steps.
void Mover::make_channel(std::uint32_t view, std::uint32_t id) {
  if (!made_.emplace(view, id).second) return;
  Channel channel{view, id, {}};
  const Nodes& nodes = nodes_[view];
  const Trace& trace = *views_[view].trace;
  const auto& calls = job_.matches.ranks[view].calls;
  const auto add = [&](std::uint32_t first, std::uint32_t last, Ns issued) {
    if (first == no_node || last == no_node || !replay_.movable[first]) return;
    channel.items.push_back({first, last, issued - graph_.origin});
  };
  const auto start_of = [&](SliceId row) { return trace.slices.start[index(row)]; };
  if (views_[view].index->cpu_only()) {
    for (std::uint32_t c = 0; c < calls.size(); ++c)
      if (calls[c].group == id)
        add(nodes.first_of_call[c], nodes.last_of_call[c], start_of(asked_by(calls[c])));
  } else {
    std::vector<std::uint32_t> call_of(trace.slices.size(), no_row);
    for (std::uint32_t c = 0; c < calls.size(); ++c) call_of[index(calls[c].slice)] = c;
    for (const DeviceLane& lane : views_[view].index->devices)
      for (const SliceId op : lane.ops) {
        const std::uint32_t first = nodes.of_slice[index(op)];
        if (index(trace.slices.track[index(op)]) != id || first == no_node) continue;
        const SliceId launch = views_[view].index->launch(op);
        const std::uint32_t call = call_of[index(op)];
        add(first, call == no_row ? first : nodes.last_of_call[call],
            start_of(launch == no_slice ? op : launch));
      }
  }
  const auto number = static_cast<std::uint32_t>(channels_.size());
  for (std::uint32_t i = 0; i < channel.items.size(); ++i)
    channel_item_[channel.items[i].first] = channel_item_[channel.items[i].last] = {number, i};
  channels_.push_back(std::move(channel));
}

// The last node that a host thread had finished at an instant of the trace's clock.
std::uint32_t Mover::anchor(std::uint32_t view, TrackId thread, Ns at) const {
  constexpr std::ptrdiff_t walk = 256;
  const Nodes& nodes = nodes_[view];
  const auto after = std::ranges::upper_bound(nodes.thread, at - graph_.origin, {},
                                              [&](auto n) { return replay_.end[n]; });
  if (after == nodes.thread.begin()) return no_node;
  const Trace& trace = *views_[view].trace;
  for (auto i = after; i != nodes.thread.begin() && after - i < walk;) {
    const SliceId row = graph_.slice[*--i];
    if (row != no_slice && trace.slices.track[index(row)] == thread) return *i;
  }
  return *(after - 1);
}

// The first node that needs the unit's parameters.
std::uint32_t Mover::reader(std::uint32_t view, const UnitUse& use, const UnitFetch* fetch) const {
  const Nodes& nodes = nodes_[view];
  if (!views_[view].index->cpu_only())
    return fetch == nullptr || fetch->reader == no_slice ? no_node
                                                         : nodes.of_slice[index(fetch->reader)];
  const Ns there = fetch == nullptr ? use.from : std::max(fetch->needed, fetch->arrived);
  const auto at = std::ranges::lower_bound(nodes.thread_start, there - graph_.origin, {},
                                           [&](auto n) { return replay_.start(n); });
  return at == nodes.thread_start.end() ? no_node : *at;
}

// An edge that held in the recorded steps too. The time it explains is no longer a delay.
void Mover::depends(std::uint32_t from, std::uint32_t to) {
  if (from == no_node || to == no_node || from == to || replay_.end[from] > replay_.start(to))
    return;
  edges_.push_back({from, to});
  times_.delay[to] = std::min(times_.delay[to], replay_.start(to) - replay_.end[from]);
}

// A thread that makes progress itself and waits for its unit wakes for anything that ends
// meanwhile. It would not have waited for that alone.
void Mover::free_waits(std::uint32_t view, const UnitUse& use, Ns from, std::uint32_t to) {
  const auto& thread = nodes_[view].thread_start;
  auto at = std::ranges::lower_bound(thread, from - graph_.origin, {},
                                     [&](auto n) { return replay_.start(n); });
  for (; at != thread.end() && replay_.start(*at) < replay_.start(to); ++at) {
    const SliceId row = graph_.slice[*at];
    if (*at == to ||
        (row != no_slice && views_[view].trace->slices.track[index(row)] != use.thread))
      continue;
    loses_[*at] |= waits_only;
  }
}

// The nodes that each fetch delays, in the recorded steps too.
void Mover::read_fetches(std::uint32_t view) {
  const UnitWaits& units = units_[view];
  for (const UnitFetch& f : units.fetches) {
    const UnitUse& use = units.marks.uses[f.use];
    const std::uint32_t to = use.waits_in_row ? no_node : reader(view, use, &f);
    if (to == no_node || !replay_.movable[to]) continue;
    if (views_[view].index->cpu_only() && f.late() > Ns{0}) {
      // Its wait was tied to the last earlier end. Now its own fetch is known.
      loses_[to] |= waits_only;
      Ns ready = Ns::min();
      for (const std::uint32_t p : graph_.graph.preds_of(to))
        if (graph_.kind[p] != NodeKind::wait) ready = std::max(ready, replay_.end[p]);
      if (ready != Ns::min()) times_.delay[to] = replay_.start(to) - ready;
      free_waits(view, use, f.needed, to);
    }
    for (const std::uint32_t c : use.calls) depends(nodes_[view].last_of_call[c], to);
  }
}

void Mover::move_call(std::uint32_t view, std::uint32_t first, SliceId launch, std::uint32_t anchor,
                      Ns at) {
  const std::uint32_t launched =
      launch == no_slice ? no_node : nodes_[view].launch_of[index(launch)];
  loses_[first] |= all_but_launch;
  if (launched != no_node) {
    loses_[launched] |= all_edges;
    edges_.push_back({anchor, launched});
    instant_[launched] = at;
  } else {
    edges_.push_back({anchor, first});
  }
  instant_[first] = at;
  const auto [channel, item] = channel_item_[first];
  if (channel == no_row) return;
  channels_[channel].items[item].moved = true;
  channels_[channel].items[item].issued = at;
}

void Mover::move(std::uint32_t view, std::uint32_t use_row, std::uint32_t target) {
  const UnitMarks& marks = units_[view].marks;
  const UnitUse& use = marks.uses[use_row];
  const UnitUse& before = marks.uses[target];
  const Ns at = target == use_row ? use.begin : before.go;
  const std::uint32_t node = anchor(view, before.thread, at);
  if (node == no_node) return;
  const auto& calls = job_.matches.ranks[view].calls;
  const Trace& trace = *views_[view].trace;
  const bool device = !views_[view].index->cpu_only();
  bool moved = false;
  for (const std::uint32_t c : use.calls) {
    const std::uint32_t first = nodes_[view].first_of_call[c];
    if (first == no_node || !replay_.movable[first]) continue;
    make_channel(view, channel_id(view, calls[c]));
    move_call(view, first, device ? calls[c].launch : no_slice, node, at - graph_.origin);
    moved = true;
  }
  if (moved) ++out_.moved;
  if (!moved || !device || use.fetch_end <= use.fetch_begin) return;
  // Other work that the fetch launches, on streams of its own (copies into the message).
  const auto& launched = nodes_[view].launched;
  auto i = std::ranges::lower_bound(launched, use.fetch_begin, {},
                                    [](const auto& l) { return l.first; });
  for (; i != launched.end() && i->first < use.fetch_end; ++i) {
    const SliceId launch = views_[view].index->launch(i->second);
    const TrackId stream = trace.slices.track[index(i->second)];
    const std::uint32_t first = nodes_[view].of_slice[index(i->second)];
    if (first == no_node || !replay_.movable[first] || loses_[first] != 0 ||
        trace.slices.track[index(launch)] != use.fetch_thread || stream == nodes_[view].computes)
      continue;
    make_channel(view, index(stream));
    move_call(view, first, launch, node, at - graph_.origin);
  }
}

// By use: true if its unit is still present from the previous use (zero/plan/step_plan.h).
std::vector<bool> Mover::kept(const UnitMarks& marks, std::uint32_t ahead) const {
  std::vector<bool> result(marks.uses.size());
  std::map<std::uint32_t, std::uint32_t> last;  // use by unit
  std::uint32_t chain = no_row;
  for (std::uint32_t u = 0; u < marks.uses.size(); ++u) {
    if (marks.uses[u].chain != chain) last.clear();
    chain = marks.uses[u].chain;
    const auto [before, fresh] = last.try_emplace(marks.uses[u].unit, u);
    result[u] = !fresh && u - before->second <= ahead + 1;
    before->second = u;
  }
  return result;
}

Ns Mover::transfer_of_unit(const UnitWaits& units, std::uint32_t unit) const {
  std::vector<Ns> times;
  for (const UnitFetch& f : units.fetches)
    if (units.marks.uses[f.use].unit == unit) times.push_back(f.transfer);
  return times.empty() ? Ns{0} : upper_median(times);
}

std::uint32_t Mover::new_node(Ns at, Ns duration) {
  times_.duration.push_back(duration);
  times_.delay.push_back(Ns{0});
  instant_.push_back(at);
  loses_.push_back(0);
  channel_item_.emplace_back(no_row, no_row);
  return static_cast<std::uint32_t>(instant_.size() - 1);
}

void Mover::drop(std::uint32_t view, std::uint32_t call) {
  const std::uint32_t first = nodes_[view].first_of_call[call];
  const std::uint32_t last = nodes_[view].last_of_call[call];
  if (first == no_node) return;
  make_channel(view, channel_id(view, job_.matches.ranks[view].calls[call]));
  const auto [channel, item] = channel_item_[first];
  if (channel == no_row) return;
  channels_[channel].items[item].gone = true;
  times_.duration[last] = Ns{0};
}

void Mover::add_fetch(std::uint32_t view, std::uint32_t use_row, std::uint32_t target,
                      std::uint32_t ordinal) {
  const UnitMarks& marks = units_[view].marks;
  const UnitUse& use = marks.uses[use_row];
  const Ns at = (target == use_row ? use.begin : marks.uses[target].go) - graph_.origin;
  const std::uint32_t node = anchor(view, use.thread, at + graph_.origin);
  const auto& fetches = units_[view].fetches;
  if (node == no_node || fetches.empty()) return;
  const std::uint32_t like = marks.uses[fetches.front().use].calls.front();
  const std::uint32_t id = channel_id(view, job_.matches.ranks[view].calls[like]);
  make_channel(view, id);
  const std::uint32_t first = new_node(at, Ns{0});
  const std::uint32_t last = new_node(at, transfer_of_unit(units_[view], use.unit));
  const std::int64_t step = views_[view].steps[use.step].index;
  const auto [join, fresh] = joins_.try_emplace({step, ordinal}, no_node);
  if (fresh) join->second = new_node(at, Ns{0});
  edges_.push_back({node, first});
  edges_.push_back({first, join->second});
  edges_.push_back({join->second, last});
  if (const std::uint32_t to = reader(view, use, nullptr); to != no_node)
    edges_.push_back({last, to});
  for (Channel& c : channels_)
    if (c.view == view && c.id == id)
      c.items.push_back({.first = first, .last = last, .issued = at, .moved = true});
  ++out_.added;
}

void Mover::change_fetches(std::uint32_t view) {
  const UnitMarks& marks = units_[view].marks;
  const bool plans = marks.source == UnitSource::stepscope && !change_.rank;
  const std::vector<bool> now = kept(marks, recorded_);
  const std::vector<bool> then = kept(marks, change_.ahead);
  std::vector<std::uint32_t> first(marks.uses.size());    // of the use's chain
  std::vector<std::uint32_t> ordinal(marks.uses.size());  // within its step
  for (std::uint32_t u = 1; u < marks.uses.size(); ++u) {
    first[u] = marks.uses[u].chain == marks.uses[u - 1].chain ? first[u - 1] : u;
    ordinal[u] = marks.uses[u].step == marks.uses[u - 1].step ? ordinal[u - 1] + 1 : 0;
  }
  std::vector<const UnitFetch*> fetch_of(marks.uses.size());
  for (const UnitFetch& f : units_[view].fetches) fetch_of[f.use] = &f;
  for (std::uint32_t u = 0; u < marks.uses.size(); ++u) {
    const std::uint32_t target = std::max(first[u], u - std::min(u, change_.ahead));
    if (fetch_of[u] == nullptr) {
      if (plans && now[u] && !then[u]) add_fetch(view, u, target, ordinal[u]);
      continue;
    }
    if (plans && then[u] && !now[u]) {
      for (const std::uint32_t c : marks.uses[u].calls) drop(view, c);
      ++out_.dropped;
    } else if (fetch_of[u]->ahead != u - target && !marks.uses[u].waits_in_row) {
      move(view, u, target);
    }
  }
}

// The work of a stream runs one after the other, in the new order of launches.
void Mover::chain_channels() {
  for (const Channel& channel : channels_) {
    const bool cpu_only = views_[channel.view].index->cpu_only();
    std::vector<const Item*> moved;
    for (const Item& i : channel.items)
      if (i.moved && !i.gone) moved.push_back(&i);
    std::ranges::stable_sort(moved, {}, [](const Item* i) { return i->issued; });
    std::vector<const Item*> order;
    std::size_t next = 0;
    for (const Item& i : channel.items) {
      if (i.moved || i.gone) continue;
      while (next < moved.size() && moved[next]->issued < i.issued) order.push_back(moved[next++]);
      order.push_back(&i);
    }
    order.insert(order.end(), moved.begin() + static_cast<std::ptrdiff_t>(next), moved.end());
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Item& a = *order[i - 1];
      const Item& b = *order[i];
      const std::uint32_t to = cpu_only ? b.last : b.first;
      if (a.moved || b.moved)
        edges_.push_back({a.last, to});
      else
        depends(a.last, to);
    }
  }
}

bool Mover::stays(const GraphEdge& edge) const {
  const std::uint8_t lost = loses_[edge.to];
  if ((lost & all_edges) != 0) return false;
  const NodeKind from = graph_.kind[edge.from];
  if ((lost & all_but_launch) != 0 && from != NodeKind::launch) return false;
  if ((lost & waits_only) != 0 && from == NodeKind::wait) return false;
  const auto [channel_from, item_from] = channel_item_[edge.from];
  const auto [channel_to, item_to] = channel_item_[edge.to];
  const auto gone = [&](std::uint32_t channel, std::uint32_t item) {
    return channel != no_row && channels_[channel].items[item].gone;
  };
  if (gone(channel_from, item_from) || gone(channel_to, item_to)) return false;
  if (channel_from == no_row || channel_from != channel_to || item_from == item_to) return true;
  return !channels_[channel_from].items[item_from].moved &&
         !channels_[channel_to].items[item_to].moved;
}

Ns Mover::finish() {
  std::vector<GraphEdge> edges;
  edges.reserve(graph_.graph.preds.size() + edges_.size());
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    for (const std::uint32_t p : graph_.graph.preds_of(n))
      if (stays({p, n})) edges.push_back({p, n});
  edges.insert(edges.end(), edges_.begin(), edges_.end());
  return replay_edges(graph_, instant_, times_, std::move(edges));
}

PrefetchReplay Mover::run() {
  index_nodes();
  for (std::uint32_t v = 0; v < views_.size(); ++v) {
    if (units_[v].fetches.empty()) continue;
    if (change_.rank && views_[v].rank != *change_.rank) continue;
    read_fetches(v);
    change_fetches(v);
  }
  chain_channels();
  out_.step = finish();
  return out_;
}

}  // namespace

std::optional<std::uint32_t> recorded_prefetch(std::span<const UnitWaits> units) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const UnitWaits& w : units)
    for (const UnitFetch& f : w.fetches)
      if (!w.marks.uses[f.use].waits_in_row) ++counts[f.ahead];
  if (counts.empty()) return std::nullopt;
  return std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; })->first;
}

std::vector<std::uint32_t> prefetches_to_try(std::span<const UnitWaits> units) {
  const auto recorded = recorded_prefetch(units);
  if (!recorded) return {};
  std::set<std::uint32_t> found = {*recorded + 1, *recorded + 2};
  std::uint32_t most = 0;
  for (const UnitWaits& w : units)
    for (const UnitFetch& f : w.fetches)
      if (f.verdict != FetchVerdict::hit && f.distance && !w.marks.uses[f.use].waits_in_row)
        most = std::max(most, *f.distance);
  if (most > *recorded) found.insert(most);
  return {found.begin(), found.end()};
}

std::optional<PrefetchReplay> replay_with_prefetch(const Replay& replay,
                                                   std::span<const RankView> views,
                                                   const Collectives& job,
                                                   std::span<const UnitWaits> units,
                                                   const PrefetchChange& change) {
  if (!recorded_prefetch(units)) return std::nullopt;
  return Mover(replay, views, job, units, change).run();
}

}  // namespace stepscope
