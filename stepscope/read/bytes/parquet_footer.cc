// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/parquet_footer.h"

#include <array>
#include <optional>
#include <utility>

namespace stepscope {
namespace {

constexpr std::string_view magic = "PAR1";
// Rows of a table of operations take several bytes each. A file that claims less is damaged.
constexpr std::uint64_t most_rows_per_byte = 64;

// Calls `take(field)` for each field of a structure. Fields for which it returns false are skipped.
template <class Take>
void each_field(ThriftReader& in, Take take) {
  int last = 0;
  for (ThriftField f = in.field(last); f.type != ThriftType::stop; f = in.field(last)) {
    last = f.id;
    if (!take(f)) in.skip(f.type);
    if (!in.good()) return;
  }
}

template <class Take>
void each_structure(ThriftReader& in, Take take) {
  ThriftType element{};
  const std::size_t size = in.list(element);
  for (std::size_t i = 0; i < size && in.good(); ++i) {
    if (element == ThriftType::structure)
      take();
    else
      in.skip(element);
  }
}

bool is_integer(const ThriftField& f) {
  return f.type >= ThriftType::i8 && f.type <= ThriftType::i64;
}

struct SchemaElement {
  std::string name;
  std::int64_t type = -1;
  std::int64_t repetition = 0;  // required, optional, repeated
  std::int64_t children = 0;
};

SchemaElement schema_element(ThriftReader& in) {
  SchemaElement e;
  each_field(in, [&](const ThriftField& f) {
    if (f.id == 4 && f.type == ThriftType::binary) {
      e.name = in.binary();
      return true;
    }
    std::int64_t* const to = f.id == 1   ? &e.type
                             : f.id == 3 ? &e.repetition
                             : f.id == 5 ? &e.children
                                         : nullptr;
    if (to == nullptr || !is_integer(f)) return false;
    *to = in.integer(f.type);
    return true;
  });
  return e;
}

struct ColumnMetadata {
  std::int64_t codec = 0;
  std::int64_t values = 0;
  std::int64_t bytes = 0;
  std::int64_t data_page = 0;
  std::int64_t dictionary_page = 0;  // 0 = none
  std::size_t names = 0;             // number of names in its path
};

ColumnMetadata column_metadata(ThriftReader& in) {
  ColumnMetadata m;
  each_field(in, [&](const ThriftField& f) {
    if (f.id == 3 && f.type == ThriftType::list) {
      ThriftType element{};
      m.names = in.list(element);
      for (std::size_t i = 0; i < m.names && in.good(); ++i) in.skip(element);
      return true;
    }
    std::int64_t* const to = f.id == 4    ? &m.codec
                             : f.id == 5  ? &m.values
                             : f.id == 7  ? &m.bytes
                             : f.id == 9  ? &m.data_page
                             : f.id == 11 ? &m.dictionary_page
                                          : nullptr;
    if (to == nullptr || !is_integer(f)) return false;
    *to = in.integer(f.type);
    return true;
  });
  return m;
}

std::vector<ColumnMetadata> row_group(ThriftReader& in) {
  std::vector<ColumnMetadata> columns;
  each_field(in, [&](const ThriftField& f) {
    if (f.id != 1 || f.type != ThriftType::list) return false;
    each_structure(in, [&] {
      ColumnMetadata column;
      each_field(in, [&](const ThriftField& c) {
        if (c.id != 3 || c.type != ThriftType::structure) return false;
        column = column_metadata(in);
        return true;
      });
      columns.push_back(column);
    });
    return true;
  });
  return columns;
}

struct FileMetadata {
  std::vector<SchemaElement> schema;
  std::int64_t rows = 0;
  std::vector<std::vector<ColumnMetadata>> groups;
};

FileMetadata file_metadata(ThriftReader& in) {
  FileMetadata m;
  each_field(in, [&](const ThriftField& f) {
    if (f.id == 3 && is_integer(f)) {
      m.rows = in.integer(f.type);
      return true;
    }
    if (f.type != ThriftType::list || (f.id != 2 && f.id != 4)) return false;
    each_structure(in, [&] {
      if (f.id == 2)
        m.schema.push_back(schema_element(in));
      else
        m.groups.push_back(row_group(in));
    });
    return true;
  });
  return m;
}

// Why the schema is not flat; empty if it is flat.
std::string not_flat(const FileMetadata& m) {
  if (m.schema.empty()) return "no schema";
  for (std::size_t i = 1; i < m.schema.size(); ++i) {
    const SchemaElement& e = m.schema[i];
    if (e.children != 0) return "the nested column " + e.name;
    if (e.repetition != 0 && e.repetition != 1) return "the repeated column " + e.name;
    if (e.type < 0 || e.type > static_cast<std::int64_t>(ParquetType::fixed_bytes))
      return "the column " + e.name + " of the unknown type " + std::to_string(e.type);
  }
  return {};
}

// nullopt if the pages are not inside the file.
std::optional<ParquetChunk> chunk_of(const ColumnMetadata& m, std::uint64_t file_bytes) {
  const bool dictionary = m.dictionary_page > 0 && m.dictionary_page < m.data_page;
  const std::int64_t begin = dictionary ? m.dictionary_page : m.data_page;
  if (begin < 0 || m.bytes < 0 || m.values < 0) return std::nullopt;
  const auto from = static_cast<std::uint64_t>(begin);
  const auto bytes = static_cast<std::uint64_t>(m.bytes);
  if (from > file_bytes || bytes > file_bytes - from) return std::nullopt;
  return ParquetChunk{m.codec, m.values, from, from + bytes};
}

}  // namespace

Result<ParquetFooter> read_parquet_footer(std::string_view file, const std::string& path) {
  const auto wrong = [&](std::string what, std::uint64_t byte,
                         std::string hint = "write or copy the file again") {
    return Error{
        .what = "Parquet: " + std::move(what), .file = path, .byte = byte, .hint = std::move(hint)};
  };
  constexpr std::size_t tail = 8;  // the footer's length and the magic
  if (file.size() < magic.size() + tail || !file.ends_with(magic))
    return wrong("the file does not end in PAR1", file.size(), "it is cut off: copy it again");
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(file[file.size() - tail + i]))
              << (8 * i);
  if (length > file.size() - tail - magic.size())
    return wrong("a footer longer than the file", file.size() - tail);
  const std::size_t begin = file.size() - tail - length;
  ThriftReader in(file.substr(begin, length));
  const FileMetadata m = file_metadata(in);
  if (!in.good()) return wrong("a damaged footer", begin + in.position());
  if (const std::string fault = not_flat(m); !fault.empty())
    return wrong(fault, begin, "only flat tables are read");
  if (m.rows < 0 || static_cast<std::uint64_t>(m.rows) > file.size() * most_rows_per_byte)
    return wrong(std::to_string(m.rows) + " rows, which this file cannot hold", begin);
  ParquetFooter footer{.rows = static_cast<std::uint64_t>(m.rows), .leaves = {}};
  for (std::size_t c = 1; c < m.schema.size(); ++c) {
    const SchemaElement& e = m.schema[c];
    ParquetLeaf leaf{.name = e.name,
                     .type = static_cast<ParquetType>(e.type),
                     .optional = e.repetition == 1,
                     .chunks = {}};
    for (const auto& group : m.groups) {
      if (group.size() != m.schema.size() - 1)
        return wrong("a row group without all columns", begin);
      const auto chunk = chunk_of(group[c - 1], file.size());
      if (!chunk) return wrong("pages of " + e.name + " beyond the file's end", begin);
      leaf.chunks.push_back(*chunk);
    }
    footer.leaves.push_back(std::move(leaf));
  }
  return footer;
}

bool read_page_header(std::string_view bytes, ParquetPage& page) {
  ThriftReader in(bytes);
  each_field(in, [&](const ThriftField& f) {
    const bool data = f.id == 5;
    if (f.type == ThriftType::structure && (data || f.id == 7 || f.id == 8)) {
      each_field(in, [&](const ThriftField& p) {
        std::int64_t* const to = p.id == 1           ? &page.values
                                 : p.id == 2         ? &page.encoding
                                 : p.id == 3 && data ? &page.level_encoding
                                                     : nullptr;
        if (to == nullptr || !is_integer(p)) return false;
        *to = in.integer(p.type);
        return true;
      });
      return true;
    }
    std::int64_t* const to = f.id == 1   ? &page.type
                             : f.id == 2 ? &page.unpacked_bytes
                             : f.id == 3 ? &page.bytes
                                         : nullptr;
    if (to == nullptr || !is_integer(f)) return false;
    *to = in.integer(f.type);
    return true;
  });
  page.header_bytes = in.position();
  return in.good() && page.bytes >= 0 && page.unpacked_bytes >= 0 && page.values >= 0;
}

std::string codec_name(std::int64_t codec) {
  constexpr std::array<std::string_view, 8> names = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                                     "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  if (codec >= 0 && codec < std::ssize(names))
    return std::string(names[static_cast<std::size_t>(codec)]);
  return "codec " + std::to_string(codec);
}

std::string encoding_name(std::int64_t encoding) {
  constexpr std::array<std::string_view, 10> names = {
      "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
      "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
      "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
  if (encoding >= 0 && encoding < std::ssize(names))
    return std::string(names[static_cast<std::size_t>(encoding)]);
  return "encoding " + std::to_string(encoding);
}

}  // namespace stepscope
