// SPDX-License-Identifier: Apache-2.0
// Pipelines written by hand for tests: the schedules' orders of passes, a naive simulation of them
// (each end is found recursively), and the traces of their stages. A receive is posted when the
// stage has done the previous pass. The send and the receive begin to transfer when both are
// posted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope::test {

struct Pass {
  bool forward = true;
  int chunk = 0;
  int batch = 0;
  auto operator<=>(const Pass&) const = default;
};

enum class Order : std::uint8_t { gpipe, one_f_one_b, interleaved };

struct PipelineRun {
  Order order = Order::one_f_one_b;
  int stages = 4;
  int first_rank = 0;  // of stage 0; the others follow
  int batches = 8;
  int chunks = 1;
  std::function<std::int64_t(int stage, const Pass&)> lasts{};  // ns
  std::int64_t transfer = 0;
  bool spins = true;        // else a receive's kernel begins only once it can transfer
  int steps = 1;            // one right after the other
  bool reduces = true;      // an all-reduce over all stages at the end of a step
  std::int64_t tail = 100;  // duration of its transfer
  // Hosts show the pass they launch. Each rank also prepares a batch before its step and runs an
  // optimizer of length `optimizer` after its last pass.
  bool phases = false;
  std::int64_t optimizer = 0;
};

// Passes of one stage, in order. Interleaved is Megatron's: virtual micro-batch k of a stage is
// micro-batch k / (p v) · p + k % p of chunk k % (p v) / p.
inline std::vector<Pass> order_of(const PipelineRun& run, int stage) {
  const int p = run.stages;
  const int all = run.batches * run.chunks;
  const auto pass = [&](bool forward, int k) {
    const int chunk = k % (p * run.chunks) / p;
    return Pass{forward, forward ? chunk : run.chunks - 1 - chunk,
                run.chunks == 1 ? k : k / (p * run.chunks) * p + k % p};
  };
  int ahead = p - 1 - stage;
  if (run.order == Order::interleaved) ahead = 2 * ahead + (run.chunks - 1) * p;
  if (run.order == Order::gpipe) ahead = all;
  ahead = std::min(ahead, all);
  std::vector<Pass> order;
  for (int k = 0; k < ahead; ++k) order.push_back(pass(true, k));
  for (int k = 0; k < all; ++k) {
    if (k + ahead < all) order.push_back(pass(true, k + ahead));
    order.push_back(pass(false, k));
  }
  return order;
}

class PipelineSimulation {
 public:
  explicit PipelineSimulation(const PipelineRun& run) : run_(run) {
    for (int s = 0; s < run.stages; ++s) orders_.push_back(order_of(run, s));
  }

  [[nodiscard]] const std::vector<Pass>& order(int stage) const {
    return orders_[static_cast<std::size_t>(stage)];
  }
  std::int64_t end(int stage, const Pass& pass) {
    const auto key = std::pair(stage, pass);
    if (const auto at = ends_.find(key); at != ends_.end()) return at->second;
    const std::int64_t value = start(stage, pass) + run_.lasts(stage, pass);
    return ends_[key] = value;
  }
  std::int64_t start(int stage, const Pass& pass) {
    return std::max(before(stage, pass), has_input(stage, pass) ? arrives(stage, pass) : 0);
  }
  // End of the previous pass of the stage; 0 for the first.
  std::int64_t before(int stage, const Pass& pass) {
    const auto& all = order(stage);
    const auto at = std::ranges::find(all, pass);
    return at == all.begin() ? 0 : end(stage, *(at - 1));
  }
  // True if its input comes from another stage: all passes except the first chunk of the model and,
  // for the backward, the last.
  [[nodiscard]] bool has_input(int stage, const Pass& pass) const {
    return pass.forward ? stage > 0 || pass.chunk > 0
                        : stage + 1 < run_.stages || pass.chunk + 1 < run_.chunks;
  }
  // The pass on another stage whose output it needs.
  [[nodiscard]] std::pair<int, Pass> producer(int stage, const Pass& pass) const {
    const int p = run_.stages;
    if (pass.forward)
      return {(stage + p - 1) % p, {true, stage > 0 ? pass.chunk : pass.chunk - 1, pass.batch}};
    return {(stage + 1) % p, {false, stage + 1 < p ? pass.chunk : pass.chunk + 1, pass.batch}};
  }
  // meets: both stages have posted the message. arrives: it has arrived.
  std::int64_t meets(int stage, const Pass& pass) {
    const auto [from, made] = producer(stage, pass);
    return std::max(before(stage, pass), end(from, made));
  }
  std::int64_t arrives(int stage, const Pass& pass) { return meets(stage, pass) + run_.transfer; }

  std::int64_t first_start(int stage) { return start(stage, order(stage).front()); }
  std::int64_t last_end(int stage) { return end(stage, order(stage).back()); }
  // The whole pipeline, from 0.
  std::int64_t wall() {
    std::int64_t last = 0;
    for (int s = 0; s < run_.stages; ++s) last = std::max(last, last_end(s));
    return last;
  }
  [[nodiscard]] std::int64_t work(int stage) const {
    std::int64_t sum = 0;
    for (const Pass& pass : order(stage)) sum += run_.lasts(stage, pass);
    return sum;
  }

 private:
  const PipelineRun& run_;
  std::vector<std::vector<Pass>> orders_;
  std::map<std::pair<int, Pass>, std::int64_t> ends_;
};

inline constexpr std::int64_t pipeline_origin = 1'000'000;  // hosts launch everything earlier

// The trace of one stage for one step.
class StageTrace {
 public:
  StageTrace(const PipelineRun& run, PipelineSimulation& simulation, int stage)
      : run_(run), sim_(simulation), stage_(stage) {}

  TestRank build() {
    for (int step = 1; step <= run_.steps; ++step) {
      const std::int64_t began = clock_++;
      if (step == 1) begin();
      for (const Pass& pass : sim_.order(stage_)) add(pass);
      end();
      rank_.rows().step("ProfilerStep#" + std::to_string(step), began, clock_++);
      offset_ += sim_.wall() + run_.optimizer + (run_.reduces ? run_.tail : 0);
    }
    return std::move(rank_);
  }

 private:
  // One stream per direction, in and out.
  static std::int64_t stream(bool forward, bool out) {
    return 20 + (forward ? 0 : 2) + (out ? 1 : 0);
  }

  void launch(std::string_view phase = {}) {
    if (run_.phases && !phase.empty())
      rank_.rows().row(rank_.rows().thread(1), Category::user_annotation, phase, clock_,
                       clock_ + 2);
    rank_.rows().launch(++correlation_, clock_, clock_ + 1);
    clock_ += 2;
  }
  void kernel(std::string_view phase, std::int64_t start, std::int64_t end) {
    launch(phase);
    rank_.rows().kernel("sgemm", offset_ + start, offset_ + end, correlation_);
  }
  void begin() {
    if (run_.phases) kernel("get_batch", -600, -100);
    // An operation without length: from here on launches take no time.
    kernel("", -1, -1);
  }
  void end() {
    const std::int64_t last = sim_.last_end(stage_) + run_.optimizer;
    if (run_.optimizer > 0) kernel("Optimizer.step#SGD.step", last - run_.optimizer, last);
    if (!run_.reduces) return;
    wait(30, 7);
    const SliceId all_reduce =
        comm(all_reduce_kernel, last, sim_.wall() + run_.optimizer + run_.tail, 30);
    rank_.annotate(all_reduce, {.name = "allreduce",
                                .group = "all",
                                .ranks = text(all_ranks_),
                                .size = run_.stages,
                                .description = "model_parallel"});
  }
  // The next operation of `stream` waits for the work launched on `on`.
  void wait(std::int64_t stream, std::int64_t on) {
    auto& rows = rank_.rows();
    rows.row(rows.thread(1), Category::runtime, "cudaStreamWaitEvent", clock_, clock_ + 1,
             ++correlation_);
    const SliceId row = rows.row(rows.stream(0, stream), Category::sync, "Stream Wait Event",
                                 clock_, clock_ + 1, correlation_);
    SyncDetails& syncs = rank_.built().syncs;
    rank_.built().slices.detail[index(row)] = static_cast<std::uint32_t>(syncs.size());
    syncs.stream.push_back(static_cast<std::int32_t>(stream));
    syncs.wait_on_stream.push_back(static_cast<std::int32_t>(on));
    syncs.wait_on_record_correlation.push_back(-1);
    clock_ += 2;
  }
  SliceId comm(std::string_view kernel, std::int64_t start, std::int64_t end, std::int64_t stream) {
    launch();
    return rank_.comm(kernel, offset_ + start, offset_ + end, correlation_, stream);
  }
  std::string_view text(std::string& room) {
    if (!room.empty()) return room;
    for (int s = 0; s < run_.stages; ++s)
      room += (s == 0 ? "[" : ", ") + std::to_string(run_.first_rank + s);
    return room += "]";
  }
  void message(bool forward, bool out, int peer, std::int64_t start, std::int64_t end) {
    const SliceId id = comm(send_recv_kernel, start, end, stream(forward, out));
    rank_.annotate(id, {.name = out ? "send" : "recv",
                        .group = "pipeline",
                        .ranks = text(all_ranks_),
                        .size = run_.stages,
                        .src = out ? -1 : run_.first_rank + peer,
                        .dst = out ? run_.first_rank + peer : -1,
                        .description = "mesh_pp"});
  }
  void add(const Pass& pass) {
    const std::int64_t meets = sim_.has_input(stage_, pass) ? sim_.meets(stage_, pass) : 0;
    if (sim_.has_input(stage_, pass)) {
      wait(stream(pass.forward, false), 7);
      message(pass.forward, false, sim_.producer(stage_, pass).first,
              run_.spins ? sim_.before(stage_, pass) : meets, sim_.arrives(stage_, pass));
      wait(7, stream(pass.forward, false));
    }
    kernel(pass.forward ? "forward_step" : "backward_step", sim_.start(stage_, pass),
           sim_.end(stage_, pass));
    for (int to = 0; to < run_.stages; ++to)
      for (const Pass& next : sim_.order(to)) {
        if (!sim_.has_input(to, next)) continue;
        if (sim_.producer(to, next) != std::pair(stage_, pass)) continue;
        wait(stream(pass.forward, true), 7);
        message(pass.forward, true, to, run_.spins ? sim_.end(stage_, pass) : sim_.meets(to, next),
                sim_.arrives(to, next));
      }
  }

  const PipelineRun& run_;
  PipelineSimulation& sim_;
  int stage_;
  TestRank rank_;
  std::uint32_t correlation_ = 0;
  std::int64_t clock_ = 1;
  std::int64_t offset_ = pipeline_origin;  // of the step
  std::string all_ranks_;
};

inline std::vector<TestRank> ranks_of(const PipelineRun& run) {
  PipelineSimulation simulation(run);
  std::vector<TestRank> ranks;
  for (int s = 0; s < run.stages; ++s) ranks.push_back(StageTrace(run, simulation, s).build());
  return ranks;
}

}  // namespace stepscope::test
