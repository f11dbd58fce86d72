// SPDX-License-Identifier: Apache-2.0
// The weights of a network in the files of other tools. A tensor may lie anywhere in one file, be
// f32 or narrower, have or lack the rows that pad the vocabulary, and be transposed. The readers of
// such files find the tensors. This file reads their elements into units and writes them from
// units, one piece at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/nn/network/units.h"
#include "engine/zero/drive/disk_file.h"
#include "stepscope/base/element.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

enum class StoredType : std::uint8_t { f32, bf16, f16 };
[[nodiscard]] constexpr std::uint64_t stored_bytes(StoredType type) {
  return type == StoredType::f32 ? 4 : 2;
}
// f32 or bf16.
[[nodiscard]] StoredType stored_type(ElementType type);
// Converts IEEE 754 half precision exactly.
[[nodiscard]] float float_of_half(std::uint16_t bits);

// The place of one parameter's elements.
struct StoredTensor {
  std::uint64_t offset = 0;  // of its first element in the file
  StoredType type = StoredType::f32;
  std::int64_t rows = 0;    // first rows of shape[0] that the file holds; the rest is padding
  bool transposed = false;  // the file holds [columns, rows]
};

// Fills `into` with elements [first, first + into.size()) of a unit.
using ReadWeights =
    std::function<Result<Done>(std::size_t unit, std::int64_t first, std::span<float> into)>;

class StoredWeights {
 public:
  // tensors[u][p] is parameter p of unit u.
  StoredWeights(DiskFile file, std::vector<nn::Unit> units,
                std::vector<std::vector<StoredTensor>> tensors)
      : file_(std::move(file)), units_(std::move(units)), tensors_(std::move(tensors)) {}

  // Reads elements [first, first + into.size()) of a unit as f32, exactly. Padding rows are zero.
  // Each rank reads its own shard. Errors name file and byte.
  [[nodiscard]] Result<Done> read(std::size_t unit, std::int64_t first,
                                  std::span<float> into) const;

 private:
  DiskFile file_;
  std::vector<nn::Unit> units_;
  std::vector<std::vector<StoredTensor>> tensors_;
};

// The rows of a parameter without padding, and the elements of a row.
struct ParameterRows {
  std::int64_t rows = 0;
  std::int64_t columns = 1;
};
[[nodiscard]] ParameterRows parameter_rows(const nn::Parameter& parameter);

// Writes all tensor.rows of one parameter to the place of `tensor`. bf16 is rounded to nearest,
// ties to even. A transposed parameter is held in memory as a whole.
[[nodiscard]] Result<Done> write_tensor(const DiskFile& file, const StoredTensor& tensor,
                                        std::size_t unit, const nn::Parameter& parameter,
                                        const ReadWeights& weights);

// "[768, 3072]".
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace stepscope::zero
