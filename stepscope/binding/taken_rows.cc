// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/taken_rows.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::binding {
namespace {

// The memory of a column.
struct TakenColumn {
  std::vector<std::uint8_t> valid;
  std::vector<std::uint8_t> values;  // of any width, or bits
  std::vector<std::int64_t> offsets;
  std::string text;
};

bool bit_of(const void* bits, std::int64_t row) {
  return (static_cast<const std::uint8_t*>(bits)[row / 8] >> (row % 8) & 1) != 0;
}

void set_bit(std::vector<std::uint8_t>& bits, std::int64_t row) {
  auto& byte = bits[static_cast<std::size_t>(row / 8)];
  byte = static_cast<std::uint8_t>(byte | 1U << row % 8);
}

// Bytes of a value; 0: bits, or a text.
std::size_t width_of(char format) {
  switch (format) {
    case 'l':
    case 'L':
    case 'g':
      return 8;
    case 'i':
    case 'I':
      return 4;
    case 's':
      return 2;
    case 'C':
      return 1;
    default:
      return 0;
  }
}

struct RowRange {
  std::int64_t start;
  std::int64_t step;
  std::int64_t count;
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return start + i * step; }
};

void take_values(const ArrowColumn& c, const RowRange& rows, TakenColumn& out) {
  const char format = c.format.front();
  const std::size_t width = width_of(format);
  if (format == 'b') out.values.resize(static_cast<std::size_t>(rows.count + 7) / 8);
  if (width > 0) out.values.resize(static_cast<std::size_t>(rows.count) * width);
  if (format == 'U') out.offsets.push_back(0);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (format == 'U') {
      const auto* offsets = static_cast<const std::int64_t*>(c.buffers[1]);
      const std::int64_t at = offsets[rows[i]];
      out.text.append(static_cast<const char*>(c.buffers[2]) + at,
                      static_cast<std::size_t>(offsets[rows[i] + 1] - at));
      out.offsets.push_back(static_cast<std::int64_t>(out.text.size()));
    } else if (format == 'b') {
      if (bit_of(c.buffers[1], rows[i])) set_bit(out.values, i);
    } else {
      std::memcpy(out.values.data() + static_cast<std::size_t>(i) * width,
                  static_cast<const std::uint8_t*>(c.buffers[1]) +
                      static_cast<std::size_t>(rows[i]) * width,
                  width);
    }
  }
}

ArrowColumn taken(const ArrowColumn& c, const RowRange& rows) {
  auto memory = std::make_shared<TakenColumn>();
  ArrowColumn out{.name = c.name,
                  .format = c.format,
                  .length = rows.count,
                  .buffers = {nullptr},
                  .owner = memory,
                  .dictionary = c.dictionary};
  if (c.buffers[0] != nullptr) {
    memory->valid.resize(static_cast<std::size_t>(rows.count + 7) / 8);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      if (bit_of(c.buffers[0], rows[i]))
        set_bit(memory->valid, i);
      else
        ++out.nulls;
    }
    out.buffers[0] = memory->valid.data();
  }
  take_values(c, rows, *memory);
  if (c.format.front() == 'U') {
    out.buffers.push_back(memory->offsets.data());
    out.buffers.push_back(memory->text.data());
  } else {
    out.buffers.push_back(memory->values.data());
  }
  return out;
}

}  // namespace

std::shared_ptr<const ArrowTable> taken_rows(const ArrowTable& table, std::int64_t start,
                                             std::int64_t step, std::int64_t count) {
  auto out = std::make_shared<ArrowTable>();
  out->rows = count;
  for (const ArrowColumn& c : table.columns) out->columns.push_back(taken(c, {start, step, count}));
  return out;
}

}  // namespace stepscope::binding
