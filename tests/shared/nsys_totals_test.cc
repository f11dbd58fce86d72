// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems: the data read equals sums in plain SQL, table by table.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/read/files/read_trace.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

struct Total {
  std::int64_t count = 0;
  std::int64_t ns = 0;
  std::int64_t bytes = 0;
  bool operator==(const Total&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Total& t) {
  return out << t.count << " rows, " << t.ns << " ns, " << t.bytes << " bytes";
}

// An export inflated into memory and queried in SQL.
class Database {
 public:
  explicit Database(const std::string& path) {
    auto source = open_source(path);
    check(source.has_value(), path);
    std::string block(1 << 20, '\0');
    for (;;) {
      const auto got = (*source)->read(block);
      check(got.has_value(), path);
      if (*got == 0) break;
      bytes_.append(block, 0, *got);
    }
    check(sqlite3_open(":memory:", &db_) == SQLITE_OK, "sqlite");
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    check(sqlite3_deserialize(db_, "main", reinterpret_cast<unsigned char*>(bytes_.data()), size,
                              size, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK,
          path);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // All rows of two integers.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> pairs(
      const std::string& sql) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> rows;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return rows;
    while (sqlite3_step(statement) == SQLITE_ROW)
      rows.emplace_back(sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1));
    sqlite3_finalize(statement);
    return rows;
  }
  // The first three columns of the first row; zeros where the table is missing.
  [[nodiscard]] Total total(const std::string& sql) const {
    Total total;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return total;
    if (sqlite3_step(statement) == SQLITE_ROW)
      total = {sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
               sqlite3_column_int64(statement, 2)};
    sqlite3_finalize(statement);
    return total;
  }

 private:
  std::string bytes_;
  sqlite3* db_ = nullptr;
};

template <class Wanted>
Total read_total(const stepscope::Run& run, Wanted&& wanted) {
  Total total;
  for (const RankTrace& rank : run.ranks) {
    const Trace& trace = rank.trace;
    for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
      if (!wanted(trace, SliceId{i})) continue;
      ++total.count;
      total.ns += trace.slices.dur[i].count();
      const Category c = trace.slices.category[i];
      if (c == Category::memcpy || c == Category::memset)
        total.bytes += trace.copies.bytes[trace.slices.detail[i]].value;
    }
  }
  return total;
}

class NsysTotals : public SharedData {
 protected:
  [[nodiscard]] std::vector<std::string> exports() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(root / "data" / "nsys"))
      files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
  }
};

TEST_F(NsysTotals, EqualPlainSqlOnEveryExport) {
  for (const std::string& path : exports()) {
    SCOPED_TRACE(path);
    const Database db(path);
    const stepscope::Run run = read_run(std::vector{path});
    ASSERT_TRUE(run.errors.empty());
    ASSERT_FALSE(run.inputs[0].error) << run.inputs[0].error->message();
    ASSERT_FALSE(run.ranks.empty());
    const auto of = [&](Category category) {
      return read_total(run, [&](const Trace& trace, SliceId id) {
        return trace.slices.category[index(id)] == category;
      });
    };
    EXPECT_EQ(of(Category::kernel),
              db.total("SELECT count(*), sum(end-start) FROM CUPTI_ACTIVITY_KIND_KERNEL"));
    EXPECT_EQ(of(Category::memcpy), db.total("SELECT count(*), sum(end-start), sum(bytes) FROM "
                                             "CUPTI_ACTIVITY_KIND_MEMCPY"));
    EXPECT_EQ(of(Category::memset), db.total("SELECT count(*), sum(end-start), sum(bytes) FROM "
                                             "CUPTI_ACTIVITY_KIND_MEMSET"));
    EXPECT_EQ(of(Category::sync), db.total("SELECT count(*), sum(end-start) FROM "
                                           "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"));
    // Only processes with GPU work, which are the ranks.
    const std::string of_ranks =
        " (globalTid & ~0xFFFFFF) IN (SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL)";
    const Total api = db.total(
        "SELECT count(*), sum(end-start) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE" + of_ranks);
    const Total runtime = of(Category::runtime);
    const Total driver = of(Category::driver);
    EXPECT_EQ((Total{runtime.count + driver.count, runtime.ns + driver.ns}), api);
    const Total ranges = db.total(
        "SELECT count(*), sum(end-start) FROM NVTX_EVENTS WHERE eventType IN (59,60,70,71) AND" +
        of_ranks);
    const Total ops = of(Category::cpu_op);
    const Total annotations = of(Category::user_annotation);
    EXPECT_EQ((Total{ops.count + annotations.count, ops.ns + annotations.ns}), ranges);
    EXPECT_EQ(of(Category::other),
              db.total("SELECT count(*), sum(end-start) FROM OSRT_API WHERE" + of_ranks));
  }
}

// The total time covered by intervals.
std::int64_t covered(std::vector<std::pair<std::int64_t, std::int64_t>> intervals) {
  std::ranges::sort(intervals);
  std::int64_t sum = 0;
  std::int64_t until = std::numeric_limits<std::int64_t>::min();
  for (const auto& [start, end] : intervals) {
    if (end <= until) continue;
    sum += end - std::max(start, until);
    until = end;
  }
  return sum;
}

TEST_F(NsysTotals, TimeOfTheDeviceIsTheUnionOfSqlRows) {
  for (const std::string& path : exports()) {
    SCOPED_TRACE(path);
    const Database db(path);
    const stepscope::Run run = read_run(std::vector{path});
    const auto processes = db.pairs(
        "SELECT min(deviceId), globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 2 ORDER BY 1");
    ASSERT_EQ(processes.size(), run.ranks.size());
    for (std::size_t r = 0; r < run.ranks.size(); ++r) {
      const Trace& trace = run.ranks[r].trace;
      const auto windows = gpu_windows(trace, index_rank(trace));
      ASSERT_EQ(windows.size(), 1u);
      const std::string of = " WHERE globalPid=" + std::to_string(processes[r].second);
      const std::string kernels =
          "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = "
          "demangledName" +
          of + " AND s.value ";
      const auto comm = db.pairs(kernels + "LIKE 'nccl%'");
      const auto compute = db.pairs(kernels + "NOT LIKE 'nccl%'");
      auto copies = db.pairs("SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY" + of);
      for (const auto& row : db.pairs("SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET" + of))
        copies.push_back(row);
      auto all = copies;
      all.insert(all.end(), comm.begin(), comm.end());
      auto both = comm;
      both.insert(both.end(), compute.begin(), compute.end());
      all.insert(all.end(), compute.begin(), compute.end());
      EXPECT_EQ(windows[0].compute.count(), covered(compute));
      EXPECT_EQ(windows[0].comm.count(), covered(comm));
      EXPECT_EQ(windows[0].copy.count(), covered(copies));
      EXPECT_EQ(windows[0].busy.count(), covered(all));
      EXPECT_EQ(windows[0].overlap.count(), covered(compute) + covered(comm) - covered(both));
    }
  }
}

TEST_F(NsysTotals, KernelsByNameEqualPlainSql) {
  for (const std::string& path : exports()) {
    SCOPED_TRACE(path);
    const Database db(path);
    const stepscope::Run run = read_run(std::vector{path});
    std::set<std::string> names;
    for (const RankTrace& rank : run.ranks)
      for (std::uint32_t i = 0; i < rank.trace.slices.size(); ++i)
        if (rank.trace.slices.category[i] == Category::kernel)
          names.insert(std::string(rank.trace.name(SliceId{i})));
    ASSERT_FALSE(names.empty());
    for (const std::string& name : names) {
      std::string quoted;
      for (const char c : name) quoted += c == '\'' ? std::string("''") : std::string(1, c);
      EXPECT_EQ(read_total(run,
                           [&](const Trace& trace, SliceId id) {
                             return trace.slices.category[index(id)] == Category::kernel &&
                                    trace.name(id) == name;
                           }),
                db.total("SELECT count(*), sum(end-start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN "
                         "StringIds s ON s.id = demangledName WHERE s.value = '" +
                         quoted + "'"))
          << name;
    }
  }
}

}  // namespace
}  // namespace stepscope::shared
