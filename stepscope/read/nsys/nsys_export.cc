// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_export.h"

#include <algorithm>

namespace stepscope {
namespace {

using Columns2 = std::array<std::string_view, 2>;

// PROCESS_0:ENVIRONMENT_VARIABLE is RANK="3", PROCESS_0:ARGUMENT_1 is train.py.
void read_capture(NsysExport& nsys) {
  std::map<int, std::string> arguments;
  nsys.each_row("META_DATA_CAPTURE", Columns2{"name", "value"}, [&](const SqliteRows& row) {
    const std::string name(row.text(0));
    const std::string_view value = row.text(1);
    if (name.ends_with(":ENVIRONMENT_VARIABLE")) {
      const std::size_t equals = value.find('=');
      if (equals == std::string_view::npos) return;
      std::string_view text = value.substr(equals + 1);
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
      nsys.environment.emplace(value.substr(0, equals), text);
    } else if (name.ends_with(":COMMAND")) {
      arguments.emplace(-1, value);
    } else if (const std::size_t at = name.rfind(":ARGUMENT_"); at != std::string::npos) {
      arguments.emplace(static_cast<int>(arguments.size()), value);
    }
  });
  for (auto& [place, text] : arguments) nsys.arguments.push_back(std::move(text));
}

void read_system(NsysExport& nsys) {
  nsys.each_row("TARGET_INFO_SYSTEM_ENV", Columns2{"name", "value"}, [&](const SqliteRows& row) {
    if (row.text(0) == "Hostname" && nsys.host.empty()) nsys.host = row.text(1);
  });
}

// Export settings are in META_DATA_EXPORT, before schema 3 in EXPORT_META_DATA.
bool read_export_settings(NsysExport& nsys) {
  bool absolute = false;
  for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    nsys.each_row(table, Columns2{"name", "value"}, [&](const SqliteRows& row) {
      const std::string_view name = row.text(0);
      if (name == "EXPORT_PRODUCT_VERSION") nsys.version = row.text(1);
      if (name == "EXPORT_SCHEMA_VERSION") nsys.schema = row.text(1);
      // nsys export --ts-normalize: instants are already UTC.
      if (name == "EXPORT_PARAM_TIME_NORMALIZE") absolute = row.text(1) == "true";
    });
  }
  return absolute;
}

void read_session(NsysExport& nsys) {
  const bool absolute = read_export_settings(nsys);
  constexpr std::array<std::string_view, 1> start = {"utcEpochNs"};
  nsys.each_row("TARGET_INFO_SESSION_START_TIME", start, [&](const SqliteRows& row) {
    const std::int64_t at = row.integer(0);
    if (at > 0 && at < nsys_latest) nsys.utc_start = Ns{absolute ? 0 : at};
  });
  if (absolute && !nsys.utc_start) nsys.utc_start = Ns{0};
  if (!nsys.utc_start) nsys.note("no_session_start_time");
  constexpr std::array<std::string_view, 3> details = {"duration", "startTime", "stopTime"};
  nsys.each_row("ANALYSIS_DETAILS", details, [&](const SqliteRows& row) {
    const std::int64_t start_time = std::clamp(row.integer(1), std::int64_t{0}, nsys_latest);
    const std::int64_t stop_time = std::clamp(row.integer(2), std::int64_t{0}, nsys_latest);
    const std::int64_t span = row.is_null(0) ? stop_time - start_time : row.integer(0);
    if (span > 0 && span < nsys_longest) nsys.duration = Ns{span};
  });
  if (nsys.duration && absolute) nsys.duration.reset();  // it counts from the session's start
}

void read_texts(NsysExport& nsys) {
  const bool there =
      nsys.each_row("StringIds", Columns2{"id", "value"},
                    [&](const SqliteRows& row) { nsys.texts.add(row.integer(0), row.text(1)); });
  if (!there) nsys.note("missing_table_StringIds");
}

bool has_table(const SqliteFile& file, std::string_view beginning) {
  return std::ranges::any_of(file.tables(),
                             [&](const SqliteTable& t) { return t.name.starts_with(beginning); });
}

constexpr std::string_view rocpd = "rocpd_";  // tables of rocprofv3's default output

// Whether Ascend's profilers recorded it, or torch_npu made it of their rows.
bool is_ascend(const SqliteFile& file) {
  return has_table(file, "CANN_API") || has_table(file, "StepTraceTime");
}

// Describes a database that is not an export by its tables.
std::string what_it_is(const SqliteFile& file) {
  if (file.tables().empty()) {
    return file.wal_bytes() > 0
               ? "an SQLite database without tables: all it has stands in the -wal file next to it"
               : "an SQLite database without tables";
  }
  if (has_table(file, rocpd)) return "a database of AMD's rocprof (rocpd), which is not read";
  if (has_table(file, "CONCURRENT_KERNEL") ||
      has_table(file, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"))
    return "a database of nvprof, no Nsight Systems export";
  if (is_ascend(file))
    return "a database of Ascend's profiler (msprof, torch_npu), which is not read";
  return "an SQLite database, but no Nsight Systems export (its first table is " +
         file.tables().front().name + ")";
}

bool is_nsys(const SqliteFile& file) {
  const auto has = [&](std::string_view table) { return file.table(table) != nullptr; };
  const auto known = [](const SqliteTable& t) {
    return (t.name.starts_with("CUPTI_ACTIVITY_KIND_") && t.has("globalPid")) ||
           (t.name == "CUPTI_ACTIVITY_KIND_RUNTIME" && t.has("globalTid")) ||
           (t.name == "NVTX_EVENTS" && t.has("globalTid"));
  };
  return has("META_DATA_EXPORT") || has("EXPORT_META_DATA") ||
         (has("StringIds") && has_table(file, "TARGET_INFO_")) ||
         std::ranges::any_of(file.tables(), known);
}

}  // namespace

void NsysTexts::add(std::int64_t id, std::string_view text) {
  const auto place = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  if (id < 0 || id >= longest_dense) {
    sparse_.emplace(id, place);
    return;
  }
  const auto at = static_cast<std::size_t>(id);
  if (at >= dense_.size()) dense_.resize(std::max(at + 1, dense_.size() * 2), none);
  dense_[at] = place;
}

std::uint32_t NsysTexts::place(std::int64_t id) const {
  if (id >= 0 && static_cast<std::size_t>(id) < dense_.size())
    return dense_[static_cast<std::size_t>(id)];
  if (sparse_.empty()) return none;
  const auto at = sparse_.find(id);
  return at == sparse_.end() ? none : at->second;
}

std::string_view NsysTexts::text(std::int64_t id) const {
  const std::uint32_t at = place(id);
  return at == none ? std::string_view{} : std::string_view(texts_[at]);
}

void NsysExport::open_window(const TimeWindow& of) {
  window = of;
  constexpr std::array<std::string_view, 4> columns = {"start", "end", "globalTid",
                                                       "correlationId"};
  each_row("CUPTI_ACTIVITY_KIND_RUNTIME", columns, [&](const SqliteRows& row) {
    if (overlaps(row, 1)) launches_[nsys_pid(row.integer(2))].insert(row.integer(3));
  });
}

void NsysExport::note_damage(std::string_view table) {
  notes.truncated = true;
  note("damaged_table_" + std::string(table));
}

Result<NsysExport> open_nsys(SqliteFile file, const std::string& path) {
  if (!is_nsys(file)) {
    const bool empty = file.tables().empty();
    const bool wal = empty && file.wal_bytes() > 0;
    std::string hint = "give what `nsys export --type sqlite REPORT.nsys-rep` writes";
    if (has_table(file, rocpd))
      hint =
          "record with rocprofv3 --output-format json, or convert it: rocpd convert -i FILE "
          "--output-format pftrace";
    if (is_ascend(file))
      hint =
          "docs/reference/inputs.md lists the profilers whose traces are read; stepscope check "
          "reads "
          "the job's log";
    if (wal) hint = "move it into the file: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'";
    return Error{.what = what_it_is(file), .file = path, .byte = {}, .hint = hint};
  }
  NsysExport nsys(std::move(file));
  if (nsys.file.wal_bytes() > 0) nsys.note("write_ahead_log_not_read");
  read_session(nsys);
  read_system(nsys);
  read_capture(nsys);
  read_texts(nsys);
  return nsys;
}

}  // namespace stepscope
