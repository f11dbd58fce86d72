// SPDX-License-Identifier: Apache-2.0
// A file behind a URL as a stream of its bytes, read in parts by several connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"

namespace stepscope {

// The first part of a remote file, and what its answer says of the rest.
struct RemoteFile {
  std::string url;
  std::uint64_t size = 0;
  std::string etag{};           // empty: the server gives none
  std::string last_modified{};  // as the server wrote it; may be empty
  std::string head{};           // the first MiB, or the whole file
};

// Asks for the first MiB. An answer serves for 30 s, so that recognising a file and reading it are
// one request. Errors: the server cannot be reached, refuses, has no such file, or does not serve
// parts of a file that is longer than that.
[[nodiscard]] Result<std::shared_ptr<const RemoteFile>> remote_file(const std::string& url);

// Its bytes as they are stored. Four connections read ahead, 4 MiB each, so a source takes 16 MiB.
// Errors of read(): as above; the file changed since its head was read (ETag, date or size).
[[nodiscard]] std::unique_ptr<ByteSource> remote_source(std::shared_ptr<const RemoteFile> file);

// The time of the file's last change since the UNIX epoch; 0 if the server does not give it.
[[nodiscard]] std::int64_t modified_ns(const RemoteFile& file);

// The names s3://BUCKET/KEY of all objects whose key begins with that of `url`, in the order of the
// bucket, without placeholders of folders (keys that end in "/"). Errors: as above; more than a
// million objects.
[[nodiscard]] Result<std::vector<std::string>> objects_below(const std::string& url);

}  // namespace stepscope
