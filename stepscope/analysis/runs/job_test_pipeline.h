// SPDX-License-Identifier: Apache-2.0
// Tables of a pipeline-parallel job for tests, by an independent naive simulation: each operation's
// end is found recursively, by the rules of a one-forward-one-backward schedule.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/event/job_operations.h"

namespace stepscope::test {

struct PipelineJob {
  int dp = 2;
  int stages = 3;
  int batches = 4;
  std::vector<std::int64_t> steps = {5, 6};
  // Duration of an operation (communication: its transfer, after all have come) and lateness of its
  // launch, in seconds.
  std::function<double(JobOp, std::int64_t step, int dp, int stage, int seq)> lasts{};
  std::function<double(JobOp, std::int64_t step, int dp, int stage, int seq)> late =
      [](JobOp, std::int64_t, int, int, int) { return 0.0; };
};

class PipelineStep {
 public:
  PipelineStep(const PipelineJob& job, std::int64_t step) : job_(job), step_(step) {}

  // Appends the step's rows with all times shifted by `origin`.
  void append_to(JobOperations& table, double origin) {
    for (int d = 0; d < job_.dp; ++d)
      for (int s = 0; s < job_.stages; ++s)
        for (std::size_t o = 0; o < job_op_count; ++o)
          for (int i = 0; i < count(static_cast<JobOp>(o), s); ++i)
            append(table, static_cast<JobOp>(o), d, s, i, origin);
  }

  double last_end() {
    double last = 0;
    for (int d = 0; d < job_.dp; ++d)
      for (int s = 0; s < job_.stages; ++s) last = std::max(last, end(JobOp::optimizer, d, s, 0));
    return last;
  }

 private:
  using enum JobOp;

  [[nodiscard]] int count(JobOp op, int s) const {
    const bool first = s == 0;
    const bool last = s == job_.stages - 1;
    switch (op) {
      case forward_compute:
      case backward_compute:
        return job_.batches;
      case forward_send:
      case backward_recv:
        return last ? 0 : job_.batches;
      case forward_recv:
      case backward_send:
        return first ? 0 : job_.batches;
      case separate_grads_all_reduce:
        return 0;
      case embedding_grads_all_reduce:
        return first || last ? 1 : 0;
      default:
        return 1;
    }
  }

  // Compute operations of a stage, in order.
  [[nodiscard]] std::vector<std::pair<JobOp, int>> order(int s) const {
    const int ahead = std::min(job_.stages - s - 1, job_.batches);
    std::vector<std::pair<JobOp, int>> all;
    for (int i = 0; i < ahead; ++i) all.emplace_back(forward_compute, i);
    for (int i = 0; i < job_.batches; ++i) {
      if (i + ahead < job_.batches) all.emplace_back(forward_compute, i + ahead);
      all.emplace_back(backward_compute, i);
    }
    return all;
  }
  double end_before(JobOp op, int d, int s, int i) {
    const auto all = order(s);
    const auto at = std::ranges::find(all, std::pair(op, i));
    return at == all.begin() ? 0 : end((at - 1)->first, d, s, (at - 1)->second);
  }
  // End of the second compute before the first backward.
  double two_before_backward(int d, int s) {
    const auto all = order(s);
    const auto at = std::ranges::find(all, backward_compute, &std::pair<JobOp, int>::first);
    return at - all.begin() < 2 ? 0 : end((at - 2)->first, d, s, (at - 2)->second);
  }

  double ready(JobOp op, int d, int s, int i) {
    const bool forward = op == forward_send || op == forward_recv;
    switch (op) {
      case params_all_gather:
        return 0;
      case forward_compute:
        return std::max({end_before(op, d, s, i), s > 0 ? end(forward_recv, d, s, i) : 0,
                         i == 0 ? end(params_all_gather, d, s, 0) : 0});
      case backward_compute:
        return std::max(end_before(op, d, s, i),
                        s + 1 < job_.stages ? end(backward_recv, d, s, i) : 0);
      case forward_send:
      case backward_send:
        return std::max({i > 0 ? end(op, d, s, i - 1) : 0,
                         end(forward ? forward_compute : backward_compute, d, s, i),
                         !forward && i == 0 ? two_before_backward(d, s) : 0});
      case forward_recv:
      case backward_recv:
        return std::max({i > 0 ? end(op, d, s, i - 1) : 0,
                         i > 0 ? end(forward ? forward_compute : backward_compute, d, s, i - 1) : 0,
                         !forward && i == 0 ? two_before_backward(d, s) : 0});
      case garbage_collection:
        return end(backward_compute, d, s, job_.batches - 1);
      case layernorm_grads_all_reduce:
        return end(garbage_collection, d, s, 0);
      case embedding_grads_all_reduce:
        return end(layernorm_grads_all_reduce, d, s, 0);
      case grads_reduce_scatter:
        return end(count(embedding_grads_all_reduce, s) > 0 ? embedding_grads_all_reduce
                                                            : layernorm_grads_all_reduce,
                   d, s, 0);
      case clip_grads:
        return end(grads_reduce_scatter, d, s, 0);
      default:
        return end(clip_grads, d, s, 0);
    }
  }
  double start(JobOp op, int d, int s, int i) {
    return ready(op, d, s, i) + job_.late(op, step_, d, s, i);
  }

  // Operations that transfer together.
  std::vector<std::tuple<JobOp, int, int>> members(JobOp op, int d, int s) {
    std::vector<std::tuple<JobOp, int, int>> all;
    if (op == forward_send) return {{op, d, s}, {forward_recv, d, s + 1}};
    if (op == forward_recv) return {{op, d, s}, {forward_send, d, s - 1}};
    if (op == backward_send) return {{op, d, s}, {backward_recv, d, s - 1}};
    if (op == backward_recv) return {{op, d, s}, {backward_send, d, s + 1}};
    if (op == embedding_grads_all_reduce) return {{op, d, 0}, {op, d, job_.stages - 1}};
    for (int e = 0; e < job_.dp; ++e)
      for (int t = 0; t < job_.stages; ++t)
        if (op == clip_grads || t == s) all.emplace_back(op, e, t);
    return all;
  }

  double end(JobOp op, int d, int s, int i) {
    const auto key = std::tuple(op, d, s, i);
    if (const auto at = ends_.find(key); at != ends_.end()) return at->second;
    double begin = start(op, d, s, i);
    if (is_comm(op) && op != layernorm_grads_all_reduce)
      for (const auto& [o, e, t] : members(op, d, s)) begin = std::max(begin, start(o, e, t, i));
    return ends_[key] = begin + job_.lasts(op, step_, d, s, i);
  }

  void append(JobOperations& table, JobOp op, int d, int s, int i, double origin) {
    const bool compute = op == forward_compute || op == backward_compute;
    const bool chunked = compute || op == params_all_gather || op == grads_reduce_scatter;
    table.dp_rank.push_back(d);
    table.stage.push_back(s);
    table.rank.push_back(s * job_.dp + d);
    table.step.push_back(step_);
    table.op.push_back(op);
    table.start.emplace_back(origin + start(op, d, s, i));
    table.duration.emplace_back(end(op, d, s, i) - start(op, d, s, i));
    table.seq_id.push_back(i);
    table.mc.push_back(chunked ? 0 : -1);
    table.mb_id.push_back(compute ? i : -1);
    table.gmc.push_back(compute ? s : -1);
  }

  const PipelineJob& job_;
  std::int64_t step_;
  std::map<std::tuple<JobOp, int, int, int>, double> ends_;
};

inline JobOperations table_of(const PipelineJob& job) {
  JobOperations table;
  double origin = 1000.1;
  for (const std::int64_t step : job.steps) {
    PipelineStep one(job, step);
    one.append_to(table, origin);
    origin += one.last_end() + 1;
  }
  return table;
}

inline double mean_step(const PipelineJob& job) {
  double sum = 0;
  for (const std::int64_t step : job.steps) sum += PipelineStep(job, step).last_end();
  return sum / static_cast<double>(job.steps.size());
}

}  // namespace stepscope::test
