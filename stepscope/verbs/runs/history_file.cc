// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/runs/history_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "stepscope/base/output_file.h"
#include "stepscope/read/bytes/whole_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t application = 0x53746570;  // "Step": SQLite's application_id of a history
constexpr std::int64_t latest = 2;                // user_version

constexpr const char* schema = R"sql(
PRAGMA application_id = 0x53746570;
PRAGMA user_version = 1;
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  fingerprint TEXT NOT NULL,
  recorded_unix_ns INTEGER NOT NULL,
  "commit" TEXT NOT NULL,
  tag TEXT NOT NULL,
  version TEXT NOT NULL,
  source TEXT NOT NULL,
  device TEXT NOT NULL,
  ranks INTEGER NOT NULL,
  mfu REAL,
  cause TEXT NOT NULL,
  sentence TEXT NOT NULL,
  step_ns BLOB NOT NULL
);
CREATE TABLE outlier_cause (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  step INTEGER NOT NULL,
  cause TEXT NOT NULL
);
CREATE TABLE part (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  step_ns BLOB NOT NULL
);
CREATE TABLE finding (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  key TEXT NOT NULL,
  what TEXT NOT NULL,
  gain_ns INTEGER
);
CREATE INDEX outlier_cause_run ON outlier_cause (run);
CREATE INDEX part_run ON part (run);
CREATE INDEX finding_run ON finding (run);
)sql";

// What version 2 has beyond version 1.
constexpr const char* schema_2 = R"sql(
PRAGMA user_version = 2;
CREATE TABLE digest (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  bytes BLOB NOT NULL
);
CREATE INDEX digest_run ON digest (run);
)sql";

Error failed(const std::string& path, sqlite3* database, std::string_view doing) {
  const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database);
  const char* why = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
  std::string hint = "see whether the file is damaged; without it a new history is begun";
  if (code == SQLITE_BUSY) hint = "wait until the other process is done";
  if (code == SQLITE_FULL || code == SQLITE_IOERR) hint = "make room on the drive";
  if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM)
    hint = "choose a file that you may write with --history FILE";
  return {.what = fmt::format("cannot {} the history: {}", doing, why),
          .file = path,
          .hint = std::move(hint)};
}

Error damaged(const std::string& run, const std::string& path) {
  return {.what = fmt::format("the rows of the run {} are damaged", run),
          .file = path,
          .hint = "move the file away; runs whose files are still there are read again"};
}

// A prepared statement whose values are bound in order.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& bind(std::optional<double> value) {
    ++bound_;
    if (value) sqlite3_bind_double(statement_, bound_, *value);
    return *this;
  }
  Statement& bind(std::string_view text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
    return *this;
  }
  // REQUIRES: the bytes outlive the statement's run.
  Statement& bind_blob(std::string_view bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& bind(std::span<const double> values) {
    sqlite3_bind_blob64(statement_, ++bound_, values.data(), values.size_bytes(), SQLITE_TRANSIENT);
    return *this;
  }
  // Whether there is a row.
  bool step() { return (code_ = sqlite3_step(statement_)) == SQLITE_ROW; }
  // Runs it for its effect, and makes it ready for other values.
  bool run() {
    step();
    const bool done = code_ == SQLITE_DONE;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    bound_ = 0;
    return done;
  }
  [[nodiscard]] bool at_end() const { return code_ == SQLITE_DONE; }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::optional<double> real(int column) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_double(statement_, column);
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, length(column));
  }
  [[nodiscard]] std::vector<double> doubles(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    std::vector<double> values(length(column) / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes, values.size() * sizeof(double));
    return values;
  }

 private:
  [[nodiscard]] std::size_t length(int column) const {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  }

  sqlite3_stmt* statement_ = nullptr;  // null where it could not be prepared: steps fail then
  int bound_ = 0;
  int code_ = SQLITE_OK;
};

bool execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::optional<std::int64_t> pragma(sqlite3* database, const char* sql) {
  Statement question(database, sql);
  return question.step() ? std::optional(question.integer(0)) : std::nullopt;
}

std::optional<PartKind> part_kind_of(std::string_view name) {
  for (std::size_t i = 0; i < part_kind_names.size(); ++i)
    if (part_kind_names[i] == name) return static_cast<PartKind>(i);
  return std::nullopt;
}

// All steps are positive, as LaunchSteps says.
bool are_steps(std::span<const double> values, std::size_t count) {
  if (values.size() != count || count == 0) return false;
  for (const double v : values)
    if (!(v > 0)) return false;
  return true;
}

bool put_details(sqlite3* database, std::int64_t id, const PastRun& run) {
  Statement cause(database, "INSERT INTO outlier_cause VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < run.steps.causes.size(); ++i)
    if (!run.steps.causes[i].empty() &&
        !cause.bind(id).bind(static_cast<std::int64_t>(i)).bind(run.steps.causes[i]).run())
      return false;
  Statement part(database, "INSERT INTO part VALUES (?, ?, ?, ?)");
  for (const PartSeries& p : run.steps.parts)
    if (!part.bind(id)
             .bind(part_kind_names[static_cast<std::size_t>(p.kind)])
             .bind(std::string_view(p.name))
             .bind(std::span<const double>(p.ns))
             .run())
      return false;
  Statement finding(database, "INSERT INTO finding VALUES (?, ?, ?, ?)");
  for (const PastFinding& f : run.findings) {
    finding.bind(id).bind(std::string_view(f.key)).bind(std::string_view(f.what));
    if (f.gain) finding.bind(f.gain->count());
    if (!finding.run()) return false;
  }
  return true;
}

bool put_run(sqlite3* database, const PastRun& run) {
  Statement old(database, "DELETE FROM run WHERE name = ?");
  if (!old.bind(std::string_view(run.name)).run()) return false;
  Statement row(database, "INSERT INTO run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(std::string_view(run.name))
      .bind(std::string_view(run.fingerprint))
      .bind(run.recorded_unix_ns)
      .bind(std::string_view(run.commit))
      .bind(std::string_view(run.tag))
      .bind(std::string_view(run.version))
      .bind(std::string_view(run.steps.source))
      .bind(std::string_view(run.device))
      .bind(static_cast<std::int64_t>(run.ranks))
      .bind(run.mfu)
      .bind(std::string_view(run.cause))
      .bind(std::string_view(run.sentence))
      .bind(std::span<const double>(run.steps.wall_ns));
  return row.run() && put_details(database, sqlite3_last_insert_rowid(database), run);
}

PastRun run_of(const Statement& row) {
  PastRun run{.name = row.text(1),
              .fingerprint = row.text(2),
              .recorded_unix_ns = row.integer(3),
              .commit = row.text(4),
              .tag = row.text(5),
              .version = row.text(6),
              .device = row.text(8),
              .ranks = static_cast<std::size_t>(std::max<std::int64_t>(row.integer(9), 0)),
              .mfu = row.real(10),
              .cause = row.text(11),
              .sentence = row.text(12)};
  run.steps.name = run.name;
  run.steps.source = row.text(7);
  run.steps.wall_ns = row.doubles(13);
  return run;
}

// False where the database is damaged.
bool read_details(sqlite3* database, std::int64_t id, PastRun& run) {
  const std::size_t steps = run.steps.wall_ns.size();
  if (!are_steps(run.steps.wall_ns, steps)) return false;
  Statement cause(database, "SELECT step, cause FROM outlier_cause WHERE run = ?");
  cause.bind(id);
  while (cause.step()) {
    const auto at = static_cast<std::size_t>(cause.integer(0));
    if (at >= steps) return false;
    run.steps.causes.resize(steps);
    run.steps.causes[at] = cause.text(1);
  }
  Statement finding(database,
                    "SELECT key, what, gain_ns FROM finding WHERE run = ? ORDER BY rowid");
  finding.bind(id);
  while (finding.step())
    run.findings.push_back(
        {.key = finding.text(0),
         .what = finding.text(1),
         .gain = finding.real(2) ? std::optional(Ns(finding.integer(2))) : std::nullopt});
  Statement digest(database, "SELECT count(*), total(length(bytes)) FROM digest WHERE run = ?");
  digest.bind(id);
  if (!digest.step()) return false;
  run.digests = static_cast<std::size_t>(digest.integer(0));
  run.digest_bytes = static_cast<std::uint64_t>(digest.integer(1));
  return cause.at_end() && finding.at_end();
}

Result<Done> put_digest(const std::string& history, sqlite3* database, const std::string& run,
                        const DigestFile& digest) {
  const auto bytes = read_text_file(digest.path);
  if (!bytes) return bytes.error();
  Statement row(database, "INSERT INTO digest SELECT id, ?, ? FROM run WHERE name = ?");
  row.bind(std::string_view(digest.name)).bind_blob(*bytes);
  if (row.bind(std::string_view(run)).run()) return Done{};
  if (sqlite3_errcode(database) != SQLITE_TOOBIG) return failed(history, database, "write");
  return Error{.what = "is larger than a history can keep",
               .file = digest.path,
               .hint = "keep the digests of this run in a folder of its own"};
}

// Writes a file that is not there. One that has these bytes already is left.
Result<Done> write_new(const fs::path& path, const std::string& bytes) {
  std::error_code code;
  if (fs::exists(path, code)) {
    const auto there = read_text_file(path.string());
    if (there && *there == bytes) return Done{};
    return Error{.what = "is there and has another content",
                 .file = path.string(),
                 .hint = "choose another folder"};
  }
  fs::create_directories(path.parent_path(), code);
  return write_file(path.string(), bytes);
}

}  // namespace

void HistoryFile::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Result<HistoryFile> HistoryFile::open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  HistoryFile file(path, opened);
  if (code != SQLITE_OK) return failed(path, opened, "open");
  sqlite3_busy_timeout(opened, 10'000);
  // Views, triggers and functions of a file from elsewhere do nothing.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (!execute(opened, "PRAGMA foreign_keys = ON")) return failed(path, opened, "open");
  const auto tables = pragma(opened, "SELECT count(*) FROM sqlite_master");
  if (!tables) return failed(path, opened, "open");
  if (*tables == 0) {
    // Two processes may find the file empty: the second one sees the tables of the first.
    if (!execute(opened, "BEGIN IMMEDIATE")) return failed(path, opened, "make");
    const bool still = pragma(opened, "SELECT count(*) FROM sqlite_master").value_or(1) == 0;
    if ((still && !execute(opened, schema)) || !execute(opened, "COMMIT"))
      return failed(path, opened, "make");
  }
  if (pragma(opened, "PRAGMA application_id") != application)
    return Error{.what = "this database is no history of runs",
                 .file = path,
                 .hint = "choose another file with --history FILE"};
  if (pragma(opened, "PRAGMA user_version") == 1) {
    if (!execute(opened, "BEGIN IMMEDIATE")) return failed(path, opened, "extend");
    const bool still = pragma(opened, "PRAGMA user_version") == 1;
    if ((still && !execute(opened, schema_2)) || !execute(opened, "COMMIT"))
      return failed(path, opened, "extend");
  }
  if (const auto version = pragma(opened, "PRAGMA user_version"); version != latest)
    return Error{.what = fmt::format("the history has version {}, and this stepscope knows {}",
                                     version.value_or(0), latest),
                 .file = path,
                 .hint = "use the stepscope that wrote it, or a later one"};
  return file;
}

Result<std::vector<PastRun>> HistoryFile::runs() const {
  std::vector<PastRun> all;
  Statement row(database_.get(), "SELECT * FROM run ORDER BY recorded_unix_ns, id");
  while (row.step()) {
    all.push_back(run_of(row));
    if (!read_details(database_.get(), row.integer(0), all.back()))
      return damaged(all.back().name, path_);
  }
  if (!row.at_end()) return failed(path_, database_.get(), "read");
  return all;
}

Result<Done> HistoryFile::read_parts(LaunchSteps& steps) const {
  Statement part(database_.get(),
                 "SELECT kind, part.name, part.step_ns FROM part JOIN run ON run.id = part.run "
                 "WHERE run.name = ? ORDER BY part.rowid");
  part.bind(std::string_view(steps.name));
  steps.parts.clear();
  while (part.step()) {
    const auto kind = part_kind_of(part.text(0));
    PartSeries series{
        .kind = kind.value_or(PartKind::budget), .name = part.text(1), .ns = part.doubles(2)};
    if (!kind || series.ns.size() != steps.wall_ns.size()) return damaged(steps.name, path_);
    steps.parts.push_back(std::move(series));
  }
  if (!part.at_end()) return failed(path_, database_.get(), "read");
  return Done{};
}

Result<Done> HistoryFile::put(const PastRun& run, std::span<const DigestFile> digests) {
  const Unbroken transaction;
  sqlite3* const database = database_.get();
  Result<Done> done = Done{};
  if (!execute(database, "BEGIN IMMEDIATE") || !put_run(database, run))
    done = failed(path_, database, "write");
  for (const DigestFile& digest : digests)
    if (done) done = put_digest(path_, database, run.name, digest);
  if (done && !execute(database, "COMMIT")) done = failed(path_, database, "write");
  if (!done) execute(database, "ROLLBACK");
  return done;
}

Result<std::size_t> HistoryFile::write_digests(const std::string& name,
                                               const std::string& folder) const {
  Statement digest(database_.get(),
                   "SELECT digest.name, bytes FROM digest JOIN run ON run.id = digest.run "
                   "WHERE run.name = ? ORDER BY digest.rowid");
  digest.bind(std::string_view(name));
  std::size_t count = 0;
  for (; digest.step(); ++count) {
    const fs::path place = fs::path(digest.text(0)).lexically_normal();
    if (place.empty() || place.is_absolute() || *place.begin() == "..") return damaged(name, path_);
    if (const auto written = write_new(folder / place, digest.text(1)); !written)
      return written.error();
  }
  if (!digest.at_end()) return failed(path_, database_.get(), "read");
  return count;
}

}  // namespace stepscope
