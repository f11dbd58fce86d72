// SPDX-License-Identifier: Apache-2.0
// Jobs written by hand for tests: a trace per rank, communication kernels with or without metadata.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {

inline constexpr std::string_view all_reduce_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL()";
inline constexpr std::string_view all_gather_kernel = "ncclDevKernel_AllGather_RING_LL()";
inline constexpr std::string_view broadcast_kernel = "ncclDevKernel_Broadcast_RING_LL()";
inline constexpr std::string_view send_recv_kernel = "ncclDevKernel_SendRecv()";

struct TestMeta {
  std::string_view name{};  // "allreduce"
  std::string_view group = "0";
  std::string_view ranks = "[0, 1]";
  int size = 2;
  std::int64_t elements = 1000;
  std::int64_t out = -1;  // -1: same as in
  std::int64_t seq = -1;
  int src = -1;
  int dst = -1;
  int rank = -1;
  std::string_view dtype = "Float";
  std::string_view description = "undefined";
};

class TestRank {
 public:
  explicit TestRank(Clock clock = Clock::unix_epoch) { built().metadata.clock = clock; }

  Trace& built() { return builder_.trace(); }
  TraceBuilder& rows() { return builder_; }

  void annotate(SliceId slice, const TestMeta& meta) {
    StringPool& strings = built().strings;
    Collective c;
    c.slice = slice;
    c.name = strings.intern(meta.name);
    c.dtype = strings.intern(meta.dtype);
    c.group_name = strings.intern(meta.group);
    c.group_description = strings.intern(meta.description);
    c.group_ranks = strings.intern(meta.ranks);
    c.in_elements = meta.elements;
    c.out_elements = meta.out < 0 ? meta.elements : meta.out;
    c.seq = meta.seq;
    c.group_size = meta.size;
    c.src_rank = meta.src;
    c.dst_rank = meta.dst;
    c.rank = meta.rank;
    built().collectives.push_back(c);
  }
  // On stream 20 of device 0 by default.
  SliceId comm(std::string_view kernel, std::int64_t start, std::int64_t end,
               std::uint32_t correlation = 0, std::int64_t stream = 20) {
    return builder_.row(builder_.stream(0, stream), Category::kernel, kernel, start, end,
                        correlation);
  }
  void comm(std::string_view kernel, std::int64_t start, std::int64_t end, const TestMeta& meta) {
    annotate(comm(kernel, start, end), meta);
  }
  void all_reduce(std::int64_t start, std::int64_t end, TestMeta meta = {}) {
    meta.name = "allreduce";
    comm(all_reduce_kernel, start, end, meta);
  }
  // A cpu_op or annotation on thread 1, with recorded shapes.
  SliceId op_with_inputs(Category category, std::string_view name, std::int64_t start,
                         std::int64_t end, std::string_view dims, std::string_view types,
                         std::string_view concrete = "", std::int64_t thread = 1) {
    OpDetails& ops = built().ops;
    StringPool& strings = built().strings;
    const SliceId id = builder_.row(builder_.thread(thread), category, name, start, end);
    built().slices.detail[index(id)] = static_cast<std::uint32_t>(ops.size());
    ops.input_dims.push_back(strings.intern(dims));
    ops.input_types.push_back(strings.intern(types));
    ops.concrete_inputs.push_back(strings.intern(concrete));
    ops.sequence.push_back(-1);
    ops.forward_thread.push_back(0);
    return id;
  }

 private:
  TraceBuilder builder_;
};

// Seals the ranks and owns the data behind their views.
class TestJob {
 public:
  explicit TestJob(std::vector<TestRank> ranks, std::optional<int> world = std::nullopt) {
    const int size = world.value_or(static_cast<int>(ranks.size()));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].built().metadata.world_size = size;
      add(static_cast<int>(r), std::move(ranks[r]));
    }
  }
  TestJob() = default;

  void add(int rank, TestRank built) {
    Trace& trace = traces_.emplace_back(built.rows().sealed());
    const RankIndex& rank_index = indices_.emplace_back(index_rank(trace));
    const auto& steps = steps_.emplace_back(find_steps(trace, rank_index));
    views_.push_back({rank, &trace, &rank_index, steps});
  }
  [[nodiscard]] std::span<const RankView> views() const { return views_; }

 private:
  std::deque<Trace> traces_;
  std::deque<RankIndex> indices_;
  std::deque<std::vector<Step>> steps_;
  std::vector<RankView> views_;
};

// A step in which each rank computes and all reduce what they have.
struct ReducingStep {
  std::vector<std::int64_t> work;  // of each rank, ns
  std::int64_t transfer = 0;       // from the arrival of the last rank, ns
  std::int64_t bytes = 4000;
};
inline constexpr std::int64_t launches_of_step = 10;  // ns before the work begins

// One rank for each entry of `work`. All ranks begin a step together, when the one before has
// ended, and their hosts wait for its end.
inline std::vector<TestRank> reducing_ranks(const std::vector<ReducingStep>& steps) {
  std::vector<TestRank> ranks(steps.front().work.size());
  std::int64_t t = 0;
  std::uint32_t launch = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const std::int64_t begin = t + launches_of_step;
    const std::int64_t last = begin + std::ranges::max(steps[s].work);
    const std::int64_t end = last + steps[s].transfer;
    launch += 2;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      TraceBuilder& rows = ranks[r].rows();
      rows.step("ProfilerStep#" + std::to_string(s), t, end);
      const TrackId host = rows.thread(1);
      rows.row(host, Category::cpu_op, "stepscope::forward", t, t + 2);
      rows.launch(launch, t, t + 2);
      rows.kernel("sgemm", begin, begin + steps[s].work[r], launch);
      rows.launch(launch + 1, t + 2, t + 4);
      ranks[r].annotate(ranks[r].comm(all_reduce_kernel, begin + steps[s].work[r], end, launch + 1),
                        {.name = "allreduce",
                         .ranks = "",
                         .size = static_cast<int>(ranks.size()),
                         .elements = steps[s].bytes / 4,
                         .seq = static_cast<std::int64_t>(s)});
      rows.row(host, Category::runtime, "cudaDeviceSynchronize", t + 4, end);
    }
    t = end;
  }
  return ranks;
}

}  // namespace stepscope
