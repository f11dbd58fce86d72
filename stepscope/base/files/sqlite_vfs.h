// SPDX-License-Identifier: Apache-2.0
// The file layer that SQLite reads through instead of its own. It reads an open descriptor (an
// unlinked file has no name) or bytes in memory. Read only, without locks, journals or logs.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// The bytes of one database. Sequential reads are made in large blocks.
class SqliteBytes {
 public:
  // Takes ownership of the descriptor. `counted`, if given, grows by weight × the bytes read.
  SqliteBytes(int fd, std::uint64_t size, std::atomic<std::uint64_t>* counted, double weight);
  explicit SqliteBytes(std::string_view bytes) : size_(bytes.size()), memory_(bytes) {}
  ~SqliteBytes();
  SqliteBytes(const SqliteBytes&) = delete;
  SqliteBytes& operator=(const SqliteBytes&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns an SQLite result code. Beyond the end it gives zeros and SQLITE_IOERR_SHORT_READ.
  int read(char* into, std::size_t amount, std::uint64_t offset);

 private:
  bool fill(std::uint64_t offset, std::size_t wanted);

  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string_view memory_;
  std::atomic<std::uint64_t>* counted_ = nullptr;
  double weight_ = 1;
  std::vector<char> block_;
  std::uint64_t block_at_ = 0;
  std::uint64_t next_ = 0;  // end of the last read
};

// A file layer that gives `bytes` for every file name. It is registered under a unique name while
// it lives. `bytes` must outlive it.
class SqliteVfs {
 public:
  explicit SqliteVfs(SqliteBytes& bytes);
  ~SqliteVfs();
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  [[nodiscard]] const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace stepscope
