// SPDX-License-Identifier: Apache-2.0
// An Nsight Systems export (nsys export --type sqlite) as its readers see it: tables whose columns
// differ between versions, texts by number, and the session whose start is the origin of all
// instants. A table exists only if it has rows (https://docs.nvidia.com/nsight-systems/UserGuide).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/time_window.h"

namespace stepscope {

// The table StringIds. Texts have a dense index; their ids in the file may have gaps.
class NsysTexts {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  void add(std::int64_t id, std::string_view text);
  [[nodiscard]] std::uint32_t place(std::int64_t id) const;  // `none` if the id does not exist
  [[nodiscard]] std::string_view operator[](std::uint32_t place) const { return texts_[place]; }
  // The text of an id; empty if it does not exist.
  [[nodiscard]] std::string_view text(std::int64_t id) const;
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  static constexpr std::int64_t longest_dense = 1 << 24;
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::int64_t, std::uint32_t> sparse_;
};

// Bits of globalTid and globalPid: 0–23 thread, 24–47 process, 48–63 machine and hardware.
constexpr std::uint64_t nsys_pid(std::int64_t global) {
  return static_cast<std::uint64_t>(global) & 0xFFFFFFFFFF000000ULL;
}
constexpr std::int64_t nsys_tid(std::int64_t global) { return global & 0xFFFFFF; }

// The columns that join a row of device work to the call that launched it; -1: none.
struct NsysLaunchColumns {
  int process = -1;
  int correlation = -1;
};

struct NsysExport {
  explicit NsysExport(SqliteFile opened) : file(std::move(opened)) {}

  SqliteFile file;
  ImportNotes notes;  // about the export as a whole
  NsysTexts texts;
  std::string version;                             // EXPORT_PRODUCT_VERSION
  std::string schema;                              // EXPORT_SCHEMA_VERSION
  std::optional<Ns> utc_start;                     // the origin of instants
  std::optional<Ns> duration;                      // of the capture
  std::string host;                                // Hostname
  std::map<std::string, std::string> environment;  // of the profiled command
  std::vector<std::string> arguments;              // of the profiled command, its name first
  std::string warning;                             // of the profiler, about CUDA
  bool interrupted = false;
  std::optional<TimeWindow> window;  // set by open_window

  [[nodiscard]] bool has(std::string_view table) const { return file.table(table) != nullptr; }

  // Calls body(rows) for each row of a table; a missing table has no rows. Damage ends the table,
  // is noted and marks the import as truncated. Returns whether the table exists.
  template <std::size_t n, class Body>
  bool each_row(std::string_view table, const std::array<std::string_view, n>& columns,
                Body&& body) {
    if (!has(table) || interrupted) return false;
    SqliteRows rows = file.rows(table, columns);
    while (rows.next()) body(rows);
    interrupted = interrupted || rows.interrupted();
    if (!rows.damage().empty() && !rows.interrupted()) note_damage(table);
    return true;
  }
  // The same for a table whose first columns are the start of a row and, perhaps, its "end". Rows
  // outside the window are skipped and counted. Device work also counts as inside if a call in the
  // window launched it, however far the host runs ahead; `launched_by` are then the columns of the
  // process and the correlation.
  template <std::size_t n, class Body>
  bool each_row_in_window(std::string_view table, const std::array<std::string_view, n>& columns,
                          Body&& body, NsysLaunchColumns launched_by = {}) {
    if (!window) return each_row(table, columns, body);
    const int end = columns[1] == "end" ? 1 : 0;
    std::uint64_t outside = 0;
    const bool there = each_row(table, columns, [&](const SqliteRows& rows) {
      if (overlaps(rows, end) ||
          (launched_by.process >= 0 &&
           launched(rows.integer(launched_by.process), rows.integer(launched_by.correlation))))
        return body(rows);
      ++outside;
    });
    if (outside > 0) note("outside_filter_time", outside);
    return there;
  }
  // Sets the window and collects the launches of the calls inside it.
  void open_window(const TimeWindow& of);
  void note(const std::string& reason, std::uint64_t times = 1) { notes.add(reason, 0, times); }
  void note_damage(std::string_view table);

 private:
  [[nodiscard]] bool overlaps(const SqliteRows& row, int end) const {
    return row.integer(0) < window->until.count() &&
           (row.integer(end) >= window->from.count() || (end > 0 && row.is_null(end)));
  }
  [[nodiscard]] bool launched(std::int64_t global, std::int64_t correlation) const {
    const auto process = launches_.find(nsys_pid(global));
    return process != launches_.end() && process->second.contains(correlation);
  }
  // Correlations of the calls in the window, by process.
  std::unordered_map<std::uint64_t, std::unordered_set<std::int64_t>> launches_;
};

// Reads the data that all tables need. Error: an SQLite database that is not such an export.
[[nodiscard]] Result<NsysExport> open_nsys(SqliteFile file, const std::string& path);

// Instants and durations beyond these limits are damage, as in event_sink.cc.
inline constexpr std::int64_t nsys_earliest = -100'000'000'000'000'000;
inline constexpr std::int64_t nsys_latest = 2'000'000'000'000'000'000;
inline constexpr std::int64_t nsys_longest = 2'600'000'000'000'000;

}  // namespace stepscope
