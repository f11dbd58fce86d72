// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/runs/runs.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/verbs/digest/digest.h"
#include "stepscope/verbs/runs/history_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class Runs : public testing::Test {
 protected:
  // `steps` step times about `level` ms, recorded `day` days after the first run.
  void add_list(const std::string& name, double level, int day, int steps = 40) {
    std::ofstream out(folder_ / name);
    out << "step_time_ms\n";
    for (int i = 0; i < steps; ++i) out << level * (1 + 0.002 * std::sin(i * 2.399)) << '\n';
    out.close();
    fs::last_write_time(folder_ / name,
                        fs::file_time_type::clock::now() + std::chrono::hours(24 * (day - 100)));
  }
  // A trace of two steps with one kernel each.
  void add_trace(const std::string& name, int ms = 2) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream out(folder_ / name);
    out << R"({"traceEvents": [)";
    for (int step = 0; step < 2; ++step) {
      const int begin = 1000 + step * 20'000;
      out << R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" << step
          << R"(", "pid": 1, "tid": 1, "ts": )" << begin << R"(, "dur": 20000},)"
          << R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, )"
          << R"("tid": 1, "ts": )" << begin + 100 << R"(, "dur": 10, "args": {"correlation": )"
          << step + 1 << "}},"
          << R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": )"
          << begin + 200 << R"(, "dur": )" << ms * 1000
          << R"(, "args": {"stream": 7, "device": 0, "correlation": )" << step + 1
          << (step == 0 ? "}}," : "}}");
    }
    out << "]}";
  }
  static std::size_t digests_of(const RunsResult& r, const std::string& name) {
    for (const RunRow& row : r.rows)
      if (row.run.name == name) return row.run.digests;
    ADD_FAILURE() << "no run " << name;
    return 0;
  }
  RunsResult read(RunsRequest request = {}) {
    request.folder = folder_.string();
    auto result = runs(request);
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : RunsResult{};
  }
  std::string history() const { return (folder_ / "stepscope-runs.sqlite").string(); }

  const test::Folder scratch_;
  const fs::path folder_ = scratch_.path;
};

TEST_F(Runs, AreReadOnceAndStayAfterTheirFilesAreGone) {
  add_list("a.csv", 100, 1);
  add_list("b.csv", 100, 2);
  const RunsResult first = read({.commit = "0123456789", .tag = "nightly"});
  ASSERT_EQ(first.rows.size(), 2U);
  EXPECT_TRUE(first.rows[0].added && first.rows[1].added);
  EXPECT_EQ(first.rows[0].run.tag, "nightly");
  fs::remove(folder_ / "a.csv");
  add_list("c.csv", 100, 3);
  const RunsResult second = read({.commit = "fedcba9876"});
  ASSERT_EQ(second.rows.size(), 3U);
  EXPECT_EQ(second.rows[0].run.name, "a.csv");
  EXPECT_FALSE(second.rows[0].added || second.rows[1].added);
  EXPECT_TRUE(second.rows[2].added);
  EXPECT_EQ(second.rows[1].run.commit, "0123456789");
  EXPECT_EQ(second.rows[2].run.commit, "fedcba9876");
  EXPECT_EQ(second.rows[1].run.steps.wall_ns, first.rows[1].run.steps.wall_ns);
}

TEST_F(Runs, AreReadAgainWhereTheirFilesChangeAndKeepTheirTag) {
  add_list("a.csv", 100, 1);
  (void)read({.tag = "first"});
  add_list("a.csv", 120, 2);
  const RunsResult again = read();
  ASSERT_EQ(again.rows.size(), 1U);
  EXPECT_TRUE(again.rows[0].added);
  EXPECT_EQ(again.rows[0].run.tag, "first");
  EXPECT_NEAR(again.rows[0].median_ns, 120e6, 1e6);
}

TEST_F(Runs, AreComparedWithTheRunBeforeOrABaseline) {
  for (int i = 0; i < 3; ++i) add_list("old" + std::to_string(i), 100, i);
  (void)read({.tag = "v1"});
  add_list("new", 110, 5);
  const RunsResult before = read();
  EXPECT_FALSE(before.rows[0].beside);
  EXPECT_EQ(before.rows[1].beside->verdict, Verdict::same);
  EXPECT_EQ(before.rows[3].beside->verdict, Verdict::slower);
  const RunsResult baseline = read({.baseline = "v1", .max_regression = 0.05});
  EXPECT_TRUE(baseline.rows[0].baseline && baseline.rows[2].baseline);
  EXPECT_FALSE(baseline.rows[0].beside);
  ASSERT_TRUE(baseline.newest);
  EXPECT_EQ(baseline.newest->runs.a.launches.size(), 3U);
  EXPECT_EQ(baseline.newest->regression, true);
  EXPECT_NEAR(baseline.newest->runs.ratio.ratio, 1.1, 0.005);
  const auto unknown = runs({.folder = folder_.string(), .baseline = "v2"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::refused);
}

TEST_F(Runs, ACommitIsNamedByItsBeginning) {
  add_list("a", 100, 1);
  (void)read({.commit = "0123456789abcdef"});
  add_list("b", 100, 2);
  EXPECT_TRUE(read({.baseline = "0123456"}).rows[0].baseline);
  EXPECT_FALSE(runs({.folder = folder_.string(), .baseline = "012345"}));
}

TEST_F(Runs, ALastingChangeNamesTheRunItBeginsWith) {
  for (int i = 0; i < 12; ++i)
    add_list("run" + std::to_string(10 + i), i < 7 ? 100 + 0.1 * (i % 3) : 108 + 0.1 * (i % 3), i);
  const RunsResult r = read();
  ASSERT_EQ(r.changes.size(), 1U);
  EXPECT_EQ(r.rows[r.changes[0].at].run.name, "run17");
  EXPECT_NEAR(r.changes[0].after / r.changes[0].before, 1.08, 0.005);
}

TEST_F(Runs, NotesAreNoRunsAndAnEmptyFolderIsAnError) {
  EXPECT_FALSE(runs({.folder = folder_.string()}));
  add_list("a", 100, 1);
  std::ofstream(folder_ / "README.md") << "notes\n";
  fs::create_directory(folder_ / "pictures");
  const RunsResult r = read();
  EXPECT_EQ(r.rows.size(), 1U);
  ASSERT_EQ(r.warnings.size(), 1U);
  EXPECT_NE(say(r.warnings[0]).find("README.md"), std::string::npos);
  EXPECT_EQ(r.failures.size(), 1U);
}

TEST_F(Runs, PartsOfTracesSurvive) {
  PastRun run{.name = "a", .fingerprint = "1", .recorded_unix_ns = 5, .ranks = 2, .mfu = 0.5};
  run.findings = {{.key = "k", .what = "w", .gain = Ns(7)}, {.key = "l", .what = "", .gain = {}}};
  run.steps = {.name = "a", .wall_ns = {1, 2}, .causes = {"", "restart"}};
  run.steps.parts = {{.kind = PartKind::kernel, .name = "gemm", .ns = {0.5, 1.5}}};
  {
    auto file = HistoryFile::open(history());
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->put(run));
    ASSERT_TRUE(file->put(run));  // replaces it, with its rows
  }
  auto file = HistoryFile::open(history());
  ASSERT_TRUE(file);
  auto all = file->runs();
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 1U);
  PastRun& back = all->front();
  EXPECT_EQ(back.steps.causes, run.steps.causes);
  EXPECT_EQ(back.mfu, 0.5);
  ASSERT_EQ(back.findings.size(), 2U);
  EXPECT_EQ(back.findings[0].gain, Ns(7));
  EXPECT_FALSE(back.findings[1].gain);
  ASSERT_TRUE(file->read_parts(back.steps));
  ASSERT_EQ(back.steps.parts.size(), 1U);
  EXPECT_EQ(back.steps.parts[0].ns, run.steps.parts[0].ns);
}

TEST_F(Runs, OtherDatabasesAndLaterVersionsAreLeftAlone) {
  const auto make = [&](const char* sql) {
    fs::remove(history());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(history().c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  };
  make("CREATE TABLE mine (x)");
  const auto before = fs::file_size(history());
  auto other = HistoryFile::open(history());
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("no history"), std::string::npos);
  EXPECT_EQ(fs::file_size(history()), before);
  make("PRAGMA application_id = 0x53746570; PRAGMA user_version = 3; CREATE TABLE run (x)");
  auto later = HistoryFile::open(history());
  ASSERT_FALSE(later);
  EXPECT_NE(later.error().what.find("version 3"), std::string::npos);
}

TEST_F(Runs, TheFirstVersionGetsTheTableOfDigests) {
  add_list("a", 100, 1);
  (void)read();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(history().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "DROP TABLE digest; PRAGMA user_version = 1", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  add_trace("b/rank0.json");
  const RunsResult r = read();
  ASSERT_EQ(r.rows.size(), 2U);
  EXPECT_EQ(digests_of(r, "a"), 0U);
  EXPECT_EQ(digests_of(r, "b"), 1U);
}

TEST_F(Runs, DigestsOfTracesComeBackAndAnswerAsTheTracesDo) {
  add_trace("b/node0/rank0.json");
  add_trace("b/node1/rank0.json", 3);
  add_list("c", 100, 2);
  const RunsResult first = read();
  EXPECT_EQ(digests_of(first, "b"), 2U);
  EXPECT_EQ(digests_of(first, "c"), 0U);
  const auto traces = analyze({.traces = {.inputs = {(folder_ / "b").string()}}});
  ASSERT_TRUE(traces) << traces.error().message();
  fs::remove_all(folder_ / "b");
  const std::string out = (folder_ / ".back").string();
  RestoreRequest request{.folder = folder_.string(), .run = "b", .output = out};
  const auto restored = restore_run(request);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(restored->digests, 2U);
  EXPECT_TRUE(fs::exists(fs::path(out) / "node1" / "rank0.json.digest"));
  const auto digests = analyze({.traces = {.inputs = {out}}});
  ASSERT_TRUE(digests) << digests.error().message();
  EXPECT_EQ(digests->analysis.answer.sentence, traces->analysis.answer.sentence);
  ASSERT_EQ(digests->analysis.job.steps.common.size(), traces->analysis.job.steps.common.size());
  EXPECT_EQ(digests->analysis.job.steps.common[0].wall, traces->analysis.job.steps.common[0].wall);
  ASSERT_TRUE(restore_run(request));  // the files are there already
  std::ofstream(fs::path(out) / "node1" / "rank0.json.digest") << "mine";
  EXPECT_FALSE(restore_run(request));
  EXPECT_EQ(fs::file_size(fs::path(out) / "node1" / "rank0.json.digest"), 4U);
  request.run = "c";
  const auto none = restore_run(request);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::refused);
}

TEST_F(Runs, ARunOfDigestsKeepsThemAsTheyAre) {
  add_trace("b/rank0.json");
  const std::string folder = (folder_ / "d").string();
  ASSERT_TRUE(digest({.inputs = {(folder_ / "b").string()}, .folder = folder}));
  EXPECT_EQ(digests_of(read(), "d"), 1U);
  const std::string out = (folder_ / ".back").string();
  ASSERT_TRUE(restore_run({.folder = folder_.string(), .run = "d", .output = out}));
  EXPECT_EQ(*read_text_file(out + "/rank0.json.digest"),
            *read_text_file(folder + "/rank0.json.digest"));
}

// A history may come from elsewhere.
TEST_F(Runs, NamesOfDigestsDoNotLeadOutOfTheFolder) {
  add_trace("b/rank0.json");
  (void)read();
  for (const char* name : {"../away", "/tmp/away", "a/../../away", ""}) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(history().c_str(), &database), SQLITE_OK);
    const std::string sql = "UPDATE digest SET name = '" + std::string(name) + "'";
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    EXPECT_FALSE(
        restore_run({.folder = folder_.string(), .run = "b", .output = (folder_ / "out").string()}))
        << name;
  }
}

// Whatever the bytes: an error with the file, or rows; never a crash.
TEST_F(Runs, DamagedHistoriesAreErrors) {
  for (int i = 0; i < 20; ++i) add_list("run" + std::to_string(i), 100, i);
  (void)read();
  std::ifstream in(history(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  std::size_t errors = 0;
  for (std::size_t at = 0; at < good.size(); at += 211) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xFF);
    bad[(at * 7 + 13) % bad.size()] = static_cast<char>(0x7F);
    std::ofstream(history(), std::ios::binary) << bad;
    auto file = HistoryFile::open(history());
    auto all = file ? file->runs() : Result<std::vector<PastRun>>(file.error());
    if (all) continue;
    ++errors;
    EXPECT_EQ(all.error().file, history());
  }
  EXPECT_GT(errors, 0U);
  std::ofstream(history(), std::ios::binary) << "no database at all, but some text";
  EXPECT_FALSE(HistoryFile::open(history()));
}

TEST_F(Runs, AFolderThatCannotBeWrittenToIsAnError) {
  add_list("a", 100, 1);
  const auto result = runs({.folder = folder_.string(), .history = "/dev/null/history.sqlite"});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().hint.find("--history"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
