// SPDX-License-Identifier: Apache-2.0
// Ranks written by hand for tests, with parameters gathered unit by unit. Times in µs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope::test {

// A trace as this project's trainer records it: one thread, collectives on lanes of their own.
class EngineRank {
 public:
  EngineRank() = default;
  EngineRank(std::int64_t index, std::int64_t start, std::int64_t end) { step(index, start, end); }

  void step(std::int64_t index, std::int64_t start, std::int64_t end) {
    rank_.rows().step("ProfilerStep#" + std::to_string(index), start * us, end * us);
  }
  // Computes all the time, after waiting until `there`.
  void pass(std::string_view unit, std::string_view kind, std::int64_t start, std::int64_t end,
            std::int64_t there = 0) {
    rank_.rows().row(main(), Category::user_annotation, std::string(unit) + " " + std::string(kind),
                     start * us, end * us);
    if (there > start) {
      rank_.rows().op("stepscope::wait_fetch", start * us, there * us);
      start = there;
    }
    rank_.rows().op("aten::mm", start * us, end * us);
  }
  // The same, but another event wakes the thread at `woken` for 2 µs.
  void woken_pass(std::string_view unit, std::string_view kind, std::int64_t start,
                  std::int64_t woken, std::int64_t there, std::int64_t end) {
    rank_.rows().row(main(), Category::user_annotation, std::string(unit) + " " + std::string(kind),
                     start * us, end * us);
    rank_.rows().op("stepscope::wait_fetch", start * us, woken * us);
    rank_.rows().op("stepscope::backward", woken * us, (woken + 2) * us);
    rank_.rows().op("stepscope::wait_fetch", (woken + 2) * us, there * us);
    rank_.rows().op("aten::mm", there * us, end * us);
  }
  // Outside a pass: "fetch", "reduce".
  void wait(std::string_view what, std::int64_t start, std::int64_t end) {
    rank_.rows().op("stepscope::wait_" + std::string(what), start * us, end * us);
  }
  void load(std::int64_t start, std::int64_t end) {
    rank_.rows().row(main(), Category::user_annotation, "stepscope::load_batch", start * us,
                     end * us);
  }
  void update(std::int64_t start, std::int64_t end) {
    rank_.rows().op("stepscope::optimizer_step", start * us, end * us);
  }
  void fetch(std::string_view unit, std::int64_t start, std::int64_t end) {
    message(std::string(unit) + " parameters", "_allgather_base", start, end);
  }
  void reduce(std::string_view unit, std::int64_t start, std::int64_t end) {
    message(std::string(unit) + " gradients", "_reduce_scatter_base", start, end);
  }
  [[nodiscard]] TestRank take() { return std::move(rank_); }

 private:
  TrackId main() { return rank_.rows().thread(1); }
  void message(const std::string& what, std::string_view name, std::int64_t start,
               std::int64_t end) {
    const TrackId lane = rank_.rows().thread(++lanes_);
    rank_.rows().row(lane, Category::user_annotation, what, start * us, end * us);
    rank_.annotate(
        rank_.rows().row(lane, Category::cpu_op, "record_param_comms", start * us, end * us),
        {.name = name, .seq = lanes_});
  }

  TestRank rank_;
  std::int64_t lanes_ = 10;
};

// FSDP on a GPU: thread 1 launches, stream 7 computes, stream 20 gathers.
class Fsdp2Rank {
 public:
  Fsdp2Rank(std::int64_t start, std::int64_t end) {
    rank_.rows().step("ProfilerStep#1", start * us, end * us);
  }
  void kernel(std::string_view name, std::int64_t launched, std::int64_t start, std::int64_t end) {
    launch(launched);
    rank_.rows().kernel(name, start * us, end * us, correlation_);
  }
  void note(std::string_view name, std::int64_t start, std::int64_t end) {
    rank_.rows().row(rank_.rows().thread(1), Category::user_annotation, name, start * us, end * us);
  }
  void gather(std::string_view unit, std::int64_t launched, std::int64_t start, std::int64_t end) {
    note("FSDP::all_gather (" + std::string(unit) + ")", launched - 1, launched + 2);
    gather(launched, start, end);
  }
  void gather(std::int64_t launched, std::int64_t start, std::int64_t end) {
    launch(launched);
    rank_.annotate(rank_.comm(all_gather_kernel, start * us, end * us, correlation_),
                   {.name = "_allgather_base", .seq = correlation_});
  }
  // The hook lasts from `t` for 10 µs. Its copy is launched at t + 6, the unit's product at t + 11.
  // Both run from `start` on, the copy for 1 µs.
  void forward(std::string_view unit, std::int64_t t, std::int64_t start, std::int64_t end) {
    note("FSDP::pre_forward (" + std::string(unit) + ")", t, t + 10);
    note("FSDP::all_gather_copy_out (" + std::string(unit) + ")", t + 6, t + 8);
    kernel("split_with_sizes_copy_out", t + 6, start, start + 1);
    kernel("sgemm", t + 11, start + 1, end);
  }
  [[nodiscard]] TestRank take() { return std::move(rank_); }

 private:
  void launch(std::int64_t at) { rank_.rows().launch(++correlation_, at * us, (at + 1) * us); }

  TestRank rank_;
  std::uint32_t correlation_ = 0;
};

// Three units of 100, 60 and 100 µs. The first fetch is a miss of 5 µs, the second a hit. The third
// takes 80 µs, is requested one unit ahead and arrives 19 µs late.
inline TestRank late_third_unit() {
  EngineRank r(4, 0, 300);
  r.fetch("a", 0, 10);
  r.fetch("b", 2, 20);
  r.pass("a", "forward", 5, 110, 10);
  r.fetch("c", 109, 189);
  r.pass("b", "forward", 110, 170);
  r.pass("c", "forward", 170, 289, 189);
  return r.take();
}

// Four units, fetched in their own hooks. The second arrives in time because the host ran ahead.
// The third arrives 12 µs late. The fourth is requested when nothing is left to compute.
inline TestRank hooks_of_four_units() {
  Fsdp2Rank r(0, 400);
  r.kernel("embedding", 0, 3, 4);
  r.gather("layers.0", 4, 6, 56);
  r.forward("layers.0", 2, 56, 157);
  r.gather("layers.1", 22, 56, 86);
  r.forward("layers.1", 20, 157, 178);
  r.gather("layers.2", 152, 160, 190);
  r.forward("layers.2", 150, 190, 211);
  r.gather("layers.3", 232, 234, 264);
  r.forward("layers.3", 230, 264, 365);
  return r.take();
}

}  // namespace stepscope::test
