// SPDX-License-Identifier: Apache-2.0
#include "stepscope/digest/digest_file.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/digest/column_list.h"

namespace stepscope {
namespace {

// The first bytes: the magic, then the version, the bytes of the head and those it takes in the
// file, as little-endian numbers.
constexpr std::string_view magic = "SSDIGEST\r\n";
constexpr std::size_t number_bytes = 4;
constexpr std::size_t first_bytes = magic.size() + 3 * number_bytes;
constexpr std::uint32_t most_head_bytes = 256U << 20;
constexpr int quick_level = 3;     // zstd
constexpr int thorough_level = 9;  // where that makes a frame smaller
// Columns share a frame until it has this number of bytes: the columns of a small trace are alike.
constexpr std::size_t frame_bytes = 1 << 16;

// What a reader takes: files that would take more memory than both are no digests.
constexpr std::uint64_t always_allowed = 16 << 20;
constexpr std::uint64_t most_growth = 1000;  // times the bytes of the file

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

std::string compressed(std::string_view bytes, int level) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  check(ZSTD_isError(size) == 0, "zstd compresses into a buffer of the size that it asks for");
  out.resize(size);
  return out;
}

// The memory that a column takes in a reader.
std::uint64_t memory_of(const StoredTable& table, const StoredColumn& column) {
  return column.bytes + table.rows * sizeof(std::int64_t);
}

// The bytes that a compressed part of `memory` bytes lacks for a reader to take it: repeated steps
// may compress a million times. A skippable frame of zstd, which decompression passes over.
std::string padding_of(std::uint64_t memory, std::uint64_t stored) {
  constexpr std::uint32_t skippable = 0x184D2A50;
  const std::uint64_t least = (memory + most_growth - 1) / most_growth;
  if (memory <= always_allowed || stored >= least) return {};
  std::string out;
  append_number(out, skippable);
  append_number(out, static_cast<std::uint32_t>(least - stored));
  out.resize(out.size() + (least - stored));
  return out;
}

// False: `stored` is not a frame of exactly out.size() bytes.
bool decompress(std::string_view stored, std::span<char> out) {
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  return ZSTD_isError(size) == 0 && size == out.size();
}

Error out_of_range(const Trace& trace, const TraceColumn& column) {
  return {.what = "column " + std::string(column.table) + "." + std::string(column.name) +
                  " has a value that no digest holds",
          .file = trace.metadata.path,
          .hint = "analyse the trace itself"};
}

// The strings behind the first, which is empty: their lengths and their text.
std::array<std::string, 2> encode_strings(const StringPool& pool) {
  std::vector<std::int64_t> lengths;
  std::string text;
  for (std::uint32_t id = 1; id < pool.size(); ++id) {
    const std::string_view one = pool[StringId{id}];
    lengths.push_back(static_cast<std::int64_t>(one.size()));
    text += one;
  }
  return {encode_integers(lengths, {}), std::move(text)};
}

// Columns that are compressed together.
struct EncodedFrame {
  std::string bytes{};
  StoredColumn* last = nullptr;
  bool noise = false;  // planes: as small by the quick level
};

// Adds a column to the last frame, or begins one.
void add_to_frames(std::string_view bytes, StoredColumn& column,
                   std::vector<EncodedFrame>& frames) {
  const bool noise = !column.text && column.coding.layout == Layout::planes;
  const bool fresh =
      frames.empty() || frames.back().noise != noise || frames.back().bytes.size() >= frame_bytes;
  EncodedFrame& frame = fresh ? frames.emplace_back() : frames.back();
  frame.bytes += bytes;
  frame.last = &column;
  frame.noise = noise;
}

// Compresses the columns of a trace, which `stored` describes, and appends them to `body`.
void append_frames(std::span<const std::string> bytes, StoredTrace& stored, unsigned threads,
                   std::string& body) {
  std::vector<EncodedFrame> frames;
  auto at = bytes.begin();
  for (StoredTable& table : stored.tables)
    for (StoredColumn& column : table.columns) {
      column.bytes = at->size();
      add_to_frames(*at++, column, frames);
    }
  parallel_for(frames.size(), threads, [&](std::size_t f) {
    frames[f].bytes = compressed(frames[f].bytes, frames[f].noise ? quick_level : thorough_level);
  });
  for (const EncodedFrame& frame : frames) {
    frame.last->stored = frame.bytes.size();
    body += frame.bytes;
  }
}

// Appends the columns of a trace to `body` and describes them.
Result<StoredTrace> encode_trace(const Trace& trace, unsigned threads, const StopFlag* stop,
                                 std::string& body) {
  if (const std::string_view broken = broken_reference(trace); !broken.empty())
    return Error{.what = std::string(broken),
                 .file = trace.metadata.path,
                 .hint = "analyse the trace itself"};
  const auto columns = trace_columns();
  std::vector<std::string> out(columns.size());
  std::vector<std::uint64_t> rows(columns.size());
  std::vector<char> fits(columns.size(), 1);
  parallel_for(columns.size(), threads, [&](std::size_t c) {
    if (stop != nullptr && stop->requested()) return;
    const std::vector<std::int64_t> values = columns[c].values(trace);
    rows[c] = values.size();
    const auto [least, most] = columns[c].range;
    fits[c] = std::ranges::all_of(values, [&](std::int64_t v) { return v >= least && v <= most; });
    if (!values.empty()) out[c] = encode_integers(values, columns[c].coding);
  });
  if (stop != nullptr && stop->requested()) return interrupted(trace.metadata.path);
  StoredTrace stored{.metadata = trace.metadata, .notes = trace.notes};
  std::vector<std::string> bytes;  // of the stored columns in turn
  if (trace.strings.size() > 1) {
    auto [lengths, text] = encode_strings(trace.strings);
    stored.tables.push_back({.name = std::string(string_table),
                             .rows = trace.strings.size() - 1,
                             .columns = {{.name = "length"}, {.name = "text", .text = true}}});
    bytes.push_back(std::move(lengths));
    bytes.push_back(std::move(text));
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (fits[c] == 0) return out_of_range(trace, columns[c]);
    if (rows[c] == 0) continue;
    if (stored.tables.empty() || stored.tables.back().name != columns[c].table)
      stored.tables.push_back({.name = std::string(columns[c].table), .rows = rows[c]});
    stored.tables.back().columns.push_back(
        {.name = std::string(columns[c].name), .coding = columns[c].coding});
    bytes.push_back(std::move(out[c]));
  }
  append_frames(bytes, stored, threads, body);
  return stored;
}

// Makes the columns as large as a reader wants them for the memory that they take.
void pad_columns(DigestHeader& header, std::string& body) {
  std::uint64_t memory = 0;
  StoredColumn* last = nullptr;
  for (StoredTrace& trace : header.traces)
    for (StoredTable& table : trace.tables)
      for (StoredColumn& column : table.columns) {
        memory += memory_of(table, column);
        last = &column;
      }
  if (last == nullptr) return;
  const std::string padding = padding_of(memory, body.size());
  *last->stored += padding.size();
  body += padding;
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
  std::size_t frame = 0;
  std::uint64_t offset = 0;  // of its bytes in the frame
};

// The compressed bytes of one column or more.
struct Frame {
  std::uint64_t at = 0;  // byte of the file
  std::uint64_t stored = 0;
  std::uint64_t bytes = 0;  // inflated
  std::size_t first = 0;    // its parts are [first, last)
  std::size_t last = 0;
};

struct Parts {
  std::vector<Part> all;
  std::vector<Frame> frames;
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
Result<Parts> place_parts(const Head& head, std::string_view bytes, const std::string& path) {
  Parts parts;
  Frame frame{.at = head.end};
  std::uint64_t memory = 0;
  const std::uint64_t most = std::max(always_allowed, most_growth * bytes.size());
  for (std::size_t t = 0; t < head.header.traces.size(); ++t) {
    for (const StoredTable& table : head.header.traces[t].tables)
      for (const StoredColumn& stored : table.columns) {
        parts.all.push_back({.trace = t,
                             .table = &table,
                             .stored = &stored,
                             .column = find_column(table, stored),
                             .frame = parts.frames.size(),
                             .offset = frame.bytes});
        const std::string name = name_of(parts.all.back());
        if (stored.bytes > most || table.rows > most ||
            (!stored.text && stored.bytes > most_encoded_bytes(table.rows)))
          return damaged(path, frame.at, "column " + name + " is too large");
        memory += memory_of(table, stored);
        if (memory > most)
          return damaged(path, frame.at, "the columns of the digest are too large");
        frame.bytes += stored.bytes;
        if (!stored.stored) continue;
        if (*stored.stored > bytes.size() - frame.at)
          return damaged(path, bytes.size(), "the digest is cut off in column " + name);
        frame.stored = *stored.stored;
        frame.last = parts.all.size();
        parts.frames.push_back(frame);
        frame = {.at = frame.at + frame.stored, .first = frame.last};
      }
    if (frame.first < parts.all.size())
      return damaged(path, frame.at, "a frame of the digest has no end");
  }
  if (frame.at != bytes.size())
    return damaged(path, frame.at, "bytes behind the columns of the digest");
  return parts;
}

std::optional<Error> inflate(const Frame& frame, const Part& first, std::string_view bytes,
                             const std::string& path, std::string& raw) {
  raw.resize(frame.bytes);
  if (decompress(bytes.substr(frame.at, frame.stored), raw)) return std::nullopt;
  return damaged(path, frame.at,
                 "the frame that begins with column " + name_of(first) + " is damaged");
}

std::string_view bytes_of(const Part& part, std::string_view raw) {
  return raw.substr(part.offset, part.stored->bytes);
}

// `raw`: the bytes of the part's frame, which lies at byte `at` of the file.
std::optional<Error> decode_column(const Part& part, std::string_view raw, std::uint64_t at,
                                   const std::string& path, Trace& trace) {
  if (part.stored->text) return damaged(path, at, "column " + name_of(part) + " is no text");
  std::vector<std::int64_t> values(part.table->rows);
  if (!decode_integers(bytes_of(part, raw), part.stored->coding, values))
    return damaged(path, at, "column " + name_of(part) + " is damaged");
  const auto [least, most] = part.column->range;
  for (const std::int64_t value : values)
    if (value < least || value > most)
      return damaged(path, at,
                     "column " + name_of(part) + " has the value " + std::to_string(value) +
                         ", which is out of range");
  part.column->set(trace, values);
  return std::nullopt;
}

std::optional<Error> decode_strings(const Part& length, const Part& text, const Parts& parts,
                                    std::string_view bytes, const std::string& path,
                                    StringPool& pool) {
  std::array<std::string, 2> raw;  // of the frames
  std::array<std::uint64_t, 2> at{};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const Frame& frame = parts.frames[(i == 0 ? length : text).frame];
    at[i] = frame.at;
    if (auto error = inflate(frame, parts.all[frame.first], bytes, path, raw[i])) return error;
  }
  std::vector<std::int64_t> lengths(length.table->rows);
  if (!decode_integers(bytes_of(length, raw[0]), length.stored->coding, lengths))
    return damaged(path, at[0], "column " + name_of(length) + " is damaged");
  std::string_view rest = bytes_of(text, raw[1]);
  for (const std::int64_t size : lengths) {
    if (size <= 0 || static_cast<std::uint64_t>(size) > rest.size())
      return damaged(path, at[0], "the lengths of the strings do not fit their text");
    const std::size_t before = pool.size();
    pool.intern(rest.substr(0, static_cast<std::size_t>(size)));
    if (pool.size() == before) return damaged(path, at[1], "a string is there twice");
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  if (!rest.empty())
    return damaged(path, at[1], "the lengths of the strings do not fit their text");
  return std::nullopt;
}

const Part* find_part(std::span<const Part> parts, std::size_t trace, std::string_view table,
                      std::string_view name) {
  const auto at = std::ranges::find_if(parts, [&](const Part& p) {
    return p.trace == trace && p.table->name == table && p.stored->name == name;
  });
  return at == parts.end() ? nullptr : &*at;
}

// The columns of a table that is there are all there, each once, with the same number of rows.
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
std::optional<Error> begin_traces(Head& head, const Parts& parts, std::string_view bytes,
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
    const Part* length = find_part(parts.all, t, string_table, "length");
    const Part* text = find_part(parts.all, t, string_table, "text");
    if (length == nullptr || text == nullptr) {
      if (length != text)
        return damaged(path, first_bytes, "the digest lacks a part of its strings");
      continue;
    }
    if (length->stored->text || !text->stored->text)
      return damaged(path, first_bytes, "the strings of the digest have another coding");
    if (auto error = decode_strings(*length, *text, parts, bytes, path, traces[t].strings))
      return error;
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
  std::string head = compressed(json, thorough_level);
  head += padding_of(json.size(), head.size());
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
  pad_columns(header, body);
  return assemble_digest(header, body);
}

Result<std::vector<Trace>> decode_digest(std::string_view bytes, const std::string& path,
                                         unsigned threads, const StopFlag* stop) {
  auto head = read_head(bytes, path);
  if (!head) return head.error();
  const auto parts = place_parts(*head, bytes, path);
  if (!parts) return parts.error();
  if (auto error = check_tables(parts->all, *head, path)) return *error;
  std::vector<Trace> traces;
  if (auto error = begin_traces(*head, *parts, bytes, path, traces)) return *error;
  std::mutex guard;
  std::optional<Error> first;
  parallel_for(parts->frames.size(), threads, [&](std::size_t f) {
    const Frame& frame = parts->frames[f];
    const auto own = std::span(parts->all).subspan(frame.first, frame.last - frame.first);
    const auto is_read = [](const Part& part) { return part.column != nullptr; };
    if ((stop != nullptr && stop->requested()) || std::ranges::none_of(own, is_read)) return;
    std::string raw;
    std::optional<Error> error = inflate(frame, own.front(), bytes, path, raw);
    for (const Part& part : own)
      if (!error && is_read(part))
        error = decode_column(part, raw, frame.at, path, traces[part.trace]);
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
