// SPDX-License-Identifier: Apache-2.0
// An SQLite database as tables of rows, read only. Nothing is locked, written or recovered. A
// database that is still being written is refused. Rows that are only in a write-ahead log next to
// it are not seen (wal_bytes). A compressed file is first inflated into an unlinked temporary file
// in $TMPDIR. Memory is bounded in both cases.
//
// Nothing that a database defines is run: views, triggers, virtual tables and functions of its
// schema are off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

struct sqlite3;
struct sqlite3_stmt;

namespace stepscope {

// Whether the first (inflated) bytes of a file are those of a database.
[[nodiscard]] bool is_sqlite(std::string_view head);

struct SqliteControl {
  const StopFlag* stop = nullptr;                    // polled while rows are read; may be null
  std::atomic<std::uint64_t>* bytes_read = nullptr;  // counts bytes of the file on disk; or null
};

struct SqliteTable {
  std::string name;
  std::vector<std::string> columns;

  [[nodiscard]] bool has(std::string_view column) const;
};

// The rows of one table in its order, with the requested columns in the requested order. A column
// that the table lacks is null in each row.
class SqliteRows {
 public:
  SqliteRows() = default;
  // A null statement has no rows; `damage` says why.
  explicit SqliteRows(sqlite3_stmt* statement, std::string damage = {})
      : statement_(statement), damage_(std::move(damage)) {}
  // Steps to the next row. False at the end and on damage.
  bool next();
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;  // 0 where null
  [[nodiscard]] double real(int column) const;           // 0 where null
  // Text, or the bytes of a blob; valid until the next call of next(). Empty if null.
  [[nodiscard]] std::string_view text(int column) const;
  // Why next() returned false before the end, or empty.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string damage_;
  bool interrupted_ = false;
};

class SqliteFile {
 public:
  // Errors: not a database, truncated (file and byte), being written by another process, damaged,
  // no room for the inflated file.
  static Result<SqliteFile> open(const std::string& path, const SqliteControl& control = {});
  // The same for bytes in memory, which must outlive it; `name` replaces the path.
  static Result<SqliteFile> open_bytes(std::string_view bytes, const std::string& name,
                                       const SqliteControl& control = {});
  SqliteFile(SqliteFile&&) noexcept;
  SqliteFile& operator=(SqliteFile&&) noexcept;
  ~SqliteFile();

  [[nodiscard]] const std::vector<SqliteTable>& tables() const;
  [[nodiscard]] const SqliteTable* table(std::string_view name) const;  // null if missing
  // REQUIRES: the table exists.
  [[nodiscard]] SqliteRows rows(std::string_view table,
                                std::span<const std::string_view> columns) const;
  // The largest rowid, which is the number of rows if no row was ever deleted. 0 for an empty
  // table.
  [[nodiscard]] std::uint64_t last_row(std::string_view table) const;

  [[nodiscard]] std::uint64_t file_bytes() const;  // on disk
  [[nodiscard]] std::uint64_t bytes() const;       // of the database, inflated
  [[nodiscard]] std::uint64_t wal_bytes() const;   // size of the write-ahead log next to it

 private:
  struct State;
  explicit SqliteFile(std::unique_ptr<State> state);
  static Result<SqliteFile> connect(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepscope
