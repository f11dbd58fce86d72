// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/range_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

std::vector<RangeNode> tree(WorkBuilder& b, const std::vector<PhaseSpan>& host = {},
                            const RangeLimits& limits = {},
                            const std::vector<Step>& steps = {step(0, 1000, "train")}) {
  const Trace t = b.sealed();
  HostPhases phases;
  phases.threads.resize(t.tracks.size());
  phases.host = host;
  return range_tree(t, index_rank(t), steps, phases, limits);
}

const RangeNode& at(const std::vector<RangeNode>& nodes,
                    std::initializer_list<std::string_view> path) {
  static const RangeNode missing;
  const std::vector<RangeNode>* level = &nodes;
  const RangeNode* found = &missing;
  for (const std::string_view name : path) {
    const auto node = std::ranges::find(*level, name, &RangeNode::name);
    if (node == level->end()) {
      ADD_FAILURE() << name;
      return missing;
    }
    found = &*node;
    level = &node->children;
  }
  return *found;
}

TEST(range_tree, hangs_kernels_under_operators_under_modules_under_phases) {
  WorkBuilder b;
  b.row(b.thread(1), Category::python_function, "nn.Module: Linear_0", 10, 90);
  b.row(b.thread(1), Category::python_function, "torch/nn/functional.py(1): linear", 15, 85);
  b.op("aten::addmm", 20, 80);
  b.launch_kernel(1, 30, "gemm", 100, 140);
  b.launch_kernel(2, 40, "splitk", 140, 150);
  const auto t = tree(b, {{Ns{0}, Ns{95}, Phase::forward}});
  ASSERT_EQ(t.size(), 1U);
  EXPECT_EQ(t[0].kind, RangeKind::phase);
  const RangeNode& module = at(t, {"forward", "nn.Module: Linear_0"});
  EXPECT_EQ(module.kind, RangeKind::module);
  EXPECT_EQ(module.host, Ns{80});
  EXPECT_EQ(module.device, Ns{50});
  const RangeNode& op = at(module.children, {"aten::addmm"});
  EXPECT_EQ(op.host, Ns{60});
  ASSERT_EQ(op.children.size(), 2U);
  EXPECT_EQ(op.children[0].name, "gemm");
  EXPECT_EQ(op.children[0].device, Ns{40});
  EXPECT_EQ(op.children[0].kind, RangeKind::kernel);
}

TEST(range_tree, merges_equal_paths_and_keeps_different_ones_apart) {
  WorkBuilder b;
  b.step("train", 0, 100);
  b.step("a", 0, 40);
  b.op("aten::mm", 10, 20);
  b.op("aten::mm", 20, 30);
  b.step("b", 50, 90);
  b.op("aten::mm", 60, 70);
  const auto t = tree(b);
  EXPECT_EQ(at(t, {"other", "a", "aten::mm"}).count, 2U);
  EXPECT_EQ(at(t, {"other", "a", "aten::mm"}).host, Ns{20});
  EXPECT_EQ(at(t, {"other", "b", "aten::mm"}).count, 1U);
  EXPECT_EQ(at(t, {"other"}).count, 2U);
}

TEST(range_tree, joins_ranges_that_a_number_counts) {
  WorkBuilder b;
  for (int s = 0; s < 2; ++s) {
    const std::int64_t at = s * 100;
    b.step("step_" + std::to_string(s), at, at + 90);
    for (int i = 0; i < 3; ++i)
      b.step("AllReduce_" + std::to_string(3 * s + i) + "_1.0MB", at + 10 * i, at + 10 * i + 4 + s);
  }
  const auto t = tree(b, {}, {}, {step(0, 100, "a"), step(100, 200, "b")});
  ASSERT_EQ(t.size(), 1U);
  const RangeNode& reduce = at(t, {"other", "step_#", "AllReduce_#_1.0MB"});
  EXPECT_EQ(reduce.count, 6U);
  EXPECT_EQ(reduce.host, Ns{27});
  EXPECT_EQ(at(t, {"other", "step_#"}).count, 2U);
}

TEST(range_tree, puts_a_phase_below_a_range_that_spans_several) {
  WorkBuilder b;
  b.step("iteration", 0, 100);
  b.op("aten::mm", 10, 20);
  b.launch_kernel(1, 15, "gemm", 30, 35);
  b.op("AddmmBackward0", 60, 70);
  const auto t = tree(b, {{Ns{0}, Ns{50}, Phase::forward}, {Ns{50}, Ns{100}, Phase::backward}});
  ASSERT_EQ(t.size(), 1U);
  EXPECT_EQ(t[0].name, "iteration");
  EXPECT_EQ(at(t, {"iteration", "forward", "aten::mm", "gemm"}).device, Ns{5});
  EXPECT_EQ(at(t, {"iteration", "backward", "AddmmBackward0"}).host, Ns{10});
  EXPECT_EQ(t[0].device, Ns{5});
}

TEST(range_tree, keeps_messages_in_flight_on_a_thread_out_of_the_nesting) {
  WorkBuilder b;
  b.row(b.thread(1), Category::user_annotation, "Forward 0", 10, 30);
  b.op("aten::mm", 11, 25);
  b.row(b.thread(1), Category::user_annotation, "gloo:send", 28, 90);
  b.row(b.thread(1), Category::user_annotation, "Forward 1", 40, 60);
  b.op("aten::mm", 41, 55);
  const auto t = tree(b, {{Ns{0}, Ns{70}, Phase::forward}});
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(at(t, {"gloo:send"}).host, Ns{62});
  EXPECT_TRUE(at(t, {"gloo:send"}).children.empty());
  for (const char* range : {"Forward 0", "Forward 1"}) {
    const RangeNode& forward = at(t, {"forward", range});
    EXPECT_EQ(forward.host, Ns{20});
    ASSERT_EQ(forward.children.size(), 1U);
    EXPECT_EQ(forward.children[0].name, "aten::mm");
  }
}

TEST(range_tree, shows_a_recompute_inside_its_backward) {
  WorkBuilder b;
  b.op("ReluBackward0", 10, 90);
  b.op("aten::linear", 20, 50);
  b.op("aten::addmm", 25, 45);
  b.op("aten::threshold_backward", 60, 80);
  const auto t = tree(b, {{Ns{0}, Ns{20}, Phase::backward},
                          {Ns{20}, Ns{50}, Phase::recompute},
                          {Ns{50}, Ns{100}, Phase::backward}});
  ASSERT_EQ(t.size(), 1U);
  EXPECT_EQ(at(t, {"backward", "ReluBackward0", "recompute", "aten::linear", "aten::addmm"}).host,
            Ns{20});
  EXPECT_EQ(at(t, {"backward", "ReluBackward0", "aten::threshold_backward"}).host, Ns{20});
}

TEST(range_tree, keeps_the_totals_when_it_is_cut_in_width) {
  WorkBuilder b;
  for (int i = 0; i < 10; ++i) b.op("op" + std::to_string(i), 10 * i, 10 * i + 1 + i % 3);
  const auto t = tree(b, {}, {.depth = 12, .children = 3});
  const auto& list = t.at(0).children;
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[3].name, "(7 more)");
  Ns host{};
  std::uint64_t count = 0;
  for (const RangeNode& node : list) {
    host += node.host;
    count += node.count;
  }
  EXPECT_EQ(count, 10U);
  EXPECT_EQ(host, Ns{19});
}

TEST(range_tree, keeps_device_time_when_it_is_cut_in_depth) {
  WorkBuilder b;
  b.op("a", 0, 100);
  b.op("b", 10, 90);
  b.op("c", 20, 80);
  b.launch_kernel(1, 30, "gemm", 100, 140);
  const auto t = tree(b, {}, {.depth = 3, .children = 16});
  const RangeNode& deepest = at(t, {"other", "a", "b"});
  EXPECT_EQ(deepest.device, Ns{40});
  ASSERT_EQ(deepest.children.size(), 1U);
  EXPECT_EQ(deepest.children[0].name, "gemm");
  EXPECT_EQ(deepest.count, 1U);
}

TEST(range_tree, takes_gpu_annotations_where_launches_are_missing) {
  WorkBuilder b;
  b.row(b.stream(0, 7), Category::gpu_annotation, "attention", 0, 50);
  b.kernel("flash", 10, 20);
  b.kernel("gemm", 60, 70);
  const auto t = tree(b);
  EXPECT_EQ(at(t, {"other", "attention", "flash"}).device, Ns{10});
  EXPECT_EQ(at(t, {"other", "gemm"}).device, Ns{10});
  EXPECT_EQ(at(t, {"other"}).device, Ns{20});
}

TEST(range_tree, leaves_out_what_lies_outside_the_steps) {
  WorkBuilder b;
  b.op("inside", 110, 120);
  b.launch_kernel(1, 115, "gemm", 130, 140);
  b.op("outside", 300, 310);
  b.launch_kernel(2, 305, "gemm", 320, 330);
  const auto t = tree(b, {}, {}, {step(100, 200, "train")});
  ASSERT_EQ(t.size(), 1U);
  ASSERT_EQ(t[0].children.size(), 1U);
  EXPECT_EQ(t[0].children[0].name, "inside");
  EXPECT_EQ(t[0].device, Ns{10});
}

}  // namespace
}  // namespace stepscope
