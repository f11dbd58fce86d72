// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/read_digest.h"

#include "stepscope/base/files/open_source.h"
#include "stepscope/digest/digest_file.h"
#include "stepscope/read/bytes/whole_file.h"

namespace stepscope {
namespace {

Result<std::string> digest_bytes(ByteSource& source, const std::string& path,
                                 const ReadControl& control) {
  auto bytes = read_whole_file(source, path, control,
                               {.bytes = std::uint64_t{4} << 30,
                                .what = "more than 4 GB of a digest",
                                .hint = "make digests of fewer steps"});
  if (!bytes) return bytes;
  if (const std::string damage = source.damage(); !damage.empty())
    return Error{.what = damage, .file = path, .hint = "copy the digest again"};
  return bytes;
}

}  // namespace

Result<std::vector<Trace>> read_digest_from(ByteSource& source, const std::string& path,
                                            const ReadControl& control) {
  const auto bytes = digest_bytes(source, path, control);
  if (!bytes) return bytes.error();
  return decode_digest(*bytes, path, control.threads, control.stop);
}

Result<DigestHeader> read_digest_header(const std::string& path, const ReadControl& control) {
  auto source = open_source(path);
  if (!source) return source.error();
  const auto bytes = digest_bytes(**source, path, control);
  if (!bytes) return bytes.error();
  return digest_header(*bytes, path);
}

}  // namespace stepscope
