// SPDX-License-Identifier: Apache-2.0
// Jobs written by hand for tests: a trace per rank, communication kernels with or without metadata.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/rank_view.h"
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

}  // namespace stepscope
