// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collectives.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

using Values = std::vector<std::int64_t>;  // ns

// The key of a row. Groups of one label and size (all tensor-parallel groups) share a row.
struct RowKey {
  CollectiveKind kind = CollectiveKind::unknown;
  std::string group;
  int group_size = -1;
  std::string_view dtype;
  std::int64_t size = -1;  // bytes; -1 = unknown
  auto operator<=>(const RowKey&) const = default;
};

// The calls of a row.
struct Instances {
  std::vector<std::uint32_t> matched;  // rows of CollectiveMatches::matched
  std::vector<CollectiveMember> unmatched;
};

// A fused call appears once for each of its messages, so its times are divided among them.
std::int64_t messages_of(const CollectiveCall& call) {
  return std::max<std::int64_t>(1, call.edge_count);
}

void append(auto& into, const auto& from) { into.insert(into.end(), from.begin(), from.end()); }

// The bytes of one message of a fused call. Absent if the messages between its two ranks differ.
std::optional<Bytes> fused_bytes_of(std::span<const RankView> views,
                                    const CollectiveMatches& matches,
                                    const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  const CollectiveCall& call = matches.call(members.front());
  const auto size = dtype_bytes(call.dtype);
  const int mine = views[members.front().view].rank;
  const int peer = views[members.back().view].rank;
  std::int64_t elements = -1;
  for (const P2pEdge& edge : matches.ranks[members.front().view].edges_of(call)) {
    if (std::minmax(edge.src, edge.dst) != std::minmax(mine, peer)) continue;
    if (edge.elements < 0 || (elements >= 0 && edge.elements != elements)) return std::nullopt;
    elements = edge.elements;
  }
  if (!size || elements < 0) return std::nullopt;
  return Bytes{elements * *size};
}

// The size of an uneven all-to-all is its largest part.
std::optional<Bytes> bytes_of(std::span<const RankView> views, const CollectiveMatches& matches,
                              const MatchedCollective& matched) {
  std::optional<Bytes> bytes;
  for (const CollectiveMember m : matches.members_of(matched))
    bytes = std::max(bytes, matches.call(m).bytes);
  return bytes || !matched.message ? bytes : fused_bytes_of(views, matches, matched);
}

// One row from its calls.
class RowOf {
  std::span<const RankView> views_;
  const Collectives& job_;
  const CollectiveMatches& matches_;
  CollectiveRow row_;
  bool any_ = false;
  std::set<std::uint32_t> groups_;
  Values transfers_;
  Values skews_;
  Values spreads_;
  std::map<int, std::uint64_t> last_;  // rank → number of times
  std::uint64_t ranked_ = 0;
  std::map<int, Ns> exposed_;                              // by rank
  std::map<int, std::pair<std::uint64_t, Ns>> unmatched_;  // rank → calls, their duration
  double bytes_sum_ = 0;
  std::uint64_t bytes_count_ = 0;

 public:
  RowOf(std::span<const RankView> views, const Collectives& job, const RowKey& key)
      : views_(views), job_(job), matches_(job.matches) {
    row_.kind = key.kind;
    row_.group = key.group;
    row_.dtype = key.dtype;
    if (key.group_size > 0) row_.group_size = key.group_size;
  }

  void add(const MatchedCollective& matched) {
    const auto members = matches_.members_of(matched);
    ++row_.count;
    ++row_.matched;
    add_call(matches_.call(members.front()), bytes_of(views_, matches_, matched));
    Values durations;
    for (const CollectiveMember m : members) {
      const CollectiveCall& call = matches_.call(m);
      durations.push_back((call.end - call.start).count() / messages_of(call));
      exposed_[views_[m.view].rank] += job_.exposed[m.view][m.call] / messages_of(call);
    }
    row_.duration += *median_time(durations);
    add_timing(matched);
  }

  void add(CollectiveMember m) {
    const CollectiveCall& call = matches_.call(m);
    add_call(call, call.bytes);
    auto& [count, duration] = unmatched_[views_[m.view].rank];
    ++count;
    duration += call.end - call.start;
    exposed_[views_[m.view].rank] += job_.exposed[m.view][m.call];
  }

  CollectiveRow finish() {
    row_.groups.assign(groups_.begin(), groups_.end());
    std::uint64_t most = 0;
    Values durations;
    for (const auto& [rank, unmatched] : unmatched_) {
      most = std::max(most, unmatched.first);
      durations.push_back(unmatched.second.count());
    }
    row_.count += most;
    row_.duration += median_time(durations).value_or(Ns{0});
    Ns exposed{};
    for (const auto& [rank, time] : exposed_) exposed += time;
    row_.exposed = exposed / std::max<std::int64_t>(1, std::ssize(exposed_));
    if (bytes_count_ != 0)
      row_.bytes = Bytes{std::llround(bytes_sum_ / static_cast<double>(bytes_count_))};
    row_.skew = median_time(skews_);
    row_.clock_uncertainty = median_time(spreads_);
    if (!last_.empty()) {
      const auto last = std::ranges::max_element(last_, {}, [](const auto& l) { return l.second; });
      row_.last_rank = last->first;
      row_.last_rank_share = static_cast<double>(last->second) / static_cast<double>(ranked_);
    }
    const auto transfer = median_time(transfers_);
    if (transfer && *transfer > Ns{0} && row_.bytes && row_.bytes->value > 0) {
      row_.algbw = *row_.bytes / seconds(*transfer);
      const auto factor = busbw_factor(row_.kind, row_.group_size.value_or(-1));
      if (factor) row_.busbw = ByteRate{row_.algbw->value * *factor};
    }
    return std::move(row_);
  }

 private:
  void add_call(const CollectiveCall& call, std::optional<Bytes> bytes) {
    const bool first = !std::exchange(any_, true);
    if (call.group != no_row) {
      if (first) row_.dimension = job_.dimension_of[call.group];
      groups_.insert(call.group);
    }
    if (!bytes) return;
    bytes_sum_ += static_cast<double>(bytes->value);
    ++bytes_count_;
  }

  void add_timing(const MatchedCollective& matched) {
    const auto members = matches_.members_of(matched);
    Values transfers;  // of each member: time for the bandwidth
    Values shares;     // the part of it that belongs to this message
    Ns wait{};
    bool split = true;
    CollectiveMember last = members.front();
    Ns first_start = Ns::max();
    for (const CollectiveMember m : members) {
      const CollectiveCall& call = matches_.call(m);
      const CallTime& time = job_.times.by_view[m.view][m.call];
      split = split && time.split;
      wait += wait_of(call, time) / messages_of(call);
      transfers.push_back(transfer_of(call, time).count());
      shares.push_back(transfers.back() / messages_of(call));
      first_start = std::min(first_start, call.start);
      if (call.start > matches_.call(last).start) last = m;
    }
    if (matched.complete) {
      skews_.push_back((matches_.call(last).start - first_start).count());
      ++last_[views_[last.view].rank];
      ++ranked_;
    }
    if (const auto spread = end_spread(matches_, matched)) spreads_.push_back(spread->count());
    if (!split) return;
    transfers_.push_back(median_time(transfers)->count());
    ++row_.split;
    row_.transfer = row_.transfer.value_or(Ns{0}) + *median_time(shares);
    row_.wait = row_.wait.value_or(Ns{0}) + wait;
  }
};

RowKey key_of(const CollectiveMatches& matches, const CollectiveCall& call,
              std::optional<Bytes> bytes) {
  RowKey key{.kind = joined_kind(call.kind),
             .group = "unknown",
             .dtype = call.dtype,
             .size = bytes ? bytes->value : -1};
  if (call.group != no_row) {
    key.group = group_label(matches.groups[call.group]);
    key.group_size = matches.groups[call.group].size;
  }
  return key;
}

std::map<RowKey, Instances> instances_of_rows(std::span<const RankView> views,
                                              const CollectiveMatches& matches) {
  std::map<RowKey, Instances> rows;
  std::vector<std::vector<bool>> matched;
  for (const RankCalls& rank : matches.ranks) matched.emplace_back(rank.calls.size());
  for (std::uint32_t i = 0; i < matches.matched.size(); ++i) {
    const MatchedCollective& m = matches.matched[i];
    const auto members = matches.members_of(m);
    const CollectiveCall& call = matches.call(members.front());
    rows[key_of(matches, call, bytes_of(views, matches, m))].matched.push_back(i);
    for (const CollectiveMember member : members) matched[member.view][member.call] = true;
  }
  for (std::uint32_t v = 0; v < matches.ranks.size(); ++v)
    for (std::uint32_t c = 0; c < matched[v].size(); ++c) {
      const CollectiveCall& call = matches.ranks[v].calls[c];
      if (!matched[v][c]) rows[key_of(matches, call, call.bytes)].unmatched.push_back({v, c});
    }
  return rows;
}

// Expert exchanges change size every time. Sizes beyond the limit of a table share rows by powers
// of two.
std::map<RowKey, Instances> with_joined_sizes(const std::map<RowKey, Instances>& rows) {
  constexpr std::size_t max_listed_sizes = 32;
  const auto without_size = [](RowKey key) {
    key.size = -1;
    return key;
  };
  std::map<RowKey, std::size_t> sizes;
  for (const auto& [key, of] : rows) ++sizes[without_size(key)];
  std::map<RowKey, Instances> joined;
  for (const auto& [key, of] : rows) {
    RowKey home = key;
    if (key.size > 0 && sizes[without_size(key)] > max_listed_sizes)
      home.size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(key.size)));
    append(joined[home].matched, of.matched);
    append(joined[home].unmatched, of.unmatched);
  }
  return joined;
}

// Requires all of `job` except the rows. Sorted by exposed time, largest first.
std::vector<CollectiveRow> collective_rows(std::span<const RankView> views,
                                           const Collectives& job) {
  std::vector<CollectiveRow> rows;
  for (const auto& [key, of] : with_joined_sizes(instances_of_rows(views, job.matches))) {
    RowOf row(views, job, key);
    for (const std::uint32_t i : of.matched) row.add(job.matches.matched[i]);
    for (const CollectiveMember m : of.unmatched) row.add(m);
    rows.push_back(row.finish());
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const CollectiveRow& row) {
    return std::pair(row.exposed, row.duration);
  });
  return rows;
}

std::vector<DimensionRow> dimension_rows(std::span<const CollectiveRow> rows) {
  std::map<Dimension, DimensionRow> sums;
  for (const CollectiveRow& row : rows) {
    DimensionRow& sum = sums[row.dimension];
    sum.dimension = row.dimension;
    sum.count += row.count;
    if (row.bytes) {
      const auto times = static_cast<std::int64_t>(row.count);
      sum.bytes = sum.bytes.value_or(Bytes{0}) + *row.bytes * times;
    }
    if (row.wait) sum.wait = sum.wait.value_or(Ns{0}) + *row.wait;
    if (row.transfer) sum.transfer = sum.transfer.value_or(Ns{0}) + *row.transfer;
    sum.exposed += row.exposed;
  }
  std::vector<DimensionRow> out;
  out.reserve(sums.size());
  for (const auto& [dimension, sum] : sums) out.push_back(sum);
  std::ranges::stable_sort(out, std::ranges::greater{}, &DimensionRow::exposed);
  return out;
}

}  // namespace

Collectives analyze_collectives(std::span<const RankView> views, CollectiveMatches matches,
                                const CollectiveOptions& options) {
  Collectives job;
  job.matches = std::move(matches);
  settle_message_ends(views, job.matches);
  job.times = collective_times(views, job.matches);
  job.dimension_of = find_dimensions(views, job.matches, options.dimensions, options.sized);
  job.exposed.resize(views.size());
  job.splits.resize(views.size());
  parallel_for(views.size(), options.threads, [&](std::size_t v) {
    const RankCalls& rank = job.matches.ranks[v];
    job.exposed[v] = exposed_times(views[v], rank.calls);
    job.splits[v] = comm_split(rank, job.times.by_view[v]);
  });
  job.rows = collective_rows(views, job);
  job.dimensions = dimension_rows(job.rows);
  return job;
}

std::set<CallKey> find_activations(std::span<const RankView> views,
                                   const CollectiveMatches& matches,
                                   std::span<const HostPhases> phases) {
  struct Counts {
    std::size_t all = 0;
    std::size_t in_forward = 0;
  };
  std::map<CallKey, Counts> counts;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Slices& s = views[v].trace->slices;
    for (const CollectiveCall& call : matches.ranks[v].calls) {
      const bool sums =
          call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
      if (!sums || !call.bytes || call.group == no_row) continue;
      const SliceId launch = call.launch != no_slice ? call.launch : call.host;
      if (launch == no_slice) continue;
      Counts& c = counts[{call.kind, call.group, call.bytes->value}];
      ++c.all;
      if (phases[v].at(s.track[index(launch)], s.start[index(launch)]) == Phase::forward)
        ++c.in_forward;
    }
  }
  std::set<CallKey> found;
  for (const auto& [key, c] : counts)
    if (4 * c.in_forward >= c.all) found.insert(key);
  return found;
}

namespace {

// Layers: classes of compute, then dimensions by state: transferring, unsplit, waiting.
constexpr std::size_t first_transfer = name_class_count;
constexpr std::size_t first_unsplit = first_transfer + dimension_count;
constexpr std::size_t first_wait = first_unsplit + dimension_count;
constexpr std::size_t layer_count = first_wait + dimension_count;
using Sweep = IntervalSweep<layer_count>;

class DimensionOf {
 public:
  explicit DimensionOf(const ClassTimeInputs& inputs) {
    for (const CollectiveCall& call : inputs.calls.calls)
      if (call.group < inputs.dimensions.size())
        known_.emplace_back(index(call.slice), inputs.dimensions[call.group]);
    std::ranges::sort(known_);
  }
  [[nodiscard]] Dimension at(SliceId op) const {
    const auto found =
        std::ranges::lower_bound(known_, index(op), {}, [](const auto& k) { return k.first; });
    return found != known_.end() && found->first == index(op) ? found->second : Dimension::unknown;
  }

 private:
  std::vector<std::pair<std::uint32_t, Dimension>> known_;
};

NameClass class_of(const Trace& trace, const ClassTimeInputs& inputs, SliceId op) {
  const SliceId call = inputs.rank.launch(op);
  if (call != no_slice) {
    const Phase phase =
        inputs.phases.at(trace.slices.track[index(call)], trace.slices.start[index(call)]);
    if (phase == Phase::optimizer) return NameClass::optimizer;
  }
  return trace.slices.kind[index(op)];
}

std::size_t first_layer(CommState state) {
  return state == CommState::waiting        ? first_wait
         : state == CommState::transferring ? first_transfer
                                            : first_unsplit;
}

Sweep sweep_of(const Trace& trace, const ClassTimeInputs& inputs, const DeviceLane& lane) {
  Sweep sweep;
  sweep.reserve(lane.ops.size());
  const DimensionOf dimension(inputs);
  for (const SliceId op : lane.ops) {
    if (trace.is_communication(op)) {
      const auto dim = static_cast<std::size_t>(dimension.at(op));
      for_each_comm_state(trace, inputs.split, op, [&](CommState state, Ns start, Ns end) {
        sweep.add(first_layer(state) + dim, start, end);
      });
    } else if (trace.is_compute(op)) {
      sweep.add(static_cast<std::size_t>(class_of(trace, inputs, op)),
                trace.slices.start[index(op)], trace.slices.end(op));
    }
  }
  return sweep;
}

void book(ClassTime& time, std::size_t layer, Ns length) {
  if (layer < first_transfer)
    time.compute[layer] += length;
  else if (layer < first_unsplit)
    time.transfer[layer - first_transfer] += length;
  else if (layer < first_wait)
    time.unsplit[layer - first_unsplit] += length;
  else
    time.wait[layer - first_wait] += length;
}

template <std::size_t N>
Ns sum(const std::array<Ns, N>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Ns{});
}

void check_sums(const ClassTime& time, const Budget& budget) {
  using enum BudgetCategory;
  check(sum(time.compute) == budget[compute] + budget[comm_overlapped] &&
            sum(time.transfer) == budget[comm_exposed_transfer] &&
            sum(time.unsplit) == budget[comm_exposed_unsplit] &&
            sum(time.wait) == budget[comm_exposed_wait],
        "classes and dimensions sum to the time budget");
}

}  // namespace

std::vector<ClassTime> class_times(const Trace& trace, const ClassTimeInputs& inputs) {
  if (inputs.rank.cpu_only() || inputs.steps.empty()) return {};
  std::vector<ClassTime> times(inputs.steps.size());
  Sweep sweep = sweep_of(trace, inputs, inputs.rank.devices[inputs.budget.chosen]);
  StepCursor cursor(inputs.steps);
  sweep.run(inputs.steps.front().start, inputs.steps.back().end,
            [&](Ns start, Ns end, const Sweep::Open& open) {
              const auto first = std::ranges::find_if(open, [](auto n) { return n > 0; });
              if (first == open.end()) return;
              const auto layer = static_cast<std::size_t>(first - open.begin());
              cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
                book(times[step], layer, to - from);
              });
            });
  for (std::size_t i = 0; i < times.size(); ++i)
    check_sums(times[i], inputs.budget.rank().steps[i]);
  return times;
}

}  // namespace stepscope
