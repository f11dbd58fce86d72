// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepscope/analysis/job_table/job_schedule.h"
#include "stepscope/base/quantity.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// An earlier start is not a clock error but a wrong dependency, which is ignored.
constexpr Seconds tolerated{-1e-2};

// The recorder's numbers are often in single precision (4 us at 40 s). If all are, sums and
// differences of two of them are too, as in the reference.
struct Rounding {
  bool single = false;

  [[nodiscard]] Seconds operator()(Seconds t) const {
    return single ? Seconds{static_cast<float>(t.count())} : t;
  }
};

bool is_single(double v) { return static_cast<double>(static_cast<float>(v)) == v; }

// Starts and ends by cell * steps + step.
struct Times {
  Rounding rounded;
  std::vector<Seconds> start;
  std::vector<Seconds> duration;
  std::vector<Seconds> end;
  std::vector<Seconds> first;  // start of each step
};

Times times_of(const JobOperations& table, const JobLayout& layout) {
  Times t;
  t.rounded.single =
      std::ranges::all_of(table.start, [](Seconds s) { return is_single(s.count()); }) &&
      std::ranges::all_of(table.duration, [](Seconds s) { return is_single(s.count()); });
  t.start.resize(layout.row.size());
  t.duration.resize(layout.row.size());
  t.end.resize(layout.row.size());
  for (std::size_t i = 0; i < layout.row.size(); ++i) {
    const std::uint32_t r = layout.row[i];
    t.start[i] = table.start[r];
    t.duration[i] = table.duration[r];
    t.end[i] = t.rounded(table.start[r] + table.duration[r]);
  }
  const std::size_t steps = layout.steps.size();
  t.first.assign(t.start.begin(), t.start.begin() + static_cast<std::ptrdiff_t>(steps));
  for (std::size_t i = 0; i < t.start.size(); ++i)
    t.first[i % steps] = std::min(t.first[i % steps], t.start[i]);
  return t;
}

JobSchedule schedule_of(const JobOperations& table, const JobLayout& layout, const Times& t) {
  std::vector<ScheduledOp> ops(layout.ops.size());
  for (std::size_t o = 0; o < ops.size(); ++o) {
    const std::uint32_t row = layout.row_of(o, 0);
    const std::size_t at = o * layout.steps.size();
    ops[o] = {.op = layout.ops[o].op,
              .stage = layout.ops[o].stage,
              .seq_id = layout.ops[o].seq_id,
              .mc = table.mc[row],
              .gmc = table.gmc[row],
              .start = t.start[at],
              .end = t.end[at]};
  }
  return schedule_job(ops);
}

// Cells of each transfer with more than one member; the others transfer alone.
struct Joins {
  std::vector<std::vector<std::uint32_t>> members;
  std::vector<std::uint32_t> of_cell;  // no_node: alone
};

Joins joins_of(const JobLayout& layout, const JobSchedule& schedule) {
  const std::size_t ops = layout.ops.size();
  const std::size_t dp = layout.dp_ranks.size();
  std::vector<std::vector<std::uint32_t>> all(schedule.transfers * dp);
  for (std::size_t d = 0; d < dp; ++d) {
    for (std::size_t o = 0; o < ops; ++o) {
      if (schedule.transfer[o] == no_node) continue;
      const std::size_t group = schedule.transfer[o] * dp + (schedule.over_dp[o] ? 0 : d);
      all[group].push_back(static_cast<std::uint32_t>(d * ops + o));
    }
  }
  Joins joins;
  joins.of_cell.assign(layout.cells(), no_node);
  for (std::vector<std::uint32_t>& members : all) {
    if (members.size() < 2) continue;
    for (const std::uint32_t m : members)
      joins.of_cell[m] = static_cast<std::uint32_t>(joins.members.size());
    joins.members.push_back(std::move(members));
  }
  return joins;
}

// Measures the time from the last end that each operation waits for to its start. For communication
// also measures the time from the last start of its members to its end.
void measure(const JobLayout& layout, const JobSchedule& schedule, const Joins& joins,
             const Times& t, JobReplay& replay) {
  const std::size_t steps = replay.steps;
  const std::size_t ops = layout.ops.size();
  std::vector<std::vector<std::uint32_t>> waits(ops);
  for (const GraphEdge& e : schedule.waits) waits[e.to].push_back(e.from);
  std::vector<Seconds> last(steps);
  for (std::size_t cell = 0; cell < layout.cells(); ++cell) {
    const std::size_t pipeline = cell - cell % ops;
    std::ranges::copy(t.first, last.begin());
    bool any = false;
    for (const std::uint32_t from : waits[cell % ops]) {
      const Seconds* end = &t.end[(pipeline + from) * steps];
      for (std::size_t s = 0; s < steps; ++s) last[s] = any ? std::max(last[s], end[s]) : end[s];
      any = true;
    }
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t i = cell * steps + s;
      const Seconds delay = t.rounded(t.start[i] - last[s]);
      if (delay <= tolerated) ++replay.notes["operations that start before what they wait for"];
      replay.delay[i] = delay <= tolerated ? Ns{0} : rounded_ns(delay);
    }
  }
  for (std::size_t i = 0; i < replay.work.size(); ++i) {
    const bool alone = schedule.transfer[i / steps % ops] != no_node;
    replay.work[i] = rounded_ns(alone ? t.rounded(t.end[i] - t.start[i]) : t.duration[i]);
  }
  for (const std::vector<std::uint32_t>& members : joins.members) {
    std::ranges::fill(last, Seconds{-1e300});
    for (const std::uint32_t m : members)
      for (std::size_t s = 0; s < steps; ++s) last[s] = std::max(last[s], t.start[m * steps + s]);
    for (const std::uint32_t m : members) {
      for (std::size_t s = 0; s < steps; ++s) {
        const std::size_t i = m * steps + s;
        const Seconds transfer = t.rounded(t.end[i] - last[s]);
        if (transfer <= tolerated) ++replay.notes["transfers that end before all have come"];
        replay.work[i] = transfer <= tolerated ? Ns{0} : rounded_ns(transfer);
      }
    }
  }
}

// Numbering of the builder: starts of cells, ends of cells, joins, end of the step.
void connect(const JobLayout& layout, const JobSchedule& schedule, const Joins& joins,
             const Times& t, JobReplay& replay) {
  const std::size_t cells = layout.cells();
  const std::size_t ops = layout.ops.size();
  const auto end_of = [&](std::size_t cell) { return static_cast<std::uint32_t>(cell); };
  // Starts of cells that transfer with others are nodes of their own, after the ends.
  std::vector<std::uint32_t> start_of(cells);
  std::vector<Ns> instant(cells);
  for (std::size_t c = 0; c < cells; ++c) {
    const std::size_t at = c * replay.steps;
    start_of[c] = end_of(c);
    instant[c] = rounded_ns(t.start[at] - t.first[0]);
  }
  std::vector<GraphEdge> edges;
  for (const std::vector<std::uint32_t>& members : joins.members) {
    const auto join = static_cast<std::uint32_t>(instant.size() + members.size());
    Ns last = instant[members.front()];
    for (const std::uint32_t m : members) {
      start_of[m] = static_cast<std::uint32_t>(instant.size());
      instant.push_back(instant[m]);
      last = std::max(last, instant[m]);
      edges.push_back({start_of[m], join});
      edges.push_back({join, end_of(m)});
    }
    instant.push_back(last);
    for (const std::uint32_t m : members) instant[end_of(m)] = last;
  }
  std::vector<bool> followed(cells, false);
  for (std::size_t d = 0; d < layout.dp_ranks.size(); ++d) {
    for (const GraphEdge& e : schedule.waits) {
      edges.push_back({end_of(d * ops + e.from), start_of[d * ops + e.to]});
      followed[d * ops + e.from] = true;
    }
  }
  const auto step_end = static_cast<std::uint32_t>(instant.size());
  instant.push_back(Ns::max());
  for (std::size_t c = 0; c < cells; ++c)
    if (!followed[c]) edges.push_back({end_of(c), step_end});
  OrderedGraph order = order_graph(instant, {}, std::move(edges));
  if (order.removed > 0)
    replay.notes["waits left out because they close a circle"] += order.removed;
  replay.graph = std::move(order.graph);
  for (std::size_t c = 0; c < cells; ++c) {
    replay.end_node[c] = order.position[end_of(c)];
    replay.start_node[c] = order.position[start_of[c]];
  }
}

void find_ideal(const JobLayout& layout, const Rounding& rounded, JobReplay& replay) {
  std::array<std::vector<Ns>, job_op_count> by_op;
  for (std::size_t c = 0; c < layout.cells(); ++c) {
    const auto first = replay.work.begin() + static_cast<std::ptrdiff_t>(c * replay.steps);
    std::vector<Ns>& all = by_op[static_cast<std::size_t>(replay.op[c])];
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(replay.steps));
  }
  for (std::size_t k = 0; k < job_op_count; ++k) {
    std::vector<Ns>& all = by_op[k];
    if (all.empty()) continue;
    double ideal = 0;
    if (is_comm(static_cast<JobOp>(k))) {
      const Ns lower = lower_median(all);
      ideal = static_cast<double>((lower + upper_median(all)).count()) / 2;
    } else {
      for (const Ns t : all) ideal += static_cast<double>(t.count());
      ideal /= static_cast<double>(all.size());
    }
    replay.ideal[k] = rounded_ns(rounded(Seconds{ideal * 1e-9}));
  }
}

}  // namespace

JobReplay make_job_replay(const JobOperations& table, const JobLayout& layout) {
  JobReplay replay;
  replay.steps = layout.steps.size();
  replay.work.resize(layout.row.size());
  replay.delay.resize(layout.row.size());
  replay.end_node.resize(layout.cells());
  replay.start_node.resize(layout.cells());
  for (std::size_t c = 0; c < layout.cells(); ++c)
    replay.op.push_back(layout.ops[c % layout.ops.size()].op);
  const Times t = times_of(table, layout);
  const JobSchedule schedule = schedule_of(table, layout, t);
  replay.notes = schedule.notes;
  const Joins joins = joins_of(layout, schedule);
  measure(layout, schedule, joins, t, replay);
  connect(layout, schedule, joins, t, replay);
  find_ideal(layout, t.rounded, replay);
  std::vector<Seconds> last = t.first;
  for (std::size_t i = 0; i < t.end.size(); ++i)
    last[i % replay.steps] = std::max(last[i % replay.steps], t.end[i]);
  for (std::size_t s = 0; s < replay.steps; ++s)
    replay.measured.push_back(rounded_ns(t.rounded(last[s] - t.first[s])));
  return replay;
}

std::vector<Ns> step_times(const JobReplay& replay, std::span<const Lasting> lasting,
                           ReplayRoom& room) {
  const std::size_t nodes = replay.graph.size();
  const std::size_t steps = replay.steps;
  // Rows of one value: the ideal of each kind, then 0.
  room.constant.assign((job_op_count + 1) * steps, Ns{0});
  for (std::size_t k = 0; k < job_op_count; ++k)
    std::fill_n(room.constant.begin() + static_cast<std::ptrdiff_t>(k * steps), steps,
                replay.ideal[k]);
  const Ns* const nothing = &room.constant[job_op_count * steps];
  room.lanes.assign(nodes, nothing);
  for (std::size_t c = 0; c < replay.cells(); ++c) {
    if (lasting[c] == Lasting::recorded)
      room.lanes[replay.end_node[c]] = &replay.work[c * steps];
    else if (lasting[c] == Lasting::ideal)
      room.lanes[replay.end_node[c]] =
          &room.constant[static_cast<std::size_t>(replay.op[c]) * steps];
  }
  room.end.resize(nodes * steps);
  replay_lanes(replay.graph, steps, room.lanes, room.end);
  return {room.end.end() - static_cast<std::ptrdiff_t>(steps), room.end.end()};
}

std::vector<Ns> step_times_of(const JobReplay& replay, std::span<const Ns> work) {
  const std::size_t nodes = replay.graph.size();
  const std::size_t steps = replay.steps;
  const std::vector<Ns> nothing(steps, Ns{0});
  std::vector<const Ns*> lanes(nodes, nothing.data());
  for (std::size_t c = 0; c < replay.cells(); ++c) lanes[replay.end_node[c]] = &work[c * steps];
  std::vector<Ns> end(nodes * steps);
  replay_lanes(replay.graph, steps, lanes, end);
  return {end.end() - static_cast<std::ptrdiff_t>(steps), end.end()};
}

std::vector<Ns> step_times_with_delays(const JobReplay& replay) {
  const std::size_t nodes = replay.graph.size();
  const std::size_t steps = replay.steps;
  std::vector<Ns> work = replay.work;
  const std::vector<Ns> nothing(steps, Ns{0});
  std::vector<const Ns*> lanes(nodes, nothing.data());
  for (std::size_t c = 0; c < replay.cells(); ++c) {
    lanes[replay.end_node[c]] = &work[c * steps];
    if (replay.start_node[c] != replay.end_node[c]) {
      lanes[replay.start_node[c]] = &replay.delay[c * steps];
      continue;
    }
    for (std::size_t i = c * steps; i < (c + 1) * steps; ++i) work[i] += replay.delay[i];
  }
  std::vector<Ns> end(nodes * steps);
  replay_lanes(replay.graph, steps, lanes, end);
  return {end.end() - static_cast<std::ptrdiff_t>(steps), end.end()};
}

}  // namespace stepscope
