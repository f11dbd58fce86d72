// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/stored_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace stepscope::zero {
namespace {

constexpr std::size_t piece = 64 * 1024;  // elements moved at once

float element_of(StoredType type, const std::byte* at) {
  if (type == StoredType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return type == StoredType::bf16 ? to_float(Bf16{bits}) : float_of_half(bits);
}

// Consecutive elements of a tensor, from its element `index` in the file on.
Result<Done> read_elements(const DiskFile& file, const StoredTensor& tensor, std::int64_t index,
                           std::span<float> into, std::vector<std::byte>& buffer) {
  const std::uint64_t width = stored_bytes(tensor.type);
  std::uint64_t at = tensor.offset + static_cast<std::uint64_t>(index) * width;
  if (tensor.type == StoredType::f32) return file.read(at, std::as_writable_bytes(into));
  while (!into.empty()) {
    const std::size_t n = std::min(into.size(), piece);
    buffer.resize(n * width);
    if (auto read = file.read(at, buffer); !read) return read.error();
    for (std::size_t i = 0; i < n; ++i)
      into[i] = element_of(tensor.type, buffer.data() + i * width);
    into = into.subspan(n);
    at += n * width;
  }
  return Done{};
}

// Reads elements [first, first + into.size()) of the [rows, columns] parameter. The file holds it
// as [columns, rows], so the requested part of each of the file's rows is read.
Result<Done> read_transposed(const DiskFile& file, const StoredTensor& tensor, std::int64_t columns,
                             std::int64_t first, std::span<float> into,
                             std::vector<std::byte>& buffer) {
  const std::int64_t last = first + std::ssize(into) - 1;
  const std::int64_t row = first / columns;
  const std::int64_t rows = last / columns - row + 1;
  std::vector<float> part(static_cast<std::size_t>(rows));
  for (std::int64_t c = 0; c < columns; ++c) {
    if (auto read = read_elements(file, tensor, c * tensor.rows + row, part, buffer); !read)
      return read.error();
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t element = (row + r) * columns + c;
      if (element >= first && element <= last)
        into[static_cast<std::size_t>(element - first)] = part[static_cast<std::size_t>(r)];
    }
  }
  return Done{};
}

// Writes values as `type` at `offset`.
Result<Done> write_elements(const DiskFile& file, StoredType type, std::uint64_t offset,
                            std::span<const float> values, std::vector<Bf16>& rounded) {
  if (type == StoredType::f32) return file.write(offset, std::as_bytes(values));
  rounded.resize(values.size());
  std::ranges::transform(values, rounded.begin(), to_bf16);
  return file.write(offset, std::as_bytes(std::span(rounded)));
}

}  // namespace

StoredType stored_type(ElementType type) {
  check(type == ElementType::f32 || type == ElementType::bf16, "weights are f32 or bf16");
  return type == ElementType::f32 ? StoredType::f32 : StoredType::bf16;
}

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction · 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

ParameterRows parameter_rows(const nn::Parameter& parameter) {
  const std::int64_t rows = parameter.shape.empty() ? 1 : parameter.shape.front();
  return {.rows = rows - parameter.pad_rows,
          .columns = parameter.count / std::max<std::int64_t>(rows, 1)};
}

Result<Done> StoredWeights::read(std::size_t unit, std::int64_t first,
                                 std::span<float> into) const {
  check(unit < units_.size() && first >= 0 && first + std::ssize(into) <= units_[unit].count,
        "the elements are in the unit");
  const std::int64_t end = first + std::ssize(into);
  std::ranges::fill(into, 0.F);
  std::vector<std::byte> buffer;
  for (std::size_t p = 0; p < units_[unit].parameters.size(); ++p) {
    const nn::Parameter& parameter = units_[unit].parameters[p];
    const StoredTensor& tensor = tensors_[unit][p];
    const std::int64_t columns = parameter_rows(parameter).columns;
    const std::int64_t from = std::max(first, parameter.offset);
    const std::int64_t to = std::min(end, parameter.offset + tensor.rows * columns);
    if (from >= to) continue;
    const auto part =
        into.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from));
    const std::int64_t at = from - parameter.offset;
    const auto read = tensor.transposed ? read_transposed(file_, tensor, columns, at, part, buffer)
                                        : read_elements(file_, tensor, at, part, buffer);
    if (!read) return read.error();
  }
  return Done{};
}

Result<Done> write_tensor(const DiskFile& file, const StoredTensor& tensor, std::size_t unit,
                          const nn::Parameter& parameter, const ReadWeights& weights) {
  const std::int64_t columns = parameter_rows(parameter).columns;
  const std::int64_t count = tensor.rows * columns;
  const std::uint64_t width = stored_bytes(tensor.type);
  std::vector<Bf16> rounded;
  const auto all = static_cast<std::size_t>(count);
  std::vector<float> values(tensor.transposed ? all : std::min(all, piece));
  if (tensor.transposed) {
    if (auto read = weights(unit, parameter.offset, values); !read) return read.error();
    std::vector<float> row(static_cast<std::size_t>(tensor.rows));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < tensor.rows; ++r)
        row[static_cast<std::size_t>(r)] = values[static_cast<std::size_t>(r * columns + c)];
      const std::uint64_t at = tensor.offset + static_cast<std::uint64_t>(c * tensor.rows) * width;
      if (auto done = write_elements(file, tensor.type, at, row, rounded); !done)
        return done.error();
    }
    return Done{};
  }
  for (std::int64_t at = 0; at < count;) {
    const auto n = std::min<std::int64_t>(count - at, std::ssize(values));
    const auto part = std::span(values).first(static_cast<std::size_t>(n));
    if (auto read = weights(unit, parameter.offset + at, part); !read) return read.error();
    const std::uint64_t offset = tensor.offset + static_cast<std::uint64_t>(at) * width;
    if (auto done = write_elements(file, tensor.type, offset, part, rounded); !done)
      return done.error();
    at += n;
  }
  return Done{};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

}  // namespace stepscope::zero
