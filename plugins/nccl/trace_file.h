// SPDX-License-Identifier: Apache-2.0
// One rank's trace on disk: `NAME.partial.json` during the writing, renamed when it is complete.
// Data that flush() wrote survives the process. Bytes that cannot be written (a full disk) wait in
// the buffer, 256 KiB, and the next flush() goes on with them where the file ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope::nccl {

class TraceFile {
 public:
  // Creates FOLDER/STEM.partial.json. False, with errno set, when that cannot be done.
  bool open(const char* folder, const char* stem, std::uint64_t most_bytes);
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  // Writes one or several whole rows. Past `most_bytes`, and with a full buffer after a failed
  // write, the rows are dropped and the result is false.
  bool append(std::string_view rows);
  // Writes text that the file needs at any size: the end of the document.
  bool append_end(std::string_view text);
  void flush();
  // Flushes, closes and renames to FOLDER/STEM.json. False, with errno set, if the end of the
  // document, the close or the renaming failed. The partial file then stays.
  bool close(const char* folder, const char* stem);

  [[nodiscard]] const char* path() const { return path_.data(); }
  [[nodiscard]] std::uint64_t bytes() const { return written_ + size_; }
  // errno of the last flush; 0 = all was written.
  [[nodiscard]] int error() const { return error_; }

 private:
  bool put(std::string_view text);
  void unmap();

  int descriptor_ = -1;
  int error_ = 0;
  bool incomplete_ = false;  // a part of the document's frame found no place
  std::uint64_t most_bytes_ = 0;
  std::uint64_t written_ = 0;
  std::size_t size_ = 0;
  std::array<char, 1400> path_ = {};
  char* buffer_ = nullptr;  // mapped while the file is open
};

}  // namespace stepscope::nccl
