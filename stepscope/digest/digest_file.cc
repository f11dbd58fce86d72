// SPDX-License-Identifier: Apache-2.0
#include "stepscope/digest/digest_file.h"

#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "stepscope/base/parallel_for.h"
#include "stepscope/digest/column_list.h"

namespace stepscope {
namespace {

// The first bytes: the magic, then the version, the bytes of the head and those it takes in the
// file, as little-endian numbers.
constexpr std::string_view magic = "SSDIGEST\r\n";
constexpr std::size_t number_bytes = 4;
constexpr std::size_t first_bytes = magic.size() + 3 * number_bytes;
constexpr std::uint32_t most_head_bytes = 256U << 20;
constexpr int compression_level = 3;

constexpr std::uint64_t always_allowed = 16 << 20;
constexpr std::uint64_t most_growth = 1000;

constexpr std::string_view string_table = "strings";

void append_number(std::string& out, std::uint32_t number) {
  for (std::size_t i = 0; i < number_bytes; ++i)
    out.push_back(static_cast<char>(number >> (8 * i)));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < number_bytes; ++i)
    number |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

std::string compressed(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, compression_level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  check(ZSTD_isError(size) == 0, "zstd compresses into a buffer of the size that it asks for");
  out.resize(size);
  return out;
}

// False: `stored` is not a frame of exactly out.size() bytes.
bool decompress(std::string_view stored, std::span<char> out) {
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  return ZSTD_isError(size) == 0 && size == out.size();
}

struct EncodedColumn {
  std::uint64_t bytes = 0;
  std::string stored{};
};

EncodedColumn encoded(std::string_view bytes) { return {bytes.size(), compressed(bytes)}; }

Error out_of_range(const Trace& trace, const TraceColumn& column) {
  return {.what = "column " + std::string(column.table) + "." + std::string(column.name) +
                  " has a value that no digest holds",
          .file = trace.metadata.path,
          .hint = "analyse the trace itself"};
}

// The strings behind the first, which is empty.
std::vector<EncodedColumn> encode_strings(const StringPool& pool) {
  std::vector<std::int64_t> lengths;
  std::string text;
  for (std::uint32_t id = 1; id < pool.size(); ++id) {
    const std::string_view one = pool[StringId{id}];
    lengths.push_back(static_cast<std::int64_t>(one.size()));
    text += one;
  }
  std::vector<EncodedColumn> out;
  out.push_back(encoded(encode_integers(lengths, {})));
  out.push_back(encoded(text));
  return out;
}

// Appends the columns of a trace to `body` and describes them.
Result<StoredTrace> encode_trace(const Trace& trace, unsigned threads, const StopFlag* stop,
                                 std::string& body) {
  if (const std::string_view broken = broken_reference(trace); !broken.empty())
    return Error{.what = std::string(broken),
                 .file = trace.metadata.path,
                 .hint = "analyse the trace itself"};
  const auto columns = trace_columns();
  std::vector<std::optional<EncodedColumn>> out(columns.size());
  std::vector<std::uint64_t> rows(columns.size());
  std::vector<char> fits(columns.size(), 1);
  parallel_for(columns.size(), threads, [&](std::size_t c) {
    if (stop != nullptr && stop->requested()) return;
    const std::vector<std::int64_t> values = columns[c].values(trace);
    rows[c] = values.size();
    const auto [least, most] = columns[c].range;
    fits[c] = std::ranges::all_of(values, [&](std::int64_t v) { return v >= least && v <= most; });
    if (!values.empty()) out[c] = encoded(encode_integers(values, columns[c].coding));
  });
  if (stop != nullptr && stop->requested()) return interrupted(trace.metadata.path);
  StoredTrace stored{.metadata = trace.metadata, .notes = trace.notes};
  if (trace.strings.size() > 1) {
    const std::vector<EncodedColumn> strings = encode_strings(trace.strings);
    stored.tables.push_back(
        {.name = std::string(string_table),
         .rows = trace.strings.size() - 1,
         .columns = {
             {.name = "length", .bytes = strings[0].bytes, .stored = strings[0].stored.size()},
             {.name = "text",
              .text = true,
              .bytes = strings[1].bytes,
              .stored = strings[1].stored.size()}}});
    for (const EncodedColumn& column : strings) body += column.stored;
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (fits[c] == 0) return out_of_range(trace, columns[c]);
    if (!out[c]) continue;
    if (stored.tables.empty() || stored.tables.back().name != columns[c].table)
      stored.tables.push_back({.name = std::string(columns[c].table), .rows = rows[c]});
    stored.tables.back().columns.push_back({.name = std::string(columns[c].name),
                                            .coding = columns[c].coding,
                                            .bytes = out[c]->bytes,
                                            .stored = out[c]->stored.size()});
    body += out[c]->stored;
  }
  return stored;
}

Error damaged(const std::string& path, std::uint64_t byte, std::string what) {
  return {.what = std::move(what),
          .file = path,
          .byte = byte,
          .hint = "copy the digest again, or make it again"};
}

struct Head {
  DigestHeader header{};
  std::uint64_t end = 0;  // byte of the file
};

Result<Head> read_head(std::string_view bytes, const std::string& path) {
  if (!is_digest(bytes))
    return Error{
        .what = "is no digest", .file = path, .byte = 0, .hint = "make one with stepscope digest"};
  if (bytes.size() < first_bytes) return damaged(path, bytes.size(), "the digest is cut off");
  const std::uint32_t version = number_at(bytes, magic.size());
  if (version != digest_version)
    return Error{.what = "a digest of version " + std::to_string(version) +
                         ", and this program reads version " + std::to_string(digest_version),
                 .file = path,
                 .byte = magic.size(),
                 .hint = "use the program that made it, or make the digest again"};
  const std::uint32_t size = number_at(bytes, magic.size() + number_bytes);
  const std::uint32_t stored = number_at(bytes, magic.size() + 2 * number_bytes);
  if (bytes.size() - first_bytes < stored)
    return damaged(path, bytes.size(), "the digest is cut off");
  if (size > most_head_bytes || size > always_allowed + most_growth * std::uint64_t{stored})
    return damaged(path, magic.size() + number_bytes, "the head of the digest is too large");
  std::string json(size, '\0');
  if (!decompress(bytes.substr(first_bytes, stored), json))
    return damaged(path, first_bytes, "the head of the digest is damaged");
  auto header = parse_digest_header(json, path);
  if (!header) return header.error();
  if (header->traces.empty()) return damaged(path, first_bytes, "the digest has no trace");
  return Head{*std::move(header), first_bytes + stored};
}

// Where a column lies, and what it fills.
struct Part {
  std::size_t trace = 0;
  const StoredTable* table = nullptr;
  const StoredColumn* stored = nullptr;
  const TraceColumn* column = nullptr;  // null: of the strings, or of a later program
  std::uint64_t at = 0;                 // byte of the file
};

std::string name_of(const Part& part) { return part.table->name + "." + part.stored->name; }

const TraceColumn* find_column(const StoredTable& table, const StoredColumn& stored) {
  const auto columns = trace_columns();
  const auto at = std::ranges::find_if(columns, [&](const TraceColumn& c) {
    return c.table == table.name && c.name == stored.name;
  });
  return at == columns.end() ? nullptr : &*at;
}

// Places all columns in the file and bounds the memory that they take.
Result<std::vector<Part>> place_parts(const Head& head, std::string_view bytes,
                                      const std::string& path) {
  std::vector<Part> parts;
  std::uint64_t at = head.end;
  std::uint64_t memory = 0;
  const std::uint64_t most = std::max(always_allowed, most_growth * bytes.size());
  for (std::size_t t = 0; t < head.header.traces.size(); ++t)
    for (const StoredTable& table : head.header.traces[t].tables)
      for (const StoredColumn& stored : table.columns) {
        parts.push_back({t, &table, &stored, find_column(table, stored), at});
        if (stored.stored > bytes.size() - at)
          return damaged(path, bytes.size(),
                         "the digest is cut off in column " + name_of(parts.back()));
        if (stored.bytes > most || table.rows > most ||
            (!stored.text && stored.bytes > most_encoded_bytes(table.rows)))
          return damaged(path, at, "column " + name_of(parts.back()) + " is too large");
        memory += stored.bytes + table.rows * sizeof(std::int64_t);
        if (memory > most) return damaged(path, at, "the columns of the digest are too large");
        at += stored.stored;
      }
  if (at != bytes.size()) return damaged(path, at, "bytes behind the columns of the digest");
  return parts;
}

std::optional<Error> decode_values(const Part& part, std::string_view bytes,
                                   const std::string& path, std::vector<std::int64_t>& values) {
  std::string raw(part.stored->bytes, '\0');
  values.resize(part.table->rows);
  if (!decompress(bytes.substr(part.at, part.stored->stored), raw) ||
      !decode_integers(raw, part.stored->coding, values))
    return damaged(path, part.at, "column " + name_of(part) + " is damaged");
  return std::nullopt;
}

std::optional<Error> decode_column(const Part& part, std::string_view bytes,
                                   const std::string& path, Trace& trace) {
  std::vector<std::int64_t> values;
  if (auto error = decode_values(part, bytes, path, values)) return error;
  const auto [least, most] = part.column->range;
  for (const std::int64_t value : values)
    if (value < least || value > most)
      return damaged(path, part.at,
                     "column " + name_of(part) + " has the value " + std::to_string(value) +
                         ", which is out of range");
  part.column->set(trace, values);
  return std::nullopt;
}

std::optional<Error> decode_strings(const Part& length, const Part& text, std::string_view bytes,
                                    const std::string& path, StringPool& pool) {
  std::vector<std::int64_t> lengths;
  if (auto error = decode_values(length, bytes, path, lengths)) return error;
  std::string raw(text.stored->bytes, '\0');
  if (!decompress(bytes.substr(text.at, text.stored->stored), raw))
    return damaged(path, text.at, "column " + name_of(text) + " is damaged");
  std::string_view rest = raw;
  for (const std::int64_t size : lengths) {
    if (size <= 0 || static_cast<std::uint64_t>(size) > rest.size())
      return damaged(path, length.at, "the lengths of the strings do not fit their text");
    const std::size_t before = pool.size();
    pool.intern(rest.substr(0, static_cast<std::size_t>(size)));
    if (pool.size() == before) return damaged(path, text.at, "a string is there twice");
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  if (!rest.empty())
    return damaged(path, text.at, "the lengths of the strings do not fit their text");
  return std::nullopt;
}

const Part* find_part(std::span<const Part> parts, std::size_t trace, std::string_view table,
                      std::string_view name) {
  const auto at = std::ranges::find_if(parts, [&](const Part& p) {
    return p.trace == trace && p.table->name == table && p.stored->name == name;
  });
  return at == parts.end() ? nullptr : &*at;
}

// The columns of a table that is there are all there, each once, with as many rows.
std::optional<Error> check_tables(std::span<const Part> parts, const Head& head,
                                  const std::string& path) {
  for (std::size_t t = 0; t < head.header.traces.size(); ++t) {
    for (const TraceColumn& c : trace_columns()) {
      std::size_t tables = 0;
      std::size_t times = 0;
      for (const StoredTable& table : head.header.traces[t].tables)
        if (table.name == c.table) ++tables;
      for (const Part& p : parts)
        if (p.trace == t && p.column == &c) ++times;
      if (tables > 1 || times != tables)
        return damaged(path, first_bytes,
                       "the digest has column " + std::string(c.table) + "." + std::string(c.name) +
                           " " + std::to_string(times) + " times");
    }
  }
  return std::nullopt;
}

// Metadata, notes and strings of each trace; the columns are still empty.
std::optional<Error> begin_traces(Head& head, std::span<const Part> parts, std::string_view bytes,
                                  const std::string& path, std::vector<Trace>& traces) {
  traces.resize(head.header.traces.size());
  for (std::size_t t = 0; t < traces.size(); ++t) {
    StoredTrace& stored = head.header.traces[t];
    traces[t].metadata = std::move(stored.metadata);
    traces[t].metadata.file_bytes = traces[t].metadata.text_bytes = bytes.size();
    traces[t].notes = std::move(stored.notes);
    // Rows that are structs are there before several threads fill their fields.
    for (const StoredTable& table : stored.tables) {
      if (table.name == "tracks") traces[t].tracks.resize(table.rows);
      if (table.name == "collectives") traces[t].collectives.resize(table.rows);
    }
    const Part* length = find_part(parts, t, string_table, "length");
    const Part* text = find_part(parts, t, string_table, "text");
    if (length == nullptr || text == nullptr) {
      if (length != text)
        return damaged(path, first_bytes, "the digest lacks a part of its strings");
      continue;
    }
    if (length->stored->text || !text->stored->text)
      return damaged(path, first_bytes, "the strings of the digest have another coding");
    if (auto error = decode_strings(*length, *text, bytes, path, traces[t].strings)) return error;
  }
  return std::nullopt;
}

}  // namespace

bool is_digest(std::string_view head) { return head.starts_with(magic); }

Result<std::string> assemble_digest(const DigestHeader& header, std::string_view columns) {
  const std::string json = to_json(header);
  if (json.size() > most_head_bytes)
    return Error{.what = "the metadata takes more than 256 MiB",
                 .file = header.source.path,
                 .hint = "analyse the trace itself"};
  const std::string head = compressed(json);
  std::string out(magic);
  append_number(out, digest_version);
  append_number(out, static_cast<std::uint32_t>(json.size()));
  append_number(out, static_cast<std::uint32_t>(head.size()));
  out += head;
  out += columns;
  return out;
}

Result<std::string> encode_digest(const DigestSource& source, std::span<const Trace> traces,
                                  unsigned threads, const StopFlag* stop) {
  DigestHeader header{.source = source};
  std::string body;
  for (const Trace& trace : traces) {
    auto stored = encode_trace(trace, threads, stop, body);
    if (!stored) return stored.error();
    header.traces.push_back(*std::move(stored));
  }
  return assemble_digest(header, body);
}

Result<std::vector<Trace>> decode_digest(std::string_view bytes, const std::string& path,
                                         unsigned threads, const StopFlag* stop) {
  auto head = read_head(bytes, path);
  if (!head) return head.error();
  const auto parts = place_parts(*head, bytes, path);
  if (!parts) return parts.error();
  if (auto error = check_tables(*parts, *head, path)) return *error;
  std::vector<Trace> traces;
  if (auto error = begin_traces(*head, *parts, bytes, path, traces)) return *error;
  std::mutex guard;
  std::optional<Error> first;
  parallel_for(parts->size(), threads, [&](std::size_t p) {
    const Part& part = (*parts)[p];
    if (part.column == nullptr || (stop != nullptr && stop->requested())) return;
    auto error = part.stored->text
                     ? damaged(path, part.at, "column " + name_of(part) + " is no text")
                     : decode_column(part, bytes, path, traces[part.trace]);
    const std::lock_guard lock(guard);
    if (error && (!first || error->byte < first->byte)) first = std::move(error);
  });
  if (stop != nullptr && stop->requested()) return interrupted(path);
  if (first) return *first;
  for (const Trace& trace : traces)
    if (const std::string_view broken = broken_reference(trace); !broken.empty())
      return damaged(path, first_bytes, "the columns do not fit together: " + std::string(broken));
  return traces;
}

Result<DigestHeader> digest_header(std::string_view bytes, const std::string& path) {
  auto head = read_head(bytes, path);
  if (!head) return head.error();
  if (const auto parts = place_parts(*head, bytes, path); !parts) return parts.error();
  return std::move(head->header);
}

}  // namespace stepscope
