// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file: its columns and the places of their pages (parquet.thrift).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/thrift_compact.h"

namespace stepscope {

// Parquet's physical types, with their numbers in the format.
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
  std::int64_t values = 0;  // including absent ones
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

// Errors: a schema that is not flat (nested or repeated columns), and row counts that are too large
// for the size of the file.
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

// Reads the page header at the start of `bytes`; false if there is none.
[[nodiscard]] bool read_page_header(std::string_view bytes, ParquetPage& page);

// "ZSTD", "DELTA_BINARY_PACKED"; "codec 12" for unknown ones.
[[nodiscard]] std::string codec_name(std::int64_t codec);
[[nodiscard]] std::string encoding_name(std::int64_t encoding);

}  // namespace stepscope
