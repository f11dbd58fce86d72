// SPDX-License-Identifier: Apache-2.0
// The methods that a read-only connection calls: https://www.sqlite.org/vfs.html.
#include "stepscope/base/files/sqlite_vfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr std::size_t block_bytes = 256 * 1024;

struct OpenFile {
  sqlite3_file base;  // first member: SQLite sees only this
  SqliteBytes* bytes;
};

SqliteBytes& bytes_of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file)->bytes; }

int close_file(sqlite3_file* file) {
  file->pMethods = nullptr;
  return SQLITE_OK;
}
int read_file(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  return bytes_of(file).read(static_cast<char*>(into), static_cast<std::size_t>(amount),
                             static_cast<std::uint64_t>(offset));
}
int refuse_write(sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; }
int refuse_truncate(sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; }
int accept(sqlite3_file*, int) { return SQLITE_OK; }
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(bytes_of(file).size());
  return SQLITE_OK;
}
int not_reserved(sqlite3_file*, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int no_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; }

const sqlite3_io_methods& methods() {
  static const sqlite3_io_methods all = [] {
    sqlite3_io_methods m{};
    m.iVersion = 1;
    m.xClose = close_file;
    m.xRead = read_file;
    m.xWrite = refuse_write;
    m.xTruncate = refuse_truncate;
    m.xSync = accept;
    m.xFileSize = file_size;
    m.xLock = accept;
    m.xUnlock = accept;
    m.xCheckReservedLock = not_reserved;
    m.xFileControl = no_control;
    m.xSectorSize = sector_size;
    m.xDeviceCharacteristics = characteristics;
    return m;
  }();
  return all;
}

int open_file(sqlite3_vfs* vfs, const char*, sqlite3_file* file, int flags, int* out_flags) {
  auto* opened = reinterpret_cast<OpenFile*>(file);
  opened->base.pMethods = nullptr;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return SQLITE_CANTOPEN;
  opened->base.pMethods = &methods();
  opened->bytes = static_cast<SqliteBytes*>(vfs->pAppData);
  if (out_flags != nullptr) *out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  return SQLITE_OK;
}
int refuse_delete(sqlite3_vfs*, const char*, int) { return SQLITE_READONLY; }
int nothing_there(sqlite3_vfs*, const char*, int, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int room, char* out) {
  sqlite3_snprintf(room, out, "%s", name);
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

SqliteBytes::SqliteBytes(int fd, std::uint64_t size, std::atomic<std::uint64_t>* counted,
                         double weight)
    : fd_(fd), size_(size), counted_(counted), weight_(weight) {}

SqliteBytes::~SqliteBytes() {
  if (fd_ >= 0) ::close(fd_);
}

// Reads a block at `offset`; false if the file cannot be read.
bool SqliteBytes::fill(std::uint64_t offset, std::size_t wanted) {
  block_.resize(wanted);
  block_at_ = offset;
  std::size_t got = 0;
  while (got < wanted) {
    const ssize_t n =
        ::pread(fd_, block_.data() + got, wanted - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  block_.resize(got);
  if (counted_ != nullptr)
    counted_->fetch_add(static_cast<std::uint64_t>(static_cast<double>(got) * weight_));
  return true;
}

int SqliteBytes::read(char* into, std::size_t amount, std::uint64_t offset) {
  std::string_view have = memory_;
  std::uint64_t have_at = 0;
  if (fd_ >= 0) {
    const bool inside = offset >= block_at_ && offset + amount <= block_at_ + block_.size();
    // A table scan reads page after page; a walk down a tree does not.
    const bool follows = offset == next_;
    if (!inside && !fill(offset, follows ? std::max(amount, block_bytes) : amount))
      return SQLITE_IOERR_READ;
    next_ = offset + amount;
    have = {block_.data(), block_.size()};
    have_at = block_at_;
  }
  const std::uint64_t skip = std::min<std::uint64_t>(offset - have_at, have.size());
  const std::string_view part = have.substr(skip, amount);
  std::ranges::copy(part, into);
  if (part.size() == amount) return SQLITE_OK;
  std::fill_n(into + part.size(), amount - part.size(), '\0');
  return SQLITE_IOERR_SHORT_READ;
}

SqliteVfs::SqliteVfs(SqliteBytes& bytes) {
  static std::atomic<std::uint64_t> count{0};
  name_ = "stepscope-" + std::to_string(++count);
  const sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  check(system != nullptr, "SQLite has a file layer of its own");
  vfs_ = *system;  // reuses its random numbers, sleep and time
  vfs_.iVersion = std::min(vfs_.iVersion, 2);
  vfs_.szOsFile = static_cast<int>(sizeof(OpenFile));
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = &bytes;
  vfs_.xOpen = open_file;
  vfs_.xDelete = refuse_delete;
  vfs_.xAccess = nothing_there;
  vfs_.xFullPathname = full_name;
  vfs_.xDlOpen = nullptr;
  vfs_.xDlError = nullptr;
  vfs_.xDlSym = nullptr;
  vfs_.xDlClose = nullptr;
  vfs_.xGetLastError = last_error;
  sqlite3_vfs_register(&vfs_, 0);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&vfs_); }

}  // namespace stepscope
