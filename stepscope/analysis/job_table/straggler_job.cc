// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/straggler_job.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t worst_percent = 3;
// A smaller part of the step is rounding and needs no explanation.
constexpr double explainable = 1e-6;

Seconds mean(std::span<const Ns> times) {
  double sum = 0;
  for (const Ns t : times) sum += static_cast<double>(t.count());
  return Seconds{sum / static_cast<double>(times.size()) * 1e-9};
}

double ratio(Ns a, Ns b) { return static_cast<double>(a.count()) / static_cast<double>(b.count()); }

// One job's replay with its layout, and the replays that all questions share.
struct Questions {
  const JobLayout& layout;
  const JobReplay& replay;
  ReplayRoom room{};
  std::vector<Ns> real{};   // replayed as recorded
  std::vector<Ns> ideal{};  // all ideal
  std::vector<Lasting> lasting{};

  [[nodiscard]] std::size_t dp_of(std::size_t cell) const { return cell / layout.ops.size(); }
  [[nodiscard]] std::int32_t stage_of(std::size_t cell) const {
    return layout.ops[cell % layout.ops.size()].stage;
  }

  // Times of the steps if the cells selected by `chosen` last as `one` and the others as `other`.
  template <class Chosen>
  std::vector<Ns> steps(Chosen chosen, Lasting one, Lasting other) {
    lasting.assign(replay.cells(), other);
    for (std::size_t c = 0; c < lasting.size(); ++c)
      if (chosen(c)) lasting[c] = one;
    return step_times(replay, lasting, room);
  }

  template <class Chosen>
  Seconds removed(Chosen chosen) {
    return mean(steps(chosen, Lasting::ideal, Lasting::recorded));
  }
  [[nodiscard]] std::optional<double> rem(Seconds removed) const {
    const Seconds gap = mean(real) - mean(ideal);
    if (std::abs(gap / mean(ideal)) < explainable) return std::nullopt;
    return (mean(real) - removed) / gap;
  }

  template <class Chosen>
  Explained explained(Chosen chosen) {
    Explained e;
    e.removed = removed(chosen);
    e.added = mean(steps(chosen, Lasting::recorded, Lasting::ideal));
    e.rem = rem(e.removed);
    if (e.rem) e.add = (e.added - mean(ideal)) / (mean(real) - mean(ideal));
    return e;
  }

  template <class Chosen>
  GroupSlowdown group(std::string name, Chosen chosen) {
    const std::vector<Ns> alone = steps(chosen, Lasting::recorded, Lasting::ideal);
    GroupSlowdown g{.name = std::move(name), .slowdown = mean(alone) / mean(ideal), .steps = {}};
    for (std::size_t s = 0; s < alone.size(); ++s) g.steps.push_back(ratio(alone[s], ideal[s]));
    return g;
  }
};

void slowest_first(std::vector<GroupSlowdown>& groups) {
  std::ranges::sort(groups, [](const GroupSlowdown& a, const GroupSlowdown& b) {
    return std::pair(-a.slowdown, a.name) < std::pair(-b.slowdown, b.name);
  });
}

// Pipeline sends and receives of one direction are one kind.
std::string kind_of(JobOp op) {
  if (op == JobOp::forward_send || op == JobOp::forward_recv) return "forward-pp-comm";
  if (op == JobOp::backward_send || op == JobOp::backward_recv) return "backward-pp-comm";
  return std::string(name_of(op));
}

void find_groups(Questions& q, StragglerJob& job) {
  std::map<std::string, std::set<JobOp>> kinds;
  for (const LaidOp& o : q.layout.ops) kinds[kind_of(o.op)].insert(o.op);
  for (const auto& [name, ops] : kinds)
    job.by_operation.push_back(
        q.group(name, [&](std::size_t c) { return ops.contains(q.replay.op[c]); }));
  for (std::size_t d = 0; d < q.layout.dp_ranks.size(); ++d)
    job.by_dp_rank.push_back(q.group(std::to_string(q.layout.dp_ranks[d]),
                                     [&](std::size_t c) { return q.dp_of(c) == d; }));
  for (int stage = 0; stage < q.layout.stages; ++stage)
    job.by_stage.push_back(
        q.group(std::to_string(stage), [&](std::size_t c) { return q.stage_of(c) == stage; }));
}

// Each worker's score, and its exact rem by a replay of its own. Must run before the groups are
// sorted.
void find_workers(Questions& q, const JobOperations& table, StragglerJob& job) {
  std::vector<std::size_t> dp_index;
  for (std::size_t d = 0; d < q.layout.dp_ranks.size(); ++d) {
    for (std::size_t o = 0; o < q.layout.ops.size(); ++o) {
      const int stage = q.layout.ops[o].stage;
      if (o > 0 && q.layout.ops[o - 1].stage == stage) continue;
      JobWorker w{.rank = table.rank[q.layout.row_of(d * q.layout.ops.size() + o, 0)],
                  .dp_rank = q.layout.dp_ranks[d],
                  .stage = stage,
                  .score = std::min(job.by_dp_rank[d].slowdown,
                                    job.by_stage[static_cast<std::size_t>(stage)].slowdown)};
      w.removed =
          q.removed([&](std::size_t c) { return q.dp_of(c) == d && q.stage_of(c) == stage; });
      w.rem = q.rem(w.removed);
      job.workers.push_back(w);
    }
  }
  std::ranges::sort(job.workers, [](const JobWorker& a, const JobWorker& b) {
    return std::pair(-a.score, a.rank) < std::pair(-b.score, b.rank);
  });
  const std::size_t worst = (job.workers.size() * worst_percent + 99) / 100;
  std::set<std::pair<std::int32_t, std::int32_t>> chosen;
  for (std::size_t i = 0; i < worst; ++i) {
    job.worst.push_back(job.workers[i].rank);
    chosen.emplace(job.workers[i].dp_rank, job.workers[i].stage);
  }
  job.m_w = q.explained([&](std::size_t c) {
    return chosen.contains({q.layout.dp_ranks[q.dp_of(c)], q.stage_of(c)});
  });
  std::ranges::sort(job.workers, [](const JobWorker& a, const JobWorker& b) {
    return std::tuple(-a.rem.value_or(0), -a.score, a.rank) <
           std::tuple(-b.rem.value_or(0), -b.score, b.rank);
  });
}

void find_comm_free(Questions& q, StragglerJob& job) {
  const auto free = [&](std::string name, auto is_free) {
    const Seconds step = mean(q.steps([&](std::size_t c) { return is_free(q.replay.op[c]); },
                                      Lasting::nothing, Lasting::recorded));
    job.comm_free.push_back({std::move(name), step, job.replayed / step});
  };
  free("pipeline", is_pipeline_comm);
  free("data", is_data_comm);
  free("all", [](JobOp op) { return is_comm(op) && op != JobOp::layernorm_grads_all_reduce; });
}

// True if nanoseconds along any path fit an int64.
bool can_be_added(const JobReplay& replay) {
  std::vector<double> sums(replay.steps, 0);
  for (std::size_t i = 0; i < replay.work.size(); ++i)
    sums[i % replay.steps] += std::abs(static_cast<double>(replay.work[i].count())) +
                              std::abs(static_cast<double>(replay.delay[i].count()));
  double ideal = 0;
  for (const JobOp op : replay.op)
    ideal += std::abs(static_cast<double>(replay.ideal[static_cast<std::size_t>(op)].count()));
  return std::max(ideal, std::ranges::max(sums)) < 0x1p62;
}

// Pearson's correlation of forward and backward times of one microbatch. Both are relative to their
// means in their worker and model chunk.
void correlate(const JobOperations& table, const JobLayout& layout, StragglerJob& job) {
  using Worker = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // DP rank, stage, chunk
  struct Pair {
    double forward = 0;
    double backward = 0;
  };
  std::map<Worker, std::map<std::pair<std::int64_t, std::int32_t>, Pair>> workers;
  for (std::size_t i = 0; i < layout.row.size(); ++i) {
    const std::uint32_t r = layout.row[i];
    if (table.op[r] > JobOp::backward_compute || table.mb_id[r] < 0) continue;
    Pair& p =
        workers[{table.dp_rank[r], table.stage[r], table.mc[r]}][{table.step[r], table.mb_id[r]}];
    (table.op[r] == JobOp::forward_compute ? p.forward : p.backward) = table.duration[r].count();
  }
  double ff = 0;
  double fb = 0;
  double bb = 0;
  double forward = 0;
  double count = 0;
  for (const auto& [worker, pairs] : workers) {
    double f = 0;
    double b = 0;
    double n = 0;
    for (const auto& [batch, p] : pairs) {
      if (p.forward <= 0 || p.backward <= 0) continue;
      f += p.forward;
      b += p.backward;
      n += 1;
    }
    for (const auto& [batch, p] : pairs) {
      if (p.forward <= 0 || p.backward <= 0) continue;
      const double df = p.forward - f / n;
      const double db = p.backward - b / n;
      ff += df * df;
      fb += df * db;
      bb += db * db;
    }
    forward += f;
    count += n;
  }
  if (ff <= 0 || bb <= 0) return;
  job.fwd_bwd_correlation = fb / std::sqrt(ff * bb);
  job.fwd_variation = std::sqrt(ff / count) / (forward / count);
}

}  // namespace

std::optional<double> Explained::share() const {
  if (!rem) return std::nullopt;
  return std::clamp(*rem, 0.0, 1.0);
}

Result<StragglerJob> analyze_straggler_job(const JobOperations& table, const JobMeta& meta) {
  auto layout = lay_out(table);
  if (!layout) return layout.error();
  const JobReplay replay = make_job_replay(table, *layout);
  if (!can_be_added(replay))
    return Error{.what = "the times within a step lie too far apart to be added",
                 .hint = "check start_ts and duration, in seconds"};
  Questions q{.layout = *layout, .replay = replay};
  q.real = q.steps([](std::size_t) { return true; }, Lasting::recorded, Lasting::recorded);
  q.ideal = q.steps([](std::size_t) { return true; }, Lasting::ideal, Lasting::ideal);
  StragglerJob job;
  job.meta = meta;
  job.dp_ranks = layout->dp_ranks;
  job.stages = layout->stages;
  job.operations = layout->row.size();
  job.nodes = replay.graph.size() * replay.steps;
  job.notes = replay.notes;
  job.left_out = layout->left_out;
  job.measured = mean(replay.measured);
  job.replayed = mean(q.real);
  job.ideal = mean(q.ideal);
  if (job.ideal <= Seconds{0} || job.replayed <= Seconds{0} || std::ranges::min(q.ideal) <= Ns{0})
    return Error{.what = "the operations of a step take no time",
                 .hint = "check the column duration, in seconds"};
  job.s = job.replayed / job.ideal;
  job.waste = 1 - 1 / job.s;
  job.s_host = job.measured / job.ideal;
  job.launch_slowdown = job.measured / job.replayed;
  job.replay_error = std::abs(mean(step_times_with_delays(replay)) / job.measured - 1);
  for (std::size_t s = 0; s < replay.steps; ++s)
    job.steps.push_back({.step = layout->steps[s],
                         .measured = replay.measured[s],
                         .replayed = q.real[s],
                         .ideal = q.ideal[s],
                         .slowdown = ratio(q.real[s], q.ideal[s]),
                         .host_slowdown = ratio(replay.measured[s], q.ideal[s])});
  find_groups(q, job);
  find_workers(q, table, job);
  job.m_s = q.explained([&](std::size_t c) { return q.stage_of(c) == layout->stages - 1; });
  slowest_first(job.by_operation);
  slowest_first(job.by_dp_rank);
  slowest_first(job.by_stage);
  find_comm_free(q, job);
  job.balance = stage_balance(*layout, replay);
  if (job.balance) job.balance->rem = q.rem(job.balance->step);
  job.bubble = job_bubble(table, *layout, replay);
  correlate(table, *layout, job);
  return job;
}

}  // namespace stepscope
