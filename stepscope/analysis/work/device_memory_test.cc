// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

class MemoryBuilder : public WorkBuilder {
 public:
  void event(std::int64_t time, std::uint64_t address, std::int64_t bytes,
             std::int16_t device = 0) {
    MemoryEvents& m = trace().memory;
    total_ += device >= 0 ? bytes : 0;
    m.time.push_back(Ns{time});
    m.track.push_back(thread(1));
    m.address.push_back(address);
    m.bytes.push_back(Bytes{bytes});
    m.total_allocated.push_back(Bytes{device >= 0 && totals ? total_ : -1});
    m.total_reserved.push_back(Bytes{!totals ? -1 : device >= 0 ? 2 * total_ : 0});
    m.device.push_back(device);
  }
  void add_gpu(Bytes memory) {
    DeviceProperties gpu;
    gpu.id = 0;
    gpu.total_memory = memory;
    trace().metadata.devices.push_back(gpu);
  }
  bool totals = true;
  std::int64_t total_ = 0;
};

MemoryTable memory(MemoryBuilder& b, const std::vector<PhaseSpan>& phases = {}) {
  const Trace t = b.sealed();
  return memory_table(t, index_rank(t), std::vector<Step>{step(0, 1000)}, phases);
}

TEST(memory, finds_the_peak_and_what_ran_then) {
  MemoryBuilder b;
  b.total_ = 1000;
  b.op("aten::linear", 0, 100);
  b.op("aten::addmm", 10, 60);
  b.kernel("gemm", 15, 40);
  b.event(5, 1, 100);
  b.event(20, 2, 200);
  b.event(70, 2, -200);
  b.add_gpu(Bytes{10000});
  const MemoryTable m = memory(b);
  ASSERT_EQ(m.devices.size(), 1U);
  const DeviceMemory& d = m.devices[0];
  EXPECT_EQ(d.peak_allocated, Bytes{1300});
  EXPECT_EQ(d.peak_reserved, Bytes{2600});
  EXPECT_EQ(d.peak_time, Ns{20});
  EXPECT_EQ(d.running_at_peak, "aten::addmm; on the device gemm");
  EXPECT_EQ(d.headroom, Bytes{7400});
  EXPECT_EQ(d.timeline.size(), 3U);
}

TEST(memory, sums_up_where_no_totals_are_recorded_and_knows_no_headroom_then) {
  MemoryBuilder b;
  b.totals = false;
  b.add_gpu(Bytes{10000});
  b.event(0, 1, 100);
  b.event(10, 2, 50);
  b.event(20, 1, -100);
  const MemoryTable m = memory(b);
  EXPECT_EQ(m.devices[0].peak_allocated, Bytes{150});
  EXPECT_FALSE(m.devices[0].peak_reserved);
  EXPECT_FALSE(m.devices[0].headroom);
  EXPECT_FALSE(m.devices[0].timeline[0].reserved);
}

// The profiler's total of the host has what earlier recordings of the process saw.
TEST(memory, of_the_host_is_what_its_rows_hold) {
  MemoryBuilder b;
  b.event(0, 1, 100, -1);
  b.event(10, 7, -40, -1);  // held since before the recording
  b.event(20, 2, 50, -1);
  for (Bytes& total : b.trace().memory.total_allocated) total = Bytes{9000};
  const MemoryTable m = memory(b, {{Ns{0}, Ns{50}, Phase::forward}});
  EXPECT_EQ(m.devices[0].phases[0].at_start, Bytes{40});
  EXPECT_EQ(m.devices[0].peak_allocated, Bytes{150});
  EXPECT_EQ(m.devices[0].peak_time, Ns{20});
  EXPECT_FALSE(m.devices[0].older_counts);
  EXPECT_EQ(m.devices[0].timeline[0].allocated, Bytes{140});
}

TEST(memory, keeps_devices_and_the_host_apart) {
  MemoryBuilder b;
  b.event(0, 1, 100, 1);
  b.event(1, 1, 30, -1);
  b.event(2, 1, 50, 0);
  const MemoryTable m = memory(b);
  ASSERT_EQ(m.devices.size(), 3U);
  EXPECT_EQ(m.devices[0].device, -1);
  EXPECT_EQ(m.devices[0].peak_allocated, Bytes{30});
  EXPECT_EQ(m.devices[2].device, 1);
}

const std::vector<PhaseSpan> passes = {{Ns{0}, Ns{15}, Phase::forward},
                                       {Ns{15}, Ns{50}, Phase::forward},
                                       {Ns{50}, Ns{100}, Phase::backward}};

TEST(memory, reads_value_and_change_at_the_boundaries_of_phases) {
  MemoryBuilder b;
  b.total_ = 1000;
  b.event(10, 1, 100);
  b.event(20, 2, 100);
  b.event(60, 1, -100);
  const MemoryTable m = memory(b, passes);
  const auto& phases = m.devices[0].phases;
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].at_start, Bytes{1000});
  EXPECT_EQ(phases[0].at_end, Bytes{1200});
  EXPECT_EQ(phases[1].at_start, Bytes{1200});
  EXPECT_EQ(phases[1].at_end, Bytes{1100});
}

TEST(memory, knows_the_peak_of_each_phase_and_what_no_tensor_had_of_the_reserved) {
  MemoryBuilder b;
  b.total_ = 1000;
  b.event(10, 1, 600);
  b.event(20, 1, -600);
  b.event(60, 2, -300);
  b.trace().memory.total_reserved[0] = Bytes{2000};
  b.trace().memory.total_reserved[1] = Bytes{4000};
  const auto phases = memory(b, passes).devices[0].phases;
  EXPECT_EQ(phases[0].peak, Bytes{1600});
  EXPECT_EQ(phases[0].reserved, Bytes{2000});
  EXPECT_EQ(phases[0].not_allocated(), Bytes{400});
  EXPECT_DOUBLE_EQ(*phases[0].not_allocated_share(), 0.2);
  EXPECT_EQ(phases[1].peak, Bytes{1000}) << "at its start";
  EXPECT_EQ(phases[1].reserved, Bytes{4000}) << "by the last event before it";
  const MemoryPhase contradictory{.peak = Bytes{2}, .reserved = Bytes{1}};
  EXPECT_FALSE(contradictory.not_allocated());
}

TEST(memory, of_a_phase_is_not_reserved_where_no_row_says_so) {
  MemoryBuilder late;
  late.event(60, 1, 100);
  EXPECT_FALSE(memory(late, passes).devices[0].phases[0].reserved) << "no event before it";
  MemoryBuilder sums;
  sums.totals = false;
  sums.event(10, 1, 100);
  sums.event(20, 2, 100, -1);
  for (const DeviceMemory& d : memory(sums, passes).devices) {
    EXPECT_EQ(d.phases[0].peak, Bytes{100});
    EXPECT_FALSE(d.phases[0].reserved);
  }
  MemoryBuilder host;  // its rows say "Total Reserved": 0
  host.event(10, 1, 100, -1);
  const MemoryTable m = memory(host, passes);
  EXPECT_FALSE(m.devices[0].phases[0].reserved);
  EXPECT_FALSE(m.devices[0].phases[0].not_allocated_share());
  EXPECT_FALSE(m.devices[0].timeline[0].reserved);
  EXPECT_FALSE(m.devices[0].peak_reserved);
}

std::int64_t held(const MemoryTable& m, MemoryUse use) {
  return (*m.devices[0].composition)[static_cast<std::size_t>(use)].value;
}

const std::vector<PhaseSpan> training = {{Ns{100}, Ns{200}, Phase::forward},
                                         {Ns{200}, Ns{300}, Phase::backward},
                                         {Ns{300}, Ns{400}, Phase::optimizer},
                                         {Ns{400}, Ns{500}, Phase::forward},
                                         {Ns{500}, Ns{600}, Phase::backward}};

MemoryUse use(std::optional<std::int64_t> allocated, std::optional<std::int64_t> freed) {
  MemoryBlock block;
  if (allocated) block.allocated = Ns{*allocated};
  if (freed) block.freed = Ns{*freed};
  return use_of(block, training);
}

TEST(memory_use, follows_from_the_lifetime_of_a_block) {
  EXPECT_EQ(use({}, {}), MemoryUse::older);
  EXPECT_EQ(use(50, {}), MemoryUse::parameters);
  EXPECT_EQ(use(350, {}), MemoryUse::optimizer);
  EXPECT_EQ(use(250, 350), MemoryUse::gradients);
  EXPECT_EQ(use(250, {}), MemoryUse::gradients);
  EXPECT_EQ(use({}, 350), MemoryUse::gradients);
  EXPECT_EQ(use(150, 250), MemoryUse::activations);
  EXPECT_EQ(use({}, 250), MemoryUse::activations);
  EXPECT_EQ(use(150, 160), MemoryUse::temporary);
  EXPECT_EQ(use(250, 260), MemoryUse::temporary);
  EXPECT_EQ(use(350, 450), MemoryUse::temporary);
  EXPECT_EQ(use(150, {}), MemoryUse::unknown);
  const std::vector<PhaseSpan> cut = {{Ns{0}, Ns{10}, Phase::backward},
                                      {Ns{10}, Ns{20}, Phase::forward}};
  const MemoryBlock last{Ns{15}, std::nullopt, Bytes{1}};
  EXPECT_EQ(use_of(last, cut), MemoryUse::activations);
  EXPECT_EQ(use_of(last, std::span(cut).last(1)), MemoryUse::unknown);
  EXPECT_EQ(use(50, 80), MemoryUse::unknown);
}

TEST(memory_use, sums_to_the_peak_with_what_is_older_than_the_trace) {
  MemoryBuilder b;
  b.total_ = 1000;
  b.event(120, 1, 300);  // activation
  b.event(130, 2, 50);   // temporary
  b.event(140, 2, -50);
  b.event(210, 3, 400);  // gradient
  b.event(220, 1, -300);
  b.event(320, 3, -400);
  const MemoryTable m = memory(b, training);
  const DeviceMemory& d = m.devices[0];
  EXPECT_EQ(d.peak_allocated, Bytes{1700});
  ASSERT_TRUE(d.composition);
  EXPECT_EQ(held(m, MemoryUse::older), 1000);
  EXPECT_EQ(d.before_recording, Bytes{1000});
  EXPECT_EQ(d.phase_at_peak, Phase::backward);
  EXPECT_EQ(held(m, MemoryUse::activations), 300);
  EXPECT_EQ(held(m, MemoryUse::gradients), 400);
  EXPECT_EQ(held(m, MemoryUse::temporary), 0);
}

// Two micro-batches of a weight in bf16 and one in fp32, with fused AdamW on fp32 copies.
class StateBuilder : public MemoryBuilder {
 public:
  StateBuilder() {
    for (const std::int64_t at : {100, 200}) {
      phases.push_back({Ns{at}, Ns{at + 40}, Phase::forward});
      phases.push_back({Ns{at + 40}, Ns{at + 90}, Phase::backward});
      accumulate(at + 50, "[[10, 20]]", R"(["c10::BFloat16"])");
      accumulate(at + 60, "[[20]]", R"(["float"])");
    }
    phases.push_back({Ns{300}, Ns{400}, Phase::optimizer});
    row(thread(1), Category::user_annotation, "Optimizer.step#AdamW.step", 300, 400);
    call("aten::_fused_adamw_", 310, 320, {});
    launch_kernel(1, 315,
                  "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
                  "FusedAdamMathFunctor<float, 4, (ADAM_MODE)1, false>>",
                  320, 330);
    total_ = 10'000;
    event(120, 1, 300);
    event(180, 1, -300);
  }
  void accumulate(std::int64_t at, std::string_view dims, std::string_view types) {
    call("torch::autograd::AccumulateGrad", at, at + 5, {.dims = dims, .types = types});
  }
  std::vector<PhaseSpan> phases;
};

TEST(model_state, follows_from_the_gradients_and_the_optimizer) {
  StateBuilder b;
  const MemoryTable m = memory(b, b.phases);
  ASSERT_TRUE(m.state);
  EXPECT_EQ(m.state->elements, 220);
  EXPECT_EQ(m.state->weights, Bytes{200 * 2 + 20 * 4});
  EXPECT_EQ(m.state->masters, Bytes{200 * 4});
  EXPECT_EQ(m.state->moments, Bytes{2 * 220 * 4});
  EXPECT_EQ(m.state->gradients, Bytes{0});
  EXPECT_EQ(held(m, MemoryUse::parameters), m.state->weights.value);
  EXPECT_EQ(held(m, MemoryUse::masters), m.state->masters.value);
  EXPECT_EQ(held(m, MemoryUse::optimizer), m.state->moments.value);
  EXPECT_EQ(held(m, MemoryUse::older), 10'000 - m.state->sum().value);
}

TEST(model_state, includes_gradients_that_are_zeroed) {
  StateBuilder b;
  b.call("aten::_foreach_zero_", 340, 350, {});
  EXPECT_EQ(memory(b, b.phases).state->gradients, Bytes{220 * 4});
}

TEST(model_state, is_not_made_to_fit) {
  StateBuilder b;
  for (Bytes& total : b.trace().memory.total_allocated) total = total - Bytes{8000};
  const MemoryTable m = memory(b, b.phases);
  EXPECT_EQ(held(m, MemoryUse::older), 2000);
  EXPECT_EQ(held(m, MemoryUse::parameters), 0);
}

TEST(model_state, is_absent_if_a_device_may_keep_a_part) {
  StateBuilder b;
  Collective gather;
  gather.slice = b.row(b.thread(1), Category::cpu_op, "record_param_comms", 350, 360);
  gather.name = b.trace().strings.intern("_reduce_scatter_base");
  b.trace().collectives.push_back(gather);
  EXPECT_FALSE(memory(b, b.phases).state);
  StateBuilder uneven;
  uneven.accumulate(270, "[[7]]", R"(["float"])");
  EXPECT_FALSE(memory(uneven, uneven.phases).state);
}

TEST(model_state, is_absent_if_weights_are_parts_of_larger_ones) {
  StateBuilder outside;
  outside.call("PythonSubclass", 156, 157, {});
  EXPECT_TRUE(memory(outside, outside.phases).state);
  StateBuilder inside;  // of a DTensor
  inside.call("PythonSubclass", 152, 153, {});
  EXPECT_FALSE(memory(inside, inside.phases).state);
}

TEST(model_state, is_absent_if_kernels_gather_or_two_devices_allocate) {
  StateBuilder kernels;
  kernels.launch_kernel(2, 345, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage)", 350,
                        360);
  EXPECT_FALSE(memory(kernels, kernels.phases).state);
  StateBuilder two;
  two.event(130, 9, 50, 1);
  EXPECT_FALSE(memory(two, two.phases).state);
}

// The model is made in the recording, at a time that counts as forward: the rows of a step before
// its backward do.
class MadeModel : public StateBuilder {
 public:
  MadeModel() {
    event(102, 11, 400);  // 10 × 20 of bf16
    event(103, 12, 64);   // a buffer
    event(104, 13, 80);   // 20 of fp32
    event(110, 14, 80);   // of the size of a weight, but later
    event(111, 15, 4096);
  }
};

TEST(memory_use, knows_weights_that_the_recording_saw_being_made_by_their_sizes) {
  MadeModel b;
  const MemoryTable m = memory(b, b.phases);
  EXPECT_EQ(held(m, MemoryUse::parameters), 400 + 64 + 80);
  EXPECT_EQ(held(m, MemoryUse::unknown), 80 + 4096);
  EXPECT_EQ(held(m, MemoryUse::masters), 0) << "made after the weights: not of what is older";
}

TEST(memory_use, takes_no_size_for_a_weight_if_another_weight_has_no_block) {
  MadeModel b;
  for (const std::int64_t at : {170, 270}) b.accumulate(at, "[[300]]", R"(["float"])");
  const MemoryTable m = memory(b, b.phases);
  EXPECT_EQ(held(m, MemoryUse::unknown), 400 + 64 + 80 + 80 + 4096);
  EXPECT_EQ(held(m, MemoryUse::parameters), 400 + 80 + 1200) << "of what is older";
}

TEST(memory_use, of_weights_allows_for_the_rounding_of_allocators) {
  const std::vector<Bytes> weights = {Bytes{1000}, Bytes{10}};
  const auto marked = [&](std::int64_t large, std::int64_t small, Bytes (*slack)(Bytes)) {
    std::vector<MemoryBlock> blocks = {{Ns{110}, std::nullopt, Bytes{large}},
                                       {Ns{120}, std::nullopt, Bytes{small}},
                                       {Ns{105}, Ns{150}, Bytes{7}},
                                       {Ns{210}, std::nullopt, Bytes{9}}};
    const bool all = mark_weights(blocks, weights, training, slack);
    EXPECT_EQ(blocks[0].of_model, all);
    EXPECT_EQ(blocks[1].of_model, all);
    EXPECT_FALSE(blocks[2].of_model || blocks[3].of_model);
    return all;
  };
  const auto none = [](Bytes) { return Bytes{}; };
  const auto steps_of_512 = [](Bytes) { return Bytes{511}; };
  EXPECT_TRUE(marked(1000, 10, none));
  EXPECT_FALSE(marked(1024, 10, none));
  EXPECT_TRUE(marked(1024, 512, steps_of_512));
  EXPECT_FALSE(marked(1024, 522, steps_of_512));
  EXPECT_FALSE(marked(999, 10, steps_of_512));
}

TEST(memory, says_what_totals_leave_out_that_begin_with_the_recording) {
  StateBuilder b;
  for (Bytes& total : b.trace().memory.total_allocated) total = Bytes{-1};
  const MemoryTable m = memory(b, b.phases);
  EXPECT_EQ(m.devices[0].peak_allocated, Bytes{300});
  EXPECT_FALSE(m.devices[0].older_counts);
  EXPECT_EQ(held(m, MemoryUse::older), 0);
  EXPECT_EQ(m.devices[0].uncounted, m.state->sum());
  MadeModel made;
  for (Bytes& total : made.trace().memory.total_allocated) total = Bytes{-1};
  EXPECT_FALSE(memory(made, made.phases).devices[0].uncounted);
}

TEST(memory_use, counts_what_is_freed_later_as_older_too) {
  MemoryBuilder b;
  b.total_ = 1000;
  b.event(120, 1, 300);
  b.event(250, 2, -200);  // allocated before the recording
  EXPECT_EQ(memory(b, training).devices[0].before_recording, Bytes{1000});
}

TEST(memory_blocks, tolerate_frees_without_an_allocation_and_lost_frees) {
  MemoryBuilder b;
  b.event(0, 7, -100);  // older than the trace
  b.event(10, 8, 50);
  b.event(20, 8, 60);  // its free was lost
  b.event(30, 9, 0);
  const Trace t = b.sealed();
  const std::vector<std::uint32_t> rows = {0, 1, 2, 3};
  const MemoryBlocks blocks = memory_blocks(t.memory, rows);
  EXPECT_EQ(blocks.unmatched_frees, 1U);
  ASSERT_EQ(blocks.blocks.size(), 3U);
  EXPECT_EQ(blocks.held, (std::vector{Bytes{0}, Bytes{50}, Bytes{60}, Bytes{60}}));
  EXPECT_FALSE(blocks.blocks[0].allocated);
  EXPECT_EQ(blocks.blocks[1].freed, Ns{20});
  EXPECT_FALSE(blocks.blocks[2].freed);
}

TEST(memory_use, is_absent_where_the_totals_contradict_the_blocks) {
  const std::vector<MemoryBlock> blocks = {{Ns{0}, std::nullopt, Bytes{100}}};
  EXPECT_FALSE(composition_at(blocks, training, Ns{10}, Bytes{50}));
  EXPECT_TRUE(composition_at(blocks, training, Ns{10}, Bytes{100}));
}

TEST(memory_timeline, keeps_the_extremes_when_it_is_thinned_out) {
  std::vector<MemoryPoint> points;
  for (int i = 0; i < 10000; ++i) points.push_back({Ns{i}, Bytes{i % 7}, {}});
  points[6789].allocated = Bytes{1000};
  points[1234].allocated = Bytes{-5};
  const auto kept = thin_out(points, 100);
  EXPECT_LE(kept.size(), 100U);
  EXPECT_GT(kept.size(), 50U);
  EXPECT_EQ(kept.front().time, Ns{0});
  EXPECT_EQ(kept.back().time, Ns{9999});
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &MemoryPoint::time));
  EXPECT_EQ(std::ranges::max(kept, {}, &MemoryPoint::allocated).time, Ns{6789});
  EXPECT_EQ(std::ranges::min(kept, {}, &MemoryPoint::allocated).time, Ns{1234});
  EXPECT_EQ(thin_out(std::span(points).first(100), 100).size(), 100U);
  EXPECT_TRUE(thin_out({}, 100).empty());
}

TEST(copies, are_summed_by_direction_and_kind_of_host_memory) {
  WorkBuilder b;
  b.copy("Memcpy HtoD (Pinned -> Device)", 0, 10, 1000);
  b.copy("Memcpy HtoD (Pinned -> Device)", 10, 20, 3000);
  b.copy("Memcpy HtoD (Pageable -> Device)", 20, 25, 10);
  b.copy("CopyDeviceToHost", 30, 33, -1);
  b.copy("Memset (Device)", 40, 41, 8);
  const Trace t = b.sealed();
  const auto rows = copy_table(t, index_rank(t), std::vector<Step>{step(0, 100)});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].direction, "HtoD");
  EXPECT_EQ(rows[0].pinned, true);
  EXPECT_EQ(rows[0].count, 2U);
  EXPECT_EQ(rows[0].bytes, Bytes{4000});
  EXPECT_DOUBLE_EQ(rows[0].bandwidth->value, 4000 / 20e-9);
  EXPECT_EQ(rows[1].pinned, false);
  EXPECT_EQ(rows[2].direction, "DtoH");
  EXPECT_EQ(rows[2].pinned, std::nullopt);
  EXPECT_FALSE(rows[2].bytes);
  EXPECT_EQ(rows[3].direction, "memset");
}

TEST(memory, is_empty_without_events) {
  MemoryBuilder b;
  b.op("aten::mm", 0, 10);
  const MemoryTable m = memory(b);
  EXPECT_TRUE(m.devices.empty());
  EXPECT_TRUE(m.copies.empty());
}

}  // namespace

}  // namespace stepscope
