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

struct Sums {
  CollectiveRow row;
  std::set<std::uint32_t> groups;
  Values transfers;
  Values skews;
  Values spreads;
  std::map<int, std::uint64_t> last;  // rank → number of times
  std::uint64_t ranked = 0;
  std::map<int, Ns> exposed;                              // by rank
  std::map<int, std::pair<std::uint64_t, Ns>> unmatched;  // rank → calls, their duration
  double bytes_sum = 0;
  std::uint64_t bytes_count = 0;
};

// A fused call appears once for each of its messages, so its times are divided among them.
std::int64_t messages_of(const CollectiveCall& call) {
  return std::max<std::int64_t>(1, call.edge_count);
}

void merge(Sums& into, Sums& from) {
  const auto append = [](Values& a, const Values& b) { a.insert(a.end(), b.begin(), b.end()); };
  into.groups.merge(from.groups);
  append(into.transfers, from.transfers);
  append(into.skews, from.skews);
  append(into.spreads, from.spreads);
  for (const auto& [rank, times] : from.last) into.last[rank] += times;
  for (const auto& [rank, time] : from.exposed) into.exposed[rank] += time;
  for (const auto& [rank, unmatched] : from.unmatched) {
    into.unmatched[rank].first += unmatched.first;
    into.unmatched[rank].second += unmatched.second;
  }
  into.ranked += from.ranked;
  into.bytes_sum += from.bytes_sum;
  into.bytes_count += from.bytes_count;
  CollectiveRow& row = into.row;
  row.count += from.row.count;
  row.matched += from.row.matched;
  row.split += from.row.split;
  row.duration += from.row.duration;
  const auto add = [](std::optional<Ns>& a, std::optional<Ns> b) {
    if (b) a = a.value_or(Ns{0}) + *b;
  };
  add(row.transfer, from.row.transfer);
  add(row.wait, from.row.wait);
}

class RowBuilder {
  std::span<const RankView> views_;
  const Collectives& job_;
  const CollectiveMatches& matches_;
  std::vector<std::vector<bool>> matched_;
  std::map<RowKey, Sums> rows_;

 public:
  RowBuilder(std::span<const RankView> views, const Collectives& job)
      : views_(views), job_(job), matches_(job.matches) {
    for (const RankCalls& rank : matches_.ranks) matched_.emplace_back(rank.calls.size());
  }

  std::vector<CollectiveRow> build() {
    for (const MatchedCollective& matched : matches_.matched) add_matched(matched);
    add_unmatched();
    merge_scattered_sizes();
    std::vector<CollectiveRow> rows;
    rows.reserve(rows_.size());
    for (auto& [key, sums] : rows_) rows.push_back(finish(sums));
    std::ranges::stable_sort(rows, std::ranges::greater{}, [](const CollectiveRow& row) {
      return std::pair(row.exposed, row.duration);
    });
    return rows;
  }

 private:
  RowKey key_of(const CollectiveCall& call, std::optional<Bytes> bytes) const {
    RowKey key;
    key.kind = joined_kind(call.kind);
    key.group = call.group == no_row ? "unknown" : group_label(matches_.groups[call.group]);
    if (call.group != no_row) key.group_size = matches_.groups[call.group].size;
    key.dtype = call.dtype;
    key.size = bytes ? bytes->value : -1;
    return key;
  }

  Sums& sums_of(const CollectiveCall& call, std::optional<Bytes> bytes) {
    const RowKey key = key_of(call, bytes);
    const auto [at, fresh] = rows_.try_emplace(key);
    CollectiveRow& row = at->second.row;
    if (call.group != no_row) at->second.groups.insert(call.group);
    if (fresh) {
      row.kind = key.kind;
      row.group = key.group;
      row.dtype = key.dtype;
      if (key.group_size > 0) row.group_size = key.group_size;
      if (call.group != no_row) row.dimension = job_.dimension_of[call.group];
    }
    return at->second;
  }

  // The size of an uneven all-to-all is its largest part.
  std::optional<Bytes> bytes_of(const MatchedCollective& matched) const {
    std::optional<Bytes> bytes;
    for (const CollectiveMember m : matches_.members_of(matched))
      bytes = std::max(bytes, matches_.call(m).bytes);
    return bytes || !matched.message ? bytes : fused_bytes_of(matched);
  }

  // The bytes of one message of a fused call. Absent if the messages between its two ranks differ.
  std::optional<Bytes> fused_bytes_of(const MatchedCollective& matched) const {
    const auto members = matches_.members_of(matched);
    const CollectiveCall& call = matches_.call(members.front());
    const auto size = dtype_bytes(call.dtype);
    const int mine = views_[members.front().view].rank;
    const int peer = views_[members.back().view].rank;
    std::int64_t elements = -1;
    for (std::uint32_t e = 0; e < call.edge_count; ++e) {
      const P2pEdge& edge = matches_.ranks[members.front().view].edges[call.first_edge + e];
      if (std::minmax(edge.src, edge.dst) != std::minmax(mine, peer)) continue;
      if (edge.elements < 0 || (elements >= 0 && edge.elements != elements)) return std::nullopt;
      elements = edge.elements;
    }
    if (!size || elements < 0) return std::nullopt;
    return Bytes{elements * *size};
  }

  void add_exposed(CollectiveMember m, Sums& sums) {
    sums.exposed[views_[m.view].rank] +=
        job_.exposed[m.view][m.call] / messages_of(matches_.call(m));
  }

  void add_timing(const MatchedCollective& matched, Sums& sums) {
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
      sums.skews.push_back((matches_.call(last).start - first_start).count());
      ++sums.last[views_[last.view].rank];
      ++sums.ranked;
    }
    if (const auto spread = end_spread(matches_, matched)) sums.spreads.push_back(spread->count());
    if (!split) return;
    sums.transfers.push_back(median_time(transfers)->count());
    ++sums.row.split;
    sums.row.transfer = sums.row.transfer.value_or(Ns{0}) + *median_time(shares);
    sums.row.wait = sums.row.wait.value_or(Ns{0}) + wait;
  }

  void add_matched(const MatchedCollective& matched) {
    const auto members = matches_.members_of(matched);
    const auto bytes = bytes_of(matched);
    Sums& sums = sums_of(matches_.call(members.front()), bytes);
    ++sums.row.count;
    ++sums.row.matched;
    if (bytes) {
      sums.bytes_sum += static_cast<double>(bytes->value);
      ++sums.bytes_count;
    }
    Values durations;
    for (const CollectiveMember m : members) {
      const CollectiveCall& call = matches_.call(m);
      durations.push_back((call.end - call.start).count() / messages_of(call));
      matched_[m.view][m.call] = true;
      add_exposed(m, sums);
    }
    sums.row.duration += *median_time(durations);
    add_timing(matched, sums);
  }

  void add_unmatched() {
    for (std::uint32_t v = 0; v < views_.size(); ++v) {
      const auto& calls = matches_.ranks[v].calls;
      for (std::uint32_t c = 0; c < calls.size(); ++c) {
        if (matched_[v][c]) continue;
        Sums& sums = sums_of(calls[c], calls[c].bytes);
        auto& [count, duration] = sums.unmatched[views_[v].rank];
        ++count;
        duration += calls[c].end - calls[c].start;
        if (calls[c].bytes) {
          sums.bytes_sum += static_cast<double>(calls[c].bytes->value);
          ++sums.bytes_count;
        }
        sums.exposed[views_[v].rank] += job_.exposed[v][c];
      }
    }
  }

  static CollectiveRow finish(Sums& sums) {
    CollectiveRow row = std::move(sums.row);
    row.groups.assign(sums.groups.begin(), sums.groups.end());
    std::uint64_t most = 0;
    Values durations;
    for (const auto& [rank, unmatched] : sums.unmatched) {
      most = std::max(most, unmatched.first);
      durations.push_back(unmatched.second.count());
    }
    row.count += most;
    row.duration += median_time(durations).value_or(Ns{0});
    Ns exposed{};
    for (const auto& [rank, time] : sums.exposed) exposed += time;
    if (!sums.exposed.empty())
      row.exposed = exposed / static_cast<std::int64_t>(sums.exposed.size());
    if (sums.bytes_count != 0) {
      const double mean = sums.bytes_sum / static_cast<double>(sums.bytes_count);
      row.bytes = Bytes{std::llround(mean)};
    }
    row.skew = median_time(sums.skews);
    row.clock_uncertainty = median_time(sums.spreads);
    for (const auto& [rank, times] : sums.last) {
      if (!row.last_rank || times > sums.last.at(*row.last_rank)) row.last_rank = rank;
    }
    if (row.last_rank) {
      row.last_rank_share =
          static_cast<double>(sums.last.at(*row.last_rank)) / static_cast<double>(sums.ranked);
    }
    const auto transfer = median_time(sums.transfers);
    if (transfer && *transfer > Ns{0} && row.bytes && row.bytes->value > 0) {
      row.algbw = *row.bytes / seconds(*transfer);
      const auto factor = busbw_factor(row.kind, row.group_size.value_or(-1));
      if (factor) row.busbw = ByteRate{row.algbw->value * *factor};
    }
    return row;
  }

  // Expert exchanges change size every time. Sizes beyond the limit of a table share rows by powers
  // of two.
  void merge_scattered_sizes() {
    constexpr std::size_t most = 32;
    const auto without_size = [](RowKey key) {
      key.size = -1;
      return key;
    };
    std::map<RowKey, std::size_t> sizes;
    for (const auto& [key, sums] : rows_) ++sizes[without_size(key)];
    std::map<RowKey, Sums> merged;
    for (auto& [key, sums] : rows_) {
      RowKey home = key;
      if (key.size > 0 && sizes[without_size(key)] > most) {
        home.size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(key.size)));
      }
      const auto [at, fresh] = merged.try_emplace(home);
      if (fresh) {
        at->second = std::move(sums);
      } else {
        merge(at->second, sums);
      }
    }
    rows_ = std::move(merged);
  }
};

// Requires all of `job` except the rows. Sorted by exposed time, largest first.
std::vector<CollectiveRow> collective_rows(std::span<const RankView> views,
                                           const Collectives& job) {
  return RowBuilder(views, job).build();
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

Collectives analyze_collectives(std::span<const RankView> views, const CollectiveOptions& options) {
  return analyze_collectives(
      views,
      match_collectives(views, {.world_size = options.world_size, .threads = options.threads}),
      options);
}

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
