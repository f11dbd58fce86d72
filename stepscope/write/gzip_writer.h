// SPDX-License-Identifier: Apache-2.0
// Writes text to a file, compressed if its name ends in .gz.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/output_file.h"

namespace stepscope {

class GzipWriter {
 public:
  // Compresses if `path` ends in .gz.
  [[nodiscard]] static Result<GzipWriter> create(const std::string& path);
  GzipWriter(GzipWriter&&) noexcept;
  ~GzipWriter();

  void write(std::string_view text);
  [[nodiscard]] Result<Done> commit();

 private:
  struct Deflate;
  GzipWriter(OutputFile file, bool compress);
  void flush(bool last);

  OutputFile file_;
  std::string pending_;
  std::unique_ptr<Deflate> deflate_;  // null: plain
};

}  // namespace stepscope
