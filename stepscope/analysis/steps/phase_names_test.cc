// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phase_names.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

void expect_all(std::optional<Phase> phase, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) EXPECT_EQ(phase_of_name(name), phase) << name;
}

TEST(PhaseNames, ForwardRows) {
  expect_all(Phase::forward,
             {"nn.Module: Linear_3", "## forward ##", "DistributedDataParallel.forward",
              "FullyShardedDataParallel._pre_forward", "FSDP::pre_forward (layers.3)",
              "FSDP::forward_prefetch for layers.1", "<forward op>", "fwd:block1",
              "model.py(12): forward", "torch/nn/modules/module.py(1501): _call_impl"});
}

TEST(PhaseNames, BackwardRows) {
  expect_all(Phase::backward,
             {"autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0",
              "torch::autograd::AccumulateGrad", "CompiledFunctionBackward", "## backward ##",
              "bwd:block1", "FSDP::post_backward_reduce", "aten::native_layer_norm_backward",
              "torch.distributed.ddp.reducer::copy_bucket_to_grad",
              "torch::distributed::reducer::mul_out", "torch/_tensor.py(487): backward",
              "<built-in method run_backward of torch._C._EngineBase object at 0x7f>"});
}

TEST(PhaseNames, RecomputeOptimizerAndDataRows) {
  expect_all(Phase::recompute, {"CheckpointFunctionBackward",
                                "autograd::engine::evaluate_function: CheckpointFunctionBackward",
                                "torch/utils/checkpoint.py(1100): unpack_hook"});
  expect_all(Phase::optimizer,
             {"Optimizer.step#AdamW.step", "Optimizer.zero_grad#AdamW.zero_grad", "## optimizer ##",
              "## zero_grad ##", "torch/optim/adam.py(120): step",
              "torch/nn/utils/clip_grad.py(20): clip_grad_norm_"});
  expect_all(Phase::data, {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                           "## wait_for_training_batch ##", "## copy_batch_to_gpu ##",
                           "torch/utils/data/dataloader.py(628): __next__"});
}

TEST(PhaseNames, NamesThatSayNothing) {
  expect_all(std::nullopt,
             {"", "aten::mm", "ProfilerStep#3", "cudaLaunchKernel", "nccl:all_reduce",
              "<built-in method step of object at 0x7f>", "scheduler.py(3): step",
              "/home/x/backward/train.py(10): main", "forward_backward_no_pipelining"});
}

TEST(PhaseNames, WholePhasesAreNamedByTheirWordAlone) {
  const auto all = [](std::optional<Phase> phase, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) EXPECT_EQ(whole_phase_of_name(name), phase) << name;
  };
  all(Phase::forward, {"forward", "Forward Pass", "## forward ##", "fwd_3", "forward_step"});
  all(Phase::backward, {"backward", "BWD", "backward-pass 12"});
  all(Phase::optimizer, {"optimizer", "optim_step", "Optimizer.step"});
  all(std::nullopt, {"", "12", "step", "pass", "block.forward", "DistributedDataParallel.forward",
                     "fwd:block1", "forward_backward", "Optimizer.step#AdamW.step",
                     "stepscope::forward", "forward prefetch", "optimizer états", "data"});
}

TEST(PhaseNames, EveryNameOfAPoolIsJudgedAtItsId) {
  StringPool pool;
  const StringId forward = pool.intern("## forward ##");
  const StringId nothing = pool.intern("aten::add");
  const auto phases = phases_of_names(pool);
  ASSERT_EQ(phases.size(), pool.size());
  EXPECT_EQ(phases[index(forward)], Phase::forward);
  EXPECT_EQ(phases[index(nothing)], std::nullopt);
}

}  // namespace
}  // namespace stepscope
