// SPDX-License-Identifier: Apache-2.0
// What a Parquet file says of itself: its columns and where their pages lie (parquet.thrift).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/thrift_compact.h"

namespace stepscope {

// Parquet's physical types, by their numbers in the format.
enum class ParquetType : std::uint8_t {
  boolean,
  int32,
  int64,
  int96,
  real32,
  real64,
  bytes,
  fixed_bytes,
};

// One column's pages in one row group.
struct ParquetChunk {
  std::int64_t codec = 0;
  std::int64_t values = 0;  // absent ones counted
  std::uint64_t begin = 0;  // bytes of the file
  std::uint64_t end = 0;
};

struct ParquetLeaf {
  std::string name;
  ParquetType type = ParquetType::int32;
  bool optional = false;
  std::vector<ParquetChunk> chunks;  // by row group
};

struct ParquetFooter {
  std::uint64_t rows = 0;
  std::vector<ParquetLeaf> leaves;
};

// Refuses what is not flat (nested and repeated columns), and row counts that no file of this size
// holds.
[[nodiscard]] Result<ParquetFooter> read_parquet_footer(std::string_view file,
                                                        const std::string& path);

struct ParquetPage {
  std::int64_t type = -1;  // 0 data, 1 index, 2 dictionary, 3 data of version 2
  std::int64_t bytes = 0;  // in the file
  std::int64_t unpacked_bytes = 0;
  std::int64_t values = 0;  // of a data or dictionary page
  std::int64_t encoding = 0;
  std::int64_t level_encoding = 0;  // of definition levels
  std::size_t header_bytes = 0;
};

// The page's header at the start of `bytes`; false where it is none.
[[nodiscard]] bool read_page_header(std::string_view bytes, ParquetPage& page);

// "ZSTD", "DELTA_BINARY_PACKED"; "codec 12" for unknown ones.
[[nodiscard]] std::string codec_name(std::int64_t codec);
[[nodiscard]] std::string encoding_name(std::int64_t encoding);

}  // namespace stepscope
