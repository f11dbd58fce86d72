// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/phases_of.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/stack/flame.h"
#include "stepscope/stack/stack_summary.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

// Thread → "pass/phase" → weight.
using Told = std::map<std::string, std::map<std::string, double>>;

Told told(std::string_view text, std::string_view rules_json = {},
          const InstructionTable* table = nullptr) {
  const auto p = test::profile_of(text);
  EXPECT_TRUE(p) << p.error().message();
  std::vector<RuleFile> files;
  if (!rules_json.empty()) files.push_back({"rules.json", rules_json});
  const auto rules =
      make_phase_rules(files, table == nullptr ? std::span<const std::string>() : table->sources());
  EXPECT_TRUE(rules) << rules.error().message();
  const NodePhases phases = phases_of(*p, *rules, table);
  const StackSummary s = summarize(*p, *rules, phases);
  Told out;
  double sum = 0;
  for (const ThreadSummary& t : s.threads) {
    EXPECT_EQ(t.weight, t.busy + t.idle + t.hidden);
    EXPECT_EQ(t.weight, p->tree.total[p->threads[t.thread].node]);
    for (const PhaseWeight& w : t.phases)
      out[p->threads[t.thread].name]
         [rules->passes[w.pass].name + "/" + rules->phases[w.phase].name] += w.weight;
    sum += t.weight;
  }
  EXPECT_EQ(sum, s.weight);
  EXPECT_EQ(sum, p->tree.total[0]);
  return out;
}
std::string phase(const std::string& stack) {
  const Told t = told(stack + " 1\n");
  return t.begin()->second.begin()->first;
}

TEST(Phases, OfDeepSpeed) {
  const std::string fetch =
      "pt_autograd_0;apply;CheckpointFunction.backward;Module._call_impl;hook;fetch_sub_module";
  EXPECT_EQ(phase(fetch), "recompute/zero3_fetch");
  EXPECT_EQ(phase(fetch + ";synchronize (torch/cuda/streams.py:227)"),
            "recompute/zero3_fetch_throttle");
  EXPECT_EQ(phase(fetch + ";Event.synchronize;cudaEventSynchronize;poll"),
            "recompute/zero3_fetch_throttle");
  EXPECT_EQ(phase(fetch + ";__all_gather_params;x"), "recompute/zero3_fetch_submit");
  EXPECT_EQ(phase(fetch + ";AllGatherHandle.wait;c10d::Work::wait;pthread_cond_wait"),
            "recompute/zero3_parameter_wait");
  const std::string reduce = "MainThread;DeepSpeedEngine.backward;__reduce_and_partition_ipg_grads";
  EXPECT_EQ(
      phase(reduce + ";reduce_scatter_coalesced;reduce_scatter_tensor (torch/distributed/d.py:1)"),
      "backward/zero3_reduce_scatter");
  EXPECT_EQ(
      phase(reduce + ";reduce_scatter_coalesced;c10d::ProcessGroupGloo::_reduce_scatter_base"),
      "backward/zero3_reduce_scatter");
  EXPECT_EQ(phase(reduce + ";c10d::ProcessGroupGloo::AsyncWork::~AsyncWork"),
            "backward/zero3_reduce");
  EXPECT_EQ(phase(reduce + ";reduce_scatter_tensor;c10d::Work::wait;pthread_cond_wait"),
            "backward/zero3_reduce_wait");
  EXPECT_EQ(phase("MainThread;backward "
                  "(torch/_tensor.py:1);independent_gradient_partition_epilogue;synchronize "
                  "(torch/cuda/streams.py:9)"),
            "backward/zero3_end_of_backward");
  EXPECT_EQ(
      phase("MainThread;step (deepspeed/runtime/zero/stage3.py:2200);swap_in_optimizer_state"),
      "optimizer/nvme_swap");
}

TEST(Phases, OfOthers) {
  EXPECT_EQ(
      phase("MainThread;forward (m.py:1);_unshard "
            "(torch/distributed/fsdp/x.py:1);dequeue_if_needed (torch/distributed/fsdp/y.py:2)"),
      "forward/fsdp_throttle");
  EXPECT_EQ(phase("pt_autograd_0;c10d::Reducer::autograd_hook(unsigned long);x"),
            "backward/ddp_reduce");
  EXPECT_EQ(
      phase("MainThread;recv_forward (megatron/core/p.py:1);_communicate (p.py:2);wait (d.py:3)"),
      "other/pipeline_wait");
  EXPECT_EQ(phase("MainThread;__next__ (torch/utils/data/dataloader.py:1);_try_get_data "
                  "(torch/utils/data/dataloader.py:9);get (queue.py:180)"),
            "data/data_wait");
  EXPECT_EQ(phase("pt_data_worker;_worker_loop (w.py:1);default_collate (c.py:1)"),
            "data/data_load");
  EXPECT_EQ(phase("MainThread;train (a.py:1);gc_collect_main"), "other/gc");
  EXPECT_EQ(phase("MainThread;forward (m.py:1);take_gil;pthread_cond_timedwait"), "forward/gil");
  EXPECT_EQ(phase("MainThread;wait (threading.py:324)"), "other/idle");
  EXPECT_EQ(phase("MainThread;forward (m.py:1);_PyEval_EvalFrameDefault"),
            "forward/python_overhead");
  EXPECT_EQ(phase("MainThread;forward (m.py:1);_PyEval_EvalFrameDefault;at::mm"), "forward/native");
  EXPECT_EQ(phase("MainThread;forward (m.py:1);[unknown] (libcuda.so)"), "forward/python");
  EXPECT_EQ(phase("0x12 (x.so);[unknown] (y.so)"), "other/unknown");
}

// What only wraps the code that runs is not taken for what it can also do.
TEST(Phases, OfWrappers) {
  const std::string disabled =
      "MainThread;forward (m.py:1);DisableContext.__call__.<locals>._fn "
      "(torch/_dynamo/eval_frame.py:1446)";
  EXPECT_EQ(phase(disabled), "forward/python");
  EXPECT_EQ(phase(disabled + ";Module._call_impl (torch/nn/modules/module.py:1)"), "forward/model");
  EXPECT_EQ(
      phase(disabled + ";Module._call_impl (torch/nn/modules/module.py:1);at::_ops::mm::call"),
      "forward/operator");
  EXPECT_EQ(phase(disabled + ";call_wrapped (torch/fx/graph_module.py:2)"), "forward/python");
  EXPECT_EQ(
      phase("MainThread;forward (m.py:1);sym_eq (torch/fx/experimental/symbolic_shapes.py:9)"),
      "forward/python");
  EXPECT_EQ(
      phase("MainThread;forward (m.py:1);_compile (torch/_dynamo/convert_frame.py:9);x (y.py:1)"),
      "forward/compile");
  const std::string run =
      "MainThread;backward (torch/_tensor.py:1);_engine_run_backward (torch/autograd/graph.py:9)";
  EXPECT_EQ(phase(run), "backward/backward_call");
  const std::string execute = run + ";torch::autograd::Engine::execute (libtorch_cpu.so)";
  EXPECT_EQ(phase(execute + ";pthread_cond_wait (libc.so.6)"), "backward/autograd_wait");
  EXPECT_EQ(
      phase(execute + ";torch::autograd::Engine::evaluate_function (x.so);at::_ops::mm::call"),
      "backward/autograd");
  EXPECT_EQ(phase(execute + ";torch::autograd::Engine::evaluate_function (x.so);c10d::Work::wait "
                            "(x.so);pthread_cond_wait (libc.so.6)"),
            "backward/collective_wait");
}

TEST(Phases, OfPasses) {
  EXPECT_EQ(phase("MainThread;backward (deepspeed/runtime/engine.py:2153);x (m.py:1)"),
            "backward/python");
  EXPECT_EQ(phase("MainThread;DeepSpeedEngine.forward;x (m.py:1)"), "forward/python");
  EXPECT_EQ(phase("MainThread;step (torch/optim/optimizer.py:3);closure (l.py:1);forward (m.py:2)"),
            "forward/optimizer_step");
  EXPECT_EQ(phase("pt_autograd_0;backward (torch/utils/checkpoint.py:1);_call_impl "
                  "(torch/nn/modules/module.py:1);x (m.py:2)"),
            "recompute/recompute");
  EXPECT_EQ(phase("pt_autograd_0;BackwardCFunction.apply;x (m.py:2)"), "backward/autograd");
}

TEST(Phases, TakeInstructionsAndLines) {
  const std::string stack = "pt_autograd_1;PartitionedParameterCoordinator.fetch_sub_module ";
  const auto table = InstructionTable::parse(
      "# "
      "comment\nzero/c.py\tPartitionedParameterCoordinator.fetch_sub_module\t0x366\t0x36a\t332\r\n",
      "t.tsv");
  ASSERT_TRUE(table) << table.error().message();
  const auto p = test::profile_of(stack + "[0x36a] [36a] 5\n");
  const auto rules = make_phase_rules();
  const NodePhases phases = phases_of(*p, *rules, &*table);
  EXPECT_EQ(phases.resolved, 1U);
  EXPECT_EQ(frame_words(*p, phases, p->tree.frame[2]),
            "PartitionedParameterCoordinator.fetch_sub_module (c.py:332)");
  EXPECT_EQ(
      told(stack + "[0x36a] [36a] 5\n",
           R"({"phases": [{"name": "mine", "stacks": ["pt_autograd* > fetch_sub_module :332"]}]})",
           &*table),
      (Told{{"pt_autograd_1", {{"backward/mine", 5}}}}));
}

// The offsets and lines of one version say nothing about another: only a table says which it is.
TEST(Phases, OfOneVersionNeedItsTable) {
  const auto table = open_instruction_table("deepspeed-0.16.7-cpython3.11");
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->sources(), (std::vector<std::string>{"deepspeed 0.16.7"}));
  EXPECT_EQ(table->interpreter(), "CPython 3.11");
  const auto with_table = [&](const std::string& stack) {
    const Told t = told(stack + " 1\n", "", &*table);
    return t.begin()->second.begin()->first;
  };
  const std::string fetch = "pt_autograd_1;PartitionedParameterCoordinator.fetch_sub_module ";
  const std::string reduce =
      "pt_autograd_1;DeepSpeedZeroOptimizer_Stage3.__reduce_and_partition_ipg_grads ";
  const std::string epilogue =
      "pt_autograd_1;DeepSpeedZeroOptimizer_Stage3.independent_gradient_partition_epilogue ";
  const std::string coordinator = "(deepspeed/runtime/zero/partitioned_param_coordinator.py:";
  for (const auto& [stack, phase_of_version, phase_of_any] :
       std::vector<std::array<std::string, 3>>{
           {fetch + "[0x36a] [36a]", "zero3_fetch_throttle", "zero3_fetch"},
           {fetch + "[0x1ae]", "zero3_fetch_submit", "zero3_fetch"},
           {fetch + "[0x3a0]", "zero3_gather_wait", "zero3_fetch"},
           {fetch + "[0x3]", "zero3_fetch", "zero3_fetch"},
           {reduce + "[0x155]", "zero3_reduce_throttle", "zero3_reduce"},
           {epilogue + "[0x79]", "zero3_end_of_backward", "zero3_partition_grads"},
           {fetch + coordinator + "314);__all_gather_params (x.py:1);_dist_allgather_fn (x.py:9)",
            "zero3_fetch_submit", "zero3_fetch_submit"},
           {fetch + coordinator + "412);__all_gather_params (x.py:1);_dist_allgather_fn (x.py:9)",
            "zero3_prefetch", "zero3_fetch_submit"}}) {
    EXPECT_EQ(with_table(stack), "backward/" + phase_of_version) << stack;
    EXPECT_EQ(phase(stack), "backward/" + phase_of_any) << stack;
  }
}

TEST(Phases, OfUsersComeFirst) {
  const std::string_view stacks =
      "MainThread;forward (m.py:1);my_op (m.py:2) 3\nMainThread;save_checkpoint (c.py:1);write 2\n";
  EXPECT_EQ(told(stacks),
            (Told{{"MainThread", {{"forward/python", 3}, {"other/checkpoint_io", 2}}}}));
  EXPECT_EQ(told(stacks, R"({"schema": "stepscope.phases/1",
      "passes": [{"name": "save", "label": "saving", "frames": ["save_checkpoint"]}],
      "phases": [{"name": "my_op", "label": "my op", "kind": "submit",
                  "explanation": "It runs.", "stacks": ["forward > my_op"]},
                 {"name": "checkpoint_io", "label": "my own", "stacks": []}]})"),
            (Told{{"MainThread", {{"forward/my_op", 3}, {"save/checkpoint_io", 2}}}}));
  const auto rules = make_phase_rules(std::vector<RuleFile>{
      {"r", R"({"phases": [{"name": "checkpoint_io", "label": "my own", "stacks": []}]})"}});
  const auto found = std::ranges::find(rules->phases, "checkpoint_io", &HostPhase::name);
  EXPECT_EQ(found->label, "my own");
  EXPECT_EQ(found->kind, PhaseKind::io);
  EXPECT_FALSE(found->explanation.empty());
}

TEST(PhaseRules, EachPhaseIsExplainedInOneSentence) {
  const auto rules = make_phase_rules();
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_GT(rules->phases.size(), 50U);
  for (const HostPhase& p : rules->phases) {
    EXPECT_TRUE(p.explanation.ends_with('.')) << p.name;
    EXPECT_LT(p.explanation.size(), 260U) << p.name;
    EXPECT_FALSE(p.label.empty()) << p.name;
  }
}

TEST(PhaseRules, SayWhatIsWrongAndWhere) {
  const auto error = [](std::string_view json) {
    const auto rules = make_phase_rules(std::vector<RuleFile>{{"r.json", json}});
    return rules ? std::string("none") : rules.error().message();
  };
  EXPECT_NE(error("[]").find("r.json"), std::string::npos);
  EXPECT_NE(error(R"({"phases": [{"name": "x", "stacks": ["*"]}]})").find("no pattern"),
            std::string::npos);
  EXPECT_NE(error(R"({"phases": [{"name": "x", "kind": "nap", "stacks": ["f"]}]})").find("kind"),
            std::string::npos);
  EXPECT_NE(error(R"({"fases": []})").find("fases"), std::string::npos);
  EXPECT_NE(error(R"({"phases": [{"stacks": ["f"]}]})").find("name"), std::string::npos);
  EXPECT_NE(
      error(R"({"phases": [{"name": "x", "stacks": ["f"]}], "schema": "other/1"})").find("schema"),
      std::string::npos);
}

TEST(InstructionTable, RefusesRowsThatAreNone) {
  for (const std::string_view bad : {"", "# only\n", "a\tb\t0x1\t0x2\n", "a\tb\t0x5\t0x2\t3\n",
                                     "a\tb\tx\t0x2\t3\n", "a\t\t0x1\t0x2\t3\n"})
    EXPECT_FALSE(InstructionTable::parse(bad, "t")) << bad;
  const auto short_cells = InstructionTable::parse("a\tf\t0x1\t0x5\t3\n\t\t0x6\t0x9\t7\n", "t");
  ASSERT_TRUE(short_cells);
  EXPECT_EQ(short_cells->find(frame_of("f [0x6]"))->line, 7);
  EXPECT_EQ(short_cells->find(frame_of("f [0x6]"))->file, "a");
  EXPECT_TRUE(short_cells->sources().empty());
  EXPECT_NE(
      open_instruction_table("no_such_table").error().hint.find("deepspeed-0.16.7-cpython3.11"),
      std::string::npos);
  const auto two = InstructionTable::parse("a\tf\t0x1\t0x5\t3\nb\tf\t0x4\t0x9\t7\n", "t");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->find(frame_of("f [0x2]"))->line, 3);
  EXPECT_EQ(two->find(frame_of("f [0x8]"))->file, "b");
  EXPECT_FALSE(two->find(frame_of("f [0x4]")));  // two files disagree
  EXPECT_FALSE(two->find(frame_of("f [0x10]")));
  EXPECT_FALSE(two->find(frame_of("g [0x2]")));
}

TEST(StackSummary, CountsRecursionOnce) {
  const auto p = test::profile_of("a;b;a 3\na;b 2\nb 1\n");
  const auto rules = make_phase_rules();
  const StackSummary s = summarize(*p, *rules, phases_of(*p, *rules));
  std::map<std::string, std::pair<double, double>> found;
  for (const FunctionWeight& f : s.functions)
    found[std::string(p->strings[f.frame])] = {f.self, f.total};
  EXPECT_EQ(found,
            (std::map<std::string, std::pair<double, double>>{{"a", {3, 5}}, {"b", {3, 6}}}));
  const CallTree up = bottom_up(*p, 10, 0);
  EXPECT_EQ(test::broken_tree(up), "");
  EXPECT_EQ(up.total[0], 6);
  EXPECT_EQ(bottom_up(*p, 1, 0).size(), 3U);
}

TEST(StackSummary, AFrameWithoutOwnWeightHasNoPhase) {
  const auto p = test::profile_of("a;b 3\n");
  const auto rules = make_phase_rules();
  const StackSummary s = summarize(*p, *rules, phases_of(*p, *rules));
  ASSERT_EQ(s.functions.size(), 2U);
  EXPECT_TRUE(s.functions[0].phase);  // b
  EXPECT_FALSE(s.functions[1].phase);
}

TEST(Flame, KeepsTheLargestNodesAndTheirTotals) {
  const auto p = test::profile_of("a;b 90\na;c 9\na;d;e 1\n");
  const auto rules = make_phase_rules();
  const NodePhases phases = phases_of(*p, *rules);
  const FlameGraph all = flame_graph(*p, phases, 100);
  EXPECT_EQ(all.size(), p->tree.size());
  const FlameGraph few = flame_graph(*p, phases, 4);
  EXPECT_LE(few.size(), 4U);
  EXPECT_EQ(few.total[0], 100);
  EXPECT_EQ(few.labels[few.label[3]], "b");
  EXPECT_EQ(few.size() + few.left_out, all.size());
}

TEST(Flame, StacksWithoutWeightAreNoExceptionToItsSize) {
  const auto p = test::profile_of("a;b;c;d;e 0\n");
  const auto rules = make_phase_rules();
  const NodePhases phases = phases_of(*p, *rules);
  EXPECT_EQ(flame_graph(*p, phases, 100).size(), p->tree.size());
  EXPECT_EQ(flame_graph(*p, phases, 4).size(), 1U);
}

TEST(Flame, ComparesSharesOfTwoProfiles) {
  const auto now =
      test::profile_of("Thread 0x1 \"M\";f (a.py:3) 30\nThread 0x1 \"M\";g (a.py:9) 10\n");
  const auto before =
      test::profile_of("Thread 0x2 \"M\";f (a.py:4) 10\nThread 0x2 \"M\";h (a.py:1) 10\n");
  const auto rules = make_phase_rules();
  const FlameDifference d =
      flame_difference(*now, phases_of(*now, *rules), *before, phases_of(*before, *rules), 100);
  EXPECT_EQ(d.scale, 2);
  std::map<std::string, std::pair<double, double>> found;
  for (std::size_t n = 0; n < d.graph.size(); ++n)
    found[d.graph.labels[d.graph.label[n]]] = {d.graph.total[n], d.graph.before[n]};
  EXPECT_EQ(found, (std::map<std::string, std::pair<double, double>>{{"all", {40, 40}},
                                                                     {"M", {40, 40}},
                                                                     {"f (a.py)", {30, 20}},
                                                                     {"g (a.py)", {10, 0}},
                                                                     {"h (a.py)", {0, 20}}}));
  EXPECT_EQ(lasting_thread_name("thread (0x1): M"), "M");
  EXPECT_EQ(lasting_thread_name("python-12/34"), "python");
  EXPECT_EQ(lasting_thread_name("Thread-3"), "Thread-3");
}

}  // namespace
}  // namespace stepscope
