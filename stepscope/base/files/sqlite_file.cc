// SPDX-License-Identifier: Apache-2.0
// File format: https://www.sqlite.org/fileformat.html. The header states the length of the file.
#include "stepscope/base/files/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/files/sqlite_vfs.h"

namespace stepscope {

struct SqliteFile::State {
  struct Close {
    void operator()(sqlite3* opened) const { sqlite3_close_v2(opened); }
  };
  std::string path;
  std::uint64_t file_bytes = 0;
  std::uint64_t wal_bytes = 0;
  std::unique_ptr<SqliteBytes> bytes;  // outlives the file layer, which outlives the connection
  std::unique_ptr<SqliteVfs> vfs;
  std::unique_ptr<sqlite3, Close> db;
  std::vector<SqliteTable> tables;
};

namespace {

constexpr std::size_t header_bytes = 100;

std::string system_text(int code) { return std::generic_category().message(code); }

std::uint32_t big_endian(std::string_view head, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | static_cast<unsigned char>(head[at + i]);
  return value;
}

// The size that the header states; 0 if it states none (old versions).
std::uint64_t claimed_bytes(std::string_view head) {
  const std::uint32_t page = big_endian(head, 16, 2);
  const std::uint64_t page_bytes = page == 1 ? 65536 : page;
  const bool valid = big_endian(head, 24, 4) == big_endian(head, 92, 4);
  return valid ? page_bytes * big_endian(head, 28, 4) : 0;
}

Error truncated(const std::string& path, std::uint64_t have, std::uint64_t claimed) {
  return {.what = "truncated SQLite database: " + std::to_string(have) + " of " +
                  std::to_string(claimed) + " bytes",
          .file = path,
          .byte = have,
          .hint = "copy it again, or export the report again (nsys export --type sqlite)"};
}

Result<Done> check_header(const std::string& path, std::string_view head, std::uint64_t size) {
  if (!is_sqlite(head))
    return Error{.what = "no SQLite database", .file = path, .byte = 0, .hint = {}};
  if (head.size() < header_bytes) return truncated(path, size, header_bytes);
  if (const std::uint64_t claimed = claimed_bytes(head); claimed > size)
    return truncated(path, size, claimed);
  return Done{};
}

std::uint64_t size_beside(const std::string& path, const char* ending) {
  struct stat info{};
  if (::stat((path + ending).c_str(), &info) != 0 || info.st_size < 0) return 0;
  return static_cast<std::uint64_t>(info.st_size);
}

// Whether another process holds SQLite's write lock (the bytes from 2^30 on).
bool is_being_written(int fd) {
  struct flock lock{};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  return ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// Descriptor of a file without a name, or -1.
int temporary_file(const std::string& folder) {
  std::string name = folder + "/stepscope-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

Error no_room(const std::string& path, const std::string& folder, std::uint64_t written, int code) {
  return {.what = "cannot inflate it into " + folder + " (" + std::to_string(written) +
                  " bytes written): " + system_text(code),
          .file = path,
          .byte = {},
          .hint = "set TMPDIR to a folder with room, or inflate it yourself (gunzip, zstd -d)"};
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Inflating is the first half of the progress, reading the second.
Result<int> inflate(const std::string& path, ByteSource& source, std::string_view head,
                    const SqliteControl& control, std::uint64_t& size) {
  const std::string folder = temporary_folder();
  const int fd = temporary_file(folder);
  if (fd < 0) return no_room(path, folder, 0, errno);
  const auto fail = [&](Error error) {
    ::close(fd);
    return error;
  };
  std::string block(head);
  std::uint64_t reported = 0;
  for (size = 0; !block.empty();) {
    if (control.stop != nullptr && control.stop->requested()) return fail(interrupted(path));
    if (const int code = write_all(fd, block); code != 0)
      return fail(no_room(path, folder, size, code));
    size += block.size();
    block.resize(1 << 20);
    const auto got = source.read(block);
    if (!got) return fail(got.error());
    block.resize(*got);
    const std::uint64_t now = source.position() / 2;
    if (control.bytes_read != nullptr && now > reported)
      control.bytes_read->fetch_add(now - reported);
    reported = std::max(reported, now);
  }
  if (const std::string damage = source.damage(); !damage.empty())
    return fail({.what = damage + ": the database in it is not whole",
                 .file = path,
                 .byte = source.position(),
                 .hint = "copy the file again, or export the report again"});
  return fd;
}

std::string quoted_identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

sqlite3_stmt* prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const auto size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(db, sql.c_str(), size, &statement, nullptr) != SQLITE_OK) return nullptr;
  return statement;
}

int asked_to_stop(void* stop) { return static_cast<const StopFlag*>(stop)->requested() ? 1 : 0; }

}  // namespace

bool is_sqlite(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

bool SqliteTable::has(std::string_view column) const {
  return std::ranges::find(columns, column) != columns.end();
}

void SqliteRows::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

bool SqliteRows::next() {
  if (!statement_) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  interrupted_ = code == SQLITE_INTERRUPT;
  if (code != SQLITE_DONE) damage_ = sqlite3_errstr(code);
  statement_.reset();
  return false;
}

bool SqliteRows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double SqliteRows::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view SqliteRows::text(int column) const {
  sqlite3_stmt* row = statement_.get();
  const bool blob = sqlite3_column_type(row, column) == SQLITE_BLOB;
  const void* bytes = blob ? sqlite3_column_blob(row, column)
                           : static_cast<const void*>(sqlite3_column_text(row, column));
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

SqliteFile::SqliteFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqliteFile::SqliteFile(SqliteFile&&) noexcept = default;
SqliteFile& SqliteFile::operator=(SqliteFile&&) noexcept = default;
SqliteFile::~SqliteFile() = default;

Result<SqliteFile> SqliteFile::open(const std::string& path, const SqliteControl& control) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::string head(header_bytes, '\0');
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  head.resize(*got);
  auto state = std::make_unique<State>();
  state->path = path;
  const auto on_disk = file_size(path);
  if (!on_disk) return on_disk.error();
  state->file_bytes = *on_disk;

  std::uint64_t size = *on_disk;
  const bool remote = is_url(path);
  int fd = remote ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && !remote)
    return Error{.what = "cannot open: " + system_text(errno), .file = path, .hint = {}};
  std::array<char, 16> first{};
  const bool plain = !remote && ::pread(fd, first.data(), first.size(), 0) == 16 &&
                     is_sqlite({first.data(), first.size()});
  if (plain) {
    const bool journal = size_beside(path, "-journal") > 0;
    if (journal || is_being_written(fd)) {
      ::close(fd);
      return Error{.what = journal
                               ? "its writer is not done, or was killed: a journal lies next to it"
                               : "another process is writing to it",
                   .file = path,
                   .byte = {},
                   .hint = "wait for the export to end, or export the report again"};
    }
    state->wal_bytes = size_beside(path, "-wal");
  } else {
    if (fd >= 0) ::close(fd);
    if (!is_sqlite(head))
      return Error{.what = "no SQLite database", .file = path, .byte = 0, .hint = {}};
    const auto inflated_fd = inflate(path, **source, head, control, size);
    if (!inflated_fd) return inflated_fd.error();
    fd = *inflated_fd;
  }
  const double share =
      plain ? 1.0 : 0.5 * static_cast<double>(*on_disk) / static_cast<double>(size);
  state->bytes = std::make_unique<SqliteBytes>(fd, size, control.bytes_read, share);
  if (const auto whole = check_header(path, head, size); !whole) return whole.error();
  auto file = connect(std::move(state));
  if (file && control.stop != nullptr)
    sqlite3_progress_handler(file->state_->db.get(), 1 << 16, asked_to_stop,
                             const_cast<StopFlag*>(control.stop));
  return file;
}

Result<SqliteFile> SqliteFile::open_bytes(std::string_view bytes, const std::string& name,
                                          const SqliteControl& control) {
  auto state = std::make_unique<State>();
  state->path = name;
  state->file_bytes = bytes.size();
  state->bytes = std::make_unique<SqliteBytes>(bytes);
  if (const auto whole = check_header(name, bytes.substr(0, header_bytes), bytes.size()); !whole)
    return whole.error();
  auto file = connect(std::move(state));
  if (file && control.stop != nullptr)
    sqlite3_progress_handler(file->state_->db.get(), 1 << 16, asked_to_stop,
                             const_cast<StopFlag*>(control.stop));
  return file;
}

Result<SqliteFile> SqliteFile::connect(std::unique_ptr<State> state) {
  state->vfs = std::make_unique<SqliteVfs>(*state->bytes);
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2("export", &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                                     state->vfs->name());
  state->db.reset(db);
  const auto damaged = [&](int code) {
    return Error{.what = std::string("cannot read the SQLite database: ") + sqlite3_errstr(code),
                 .file = state->path,
                 .byte = {},
                 .hint = "copy it again, or export the report again"};
  };
  if (opened != SQLITE_OK) return damaged(opened);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 256 << 20);
  sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192",
               nullptr, nullptr, nullptr);

  SqliteRows names(prepare(db,
                           "SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0 AND "
                           "sql NOT LIKE 'CREATE VIRTUAL%'"));
  while (names.next()) state->tables.push_back({std::string(names.text(0)), {}});
  if (!names.damage().empty() || (state->tables.empty() && sqlite3_errcode(db) != SQLITE_OK &&
                                  sqlite3_errcode(db) != SQLITE_DONE))
    return damaged(sqlite3_errcode(db));
  for (SqliteTable& table : state->tables) {
    SqliteRows columns(prepare(db, "PRAGMA table_info(" + quoted_identifier(table.name) + ")"));
    while (columns.next()) table.columns.emplace_back(columns.text(1));
  }
  return SqliteFile(std::move(state));
}

const std::vector<SqliteTable>& SqliteFile::tables() const { return state_->tables; }

const SqliteTable* SqliteFile::table(std::string_view name) const {
  const auto at = std::ranges::find(state_->tables, name, &SqliteTable::name);
  return at == state_->tables.end() ? nullptr : &*at;
}

SqliteRows SqliteFile::rows(std::string_view name,
                            std::span<const std::string_view> columns) const {
  const SqliteTable* found = table(name);
  check(found != nullptr, "the table is there");
  std::string sql = "SELECT ";
  for (const std::string_view column : columns) {
    if (sql.size() > 7) sql += ',';
    sql += found->has(column) ? quoted_identifier(column) : "NULL";
  }
  sql += " FROM " + quoted_identifier(name) + " NOT INDEXED";
  sqlite3_stmt* statement = prepare(state_->db.get(), sql);
  if (statement != nullptr) return SqliteRows(statement);
  return SqliteRows(nullptr, sqlite3_errmsg(state_->db.get()));
}

std::uint64_t SqliteFile::last_row(std::string_view name) const {
  SqliteRows rows(prepare(state_->db.get(), "SELECT max(rowid) FROM " + quoted_identifier(name)));
  return rows.next() ? static_cast<std::uint64_t>(std::max<std::int64_t>(rows.integer(0), 0)) : 0;
}

std::uint64_t SqliteFile::file_bytes() const { return state_->file_bytes; }
std::uint64_t SqliteFile::bytes() const { return state_->bytes->size(); }
std::uint64_t SqliteFile::wal_bytes() const { return state_->wal_bytes; }

}  // namespace stepscope
