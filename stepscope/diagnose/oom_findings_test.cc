// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/oom_findings.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Bytes gib(std::int64_t n) { return Bytes{n << 30}; }

std::string first_advice(const OomMessage& m) {
  const Messages all = oom_advice(m, account_oom(m));
  return all.empty() ? std::string() : say(all.front());
}

TEST(OomFindings, AdviseExpandableSegmentsFirstWhereTheMemoryIsInPieces) {
  OomMessage m{.framework = OomFramework::pytorch,
               .backend = "HIP",
               .device = 1,
               .request = gib(36),
               .total = gib(80),
               .free = gib(26),
               .allocated = gib(12),
               .unallocated = gib(40)};
  EXPECT_EQ(
      say(oom_sentence(m, account_oom(m))),
      "Device 1 had no room for 38.7 GB, although 42.9 GB are reserved and unused and 27.9 GB are "
      "free on the device: the memory is in pieces");
  EXPECT_EQ(first_advice(m).substr(0, 27), "Set PYTORCH_HIP_ALLOC_CONF=");
  m.unallocated = gib(1);
  m.allocated = gib(70);
  m.free = gib(2);
  m.rank = 3;
  EXPECT_EQ(
      say(oom_sentence(m, account_oom(m))),
      "Rank 3, device 1 had no room for 38.7 GB: 35.4 GB are missing, where 75.2 GB are in use of "
      "85.9 GB");
  EXPECT_EQ(first_advice(m).substr(0, 28), "Make the micro-batch smaller");
}

TEST(OomFindings, SayWhatPyTorchDoesNotHold) {
  const OomMessage m{.framework = OomFramework::pytorch,
                     .device = 0,
                     .request = gib(2),
                     .total = gib(80),
                     .free = gib(1),
                     .allocated = gib(10),
                     .unallocated = gib(0),
                     .own = Bytes{0},
                     .processes = {{.pid = 5}, {.pid = 6}}};
  EXPECT_EQ(
      say(oom_sentence(m, account_oom(m))),
      "Device 0 had no room for 2.15 GB: of its 85.9 GB PyTorch's allocator holds 10.7 GB here, "
      "and something else holds 74.1 GB (other processes, or libraries of this one); the "
      "message names 2 processes without a size");
  EXPECT_EQ(first_advice(m).substr(0, 24), "Look which processes use");
}

TEST(OomFindings, AdviseNoSmallerBatchWhereTheArgumentsAreTooLarge) {
  const OomMessage m{.framework = OomFramework::xla,
                     .backend = "XLA",
                     .total = gib(15),
                     .needed = gib(30),
                     .arguments = gib(16)};
  EXPECT_EQ(first_advice(m).substr(0, 27), "Shard parameters and states");
}

TEST(OomFindings, GiveTheAdviceOfTheFramework) {
  const auto all = [](OomFramework framework) {
    const OomMessage m{.framework = framework, .request = gib(1)};
    std::string out;
    for (const Message& one : oom_advice(m, account_oom(m))) out += say(one) + '\n';
    return out;
  };
  EXPECT_NE(all(OomFramework::pytorch).find("torch.cuda.memory"), std::string::npos);
  EXPECT_NE(all(OomFramework::tensorflow).find("TF_FORCE_GPU_ALLOW_GROWTH"), std::string::npos);
  EXPECT_NE(all(OomFramework::xla).find("XLA_PYTHON_CLIENT_MEM_FRACTION"), std::string::npos);
  EXPECT_NE(all(OomFramework::paddle).find("paddle.device"), std::string::npos);
  EXPECT_EQ(all(OomFramework::unknown), "");
}

TEST(OomFindings, SayWhatWasInUseBeforeVllm) {
  const OomMessage m{.framework = OomFramework::vllm,
                     .request = gib(36),
                     .total = gib(40),
                     .free = gib(30),
                     .share = 0.9};
  EXPECT_EQ(
      say(oom_sentence(m, account_oom(m))),
      "A device had 32.2 GB free of 42.9 GB at the start of vLLM, which is set to take 38.7 GB: "
      "10.7 GB were in use by other processes and contexts");
  EXPECT_EQ(first_advice(m).substr(0, 36), "Set --gpu-memory-utilization to 0.75");
}

TEST(OomFindings, GiveTheCommandThatPredictsTheJobOfTheLog) {
  using Settings = std::map<std::string, std::string, std::less<>>;
  EXPECT_EQ(predict_command({{"tensor_model_parallel_size", "2"}}, 8), "");
  EXPECT_EQ(predict_command(Settings{{"tensor_model_parallel_size", "2"},
                                     {"micro_batch_size", "4"},
                                     {"recompute_granularity", "full"},
                                     {"model_name_or_path", "org/model-7b"}},
                            8),
            "stepscope predict org/model-7b --machine MACHINE --gpus 8 --tp 2 --micro-batch 4 "
            "--recompute "
            "full");
  EXPECT_EQ(predict_command(Settings{{"tensor_model_parallel_size", "2"},
                                     {"train_batch_size", "64"},
                                     {"_name_or_path", "a;rm"}},
                            0),
            "stepscope predict MODEL --machine MACHINE --tp 2 --global-batch 64");
}

}  // namespace
}  // namespace stepscope
