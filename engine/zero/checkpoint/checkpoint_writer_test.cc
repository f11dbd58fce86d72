// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/checkpoint_writer.h"

#include "engine/zero/checkpoint/checkpoint_test_state.h"
#include "engine/zero/drive/disk_test_files.h"

namespace stepscope::zero {
namespace {

using test::fill;
using test::info_of;
using test::model_of;
using test::RankState;
using test::shard_of;
using test::wrong;

class CheckpointWriterTest : public DiskTest {};

TEST_F(CheckpointWriterTest, WritesWhatWasThereAtBegin) {
  const auto model = model_of({100000, 7});
  RankState state = shard_of(model, 0, 1);
  CheckpointWriter writer(dir_, 0);
  EXPECT_FALSE(writer.finished());
  EXPECT_FALSE(writer.wait());
  for (const std::int64_t step : {1, 2}) {
    fill(state);
    const CheckpointInfo info = info_of(model, step, 1);
    writer.begin(info, state.extents);
    EXPECT_TRUE(writer.busy());
    for (auto& memory : state.memory) std::ranges::fill(memory, 0.F);  // training continues
    const auto result = writer.wait();
    ASSERT_TRUE(result && *result);
    EXPECT_FALSE(writer.busy());
    EXPECT_FALSE(writer.finished());  // returned once
    const auto saved = commit_checkpoint(dir_, info);
    ASSERT_TRUE(saved) << saved.error().message();
    ASSERT_TRUE(Checkpoint::open(*saved)->load(state.extents));
    EXPECT_EQ(wrong(state), 0U);
  }
}

TEST_F(CheckpointWriterTest, ReportsAFailureLater) {
  const auto model = model_of({1000});
  RankState state = shard_of(model, 0, 1);
  CheckpointWriter writer(write("file", "x"), 0);  // no directory can be made there
  writer.begin(info_of(model, 1, 1), state.extents);
  std::optional<Result<Done>> result;
  while (!result) {
    result = writer.finished();
    std::this_thread::yield();
  }
  ASSERT_FALSE(*result);
  EXPECT_NE(result->error().message().find("cannot create"), std::string::npos);
}

TEST_F(CheckpointWriterTest, WritesToTheEndBeforeItGoesAway) {
  const auto model = model_of({100000});
  const CheckpointInfo info = info_of(model, 1, 1);
  RankState state = shard_of(model, 0, 1);
  fill(state);
  {
    CheckpointWriter writer(dir_, 0);
    writer.begin(info, state.extents);
  }
  EXPECT_TRUE(commit_checkpoint(dir_, info));
}

}  // namespace
}  // namespace stepscope::zero
