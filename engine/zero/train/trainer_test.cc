// SPDX-License-Identifier: Apache-2.0
// The training loop: data in order, evaluation, and checkpoints that continue bit for bit.
#include "engine/zero/train/trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/groups/thread_group.h"
#include "engine/zero/drive/disk_test_files.h"
#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::zero {
namespace {

struct Job {
  EngineConfig engine = tiny_engine();
  TrainerConfig trainer;
  int ranks = 2;
  std::string data;
  std::string resume;  // a checkpoint
  TrainerHooks hooks{};
};

struct Trained {
  TestState state;
  std::vector<std::string> errors;
  std::vector<TrainingCursor> cursors;
  std::vector<std::string> checkpoints;  // committed, in order
  std::vector<double> validations;
  std::vector<RankWindow> windows;  // by rank
};

std::string run_rank(const Job& job, Communicator& comm, Trained& trained) {
  auto data = TokenData::open({.paths = {job.data},
                               .sample_tokens = job.engine.tokens,
                               .vocabulary = job.engine.network.vocab,
                               .validation = 0.2,
                               .seed = 3});
  if (!data) return data.error().message();
  RankRecorder recorder(recorder_options(job.engine, comm));
  auto engine = Engine::create(job.engine, comm, recorder);
  if (!engine) return engine.error().message();
  if (!job.resume.empty()) {
    auto loaded = load_checkpoint(**engine, comm, job.resume);
    if (!loaded) return loaded.error().message();
  }
  TrainerHooks hooks = job.hooks;
  if (comm.rank() == 0) {
    hooks.after_checkpoint = [&](const Result<std::string>& path) {
      trained.checkpoints.push_back(path ? *path : path.error().message());
    };
    hooks.after_step = [&](const StepResult&, std::optional<double> validation) {
      if (validation) trained.validations.push_back(*validation);
    };
  }
  auto done = train(**engine, comm, recorder, *data, job.trainer, hooks);
  if (!done) return done.error().message();
  trained.windows[static_cast<std::size_t>(comm.rank())] = recorder.take_window();
  auto state = (*engine)->state();
  if (!state) return state.error().message();
  collect(*state, trained.state);
  trained.cursors[static_cast<std::size_t>(comm.rank())] = state->cursor;
  return {};
}

Trained run_job(const Job& job) {
  Trained trained;
  trained.errors.resize(static_cast<std::size_t>(job.ranks));
  trained.cursors.resize(static_cast<std::size_t>(job.ranks));
  trained.windows.resize(static_cast<std::size_t>(job.ranks));
  for (const nn::Unit& unit : nn::network_units(job.engine.network)) {
    for (auto* part : {&trained.state.master, &trained.state.m, &trained.state.v}) {
      part->emplace_back(static_cast<std::size_t>(unit.count), -1.0F);
    }
  }
  auto group = make_thread_group(job.ranks);
  std::vector<std::thread> threads;
  for (auto& comm : *group) {
    threads.emplace_back([&job, &trained, own = std::move(comm)] {
      trained.errors[static_cast<std::size_t>(own->rank())] = run_rank(job, *own, trained);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : trained.errors) EXPECT_EQ(error, "");
  return trained;
}

class Trainer : public DiskTest {
 protected:
  // A network for bytes, and a text for it.
  Job job() {
    Job job;
    job.engine.network.vocab = 257;
    job.engine.network.padded_vocab = 272;
    job.engine.network.dropout = 0.1F;
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the cat sat on mat " + std::to_string(i * i) + "\n";
    job.data = write("text.txt", text);
    return job;
  }
};

TEST_F(Trainer, GoesOnFromACheckpointBitForBitAtAnotherStage) {
  Job whole = job();
  whole.engine.micro_batches = 2;
  whole.trainer = {.steps = 6};
  const Trained reference = run_job(whole);
  EXPECT_EQ(reference.cursors[0].data_position, 6 * 2 * 2);
  EXPECT_EQ(reference.cursors[0].tokens, 6 * 2 * 2 * 8);

  Job first = whole;
  first.engine.stage = 1;
  first.trainer = {.steps = 3, .checkpoints = {.dir = path("checkpoints"), .every = 2}};
  const Trained part = run_job(first);
  ASSERT_EQ(part.checkpoints.size(), 2U);
  EXPECT_NE(part.checkpoints[0].find("step-00000002"), std::string::npos) << part.checkpoints[0];
  EXPECT_NE(part.checkpoints[1].find("step-00000003"), std::string::npos) << part.checkpoints[1];

  for (int stage = 0; stage <= 3; ++stage) {
    for (const std::string& from : part.checkpoints) {
      Job rest = whole;
      rest.engine.stage = stage;
      rest.resume = from;
      const Trained resumed = run_job(rest);
      EXPECT_EQ(differences(resumed.state, reference.state), 0) << "stage " << stage;
      EXPECT_EQ(resumed.cursors[0], reference.cursors[0]);
    }
  }
}

// Each step takes the same samples. Sums over ranks run in the order of micro-batches. Dropout
// depends on the sample.
TEST_F(Trainer, GoesOnWithAnotherNumberOfRanks) {
  Job two = job();
  two.trainer = {.steps = 2, .checkpoints = {.dir = path("checkpoints")}};
  const Trained part = run_job(two);
  ASSERT_EQ(part.checkpoints.size(), 1U);
  two.trainer = {.steps = 4};
  const Trained reference = run_job(two);
  Job one = two;
  one.ranks = 1;
  one.engine.micro_batches = 2;
  one.resume = part.checkpoints[0];
  const Trained resumed = run_job(one);
  EXPECT_EQ(differences(resumed.state, reference.state), 0);
}

TEST_F(Trainer, EvaluatesAndStopsTogether) {
  Job stopped = job();
  stopped.trainer = {.steps = 100, .evaluate_every = 2, .evaluate_batches = 2};
  std::atomic<int> steps = 0;  // of rank 0
  stopped.hooks.before_step = [&](std::int64_t step) { steps = static_cast<int>(step) + 1; };
  stopped.hooks.stop = [&] { return steps >= 5; };
  const Trained trained = run_job(stopped);
  EXPECT_EQ(trained.cursors[0].step, 5);
  EXPECT_EQ(trained.cursors[1].step, 5);
  ASSERT_EQ(trained.validations.size(), 2U);
  EXPECT_LT(trained.validations[1], std::log(257.0) + 0.5);
}

TEST_F(Trainer, ACheckpointOfAnotherModelIsRefusedOnAllRanks) {
  Job small = job();
  small.trainer = {.steps = 1, .checkpoints = {.dir = path("checkpoints")}};
  const Trained part = run_job(small);
  Job other = small;
  other.engine.network.layers = 1;
  auto group = make_thread_group(2);
  ASSERT_TRUE(group);
  std::vector<std::string> said(2);
  std::vector<std::thread> threads;
  for (auto& comm : *group) {
    threads.emplace_back([&, own = std::move(comm)] {
      RankRecorder recorder(recorder_options(other.engine, *own));
      auto engine = Engine::create(other.engine, *own, recorder);
      auto loaded = load_checkpoint(**engine, *own, part.checkpoints[0]);
      said[static_cast<std::size_t>(own->rank())] = loaded ? "loaded" : loaded.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : said) EXPECT_NE(text, "loaded");
}

}  // namespace
}  // namespace stepscope::zero
