// SPDX-License-Identifier: Apache-2.0
// Flat Parquet files (parquet-format, version 1 data pages): columns of PLAIN and RLE_DICTIONARY
// values, uncompressed or snappy, required or optional. Anything else is refused by its name.
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
  // One value a row, zero where it is absent; of the three the one that its type fills.
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::uint32_t> text;  // places in `texts`
  std::vector<std::string> texts;
  std::vector<bool> absent;  // by row; empty where none is
};

[[nodiscard]] bool is_parquet(std::string_view head);

// The columns that are called `names`, in that order; others are not decoded. `path` is for errors,
// whose byte is that of the file.
[[nodiscard]] Result<std::vector<ParquetColumn>> read_parquet(
    std::string_view file, std::span<const std::string_view> names, const std::string& path);

}  // namespace stepscope
