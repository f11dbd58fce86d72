// SPDX-License-Identifier: Apache-2.0
// Follows a file that another process appends to, line by line. Each poll continues where the last
// one stopped. The file may be rotated (the path names another file: the old one is read to its
// end first), truncated, or overwritten in place (the bytes before the place reached are compared
// with those read). Then reading begins at the new start. A last line without its end is kept until
// the rest arrives. Nothing depends on a clock.
//
// Memory: a line that is not complete, at most most_line_bytes. A longer line is dropped and
// counted. One open file per object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {

inline constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

struct TailCounts {
  std::uint64_t bytes = 0;
  std::uint64_t skipped_bytes = 0;  // before the place where reading began
  std::uint64_t rotations = 0;      // the path named another file
  std::uint64_t truncations = 0;    // the file became shorter, or its read part changed
  std::uint64_t long_lines = 0;     // dropped
};

enum class TailState : std::uint8_t { more, caught_up, missing };

class FileTail {
 public:
  // Called when what follows is not a continuation of what came before.
  using Restarted = std::function<void()>;
  // A complete line without its end ('\n' or "\r\n"). Empty lines are left out.
  using Line = std::function<void(std::string_view)>;

  // If a file has more than `most_old` bytes, reading begins at the first line within the last
  // `most_old` bytes. This counts for the first file only: files that replace it are read whole.
  explicit FileTail(std::string path, std::uint64_t most_old);
  ~FileTail();
  FileTail(const FileTail&) = delete;
  FileTail& operator=(const FileTail&) = delete;

  // Reads at most about `most_bytes`. `more`: the budget ended before the file did. `missing`: the
  // path names no file at present; this is no error, because rotation leaves such a gap. Errors:
  // the file cannot be opened or read.
  [[nodiscard]] Result<TailState> poll(std::uint64_t most_bytes, const Line& line,
                                       const Restarted& restarted);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const TailCounts& counts() const { return counts_; }
  // Device and inode of the file that is read; zeros before the first.
  [[nodiscard]] std::pair<dev_t, ino_t> file() const { return {device_, inode_}; }
  // The last line without its end, for a file whose writer ended without one.
  [[nodiscard]] std::string_view unfinished() const { return partial_; }

 private:
  [[nodiscard]] Result<TailState> open();
  void begin_again();
  [[nodiscard]] Result<TailState> read_on(std::uint64_t most_bytes, const Line& line,
                                          const Restarted& restarted);
  void take(std::string_view bytes, const Line& line);
  void remember(std::string_view bytes);

  std::string path_;
  std::uint64_t most_old_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::int64_t changed_ns_ = 0;  // when the file was last written, at the last reading
  std::uint64_t offset_ = 0;
  bool first_ = true;       // no file has been opened yet
  bool skip_line_ = false;  // the rest of a line that is dropped
  std::string partial_;
  std::string last_bytes_;  // that were read before offset_
  TailCounts counts_;
};

}  // namespace stepscope
