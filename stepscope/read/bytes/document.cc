// SPDX-License-Identifier: Apache-2.0
// Members are small compared with the events, so each is cut out and parsed by a JSON library.
// Members that the library refuses are counted.
#include "stepscope/read/bytes/document.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;

// The year 2096. The sum with any ts that a reader accepts fits 64 bits.
constexpr std::int64_t latest_base = 4'000'000'000'000'000'000;

constexpr std::size_t npos = std::string_view::npos;
constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_space(std::string_view text, std::size_t p) {
  while (p < text.size() && is_space(text[p])) ++p;
  return p;
}

std::size_t skip_bom(std::string_view text) { return text.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

// The position behind the string that opens at p; npos if the string does not end.
std::size_t string_end(std::string_view text, std::size_t p) {
  for (++p; p < text.size(); ++p) {
    if (text[p] == '\\')
      ++p;
    else if (text[p] == '"')
      return p + 1;
  }
  return npos;
}

// No writer nests deeper. A limit is needed because a parser's destructors and printers may
// recurse.
constexpr int deepest = 100;

// The position behind the value that begins at p; npos if it does not end. Sets `too_deep` if the
// value is nested deeper than `deepest`.
std::size_t value_end(std::string_view text, std::size_t p, bool& too_deep) {
  if (text[p] == '"') return string_end(text, p);
  if (text[p] != '{' && text[p] != '[') {
    const std::size_t end = text.find_first_of(",}]", p);
    return end;
  }
  int depth = 0;
  while (p < text.size()) {
    const char c = text[p];
    if (c == '"') {
      p = string_end(text, p);
      if (p == npos) return npos;
      continue;
    }
    if (c == '{' || c == '[') too_deep = ++depth > deepest || too_deep;
    if ((c == '}' || c == ']') && --depth == 0) return p + 1;
    ++p;
  }
  return npos;
}

std::optional<std::int64_t> whole_number(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
}

std::optional<int> integer(const Json& object, const char* key) {
  const auto wide = whole_number(object, key);
  if (!wide || *wide < std::numeric_limits<int>::min() || *wide > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(*wide);
}

std::string text(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  return at->is_string() ? at->get<std::string>() : at->dump();
}

// Reads a list, or a string that contains one and may be cut: "[0, 1, ...".
std::vector<int> ranks_of(const Json& value) {
  std::vector<int> ranks;
  if (value.is_array()) {
    for (const Json& r : value)
      if (r.is_number_integer()) ranks.push_back(r.get<int>());
    return ranks;
  }
  if (!value.is_string() || value.get_ref<const std::string&>().find("...") != std::string::npos)
    return ranks;
  const Json list = Json::parse(value.get_ref<const std::string&>(), nullptr, false);
  return list.is_array() ? ranks_of(list) : ranks;
}

void read_distributed(const Json& info, Metadata& metadata) {
  if (!info.is_object()) return;
  if (const auto rank = integer(info, "rank"); rank && *rank >= 0) metadata.rank = rank;
  if (const auto world = integer(info, "world_size"); world && *world > 0)
    metadata.world_size = world;
  if (info.contains("backend")) metadata.backend = text(info, "backend");
  if (info.contains("nccl_version")) metadata.texts["nccl_version"] = text(info, "nccl_version");
  const auto groups = info.find("pg_config");
  if (groups == info.end() || !groups->is_array()) return;
  metadata.groups.clear();
  Json places = Json::object();
  for (const Json& g : *groups) {
    if (!g.is_object()) continue;
    ProcessGroup group;
    group.name = text(g, "pg_name");
    group.description = text(g, g.contains("pg_desc") ? "pg_desc" : "uid");
    group.backend = text(g, "backend_config");
    group.size = integer(g, "pg_size").value_or(-1);
    if (const auto ranks = g.find("ranks"); ranks != g.end()) group.ranks = ranks_of(*ranks);
    if (const auto place = integer(g, "pg_rank")) places[group.name] = *place;
    metadata.groups.push_back(std::move(group));
  }
  if (!places.empty()) metadata.texts["group_places"] = places.dump();
}

void read_devices(const Json& list, Metadata& metadata) {
  if (!list.is_array()) return;
  metadata.devices.clear();
  for (const Json& d : list) {
    if (!d.is_object()) continue;
    DeviceProperties device;
    device.id = integer(d, "id").value_or(-1);
    device.name = text(d, "name");
    device.total_memory = Bytes{whole_number(d, "totalGlobalMem").value_or(0)};
    device.compute_major = integer(d, "computeMajor").value_or(0);
    device.compute_minor = integer(d, "computeMinor").value_or(0);
    device.multiprocessors = integer(d, "numSms").value_or(0);
    metadata.devices.push_back(std::move(device));
  }
}

// An integer, or a string that contains one.
std::optional<std::int64_t> spelled_integer(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  return number_of<std::int64_t>(value.get_ref<const std::string&>());
}

void read_base(const Json& value, Metadata& metadata, ImportNotes& notes, std::uint64_t at) {
  const auto base = spelled_integer(value);
  if (!base) return notes.add("unreadable_base_time", at);
  if (*base < 0 || *base > latest_base) return notes.add("base_time_out_of_range", at);
  metadata.base = Ns{*base};
}

// What the NCCL plugin counted: events dropped for lack of space, calls with the times of others.
void note_count(std::string_view key, const Json& value, ImportNotes& notes, std::uint64_t at) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0)
    notes.add(std::string(key), at, value.get<std::uint64_t>());
}

// Whether another text of a member is kept. Writers have fewer and shorter ones.
bool has_room(const Metadata& metadata, std::size_t bytes) {
  constexpr std::size_t most_texts = 1000;
  constexpr std::size_t most_bytes = 8 << 20;
  constexpr std::size_t short_text = 4096;
  if (metadata.texts.size() >= most_texts) return false;
  if (bytes <= short_text) return true;
  for (const auto& [name, text] : metadata.texts) bytes += text.size();
  return bytes <= most_bytes;
}

void read_member(std::string_view key, const Json& value, Metadata& metadata, ImportNotes& notes,
                 std::uint64_t at) {
  const auto flag = [&](std::optional<bool>& into) {
    into = value.is_boolean() ? value.get<bool>() : value.is_number() && value.get<double>() != 0;
  };
  if (key == "distributedInfo") return read_distributed(value, metadata);
  if (key == "deviceProperties") return read_devices(value, metadata);
  if (key == "baseTimeNanoseconds") return read_base(value, metadata, notes, at);
  if (key == "record_shapes") return flag(metadata.with_shapes);
  if (key == "with_stack") return flag(metadata.with_stack);
  if (key == "profile_memory") return flag(metadata.with_memory);
  if (key == "with_flops") return flag(metadata.with_flops);
  if (key == "with_modules") return flag(metadata.with_modules);
  if (key == "nccl_events_dropped" || key == "nccl_calls_with_times_of_others")
    return note_count(key, value, notes, at);
  if (key == "stepscopeRanks") {
    metadata.texts["stepscopeRanks"] = value.dump();
  } else if (value.is_string() || value.is_number() || value.is_boolean()) {
    std::string kept = value.is_string() ? value.get<std::string>() : value.dump();
    if (!has_room(metadata, kept.size())) return notes.add("unreadable_metadata", at);
    metadata.texts[std::string(key)] = std::move(kept);
  }
}

// Whether read_member() looks into a list or an object with this key.
bool keeps_containers(std::string_view key) {
  constexpr std::array<std::string_view, 9> keys = {
      "distributedInfo", "deviceProperties", "stepscopeRanks", "record_shapes",      "with_stack",
      "profile_memory",  "with_flops",       "with_modules",   "baseTimeNanoseconds"};
  return std::ranges::find(keys, key) != keys.end();
}

// Bare inf and nan are not JSON, but old writers write them as numbers. Names may contain control
// characters and broken UTF-8.
Json parse_lenient(std::string_view raw) {
  Json value = Json::parse(raw, nullptr, false);
  if (!value.is_discarded()) return value;
  std::string mended;
  bool in_string = false;
  for (std::size_t p = 0; p < raw.size(); ++p) {
    const std::string_view rest = raw.substr(p);
    if (in_string) {
      const char c = raw[p];
      if (c == '"') in_string = false;
      const auto byte = static_cast<unsigned char>(c);
      mended += byte >= 0x80 || byte < 0x20 ? '?' : c;
      if (c == '\\' && p + 1 < raw.size()) mended += raw[++p];
      continue;
    }
    in_string = raw[p] == '"';
    std::size_t word = 0;
    for (const std::string_view no_number :
         {"-nan", "-inf", "nan", "inf", "NaN", "Infinity", "-Infinity"})
      if (rest.starts_with(no_number)) word = std::max(word, no_number.size());
    if (word == 0)
      mended += raw[p];
    else
      mended += "null";
    p += word == 0 ? 0 : word - 1;
  }
  return Json::parse(mended, nullptr, false);
}

// Range in bytes for the search of the next member behind a damaged one.
constexpr std::size_t near = 1 << 20;

// The next member behind a damaged one: a comma, a key and a colon. npos if no such member is near.
std::size_t next_member(std::string_view text, std::size_t from) {
  constexpr std::size_t longest_key = 256;
  const std::size_t stop = std::min(text.size(), from + near);
  for (std::size_t p = from; p < stop; ++p) {
    if (text[p] != ',') continue;
    const std::size_t open = skip_space(text, p + 1);
    if (open >= text.size() || text[open] != '"') continue;
    const std::size_t close = text.find('"', open + 1);
    if (close == npos || close - open > longest_key) continue;
    const std::size_t colon = skip_space(text, close + 1);
    if (colon < text.size() && text[colon] == ':') return open;
  }
  return npos;
}

struct MemberReader {
  std::string_view text;
  bool final;  // no more text follows
  std::uint64_t offset;
  Metadata& metadata;
  ImportNotes& notes;

  // Reads members from p, which is behind '{' or a member, up to traceEvents or the closing brace.
  OuterText run(std::size_t p) {
    for (;;) {
      while (p < text.size() && (is_space(text[p]) || text[p] == ',')) ++p;
      if (p == text.size()) return cut(p);
      if (text[p] == '}') return {Outer::ended, p + 1};
      const OuterText one = member(p);
      if (one.outer == Outer::events) return one;
      if (one.outer == Outer::need_more) return cut(p);
      if (one.outer == Outer::not_json) {
        const std::size_t next = next_member(text, one.at);
        if (next == npos && !final && text.size() - one.at < near) return {Outer::need_more, p};
        if (next == npos) return one;
        notes.add("unreadable_metadata", offset + p);
        p = next;
        continue;
      }
      p = one.at;
    }
  }

 private:
  // The text ends here, inside the document.
  OuterText cut(std::size_t p) {
    if (final) notes.truncated = true;
    return {Outer::need_more, p};
  }

  // Reads one member at p. ended: the member was read, and `at` is behind it.
  OuterText member(std::size_t p) {
    if (text[p] != '"') return {Outer::not_json, p};
    const std::size_t key_end = string_end(text, p);
    if (key_end == npos) return {Outer::need_more, p};
    const std::string_view key = text.substr(p + 1, key_end - p - 2);
    std::size_t begin = skip_space(text, key_end);
    if (begin == text.size()) return {Outer::need_more, p};
    if (text[begin] != ':') return {Outer::not_json, begin};
    begin = skip_space(text, begin + 1);
    if (begin == text.size()) return {Outer::need_more, p};
    if (key == "traceEvents" && text[begin] == '[') return {Outer::events, begin + 1};
    bool too_deep = false;
    const std::size_t end = value_end(text, begin, too_deep);
    if (end == npos) return {Outer::need_more, p};
    const std::string_view raw = text.substr(begin, end - begin);
    const bool container = text[begin] == '{' || text[begin] == '[';
    if (container && !too_deep && !keeps_containers(key) && Json::accept(raw))
      return {Outer::ended, end};
    const Json value = too_deep ? Json(Json::value_t::discarded) : parse_lenient(raw);
    if (value.is_discarded())
      notes.add("unreadable_metadata", offset + begin);
    else
      read_member(key, value, metadata, notes, offset + begin);
    return {Outer::ended, end};
  }
};

}  // namespace

bool is_too_long(std::string_view text) {
  return text.size() >=
         (text.starts_with("\"stepscopeRanks\"") ? longest_own_member : longest_member);
}

std::size_t MemberSkip::take(std::string_view text) {
  for (std::size_t p = 0; p < text.size(); ++p) {
    const char c = text[p];
    if (in_text_) {
      in_text_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      continue;
    }
    const bool closes = c == '}' || c == ']';
    ended_ = depth_ == 0 && (closes || c == ',');
    if (ended_) return p;
    if (c == '"') in_text_ = true;
    if (c == '{' || c == '[') ++depth_;
    if (closes) --depth_;
  }
  return text.size();
}

bool is_bare_array(std::string_view text) {
  const std::size_t p = skip_space(text, skip_bom(text));
  return p < text.size() && text[p] == '[';
}

bool is_memory_timeline(std::string_view text) {
  if (!is_bare_array(text)) return false;
  text.remove_prefix(text.find('[') + 1);
  text.remove_prefix(skip_space(text, 0));
  const std::size_t end = text.find(']');
  if (!text.starts_with('[') || end == npos) return false;
  const std::string_view row = text.substr(1, end - 1);
  return row.find_first_not_of("-0123456789, \r\n\t") == npos && std::ranges::count(row, ',') == 3;
}

OuterText read_head(std::string_view text, bool final, Metadata& metadata, ImportNotes& notes) {
  const std::size_t p = skip_space(text, skip_bom(text));
  if (p == text.size()) return {Outer::need_more, p};
  if (text[p] == '[') return {Outer::events, p + 1};
  if (text[p] != '{') return {Outer::not_json, p};
  return MemberReader{text, final, 0, metadata, notes}.run(p + 1);
}

void read_rank_metadata(int rank, Metadata& metadata) {
  const Json all = Json::parse(metadata.texts["stepscopeRanks"], nullptr, false);
  metadata.texts.erase("stepscopeRanks");
  if (!all.is_array()) return;
  for (const Json& one : all) {
    if (!one.is_object() || !one.contains("distributedInfo") ||
        !one["distributedInfo"].is_object() || integer(one["distributedInfo"], "rank") != rank)
      continue;
    ImportNotes ignored;
    for (const auto& [key, value] : one.items()) read_member(key, value, metadata, ignored, 0);
  }
}

OuterText read_tail(const TailText& tail, Metadata& metadata, ImportNotes& notes) {
  return MemberReader{tail.text, tail.final, tail.offset, metadata, notes}.run(0);
}

}  // namespace stepscope
