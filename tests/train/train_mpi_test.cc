// SPDX-License-Identifier: Apache-2.0
// Compares `stepscope train` on ranks started by mpirun with ranks that it starts itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/program/program.h"

namespace stepscope::program {
namespace {

using Json = nlohmann::json;

class TrainOverMpi : public testing::Test {
 protected:
  // Tests may run as root. mpirun needs a network interface; a loopback suffices.
  void SetUp() override {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const Outcome outcome = run({"--version"}, mpirun);
    if (outcome.errors.find("unable to find network interfaces") != std::string::npos)
      GTEST_SKIP() << "mpirun finds no network interface";
    ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  }

  static Outcome train(const std::vector<std::string>& flags,
                       const std::vector<std::string>& launcher) {
    std::vector<std::string> arguments = {
        "train", "--preset", "llama-tiny", "--micro-batch", "2",
        "--seq", "32",       "--quiet",    "--peak-tflops", "0.1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run(arguments, launcher);
  }

  inline static const std::vector<std::string> mpirun = {STEPSCOPE_MPIRUN, "--oversubscribe", "-n",
                                                         "2"};
  inline static const std::string text =
      std::string(STEPSCOPE_SOURCE_DIR) + "/docs/dev/benchmarks.md";
};

struct Trained {
  Json losses = Json::array();
  std::string transport;
  std::map<std::string, std::string> files;  // of the checkpoint
};

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Trained results(const ScratchFolder& folder) {
  Trained trained;
  const Json json = Json::parse(bytes_of(folder.file("train.json")), nullptr, false);
  if (json.is_discarded()) return trained;
  for (const Json& step : json["steps"]) trained.losses.push_back(step["loss"]);
  trained.transport = json["setup"]["transport"];
  const std::filesystem::path saved = folder.file("saved");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(saved))
    if (entry.is_regular_file())
      trained.files[entry.path().lexically_relative(saved).string()] = bytes_of(entry.path());
  return trained;
}

TEST_F(TrainOverMpi, TheSameLossesAndCheckpointsAsOverSharedMemory) {
  for (const char* stage : {"0", "1", "2", "3"}) {
    Trained over_shm;
    for (const std::string transport : {"shm", "mpi", "mpi-messages"}) {
      SCOPED_TRACE(transport + ", ZeRO " + stage);
      const ScratchFolder folder;
      std::vector<std::string> flags = {"--data",       text,
                                        "--zero",       stage,
                                        "--steps",      "2",
                                        "--json",       folder.file("train.json"),
                                        "--checkpoint", folder.file("saved")};
      const bool launched = transport != "shm";
      if (!launched) flags.insert(flags.end(), {"--ranks", "2"});
      if (transport == "mpi-messages") flags.insert(flags.end(), {"--transport", transport});
      const Outcome outcome = train(flags, launched ? mpirun : std::vector<std::string>{});
      ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
      const Trained trained = results(folder);
      EXPECT_EQ(trained.transport, transport);
      EXPECT_EQ(trained.losses.size(), 2U);
      EXPECT_GE(trained.files.size(), 3U);
      if (!launched) over_shm = trained;
      EXPECT_EQ(trained.losses, over_shm.losses);
      EXPECT_TRUE(trained.files == over_shm.files);
    }
  }
}

TEST_F(TrainOverMpi, IsolatesAndIsTracedAsOverSharedMemory) {
  const ScratchFolder folder;
  const std::string traces = folder.file("traces");
  const Outcome outcome =
      train({"--data", text, "--steps", "4", "--isolate", "--transport", "mpi-messages", "--json",
             folder.file("train.json"), "--trace", traces, "--trace-steps", "1,1,2,1"},
            mpirun);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const Json json = Json::parse(bytes_of(folder.file("train.json")), nullptr, false);
  EXPECT_GT(json["isolation"]["communication"]["mean_ns"], 0);
  const Analysis analysis = analyze({traces});
  ASSERT_EQ(analysis.outcome.exit_code, 0) << analysis.outcome.errors;
  EXPECT_EQ(analysis.json["ranks"].size(), 2U);
}

TEST_F(TrainOverMpi, SaysWhatIsWrongAndHowItEnded) {
  const auto complains = [](const Outcome& outcome, int code, const std::string& of) {
    EXPECT_EQ(outcome.exit_code, code) << outcome.errors;
    EXPECT_NE(outcome.errors.find(of), std::string::npos) << outcome.errors;
  };
  complains(train({"--data", text, "--transport", "mpi"}, {}), 2, "mpirun -n RANKS");
  complains(train({"--data", text, "--ranks", "3"}, mpirun), 2, "the launcher has started 2");
  complains(train({"--data", text, "--transport", "shm"}, mpirun), 2, "a job of its own");
  complains(train({"--data", text, "--checkpoint", "x", "--restarts", "1"}, mpirun), 2,
            "--restarts");
  complains(train({"--data", "/nowhere/x.txt"}, mpirun), 1, "/nowhere/x.txt");
  // A rank with a loss that is not finite stops all, and each prints its own observation.
  complains(train({"--data", text, "--lr", "1e9", "--clip", "0", "--steps", "30"}, mpirun), 1,
            "not finite");
}

}  // namespace
}  // namespace stepscope::program
