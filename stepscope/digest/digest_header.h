// SPDX-License-Identifier: Apache-2.0
// The head of a digest file: what it was made from, the metadata of its traces, and where their
// columns lie. It is JSON (docs/dev/digest-format.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/digest/integer_column.h"
#include "stepscope/event/metadata.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The file that a digest was made from.
struct DigestSource {
  std::string path{};
  std::uint64_t bytes = 0;       // of the file
  std::uint64_t text_bytes = 0;  // inflated
  std::int64_t modified_ns = 0;  // its last change, since the UNIX epoch
  std::string program{};         // the version that made the digest
};

struct StoredColumn {
  std::string name{};
  IntegerCoding coding{};
  bool text = false;                      // the column is bytes, not integers
  std::uint64_t bytes = 0;                // encoded, before compression
  std::optional<std::uint64_t> stored{};  // in the file, of the frame that ends with this column;
                                          // absent: the next column is in the same frame
};

struct StoredTable {
  std::string name{};
  std::uint64_t rows = 0;
  std::vector<StoredColumn> columns{};
};

struct StoredTrace {
  Metadata metadata{};
  ImportNotes notes{};
  std::vector<StoredTable> tables{};  // those with rows
};

// The frames of the columns lie one behind the other, in this order, directly behind the head.
struct DigestHeader {
  DigestSource source{};
  std::vector<StoredTrace> traces{};
};

// Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_json(const DigestHeader& header);
// Errors name the place in the JSON and `path`.
[[nodiscard]] Result<DigestHeader> parse_digest_header(std::string_view json,
                                                       const std::string& path);

}  // namespace stepscope
