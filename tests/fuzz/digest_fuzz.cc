// SPDX-License-Identifier: Apache-2.0
// Any bytes as a digest. The columns of a digest are compressed and have checksums, so bytes that
// are changed at random only meet the decompressor. Therefore an input that is no digest is a head,
// a byte 0 and the columns before compression; the target makes a digest of it.
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stepscope/digest/digest_file.h"
#include "stepscope/read/files/read_digest.h"
#include "tests/fuzz/trace_fuzz.h"

namespace stepscope::fuzz {
namespace {

std::string frame_of(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

// Each column takes as many bytes as its head says, or what is left.
void run_parts(std::string_view json, std::string_view columns) {
  auto header = parse_digest_header(json, "input");
  if (!header) return;
  std::string body;
  std::string frame;
  for (StoredTrace& trace : header->traces)
    for (StoredTable& table : trace.tables)
      for (StoredColumn& column : table.columns) {
        const std::string_view bytes = columns.substr(0, column.bytes);
        columns.remove_prefix(bytes.size());
        column.bytes = bytes.size();
        frame += bytes;
        if (!column.stored) continue;
        const std::string stored = frame_of(frame);
        column.stored = stored.size();
        body += stored;
        frame.clear();
      }
  if (const auto file = assemble_digest(*header, body)) run_trace_reader(read_digest_from, *file);
}

}  // namespace
}  // namespace stepscope::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (is_digest(bytes)) {
    fuzz::run_trace_reader(read_digest_from, bytes);
    return 0;
  }
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  fuzz::run_parts(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())));
  return 0;
}
