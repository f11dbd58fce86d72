// SPDX-License-Identifier: Apache-2.0
// `stepscope train` as users run it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/program/program.h"

namespace stepscope::program {
namespace {

using Json = nlohmann::json;

std::string text_of_the_project() {
  return std::string(STEPSCOPE_SOURCE_DIR) + "/docs/dev/benchmarks.md";
}

struct Trained {
  Outcome outcome;
  Json json;
};

Trained train(const ScratchFolder& folder, std::vector<std::string> flags) {
  const std::string path = folder.file("train.json");
  std::vector<std::string> arguments = {"train",    "--data",     text_of_the_project(),
                                        "--preset", "llama-tiny", "--micro-batch",
                                        "2",        "--seq",      "32",
                                        "--json",   path,         "--peak-tflops",
                                        "0.1",      "--ranks"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  Trained trained{.outcome = run(arguments), .json = nullptr};
  if (std::ifstream in(path); in) trained.json = Json::parse(in, nullptr, false);
  return trained;
}

std::int64_t sum(const Json& parts) {
  std::int64_t total = 0;
  for (const auto& [name, value] : parts.items()) total += value.get<std::int64_t>();
  return total;
}

struct Accounted {
  const char* name;
  std::vector<std::string> flags;
  // At stages 1 and 2 a step leaves gathers in flight for the next one. The arrival of their last
  // rank is reported after the engine has closed the step, which then splits no time of theirs; the
  // trace shows it. For gathers from before the first recorded step, another rank's trace may have
  // nothing.
  bool to_the_nanosecond = true;
};

void PrintTo(const Accounted& a, std::ostream* out) { *out << a.name; }

class Accounts : public testing::TestWithParam<Accounted> {};

// Engine and analyzer measure the same steps by different means: compares the engine's own account
// with its trace, read back. Exposed communication of each step and rank is within 1 %, too;
// phases, which include the waits that they surround, are equal.
TEST_P(Accounts, OfEngineAndAnalyzerAreTheSame) {
  const ScratchFolder folder;
  const std::string traces = folder.file("traces");
  std::vector<std::string> flags = GetParam().flags;
  flags.insert(flags.end(),
               {"--steps", "5", "--trace", traces, "--trace-steps", "1,1,3,1", "--checkpoint",
                folder.file("checkpoints"), "--checkpoint-every", "2"});
  const Trained trained = train(folder, flags);
  ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
  std::map<std::pair<int, std::int64_t>, Json> counted;
  for (const Json& row : trained.json["rank_steps"]) {
    EXPECT_EQ(sum(row["budget_ns"]), row["wall_ns"]);
    EXPECT_EQ(sum(row["phases_ns"]), row["wall_ns"]);
    counted[{row["rank"], row["index"]}] = row;
  }
  const Analysis analysis = analyze({traces});
  ASSERT_EQ(analysis.outcome.exit_code, 0) << analysis.outcome.errors;
  std::size_t steps = 0;
  std::int64_t exposed = 0;
  for (const Json& rank : analysis.json["ranks"]) {
    EXPECT_EQ(rank["device"], "cpu");
    for (const Json& step : rank["steps"]) {
      const Json& own = counted.at({rank["rank"], step["index"]});
      const bool exact = GetParam().to_the_nanosecond;
      const auto wall = step["wall_ns"].get<double>();
      EXPECT_EQ(step["wall_ns"], own["wall_ns"]);
      EXPECT_EQ(sum(step["budget_ns"]), step["wall_ns"]);
      std::int64_t theirs = 0;
      std::int64_t ours = 0;
      for (const auto& [part, time] : step["budget_ns"].items()) {
        const Json& counted_time = own["budget_ns"][part];
        if (part.starts_with("comm_exposed")) {
          theirs += time.get<std::int64_t>();
          ours += counted_time.get<std::int64_t>();
        }
        const bool first = step == rank["steps"].front();
        if (!exact && first) continue;
        const double slack =
            exact ? 0 : wall / 100 + own["budget_ns"]["comm_exposed_unsplit"].get<double>();
        EXPECT_NEAR(time.get<double>(), counted_time.get<double>(), slack) << part;
      }
      EXPECT_EQ(step["phases_ns"], own["phases_ns"]);
      EXPECT_NEAR(static_cast<double>(theirs), static_cast<double>(ours),
                  static_cast<double>(theirs) / 100);
      exposed += theirs;
      ++steps;
    }
  }
  EXPECT_EQ(steps, 3 * analysis.json["ranks"].size());
  EXPECT_GT(exposed, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Train, Accounts,
    testing::Values(
        Accounted{"Zero0", {"2", "--zero", "0"}}, Accounted{"Zero1", {"2", "--zero", "1"}, false},
        Accounted{"Zero2Accumulating", {"2", "--zero", "2", "--grad-accum", "2"}, false},
        Accounted{"Zero3", {"2", "--zero", "3"}},
        Accounted{"Zero3WithoutPrefetch", {"2", "--zero", "3", "--prefetch", "0"}},
        Accounted{"Zero3ThreeRanks", {"3", "--zero", "3", "--prefetch", "2", "--grad-accum", "2"}}),
    [](const auto& test) { return std::string(test.param.name); });

// By unit and pass. The counts depend on the plan alone; the times do not matter.
TEST(Train, TracesTellWhichUnitEachFetchIsFor) {
  for (const std::uint32_t ahead : {0U, 2U}) {
    const ScratchFolder folder;
    const std::string traces = folder.file("traces");
    const Trained trained =
        train(folder, {"2", "--zero", "3", "--prefetch", std::to_string(ahead), "--steps", "4",
                       "--trace", traces, "--trace-steps", "1,0,3,1"});
    ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
    const Analysis analysis = analyze({traces});
    ASSERT_EQ(analysis.outcome.exit_code, 0) << analysis.outcome.errors;
    const Json& waits = analysis.json["unit_waits"];
    ASSERT_TRUE(waits.is_object());
    EXPECT_EQ(waits["source"], "stepscope");
    constexpr std::uint32_t steps_of_ranks = 6;
    std::size_t forward = 0;
    for (const Json& unit : waits["units"]) {
      EXPECT_EQ(unit["fetches"], steps_of_ranks) << unit;
      if (unit["pass"] == "forward") ++forward;
    }
    EXPECT_GT(forward, 0U);
    EXPECT_FALSE(waits["reductions"].empty());
    for (const Json& unit : waits["reductions"]) EXPECT_EQ(unit["count"], steps_of_ranks) << unit;
    std::uint32_t most = 0;
    for (const Json& fetch : waits["fetches"]) {
      EXPECT_LE(fetch["issued_ns"], fetch["needed_ns"]) << fetch;
      const bool hit = fetch["arrived_ns"] <= fetch["needed_ns"];
      EXPECT_EQ(fetch["verdict"] == "hit", hit) << fetch;
      most = std::max(most, fetch["ahead"].get<std::uint32_t>());
    }
    EXPECT_EQ(most, ahead);
    // The page shows units, not single fetches.
    const std::string page = folder.file("page.html");
    ASSERT_EQ(run({"analyze", traces, "--html", page}).exit_code, 0);
    std::ifstream in(page);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_NE(text.find("\"unit_waits\":{"), std::string::npos);
    EXPECT_EQ(text.find("\"arrived_ns\":"), std::string::npos);
  }
}

// A rank that sleeps before each step is named during training, with its cost.
TEST(Train, NamesALateRankLive) {
  const ScratchFolder folder;
  const Outcome outcome = run({"train", "--data", text_of_the_project(), "--preset", "llama-tiny",
                               "--micro-batch", "2", "--seq", "32", "--peak-tflops", "0.1",
                               "--ranks", "2", "--steps", "14", "--inject", "sleep:1:400ms"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const std::size_t at = outcome.errors.find("late: rank 1 by ");
  ASSERT_NE(at, std::string::npos) << outcome.errors;
  const std::string line = outcome.errors.substr(at, outcome.errors.find('\n', at) - at);
  EXPECT_NE(line.find(" ms, costs "), std::string::npos) << line;
  EXPECT_NE(line.find(" tokens/s"), std::string::npos) << line;
  EXPECT_NE(outcome.errors.find("\nstep ", at), std::string::npos);  // before the end
  EXPECT_NE(outcome.printed.find("Steps 1–13: Rank 1 spends "), std::string::npos)
      << outcome.printed;
}

TEST(Train, EveryStageWritesTheSameLosses) {
  Json losses;
  for (const char* stage : {"0", "1", "2", "3"}) {
    const ScratchFolder folder;
    const Trained trained = train(folder, {"2", "--zero", stage, "--steps", "3"});
    ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
    Json these = Json::array();
    for (const Json& step : trained.json["steps"]) these.push_back(step["loss"]);
    if (losses.is_null()) losses = these;
    EXPECT_EQ(these, losses) << stage;
  }
}

// A run stopped after two steps and resumed at another stage is the same run.
TEST(Train, GoesOnFromACheckpointAtAnotherStage) {
  const ScratchFolder folder;
  const Trained whole = train(folder, {"2", "--zero", "1", "--steps", "4"});
  ASSERT_EQ(whole.outcome.exit_code, 0) << whole.outcome.errors;
  const std::string place = folder.file("checkpoints");
  const Trained first = train(folder, {"2", "--zero", "1", "--steps", "2", "--checkpoint", place});
  ASSERT_EQ(first.outcome.exit_code, 0) << first.outcome.errors;
  const Trained rest =
      train(folder, {"2", "--zero", "3", "--steps", "4", "--checkpoint", place, "--resume"});
  ASSERT_EQ(rest.outcome.exit_code, 0) << rest.outcome.errors;
  ASSERT_EQ(rest.json["steps"].size(), 2U);
  EXPECT_EQ(rest.json["steps"][1]["loss"], whole.json["steps"][3]["loss"]);
  EXPECT_EQ(rest.json["steps"][1]["index"], 3);
}

TEST(Train, FailsAtItsEndIfACheckpointCouldNotBeWritten) {
  const ScratchFolder folder;
  const std::string checkpoints = folder.file("checkpoints");
  std::filesystem::create_directory(checkpoints);
  for (const char* transport : {"shm", "threads"}) {
    std::ofstream(checkpoints + "/step-00000002.partial") << "in the way";
    const Trained trained =
        train(folder, {"2", "--steps", "2", "--transport", transport, "--checkpoint", checkpoints});
    EXPECT_EQ(trained.outcome.exit_code, 1);
    EXPECT_NE(trained.outcome.errors.find("step-00000002.partial"), std::string::npos);
    EXPECT_EQ(trained.json["steps"].size(), 2U);  // the run itself was done
  }
}

TEST(Train, MemoryIsAsPlanned) {
  const ScratchFolder folder;
  const Trained trained = train(folder, {"2", "--zero", "2", "--steps", "2", "--dtype", "bf16"});
  ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
  ASSERT_FALSE(trained.json["memory"].empty());
  for (const Json& row : trained.json["memory"])
    EXPECT_EQ(row["planned_bytes"], row["measured_bytes"]) << row["name"];
}

// Measured after training, so the trained model is the same.
TEST(Train, IsolatesComputationAndCommunicationOfAStep) {
  const ScratchFolder folder;
  const Trained plain = train(folder, {"2", "--zero", "2", "--steps", "2"});
  EXPECT_TRUE(plain.json["isolation"].is_null());
  const Trained trained = train(folder, {"2", "--zero", "2", "--steps", "2", "--isolate"});
  ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
  for (const std::size_t step : {0U, 1U})
    EXPECT_EQ(trained.json["steps"][step]["loss"], plain.json["steps"][step]["loss"]);
  const Json& isolation = trained.json["isolation"];
  EXPECT_EQ(isolation["steps"], 12);
  const auto adds_up = [](std::int64_t both, std::int64_t compute, std::int64_t communication,
                          const Json& parts) {
    EXPECT_GT(compute, 0);
    EXPECT_GT(communication, 0);
    EXPECT_EQ(both, compute + communication - parts["hidden_ns"].get<std::int64_t>() +
                        parts["contention_ns"].get<std::int64_t>());
  };
  adds_up(isolation["both"]["mean_ns"], isolation["compute"]["mean_ns"],
          isolation["communication"]["mean_ns"], isolation);
  ASSERT_EQ(isolation["ranks"].size(), 2U);
  for (const Json& rank : isolation["ranks"])
    adds_up(rank["both_ns"], rank["compute_ns"], rank["communication_ns"], rank);
  for (const char* part : {"both", "exposed", "compute", "communication"}) {
    EXPECT_LE(isolation[part]["min_ns"], isolation[part]["mean_ns"]) << part;
    EXPECT_LE(isolation[part]["mean_ns"], isolation[part]["max_ns"]) << part;
  }
  EXPECT_NE(trained.outcome.printed.find("communication alone"), std::string::npos);
}

// States in files: the losses equal those with states in memory, and the engine's time of waiting
// for files equals the analyzer's.
TEST(Train, OptimizerStatesInFilesChangeNoLoss) {
  const ScratchFolder folder;
  const std::vector<std::string> plain = {"2", "--zero", "3", "--steps", "4", "--dtype", "bf16"};
  const Trained memory = train(folder, plain);
  ASSERT_EQ(memory.outcome.exit_code, 0) << memory.outcome.errors;
  const std::string traces = folder.file("traces");
  std::vector<std::string> flags = plain;
  flags.insert(flags.end(), {"--offload", "optimizer:" + folder.file("."), "--trace", traces,
                             "--trace-steps", "1,0,3,1"});
  const Trained files = train(folder, flags);
  ASSERT_EQ(files.outcome.exit_code, 0) << files.outcome.errors;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(files.json["steps"][i]["loss"], memory.json["steps"][i]["loss"]);
  std::map<std::string, Json> classes;
  for (const Json& row : files.json["memory"]) {
    EXPECT_EQ(row["planned_bytes"], row["measured_bytes"]) << row["name"];
    classes[row["name"]] = row;
  }
  EXPECT_FALSE(classes.contains("moments"));
  EXPECT_TRUE(classes.contains("offload buffers"));
  std::map<std::string, std::int64_t> moved;
  for (const Json& link : files.json["stats"]["memory_transfers"]["links"])
    moved[link["direction"]] = link["bytes"];
  EXPECT_GT(moved["nvme_to_host"], 0);
  EXPECT_GT(moved["host_to_nvme"], 0);

  const Analysis analysis = analyze({traces});
  ASSERT_EQ(analysis.outcome.exit_code, 0) << analysis.outcome.errors;
  std::map<std::pair<int, std::int64_t>, Json> counted;
  for (const Json& row : files.json["rank_steps"]) counted[{row["rank"], row["index"]}] = row;
  std::int64_t waited = 0;
  for (const Json& rank : analysis.json["ranks"]) {
    for (const Json& step : rank["steps"]) {
      const Json& own = counted.at({rank["rank"], step["index"]});
      EXPECT_EQ(step["budget_ns"]["copy_exposed"], own["budget_ns"]["copy_exposed"]);
      waited += own["budget_ns"]["copy_exposed"].get<std::int64_t>();
    }
  }
  EXPECT_GT(waited, 0);
}

// A plan is arithmetic: it starts no rank, says nothing of the cores, and needs no data.
TEST(Train, PlansAnyNumberOfRanksWithoutStartingThem) {
  const ScratchFolder folder;
  const std::string path = folder.file("plan.json");
  const Outcome plan = run({"train", "--plan-only", "--zero", "3", "--ranks", "100000",
                            "--plan-rank", "99999", "--json", path, "--csv", folder.file("csv")});
  ASSERT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_EQ(plan.errors, "");
  EXPECT_NE(plan.printed.find("Plan of rank 99999 of 100000"), std::string::npos) << plan.printed;
  std::ifstream in(path);
  const Json json = Json::parse(in);
  std::int64_t elements = 0;
  for (const Json& row : json["shards"]) {
    EXPECT_EQ(row["rank"], 99999);
    EXPECT_EQ(row["end"].get<std::int64_t>() - row["start"].get<std::int64_t>(), row["elements"]);
    EXPECT_EQ(row["optimizer_bytes"], 8 * row["elements"].get<std::int64_t>());
    elements += row["elements"].get<std::int64_t>();
  }
  EXPECT_EQ(json["ranks"][0]["elements"], elements);
  EXPECT_TRUE(std::filesystem::exists(folder.file("csv/shards.csv")));
  const Outcome many = run({"train", "--data", text_of_the_project(), "--ranks", "1025"});
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_EQ(
      many.errors,
      "stepscope: --ranks 1025 is out of its range; give 1 to 1024; --plan-only plans more\n");
}

// The file is published about once a second, so a reader that comes once sees counters since the
// start.
TEST(Train, MetricsAreAnswerEnoughWhenTheyAreReadOnce) {
  const ScratchFolder folder;
  const std::string metrics = folder.file("m.prom");
  const Trained trained =
      train(folder, {"2", "--steps", "6", "--metrics", metrics, "--csv", folder.file("csv")});
  ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
  const Outcome live = run({"live", metrics, "--once", "--json", "-"});
  ASSERT_EQ(live.exit_code, 0) << live.errors;
  const Json seen = Json::parse(live.printed);
  EXPECT_EQ(seen["steps"]["steps"], 6);
  EXPECT_EQ(seen["steps"]["source"], "engine");
  EXPECT_TRUE(seen["steps"]["p99_ns"].is_null());
  const double mean = trained.json["stats"]["throughput"]["wall_ns"].get<double>() / 6;
  EXPECT_NEAR(seen["steps"]["recent_ns"].get<double>(), mean, 1e-3 * mean);
  EXPECT_EQ(seen["processes"].size(), 2U);
  EXPECT_NE(seen["answer"]["unseen"].get<std::string>().find("read once"), std::string::npos);
  const Outcome text = run({"live", metrics, "--once"});
  EXPECT_NE(text.printed.find("6 steps: "), std::string::npos) << text.printed;
  EXPECT_NE(text.printed.find(" each in the mean (from the engine's metrics)"), std::string::npos)
      << text.printed;
  for (const char* table : {"passes", "layers", "references"})
    EXPECT_TRUE(std::filesystem::exists(folder.file("csv/" + std::string(table) + ".csv")))
        << table;
}

// The line of the start is followed by one of the end.
TEST(Train, PlainLinesOfAJobEndWithItsLastState) {
  const ScratchFolder folder;
  const std::string live_folder = folder.file("live");
  const Trained trained = train(folder, {"2", "--steps", "4", "--live", live_folder});
  ASSERT_EQ(trained.outcome.exit_code, 0) << trained.outcome.errors;
  const Outcome seen = run({"live", live_folder, "--plain", "--interval", "0.2s", "--for", "1s"});
  ASSERT_EQ(seen.exit_code, 0) << seen.errors;
  const std::string last =
      seen.printed.substr(seen.printed.rfind('\n', seen.printed.size() - 2) + 1);
  EXPECT_NE(last.find("2 processes; step 3: "), std::string::npos) << seen.printed;
}

TEST(Train, SaysWhatIsWrongBeforeItStarts) {
  const auto complaint = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "train");
    const Outcome outcome = run(flags);
    EXPECT_NE(outcome.exit_code, 0);
    return outcome.errors;
  };
  EXPECT_NE(complaint({"--preset", "gpt9", "--data", "x"}).find("did you mean"), std::string::npos);
  EXPECT_NE(complaint({"--data", "/nowhere/x.txt", "--ranks", "1"}).find("/nowhere/x.txt"),
            std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--seq", "100000"}).find("context"), std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--inject", "slow:7:30%", "--ranks", "2"}).find("2 ranks"),
            std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--ranks", "1", "--isolate"}).find("no communication"),
            std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--resume"}).find("--checkpoint DIR"), std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--offload", "optimizer"}).find("names no directory"),
            std::string::npos);
  EXPECT_NE(complaint({"--data", "x", "--offload", "weights:/tmp"}).find("\"weights\" is none"),
            std::string::npos);
  EXPECT_NE(complaint({"--data", text_of_the_project(), "--ranks", "1", "--offload",
                       "optimizer:/nowhere"})
                .find("cannot create the offload file: No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope::program
