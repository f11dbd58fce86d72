// SPDX-License-Identifier: Apache-2.0
#include "stepscope/digest/digest_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "stepscope/base/json_reader.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> residue_names = {"value", "delta", "present", "text"};
constexpr std::size_t text_residue = 3;
constexpr std::array<std::string_view, 2> layout_names = {"varint", "planes"};
constexpr std::array<std::string_view, 2> clock_names = {"unix", "relative"};
constexpr std::string_view make_again = "make the digest again";
constexpr std::int64_t most_count = std::int64_t{1} << 62;
constexpr std::int64_t most_rank = (std::int64_t{1} << 20) - 1;
constexpr std::int64_t most_listed = std::int64_t{1} << 24;  // ranks of all groups of a digest
constexpr std::int64_t most_rows = std::int64_t{1} << 32;

template <class E>
std::size_t place(E value) {
  return static_cast<std::size_t>(value);
}

Json device_json(const DeviceProperties& d) {
  return {{"id", d.id},
          {"name", d.name},
          {"total_memory", d.total_memory.value},
          {"compute_major", d.compute_major},
          {"compute_minor", d.compute_minor},
          {"multiprocessors", d.multiprocessors},
          {"uuid", d.uuid}};
}

// The distance of ranks that are equally far from each other; 0 if they are not, or few.
int stride_of(const std::vector<int>& ranks) {
  if (ranks.size() < 3) return 0;
  for (std::size_t i = 2; i < ranks.size(); ++i)
    if (std::int64_t{ranks[i]} - ranks[i - 1] != std::int64_t{ranks[1]} - ranks[0]) return 0;
  const bool ascending = ranks[0] >= 0 && ranks[1] > ranks[0] && ranks.back() <= most_rank;
  return ascending ? ranks[1] - ranks[0] : 0;
}

Json group_json(const ProcessGroup& g) {
  Json out = {
      {"name", g.name}, {"description", g.description}, {"backend", g.backend}, {"size", g.size}};
  if (const int stride = stride_of(g.ranks); stride > 0)
    out["every"] = {{"first", g.ranks.front()}, {"stride", stride}, {"last", g.ranks.back()}};
  else
    out["ranks"] = g.ranks;
  return out;
}

// Members that are absent are left out.
template <class T>
void add(Json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}

Json metadata_json(const Metadata& m) {
  Json out = {{"path", m.path}, {"format", m.format}};
  add(out, "rank", m.rank);
  add(out, "world_size", m.world_size);
  out["backend"] = m.backend;
  out["clock"] = clock_names[place(m.clock)];
  out["base"] = m.base.count();
  for (const DeviceProperties& d : m.devices) out["devices"].push_back(device_json(d));
  for (const ProcessGroup& g : m.groups) out["groups"].push_back(group_json(g));
  add(out, "with_shapes", m.with_shapes);
  add(out, "with_stack", m.with_stack);
  add(out, "with_memory", m.with_memory);
  add(out, "with_flops", m.with_flops);
  add(out, "with_modules", m.with_modules);
  for (const auto& [key, value] : m.texts) out["texts"][key] = value;
  return out;
}

Json notes_json(const ImportNotes& n) {
  Json out = {{"events", n.events}, {"truncated", n.truncated}};
  for (const auto& [reason, times] : n.counts) out["counts"][reason] = times;
  for (const auto& [reason, byte] : n.first_byte) out["first_byte"][reason] = byte;
  for (const CaptureCut& cut : n.cuts)
    out["cuts"].push_back({{"end", cut.end.count()}, {"complete_to", cut.complete_to.count()}});
  return out;
}

Json column_json(const StoredColumn& c) {
  Json out = {{"name", c.name}};
  const std::size_t residue = c.text ? text_residue : place(c.coding.residue);
  if (residue != place(Residue::value)) out["residue"] = residue_names[residue];
  if (!c.text && c.coding.layout != Layout::varint)
    out["layout"] = layout_names[place(c.coding.layout)];
  if (!c.text && c.coding.residue == Residue::present) out["absent"] = c.coding.absent;
  out["bytes"] = c.bytes;
  if (c.stored) out["stored"] = *c.stored;
  return out;
}

Json trace_json(const StoredTrace& t) {
  Json tables = Json::array();
  for (const StoredTable& table : t.tables) {
    Json columns = Json::array();
    for (const StoredColumn& c : table.columns) columns.push_back(column_json(c));
    tables.push_back({{"name", table.name}, {"rows", table.rows}, {"columns", columns}});
  }
  return {
      {"metadata", metadata_json(t.metadata)}, {"notes", notes_json(t.notes)}, {"tables", tables}};
}

// Reads the header's tree. The first problem is kept.
class Reading {
 public:
  Reading(std::string_view json, std::string_view path) : problems_(json, path) {}

  [[nodiscard]] const std::optional<Error>& error() const { return problems_.error(); }

  DigestHeader header(const JsonValue& root) {
    JsonFields f(root, "", problems_);
    DigestHeader out;
    if (const JsonValue* source = object(f, "source")) {
      JsonFields s = f.inner("source", *source);
      out.source.path = text(s, "path");
      out.source.bytes = count(s, "bytes");
      out.source.text_bytes = count(s, "text_bytes");
      out.source.modified_ns = s.integer("modified_ns", any);
      out.source.program = text(s, "program");
      end(s);
    }
    each(f, "traces", [&](JsonFields& t) { out.traces.push_back(trace(t)); });
    end(f);
    return out;
  }

 private:
  static constexpr IntegerRange any{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max()};
  static constexpr IntegerRange whole{std::numeric_limits<int>::min(),
                                      std::numeric_limits<int>::max()};

  // A member that is an object; null if it is missing.
  const JsonValue* object(JsonFields& f, std::string_view key) {
    const JsonValue* value = f.find(key);
    if (value == nullptr || value->kind == JsonValue::Kind::object) return value;
    f.fail(key, "is no object");
    return nullptr;
  }
  template <class Body>
  void each(JsonFields& f, std::string_view key, const Body& body) {
    const JsonValue* list = f.find(key);
    if (list == nullptr) return;
    if (list->kind != JsonValue::Kind::list) return f.fail(key, "is no list");
    for (std::size_t i = 0; i < list->items.size() && !error(); ++i) {
      const std::string name = std::string(key) + "[" + std::to_string(i) + "]";
      if (list->items[i].kind != JsonValue::Kind::object) return f.fail(key, "has no objects");
      JsonFields inner = f.inner(name, list->items[i]);
      body(inner);
      end(inner);
    }
  }
  static void end(JsonFields& f) { f.finish("is unknown"); }
  // A text, which may be empty.
  static std::string text(JsonFields& f, std::string_view key) {
    const JsonValue* value = f.find(key);
    if (value != nullptr && value->kind == JsonValue::Kind::text) return value->text;
    f.fail(key, "is no text");
    return {};
  }
  static std::uint64_t count(JsonFields& f, std::string_view key) {
    return static_cast<std::uint64_t>(f.integer(key, {0, most_count}));
  }
  static int number(JsonFields& f, std::string_view key) {
    return static_cast<int>(f.integer(key, whole));
  }
  static std::optional<int> optional_number(JsonFields& f, std::string_view key) {
    const auto value = f.optional_integer(key, whole);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }
  static std::optional<bool> optional_flag(JsonFields& f, std::string_view key) {
    return f.find(key) != nullptr ? std::optional(f.flag(key, false)) : std::nullopt;
  }

  StoredTrace trace(JsonFields& f) {
    StoredTrace out;
    if (const JsonValue* m = object(f, "metadata")) {
      JsonFields inner = f.inner("metadata", *m);
      out.metadata = metadata(inner);
      end(inner);
    }
    if (const JsonValue* n = object(f, "notes")) {
      JsonFields inner = f.inner("notes", *n);
      out.notes = notes(inner);
      end(inner);
    }
    each(f, "tables", [&](JsonFields& t) {
      StoredTable table;
      table.name = t.text("name");
      table.rows = static_cast<std::uint64_t>(t.integer("rows", {0, most_rows}));
      each(t, "columns", [&](JsonFields& c) { table.columns.push_back(column(c)); });
      out.tables.push_back(std::move(table));
    });
    return out;
  }

  StoredColumn column(JsonFields& f) {
    StoredColumn out;
    out.name = f.text("name");
    const std::size_t residue = f.choice("residue", residue_names, place(Residue::value));
    out.text = residue == text_residue;
    if (!out.text) {
      out.coding.residue = static_cast<Residue>(residue);
      out.coding.layout =
          static_cast<Layout>(f.choice("layout", layout_names, place(Layout::varint)));
      if (out.coding.residue == Residue::present) out.coding.absent = f.integer("absent", any);
    }
    out.bytes = count(f, "bytes");
    if (const auto stored = f.optional_integer("stored", {0, most_count}))
      out.stored = static_cast<std::uint64_t>(*stored);
    return out;
  }

  void ranks_of(JsonFields every, std::vector<int>& ranks) {
    const std::int64_t first = every.integer("first", {0, most_rank});
    const std::int64_t last = every.integer("last", {0, most_rank});
    const std::int64_t stride = every.integer("stride", {1, most_rank});
    end(every);
    listed_ += std::max(last - first, std::int64_t{0}) / stride;
    if (listed_ > most_listed) return every.fail("last", "lists too many ranks");
    for (std::int64_t rank = first; rank <= last; rank += stride)
      ranks.push_back(static_cast<int>(rank));
  }

  Metadata metadata(JsonFields& f) {
    Metadata m;
    m.path = text(f, "path");
    m.format = text(f, "format");
    m.rank = optional_number(f, "rank");
    m.world_size = optional_number(f, "world_size");
    m.backend = text(f, "backend");
    m.clock = static_cast<Clock>(f.choice("clock", clock_names));
    m.base = Ns{f.integer("base", any)};
    each(f, "devices", [&](JsonFields& d) {
      m.devices.push_back({.id = number(d, "id"),
                           .name = text(d, "name"),
                           .total_memory = Bytes{d.integer("total_memory", any)},
                           .compute_major = number(d, "compute_major"),
                           .compute_minor = number(d, "compute_minor"),
                           .multiprocessors = number(d, "multiprocessors"),
                           .uuid = text(d, "uuid")});
    });
    each(f, "groups", [&](JsonFields& g) {
      ProcessGroup& group = m.groups.emplace_back();
      group.name = text(g, "name");
      group.description = text(g, "description");
      group.backend = text(g, "backend");
      group.size = number(g, "size");
      if (const JsonValue* every = object(g, "every"))
        ranks_of(g.inner("every", *every), group.ranks);
      else
        for (const std::int64_t rank : g.integers("ranks", whole))
          group.ranks.push_back(static_cast<int>(rank));
    });
    m.with_shapes = optional_flag(f, "with_shapes");
    m.with_stack = optional_flag(f, "with_stack");
    m.with_memory = optional_flag(f, "with_memory");
    m.with_flops = optional_flag(f, "with_flops");
    m.with_modules = optional_flag(f, "with_modules");
    if (const JsonValue* texts = object(f, "texts")) {
      JsonFields inner = f.inner("texts", *texts);
      for (const std::string& key : texts->keys) m.texts[key] = text(inner, key);
    }
    return m;
  }

  std::map<std::string, std::uint64_t> counts(JsonFields& f, std::string_view key) {
    std::map<std::string, std::uint64_t> out;
    if (const JsonValue* of = object(f, key)) {
      JsonFields inner = f.inner(key, *of);
      for (const std::string& reason : of->keys) out[reason] = count(inner, reason);
    }
    return out;
  }

  ImportNotes notes(JsonFields& f) {
    ImportNotes n;
    n.events = count(f, "events");
    n.truncated = f.flag("truncated", false);
    n.counts = counts(f, "counts");
    n.first_byte = counts(f, "first_byte");
    const auto reason = [](const auto& entry) { return entry.first; };
    if (!std::ranges::equal(n.counts, n.first_byte, {}, reason, reason))
      f.fail("first_byte", "has not the reasons of counts");
    each(f, "cuts", [&](JsonFields& c) {
      n.cuts.push_back(
          {.end = Ns{c.integer("end", any)}, .complete_to = Ns{c.integer("complete_to", any)}});
    });
    return n;
  }

  JsonProblems problems_;
  std::int64_t listed_ = 0;  // ranks that ranges gave
};

}  // namespace

std::string to_json(const DigestHeader& header) {
  const DigestSource& s = header.source;
  Json traces = Json::array();
  for (const StoredTrace& t : header.traces) traces.push_back(trace_json(t));
  const Json out = {{"source",
                     {{"path", s.path},
                      {"bytes", s.bytes},
                      {"text_bytes", s.text_bytes},
                      {"modified_ns", s.modified_ns},
                      {"program", s.program}}},
                    {"traces", traces}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DigestHeader> parse_digest_header(std::string_view json, const std::string& path) {
  const auto root = parse_json(json, path, any_values);
  if (!root) return root.error();
  if (root->kind != JsonValue::Kind::object)
    return Error{.what = "the head of the digest is no object",
                 .file = path,
                 .hint = std::string(make_again)};
  Reading reading(json, path);
  DigestHeader header = reading.header(*root);
  if (!reading.error()) return header;
  Error error = *reading.error();
  error.hint = make_again;
  return error;
}

}  // namespace stepscope
