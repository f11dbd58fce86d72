// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/sqlite_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "stepscope/base/byte_source_test_pack.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class SqliteFileTest : public ::testing::Test {
 protected:
  void make(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& to, std::string_view bytes) {
    std::ofstream(to, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  static std::string error_of(const std::string& file) {
    const auto opened = SqliteFile::open(file);
    return opened ? std::string("opened") : opened.error().message();
  }

  const test::Folder scratch;
  const fs::path folder = scratch.path;
  const std::string path = scratch.file("t.sqlite");
};

constexpr const char* table =
    "CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d REAL);"
    "INSERT INTO t VALUES (7,'seven',x'00ff',0.5),(NULL,NULL,NULL,NULL)";

std::int64_t sum_of(const SqliteFile& file) {
  constexpr std::array<std::string_view, 1> columns = {"a"};
  SqliteRows rows = file.rows("t", columns);
  std::int64_t sum = 0;
  while (rows.next()) sum += rows.integer(0);
  return sum;
}

TEST_F(SqliteFileTest, RowsHaveTheColumnsAskedForAndNullForThoseThatAreMissing) {
  make(table);
  const auto file = SqliteFile::open(path);
  ASSERT_TRUE(file.has_value()) << file.error().message();
  ASSERT_NE(file->table("t"), nullptr);
  EXPECT_TRUE(file->table("t")->has("b"));
  EXPECT_EQ(file->table("nothing"), nullptr);
  EXPECT_EQ(file->last_row("t"), 2u);
  constexpr std::array<std::string_view, 5> columns = {"b", "missing", "a", "c", "d"};
  SqliteRows rows = file->rows("t", columns);
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.text(0), "seven");
  EXPECT_TRUE(rows.is_null(1));
  EXPECT_EQ(rows.integer(2), 7);
  EXPECT_EQ(rows.text(3), std::string_view("\0\xff", 2));
  EXPECT_EQ(rows.real(4), 0.5);
  ASSERT_TRUE(rows.next());
  EXPECT_TRUE(rows.is_null(0));
  EXPECT_EQ(rows.text(0), "");
  EXPECT_EQ(rows.integer(2), 0);
  EXPECT_FALSE(rows.next());
  EXPECT_TRUE(rows.damage().empty());
  EXPECT_FALSE(rows.next()) << "stays at the end";
}

TEST_F(SqliteFileTest, ACompressedFileReadsTheSameAndCountsItsProgress) {
  std::string rows = "CREATE TABLE t (a INTEGER, b TEXT);";
  for (int i = 0; i < 3000; ++i) rows += "INSERT INTO t VALUES (" + std::to_string(i) + ",'text');";
  make("BEGIN;" + rows + "COMMIT");
  const std::string packed = path + ".gz";
  write(packed, test::gzip(content()));
  std::atomic<std::uint64_t> done{0};
  const auto file = SqliteFile::open(packed, {.bytes_read = &done});
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(sum_of(*file), 2999 * 3000 / 2);
  EXPECT_EQ(file->file_bytes(), fs::file_size(packed));
  EXPECT_EQ(file->bytes(), fs::file_size(path));
  EXPECT_GT(done.load(), file->file_bytes() / 2);
  EXPECT_TRUE(fs::is_empty(folder) || fs::exists(path));
}

TEST_F(SqliteFileTest, ATruncatedFileIsAnErrorThatSaysHowMuchIsMissing) {
  make(table);
  const std::string whole = content();
  write(path, std::string_view(whole).substr(0, whole.size() - 100));
  const auto cut = SqliteFile::open(path);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().byte, whole.size() - 100);
  EXPECT_NE(cut.error().message().find("truncated SQLite database"), std::string::npos);
  EXPECT_FALSE(cut.error().hint.empty());
  write(path, std::string_view(whole).substr(0, 50));
  EXPECT_NE(error_of(path).find("truncated"), std::string::npos);
  const std::string packed = test::gzip(whole);
  write(path, std::string_view(packed).substr(0, packed.size() / 2));
  EXPECT_NE(error_of(path).find("not whole"), std::string::npos) << error_of(path);
}

TEST_F(SqliteFileTest, WhatIsNoDatabaseIsRefused) {
  write(path, "{\"traceEvents\":[]}");
  EXPECT_NE(error_of(path).find("no SQLite database"), std::string::npos);
  write(path, "");
  EXPECT_NE(error_of(path).find("no SQLite database"), std::string::npos);
  EXPECT_NE(error_of((folder / "absent").string()), "opened");
  std::string damaged = std::string("SQLite format 3\0", 16) + std::string(4080, '\x5a');
  write(path, damaged);
  EXPECT_NE(error_of(path), "opened");
}

TEST_F(SqliteFileTest, AFileThatAnotherProcessWritesToIsRefused) {
  make(table);
  std::array<int, 2> ready{};
  std::array<int, 2> done{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(done.data()), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::close(done[1]);
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    sqlite3_exec(db, "PRAGMA journal_mode=MEMORY; BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    char byte = 'r';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(done[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_NE(error_of(path).find("another process is writing to it"), std::string::npos)
      << error_of(path);
  ::close(done[1]);
  ::waitpid(writer, nullptr, 0);
  EXPECT_EQ(error_of(path), "opened");
  write(path + "-journal", "x");
  EXPECT_NE(error_of(path).find("a journal lies next to it"), std::string::npos);
  for (const int fd : {ready[0], ready[1], done[0]}) ::close(fd);
}

TEST_F(SqliteFileTest, AWriteAheadLogBesideItIsSeenAndLeftAlone) {
  make("PRAGMA journal_mode=WAL;");
  make(table);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  sqlite3_exec(db, "PRAGMA wal_autocheckpoint=0; INSERT INTO t VALUES (100,'','',0)", nullptr,
               nullptr, nullptr);
  const std::uint64_t before = fs::file_size(path + "-wal");
  ASSERT_GT(before, 0u);
  {
    const auto file = SqliteFile::open(path);
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_EQ(file->wal_bytes(), before);
    EXPECT_EQ(sum_of(*file), 7) << "the row in the log is not in the file";
  }
  EXPECT_EQ(fs::file_size(path + "-wal"), before);
  sqlite3_close(db);
}

TEST_F(SqliteFileTest, WithoutRoomForTheInflatedFileTheFolderIsNamed) {
  make(table);
  const std::string packed = path + ".gz";
  write(packed, test::gzip(content()));
  const char* old = std::getenv("TMPDIR");
  const std::string kept = old != nullptr ? old : "";
  ::setenv("TMPDIR", (folder / "absent").c_str(), 1);
  EXPECT_NE(error_of(packed).find("set TMPDIR"), std::string::npos);
  ::setenv("TMPDIR", folder.c_str(), 1);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = limit;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of(packed);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error.find("cannot inflate it into " + folder.string()), std::string::npos) << error;
  if (kept.empty())
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(SqliteFileTest, NothingThatTheDatabaseDefinesRuns) {
  make(
      "CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1);"
      "CREATE VIRTUAL TABLE f USING fts5(a)");
  const auto file = SqliteFile::open(path);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->table("v"), nullptr);
  EXPECT_EQ(file->table("f"), nullptr);
  EXPECT_EQ(sum_of(*file), 1);
}

TEST_F(SqliteFileTest, AStopEndsTheRows) {
  std::string rows = "CREATE TABLE t (a INTEGER);";
  rows +=
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200000) "
      "INSERT INTO t SELECT i FROM n";
  make(rows);
  StopFlag stop;
  const auto file = SqliteFile::open(path, {.stop = &stop});
  ASSERT_TRUE(file.has_value());
  constexpr std::array<std::string_view, 1> columns = {"a"};
  SqliteRows all = file->rows("t", columns);
  ASSERT_TRUE(all.next());
  stop.request();
  int more = 0;
  while (all.next()) ++more;
  EXPECT_TRUE(all.interrupted());
  EXPECT_LT(more, 199999);
}

}  // namespace
}  // namespace stepscope
