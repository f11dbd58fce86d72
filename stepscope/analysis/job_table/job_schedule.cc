// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_schedule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

namespace stepscope {
namespace {

// Accuracy of the clocks of neighbouring stages.
constexpr Seconds clock_slack{5e-5};

using Ops = std::vector<std::uint32_t>;

// Operations of one stage by kind, and all its compute operations, each list by start.
struct Stage {
  std::array<Ops, job_op_count> by_op;
  Ops compute;

  [[nodiscard]] const Ops& of(JobOp op) const { return by_op[static_cast<std::size_t>(op)]; }
};

struct Direction {
  JobOp compute;
  JobOp send;
  JobOp recv;
  int toward;  // stage that a send goes to, minus its own
};
constexpr std::array<Direction, 2> directions = {
    {{JobOp::forward_compute, JobOp::forward_send, JobOp::forward_recv, 1},
     {JobOp::backward_compute, JobOp::backward_send, JobOp::backward_recv, -1}}};

class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const std::vector<ScheduledOp>& ops)
      : ops_(ops), real_(ops.size(), false) {
    int stages = 0;
    int chunks = 0;
    for (const ScheduledOp& o : ops) {
      stages = std::max(stages, o.stage + 1);
      chunks = std::max(chunks, o.mc + 1);
    }
    stages_.resize(static_cast<std::size_t>(stages));
    model_chunks_ = stages * std::max(chunks, 1);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      Stage& stage = stages_[static_cast<std::size_t>(ops[i].stage)];
      stage.by_op[static_cast<std::size_t>(ops[i].op)].push_back(i);
      if (ops[i].op <= JobOp::backward_compute) stage.compute.push_back(i);
    }
    const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(ops_[a].start, ops_[a].seq_id, name_of(ops_[a].op)) <
             std::tuple(ops_[b].start, ops_[b].seq_id, name_of(ops_[b].op));
    };
    for (Stage& stage : stages_) {
      for (Ops& of_kind : stage.by_op) std::ranges::sort(of_kind, by_start);
      std::ranges::sort(stage.compute, by_start);
    }
    result_.transfer.assign(ops.size(), no_node);
    result_.over_dp.assign(ops.size(), false);
  }

  JobSchedule build() && {
    for (const Stage& stage : stages_) {
      for (const Direction& d : directions) pipeline_of(stage, d);
      chain(stage.compute);
      for (const Direction& d : directions) {
        chain(stage.of(d.send));
        chain(stage.of(d.recv));
      }
      first_backward(stage);
      data_parallel(stage);
      after_compute(stage);
    }
    pair_pipeline();
    join_collectives();
    return std::move(result_);
  }

 private:
  void wait(std::uint32_t to, std::uint32_t from) { result_.waits.push_back({from, to}); }
  void chain(const Ops& ops) {
    for (std::size_t i = 1; i < ops.size(); ++i) wait(ops[i], ops[i - 1]);
  }
  [[nodiscard]] int number_of(const Stage& stage) const {
    return static_cast<int>(&stage - stages_.data());
  }

  // Pairs sends and receives with the compute operations they serve: the i-th with the i-th. Leaves
  // out those before or after all compute operations, because recorders write operations that never
  // ran.
  void pipeline_of(const Stage& stage, const Direction& d) {
    const Ops& compute = stage.of(d.compute);
    if (compute.empty()) return;
    Seconds last_start = ops_[compute[0]].start;
    Seconds first_end = ops_[compute[0]].end;
    for (const std::uint32_t c : compute) {
      last_start = std::max(last_start, ops_[c].start);
      first_end = std::min(first_end, ops_[c].end);
    }
    Ops sends;
    for (const std::uint32_t s : stage.of(d.send))
      if (ops_[s].end >= first_end - clock_slack) sends.push_back(s);
    Ops recvs;
    for (const std::uint32_t r : stage.of(d.recv))
      if (ops_[r].start <= last_start + clock_slack) recvs.push_back(r);
    match(stage, d, d.send, sends);
    match(stage, d, d.recv, recvs);
  }

  void match(const Stage& stage, const Direction& d, JobOp kind, const Ops& comm) {
    Ops compute(stage.of(d.compute).size(), no_node);  // by seq_id
    for (const std::uint32_t c : stage.of(d.compute)) {
      const auto seq = static_cast<std::size_t>(ops_[c].seq_id);
      if (seq < compute.size()) compute[seq] = c;
    }
    const bool outer = number_of(stage) == 0 || number_of(stage) + 1 == std::ssize(stages_);
    const bool one_short = comm.size() + 1 == compute.size();
    if (comm.size() != compute.size() && !(outer && (comm.empty() || one_short)))
      ++result_.notes["stages whose " + std::string(name_of(kind)) + "s are not as many as their " +
                      std::string(name_of(d.compute)) + "s"];
    // The first stage's first receive may be missing.
    const std::size_t skip = kind == d.recv && one_short ? 1 : 0;
    const int toward = kind == d.send ? d.toward : -d.toward;
    for (std::size_t i = 0; i < comm.size() && i + skip < compute.size(); ++i) {
      const std::uint32_t c = compute[i + skip];
      if (c == no_node) continue;
      const int peer = ops_[c].gmc + toward;
      real_[comm[i]] = peer >= 0 && peer < model_chunks_;
      if (kind == d.send) {
        wait(comm[i], c);
        continue;
      }
      wait(c, comm[i]);
      if (i + skip > 0 && compute[i + skip - 1] != no_node) wait(comm[i], compute[i + skip - 1]);
    }
  }

  // Pairs the i-th real send of a stage with the i-th real receive of the next stage.
  void pair_pipeline() {
    const auto real_of = [&](const Stage& stage, JobOp op) {
      Ops real;
      for (const std::uint32_t i : stage.of(op))
        if (real_[i]) real.push_back(i);
      return real;
    };
    const int stages = static_cast<int>(stages_.size());
    for (const Stage& stage : stages_) {
      for (const Direction& d : directions) {
        const Ops sends = real_of(stage, d.send);
        const int to = (number_of(stage) + d.toward + stages) % stages;
        const Ops recvs = real_of(stages_[static_cast<std::size_t>(to)], d.recv);
        const std::size_t pairs = std::min(sends.size(), recvs.size());
        for (std::size_t i = 0; i < pairs; ++i) {
          result_.transfer[sends[i]] = result_.transfers;
          result_.transfer[recvs[i]] = result_.transfers++;
        }
        if (sends.size() > pairs) result_.notes["sends without a receive"] += sends.size() - pairs;
        if (recvs.size() > pairs) result_.notes["receives without a send"] += recvs.size() - pairs;
      }
    }
  }

  void first_backward(const Stage& stage) {
    const auto at = std::ranges::find_if(
        stage.compute, [&](std::uint32_t c) { return ops_[c].op == JobOp::backward_compute; });
    if (at == stage.compute.end() || at - stage.compute.begin() < 2) return;
    for (const JobOp op : {JobOp::backward_recv, JobOp::backward_send})
      for (const std::uint32_t i : stage.of(op))
        if (ops_[i].seq_id == 0) wait(i, *(at - 2));
  }

  [[nodiscard]] bool overlapped() const {
    return std::ranges::any_of(
        stages_, [](const Stage& s) { return !s.of(JobOp::separate_grads_all_reduce).empty(); });
  }

  void data_parallel(const Stage& stage) {
    const Ops& gathers = stage.of(JobOp::params_all_gather);
    const Ops& scatters = stage.of(JobOp::grads_reduce_scatter);
    Ops both = gathers;
    both.insert(both.end(), scatters.begin(), scatters.end());
    std::ranges::sort(both, {}, [&](std::uint32_t i) { return std::pair(ops_[i].start, i); });
    chain(both);
    std::set<std::int32_t> done;
    for (auto g = gathers.rbegin(); g != gathers.rend(); ++g) {
      if (!done.insert(ops_[*g].mc).second) continue;
      for (const std::uint32_t c : stage.of(JobOp::forward_compute)) {
        if (ops_[c].mc != ops_[*g].mc) continue;
        wait(c, *g);
        break;
      }
    }
    if (!overlapped()) return;
    done.clear();
    for (const std::uint32_t s : scatters) {
      if (!done.insert(ops_[s].mc).second) continue;
      std::optional<std::uint32_t> last;
      for (const std::uint32_t c : stage.of(JobOp::backward_compute))
        if (ops_[c].mc == ops_[s].mc && (!last || ops_[c].end > ops_[*last].end)) last = c;
      if (last) wait(s, *last);
    }
  }

  void after_compute(const Stage& stage) {
    if (stage.compute.empty()) return;
    const auto last =
        *std::ranges::max_element(stage.compute, {}, [&](std::uint32_t c) { return ops_[c].end; });
    Ops after = {last};
    const auto add = [&](JobOp op) {
      after.insert(after.end(), stage.of(op).begin(), stage.of(op).end());
    };
    add(JobOp::garbage_collection);
    const std::size_t collected = after.size();
    add(JobOp::layernorm_grads_all_reduce);
    add(JobOp::embedding_grads_all_reduce);
    add(overlapped() ? JobOp::separate_grads_all_reduce : JobOp::grads_reduce_scatter);
    add(JobOp::clip_grads);
    add(JobOp::optimizer);
    chain(after);
    const Ops& scatters = stage.of(JobOp::grads_reduce_scatter);
    if (overlapped() && !scatters.empty() && collected < after.size())
      wait(after[collected], scatters.back());
  }

  void join_collectives() {
    std::map<std::pair<JobOp, std::int32_t>, std::uint32_t> over_stages;  // by seq_id
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      const JobOp op = ops_[i].op;
      result_.over_dp[i] = is_data_comm(op) || op == JobOp::clip_grads;
      if (op == JobOp::clip_grads || op == JobOp::embedding_grads_all_reduce) {
        const auto [at, fresh] = over_stages.try_emplace({op, ops_[i].seq_id}, result_.transfers);
        if (fresh) ++result_.transfers;
        result_.transfer[i] = at->second;
      } else if (is_data_comm(op) || (is_pipeline_comm(op) && result_.transfer[i] == no_node)) {
        result_.transfer[i] = result_.transfers++;  // of one operation per pipeline
      }
    }
  }

  const std::vector<ScheduledOp>& ops_;
  std::vector<bool> real_;  // pipeline operations with a peer
  std::vector<Stage> stages_;
  int model_chunks_ = 1;
  JobSchedule result_;
};

}  // namespace

JobSchedule schedule_job(const std::vector<ScheduledOp>& ops) {
  return ScheduleBuilder(ops).build();
}

}  // namespace stepscope
