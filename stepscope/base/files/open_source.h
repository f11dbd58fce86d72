// SPDX-License-Identifier: Apache-2.0
// Files as streams of their uncompressed bytes: on this machine by their paths, on others by URLs
// (https://…, s3://BUCKET/KEY; remote_file.h). Files are read, never mapped, so a file that shrinks
// during reading gives an error and not a crash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"

namespace stepscope {

// The size of the file on disk or at its server. The error contains a remedy.
[[nodiscard]] Result<std::uint64_t> file_size(const std::string& path);

// Whether the name is that of one file: a regular file, an object of S3, or any other URL.
[[nodiscard]] bool may_be_file(const std::string& path);

[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);

// The text of the whole file, for files that people write. Errors name the file: it cannot be read,
// or has more than `most` bytes.
inline constexpr std::size_t most_text_bytes = 1 << 20;
[[nodiscard]] Result<std::string> read_text(const std::string& path,
                                            std::size_t most = most_text_bytes);

}  // namespace stepscope
