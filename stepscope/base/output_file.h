// SPDX-License-Identifier: Apache-2.0
// A file being written. Its bytes go to a temporary file in the same folder, which commit() renames
// into place. So a reader never sees half of it, and a failure leaves the old file. A file without
// permission to write is not replaced. Devices and pipes ("/dev/stdout") are written directly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope {

class OutputFile {
 public:
  // Errors: the directory does not exist or is not writable; the file is read-only.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // without commit() it removes the temporary file

  // The first failure is kept and returned by commit().
  void write(std::string_view bytes);
  [[nodiscard]] Result<Done> commit();

 private:
  OutputFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
  std::optional<Error> failed_;
};

// A folder that is removed with its contents when the process is ended; until forget_folder().
void note_folder(const std::string& path);
void forget_folder(const std::string& path);

// While one is there, the process is not ended: half of what is done would stay, such as a
// transaction of a database.
class Unbroken {
 public:
  Unbroken();
  ~Unbroken();
  Unbroken(const Unbroken&) = delete;
  Unbroken& operator=(const Unbroken&) = delete;
};

// Ends the process at once, whatever its other threads do, and leaves no temporary file. Not for
// signal handlers.
[[noreturn]] void end_process(int code);

// create, write, commit.
[[nodiscard]] Result<Done> write_file(const std::string& path, std::string_view bytes);

// The same, unless there is a file that begins otherwise: a trace whose name follows `--json` is no
// report, and is kept.
[[nodiscard]] Result<Done> write_report(const std::string& path, std::string_view bytes);

}  // namespace stepscope
