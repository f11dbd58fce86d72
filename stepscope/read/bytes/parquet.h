// SPDX-License-Identifier: Apache-2.0
// Reads flat Parquet files (parquet-format, version 1 data pages). Columns are PLAIN or
// RLE_DICTIONARY, uncompressed or snappy, required or optional. For anything else the error names
// the feature.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/parquet_footer.h"

namespace stepscope {

struct ParquetColumn {
  std::string name;
  ParquetType type = ParquetType::int32;
  // One value a row, zero if absent. The column's type decides which of the three vectors is
  // filled.
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::uint32_t> text;  // indices in `texts`
  std::vector<std::string> texts;
  std::vector<bool> absent;  // by row; empty if no value is absent
};

[[nodiscard]] bool is_parquet(std::string_view head);

// The columns in `names`, in that order; others are not decoded. Errors name `path` and the byte of
// the file.
[[nodiscard]] Result<std::vector<ParquetColumn>> read_parquet(
    std::string_view file, std::span<const std::string_view> names, const std::string& path);

}  // namespace stepscope
