// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/parquet.h"

#include <snappy.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "stepscope/read/bytes/parquet_footer.h"

namespace stepscope {
namespace {

constexpr std::int64_t plain = 0;
constexpr std::int64_t plain_dictionary = 2;  // RLE_DICTIONARY's name in older files
constexpr std::int64_t run_length = 3;
constexpr std::int64_t rle_dictionary = 8;
constexpr std::int64_t uncompressed = 0;
constexpr std::int64_t snappy_codec = 1;

// Unpacks one block of Snappy's raw format. False if it is damaged, or holds another number of
// bytes than `size`. No element of the format gives more than 22 bytes a byte, so a small file
// cannot ask for much memory.
bool unpack_snappy(std::string_view block, std::int64_t size, std::string& out) {
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &length)) return false;
  if (length != static_cast<std::uint64_t>(size) || length / 22 > block.size()) return false;
  out.resize(length);
  return snappy::RawUncompress(block.data(), block.size(), out.data());
}

template <class T>
T number(std::string_view bytes, std::size_t at) {
  static_assert(std::endian::native == std::endian::little);
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Decodes runs of one value and packed groups of eight (parquet-format Encodings.md, "RLE"). False
// if the bytes end before `count` values.
bool unpack_runs(std::string_view bytes, unsigned width, std::size_t count,
                 std::vector<std::uint32_t>& out) {
  out.clear();
  std::size_t at = 0;
  while (out.size() < count) {
    std::uint64_t head = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == bytes.size() || shift > 28) return false;
      const auto b = static_cast<unsigned char>(bytes[at++]);
      head |= std::uint64_t{b & 0x7fU} << shift;
      if (b < 0x80) break;
    }
    const std::size_t left = count - out.size();
    if ((head & 1U) == 0) {
      const std::size_t value_bytes = (width + 7) / 8;
      if (bytes.size() - at < value_bytes || head == 0) return false;
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < value_bytes; ++i)
        value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
      at += value_bytes;
      out.insert(out.end(), std::min<std::uint64_t>(head >> 1U, left), value);
      continue;
    }
    const std::uint64_t packed = (head >> 1U) * width;  // bytes
    if (packed > bytes.size() - at || (head >> 1U) == 0) return false;
    const std::size_t values = std::min<std::uint64_t>((head >> 1U) * 8, left);
    std::uint64_t bits = 0;
    unsigned have = 0;
    std::size_t from = at;
    for (std::size_t i = 0; i < values; ++i) {
      while (have < width) {
        bits |= std::uint64_t{static_cast<unsigned char>(bytes[from++])} << have;
        have += 8;
      }
      out.push_back(static_cast<std::uint32_t>(bits & ((std::uint64_t{1} << width) - 1)));
      bits >>= width;
      have -= width;
    }
    at += packed;
  }
  return true;
}

// Decodes the chunks of a requested column and appends their values.
class Decoder {
 public:
  Decoder(std::string_view file, const ParquetLeaf& leaf, std::uint64_t rows,
          const std::string& path)
      : file_(file), leaf_(leaf), rows_(rows), path_(path) {
    column_.name = leaf.name;
    column_.type = leaf.type;
  }

  Result<ParquetColumn> decode() && {
    for (const ParquetChunk& chunk : leaf_.chunks)
      if (auto error = decode_chunk(chunk)) return *error;
    if (count() != rows_)
      return wrong(std::to_string(count()) + " values for " + std::to_string(rows_) + " rows",
                   leaf_.chunks.empty() ? 0 : leaf_.chunks.back().end);
    return std::move(column_);
  }

 private:
  [[nodiscard]] Error wrong(std::string what, std::uint64_t byte,
                            std::string hint = "write or copy the file again") const {
    return {.what = "Parquet column " + leaf_.name + ": " + std::move(what),
            .file = path_,
            .byte = byte,
            .hint = std::move(hint)};
  }
  [[nodiscard]] Error refused(const std::string& what, std::uint64_t byte) const {
    return wrong(what + " is not read", byte,
                 "write PLAIN or RLE_DICTIONARY values, uncompressed or snappy");
  }
  [[nodiscard]] bool is_integer() const {
    return leaf_.type == ParquetType::int32 || leaf_.type == ParquetType::int64;
  }
  [[nodiscard]] std::size_t count() const {
    return column_.integers.size() + column_.reals.size() + column_.text.size();
  }

  std::optional<Error> decode_chunk(const ParquetChunk& chunk) {
    if (chunk.codec != uncompressed && chunk.codec != snappy_codec)
      return refused(codec_name(chunk.codec), chunk.begin);
    dictionary_ = {};
    std::uint64_t at = chunk.begin;
    const std::size_t before = count();
    while (count() - before < static_cast<std::uint64_t>(chunk.values)) {
      ParquetPage page;
      if (!read_page_header(file_.substr(at, chunk.end - at), page))
        return wrong("a damaged page header", at);
      const std::uint64_t body = at + page.header_bytes;
      if (static_cast<std::uint64_t>(page.bytes) > chunk.end - body)
        return wrong("a page that is cut", at);
      if (page.type == 3) return refused("a data page of version 2", at);
      const std::string_view packed = file_.substr(body, static_cast<std::size_t>(page.bytes));
      at = body + packed.size();
      if (page.type != 0 && page.type != 2) continue;
      std::string unpacked;
      std::string_view bytes = packed;
      if (chunk.codec == snappy_codec) {
        if (!unpack_snappy(packed, page.unpacked_bytes, unpacked))
          return wrong("a damaged Snappy block", body);
        bytes = unpacked;
      }
      if (bytes.size() != static_cast<std::uint64_t>(page.unpacked_bytes))
        return wrong("a page of another size than its header says", body);
      auto error =
          page.type == 2 ? take_dictionary(bytes, page, body) : take_values(bytes, page, body);
      if (error) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> take_dictionary(std::string_view bytes, const ParquetPage& page,
                                       std::uint64_t byte) {
    if (page.encoding != plain && page.encoding != plain_dictionary)
      return refused(encoding_name(page.encoding) + " of a dictionary", byte);
    ParquetColumn values;
    values.type = leaf_.type;
    if (auto error = take_plain(bytes, static_cast<std::uint64_t>(page.values), byte, values))
      return error;
    dictionary_ = std::move(values);
    return std::nullopt;
  }

  std::optional<Error> take_values(std::string_view bytes, const ParquetPage& page,
                                   std::uint64_t byte) {
    const auto values = static_cast<std::uint64_t>(page.values);
    if (values > rows_ - count()) return wrong("more values than rows", byte);
    std::uint64_t present = values;
    present_.clear();
    if (leaf_.optional) {
      if (page.level_encoding != run_length)
        return refused(encoding_name(page.level_encoding) + " of definition levels", byte);
      if (bytes.size() < 4) return wrong("a page that is cut", byte);
      const auto length = number<std::uint32_t>(bytes, 0);
      if (length > bytes.size() - 4) return wrong("a page that is cut", byte);
      if (!unpack_runs(bytes.substr(4, length), 1, values, present_))
        return wrong("damaged definition levels", byte);
      bytes.remove_prefix(4 + std::size_t{length});
      present = static_cast<std::uint64_t>(std::ranges::count(present_, 1U));
    }
    ParquetColumn found;
    found.type = leaf_.type;
    std::optional<Error> error;
    if (page.encoding == plain)
      error = take_plain(bytes, present, byte, found);
    else if (page.encoding == rle_dictionary || page.encoding == plain_dictionary)
      error = take_indices(bytes, present, byte, found);
    else
      error = refused(encoding_name(page.encoding), byte);
    if (error) return error;
    append(found, values);
    return std::nullopt;
  }

  // Moves present values to their rows.
  void append(const ParquetColumn& found, std::uint64_t values) {
    const std::size_t first = count();
    const auto spread = [&](const auto& from, auto& to) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < values; ++i) {
        const bool there = present_.empty() || present_[i] == 1;
        to.push_back(there ? from[next] : typename std::remove_cvref_t<decltype(to)>::value_type{});
        if (there) ++next;
      }
    };
    if (is_integer())
      spread(found.integers, column_.integers);
    else if (leaf_.type == ParquetType::bytes)
      spread(found.text, column_.text);
    else
      spread(found.reals, column_.reals);
    if (std::ranges::count(present_, 1U) == std::ssize(present_) && column_.absent.empty()) return;
    column_.absent.resize(first, false);
    for (std::size_t i = 0; i < values; ++i)
      column_.absent.push_back(!present_.empty() && present_[i] != 1);
  }

  std::optional<Error> take_indices(std::string_view bytes, std::uint64_t count, std::uint64_t byte,
                                    ParquetColumn& to) {
    if (count == 0) return std::nullopt;
    const unsigned width = bytes.empty() ? 33 : static_cast<unsigned char>(bytes[0]);
    if (width > 32 || !unpack_runs(bytes.substr(1), width, count, indices_))
      return wrong("damaged dictionary indices", byte);
    const auto pick = [&](const auto& from, auto& into) {
      for (const std::uint32_t i : indices_) {
        if (i >= from.size()) return false;
        into.push_back(from[i]);
      }
      return true;
    };
    const bool good = is_integer()                       ? pick(dictionary_.integers, to.integers)
                      : leaf_.type == ParquetType::bytes ? pick(dictionary_.text, to.text)
                                                         : pick(dictionary_.reals, to.reals);
    if (!good) return wrong("an index outside its dictionary", byte);
    return std::nullopt;
  }

  std::optional<Error> take_plain(std::string_view bytes, std::uint64_t count, std::uint64_t byte,
                                  ParquetColumn& to) {
    const auto fixed = [&](auto zero, auto& into) -> std::optional<Error> {
      using T = decltype(zero);
      if (count > bytes.size() / sizeof(T)) return wrong("a page that is cut", byte);
      for (std::size_t i = 0; i < count; ++i) into.push_back(number<T>(bytes, i * sizeof(T)));
      return std::nullopt;
    };
    switch (leaf_.type) {
      case ParquetType::int32:
        return fixed(std::int32_t{}, to.integers);
      case ParquetType::int64:
        return fixed(std::int64_t{}, to.integers);
      case ParquetType::real32:
        return fixed(float{}, to.reals);
      case ParquetType::real64:
        return fixed(double{}, to.reals);
      case ParquetType::bytes:
        break;
      default:
        return refused(type_name(), byte);
    }
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (bytes.size() - at < 4) return wrong("a page that is cut", byte);
      const auto length = number<std::uint32_t>(bytes, at);
      at += 4;
      if (length > bytes.size() - at) return wrong("a page that is cut", byte);
      to.text.push_back(place_of(bytes.substr(at, length)));
      at += length;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string type_name() const {
    switch (leaf_.type) {
      case ParquetType::boolean:
        return "BOOLEAN";
      case ParquetType::int96:
        return "INT96";
      default:
        return "FIXED_LEN_BYTE_ARRAY";
    }
  }

  std::uint32_t place_of(std::string_view text) {
    const auto [at, fresh] =
        places_.try_emplace(std::string(text), static_cast<std::uint32_t>(column_.texts.size()));
    if (fresh) column_.texts.emplace_back(text);
    return at->second;
  }

  std::string_view file_;
  const ParquetLeaf& leaf_;
  std::uint64_t rows_;
  const std::string& path_;
  ParquetColumn column_;
  ParquetColumn dictionary_;  // of the current chunk; its text holds indices in column_.texts
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<std::uint32_t> present_;  // definition levels of a page; empty = all present
  std::vector<std::uint32_t> indices_;
};

}  // namespace

bool is_parquet(std::string_view head) { return head.starts_with("PAR1"); }

Result<std::vector<ParquetColumn>> read_parquet(std::string_view file,
                                                std::span<const std::string_view> names,
                                                const std::string& path) {
  const auto footer = read_parquet_footer(file, path);
  if (!footer) return footer.error();
  std::vector<ParquetColumn> columns;
  for (const std::string_view name : names) {
    const auto leaf = std::ranges::find(footer->leaves, name, &ParquetLeaf::name);
    if (leaf == footer->leaves.end())
      return Error{.what = "the table lacks the column " + std::string(name),
                   .file = path,
                   .byte = file.size(),
                   .hint = "write a table with this column"};
    auto column = Decoder(file, *leaf, footer->rows, path).decode();
    if (!column) return column.error();
    columns.push_back(std::move(*column));
  }
  return columns;
}

}  // namespace stepscope
