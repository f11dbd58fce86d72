// SPDX-License-Identifier: Apache-2.0
// nsys [--rows N] [--rounds N] [--folder DIR]: reads a generated export of Nsight Systems by one
// thread: kernels alone, and the whole export. The export has schema 3.25, N kernel rows (default
// 2,000,000), N calls and N / 10 ranges; it is removed at the end. The floor runs in turn: SQLite's
// own file layer steps over the same columns and takes each value. Prints Markdown: medians of rows
// per second, ratios as median (min … max).
#include "stepscope/read/nsys/nsys.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "stepscope/base/files/open_source.h"

namespace stepscope::bench {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "nsys: %s\n", why.c_str());
  std::exit(1);
}

// The start of generated rows, in ns.
constexpr std::int64_t first_instant = 60'111'113'113;
constexpr std::int64_t row_apart = 1500;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Database {
 public:
  Database(const std::string& path, int flags) {
    if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK)
      stop("cannot open " + path);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      stop(std::string(sqlite3_errmsg(db_)) + " in " + sql);
  }
  [[nodiscard]] sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) stop(sql);
    return statement;
  }

 private:
  sqlite3* db_ = nullptr;
};

constexpr const char* kernel_columns =
    "start,end,deviceId,contextId,greenContextId,streamId,correlationId,globalPid,demangledName,"
    "shortName,mangledName,launchType,cacheConfig,registersPerThread,gridX,gridY,gridZ,blockX,"
    "blockY,blockZ,staticSharedMemory,dynamicSharedMemory,localMemoryPerThread,localMemoryTotal,"
    "gridId,sharedMemoryExecuted,graphNodeId,sharedMemoryLimitConfig";
constexpr const char* call_columns =
    "start,end,eventClass,globalTid,correlationId,nameId,returnValue,callchainId";

// Eight processes, interleaved in time, as in the export of one node.
void generate(const std::string& path, std::int64_t rows, bool whole) {
  Database db(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  db.run(
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0');"
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<400) INSERT INTO "
      "StringIds SELECT i, 'void at::native::kernel_'||i||'<float, 4>(int, Functor)' FROM n;");
  const std::string count = std::to_string(rows);
  const std::string n =
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<" + count + "-1) ";
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" + std::string(kernel_columns) + ");" + n +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 60111513113+i*1500, "
      "60111513113+i*1500+9000+i%700, i%8, i%8+1, 0, 7+i%3, 1000+i/8, "
      "281477392629760+16777216*(i%8), i%400, (i*7)%400, i%400, 1, 1, 32, 93600, 1, 1, 128, 1, 1, "
      "0, 0, 0, 250871808, 161656+i, 32768, NULL, 0 FROM n");
  if (whole) {
    db.run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (" + std::string(call_columns) + ");" + n +
           "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 60111113113+i*1500, "
           "60111113113+i*1500+4000, 0, 281477392629760+16777216*(i%8)+144, 1000+i/8, i%20, 0, "
           "NULL FROM n");
    db.run(
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, rangeId, category, color, text TEXT, "
        "globalTid, endGlobalTid, textId, domainId);" +
        n +
        "INSERT INTO NVTX_EVENTS SELECT 60111113113+i*1500, 60111113113+i*1500+14000, 59, NULL, "
        "NULL, NULL, 'aten::mm, seq = '||i||', op_id = '||(2*i), "
        "281477392629760+16777216*(i%8)+144, NULL, NULL, 0 FROM n WHERE i%10=0");
  }
  db.run("COMMIT");
}

// Takes each value of each row, as the reader must.
std::int64_t step_over(const std::string& path, const std::string& sql, int columns) {
  Database db(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
  sqlite3_stmt* rows = db.prepare(sql);
  std::int64_t sum = 0;
  while (sqlite3_step(rows) == SQLITE_ROW)
    for (int c = 0; c < columns; ++c) sum += sqlite3_column_int64(rows, c);
  sqlite3_finalize(rows);
  return sum;
}

constexpr const char* kernel_floor =
    "SELECT start,end,deviceId,contextId,streamId,globalPid,correlationId,demangledName,shortName "
    "FROM CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* call_floor =
    "SELECT start,end,globalTid,correlationId,nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* range_floor =
    "SELECT start,end,eventType,length(text),textId,globalTid FROM NVTX_EVENTS";

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const char* name, const std::string& path, std::int64_t rows, int rounds, bool whole) {
  std::vector<double> ours;
  std::vector<double> floor;
  std::vector<double> ratio;
  std::int64_t sink = 0;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(seconds_of([&] {
      const auto traces = read_nsys(path, {});
      if (!traces) stop(traces.error().message());
      std::int64_t slices = 0;
      for (const Trace& trace : *traces) slices += static_cast<std::int64_t>(trace.slices.size());
      if (slices != rows) stop("not every row became a slice");
    }));
    floor.push_back(seconds_of([&] {
      sink += step_over(path, kernel_floor, 9);
      if (!whole) return;
      sink += step_over(path, call_floor, 5);
      sink += step_over(path, range_floor, 6);
    }));
    ratio.push_back(ours.back() / floor.back());
  }
  const auto [low, high] = std::ranges::minmax(ratio);
  std::printf("| %s | %.1f | %.2f | %.2f | %.2f (%.2f … %.2f) |\n", name,
              static_cast<double>(std::filesystem::file_size(path)) / 1e6,
              static_cast<double>(rows) / median(ours) / 1e6,
              static_cast<double>(rows) / median(floor) / 1e6, median(ratio), low, high);
  if (sink == 42) std::puts("");
}

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

// Reads the middle tenth of the time. It runs before all other reading, because memory is the
// process's peak.
void measure_window(const std::string& path, std::int64_t rows) {
  const Ns begin{first_instant + rows * row_apart * 9 / 20};
  const TimeWindow window{.from = begin, .until = begin + Ns{rows * row_apart / 10}};
  std::size_t slices = 0;
  const double before = peak_mb();
  const double seconds = seconds_of([&] {
    const auto traces = read_nsys(path, {.window = window});
    if (!traces) stop(traces.error().message());
    for (const Trace& trace : *traces) slices += trace.slices.size();
  });
  std::printf("the middle tenth alone: %zu rows in %.2f s, peak memory %.0f MB (%.0f before)\n\n",
              slices, seconds, peak_mb(), before);
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  using namespace stepscope::bench;
  std::int64_t rows = 2'000'000;
  int rounds = 5;
  std::string folder = std::filesystem::temp_directory_path().string();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--rows") rows = std::strtoll(argv[i + 1], nullptr, 10);
    if (flag == "--rounds") rounds = static_cast<int>(std::strtol(argv[i + 1], nullptr, 10));
    if (flag == "--folder") folder = argv[i + 1];
  }
  if (rows < 10 || rounds < 1) stop("usage: nsys [--rows N] [--rounds N] [--folder DIR]");
  const std::string stem = folder + "/stepscope-bench-" + std::to_string(::getpid());
  const std::string kernels = stem + "-kernels.sqlite";
  const std::string whole = stem + "-whole.sqlite";
  generate(kernels, rows, false);
  generate(whole, rows, true);
  measure_window(whole, rows);
  std::puts("| export | MB | rows read, M/s | floor, M/s | time against the floor |");
  std::puts("|---|---|---|---|---|");
  measure("kernels alone", kernels, rows, rounds, false);
  measure("kernels, calls, ranges", whole, 2 * rows + (rows + 9) / 10, rounds, true);
  std::printf("\npeak memory %.0f MB\n", peak_mb());
  std::filesystem::remove(kernels);
  std::filesystem::remove(whole);
  return 0;
}
