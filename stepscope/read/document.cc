// SPDX-License-Identifier: Apache-2.0
// Members are small next to the events: each is cut out and given to a JSON library. What it
// refuses is counted.
#include "stepscope/read/document.h"

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace stepscope {
namespace {

using nlohmann::json;

constexpr std::size_t npos = std::string_view::npos;
constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_space(std::string_view text, std::size_t p) {
  while (p < text.size() && is_space(text[p])) ++p;
  return p;
}

std::size_t skip_bom(std::string_view text) { return text.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

// Behind the string that opens at p; npos when it does not end.
std::size_t string_end(std::string_view text, std::size_t p) {
  for (++p; p < text.size(); ++p) {
    if (text[p] == '\\')
      ++p;
    else if (text[p] == '"')
      return p + 1;
  }
  return npos;
}

// Behind the value that begins at p; npos when it does not end.
std::size_t value_end(std::string_view text, std::size_t p) {
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
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return p + 1;
    ++p;
  }
  return npos;
}

std::optional<std::int64_t> whole_number(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
}

std::optional<int> integer(const json& object, const char* key) {
  const auto wide = whole_number(object, key);
  if (!wide || *wide < std::numeric_limits<int>::min() || *wide > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(*wide);
}

std::string text(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  return at->is_string() ? at->get<std::string>() : at->dump();
}

// A list, or a string that spells one, perhaps cut: "[0, 1, ...".
std::vector<int> ranks_of(const json& value) {
  std::vector<int> ranks;
  if (value.is_array()) {
    for (const json& r : value)
      if (r.is_number_integer()) ranks.push_back(r.get<int>());
    return ranks;
  }
  if (!value.is_string() || value.get_ref<const std::string&>().find("...") != std::string::npos)
    return ranks;
  const json list = json::parse(value.get_ref<const std::string&>(), nullptr, false);
  return list.is_array() ? ranks_of(list) : ranks;
}

void read_distributed(const json& info, Metadata& metadata) {
  if (!info.is_object()) return;
  if (const auto rank = integer(info, "rank"); rank && *rank >= 0) metadata.rank = rank;
  if (const auto world = integer(info, "world_size"); world && *world > 0)
    metadata.world_size = world;
  if (info.contains("backend")) metadata.backend = text(info, "backend");
  if (info.contains("nccl_version")) metadata.texts["nccl_version"] = text(info, "nccl_version");
  const auto groups = info.find("pg_config");
  if (groups == info.end() || !groups->is_array()) return;
  metadata.groups.clear();
  for (const json& g : *groups) {
    if (!g.is_object()) continue;
    ProcessGroup group;
    group.name = text(g, "pg_name");
    group.description = text(g, g.contains("pg_desc") ? "pg_desc" : "uid");
    group.backend = text(g, "backend_config");
    group.size = integer(g, "pg_size").value_or(-1);
    if (const auto ranks = g.find("ranks"); ranks != g.end()) group.ranks = ranks_of(*ranks);
    metadata.groups.push_back(std::move(group));
  }
}

void read_devices(const json& list, Metadata& metadata) {
  if (!list.is_array()) return;
  metadata.devices.clear();
  for (const json& d : list) {
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

void read_base(const json& value, Metadata& metadata, ImportNotes& notes, std::size_t at) {
  std::int64_t base = 0;
  if (value.is_number_integer())
    base = value.get<std::int64_t>();
  else if (value.is_string())
    base = std::strtoll(value.get_ref<const std::string&>().c_str(), nullptr, 10);
  if (base < 0 || base > 4'500'000'000'000'000'000) return notes.add("base_time_out_of_range", at);
  metadata.base = Ns{base};
}

void read_member(std::string_view key, const json& value, Metadata& metadata, ImportNotes& notes,
                 std::size_t at) {
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
  if (key == "stepscopeRanks")
    metadata.texts["stepscopeRanks"] = value.dump();
  else if (value.is_string())
    metadata.texts[std::string(key)] = value.get<std::string>();
  else if (value.is_number() || value.is_boolean())
    metadata.texts[std::string(key)] = value.dump();
}

// Bare inf and nan are no JSON, but old writers put them into numbers.
json parse_lenient(std::string_view raw) {
  json value = json::parse(raw, nullptr, false);
  if (!value.is_discarded()) return value;
  std::string mended(raw);
  for (const std::string_view word : {"-nan", "-inf", "nan", "inf", "NaN", "Infinity"})
    for (std::size_t p = mended.find(word); p != std::string::npos; p = mended.find(word, p + 4))
      mended.replace(p, word.size(), "null");
  for (char& c : mended)
    if (static_cast<unsigned char>(c) >= 0x80 || static_cast<unsigned char>(c) < 0x20) c = ' ';
  return json::parse(mended, nullptr, false);
}

// Members from p, which stands behind '{' or a member, up to traceEvents or the closing brace.
OuterText read_members(std::string_view text, std::size_t p, bool final, Metadata& metadata,
                       ImportNotes& notes) {
  for (;;) {
    while (p < text.size() && (is_space(text[p]) || text[p] == ',')) ++p;
    if (p == text.size()) return {final ? Outer::ended : Outer::need_more, p};
    if (text[p] == '}') return {Outer::ended, p + 1};
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
    const std::size_t end = value_end(text, begin);
    if (end == npos) return {Outer::need_more, p};
    const json value = parse_lenient(text.substr(begin, end - begin));
    if (value.is_discarded())
      notes.add("unreadable_metadata", begin);
    else
      read_member(key, value, metadata, notes, begin);
    p = end;
  }
}

}  // namespace

bool is_bare_array(std::string_view text) {
  const std::size_t p = skip_space(text, skip_bom(text));
  return p < text.size() && text[p] == '[';
}

OuterText read_head(std::string_view text, Metadata& metadata, ImportNotes& notes) {
  const std::size_t p = skip_space(text, skip_bom(text));
  if (p == text.size()) return {Outer::need_more, p};
  if (text[p] == '[') return {Outer::events, p + 1};
  if (text[p] != '{') return {Outer::not_json, p};
  return read_members(text, p + 1, false, metadata, notes);
}

void read_rank_metadata(int rank, Metadata& metadata) {
  const json all = json::parse(metadata.texts["stepscopeRanks"], nullptr, false);
  metadata.texts.erase("stepscopeRanks");
  if (!all.is_array()) return;
  for (const json& one : all) {
    if (!one.is_object() || !one.contains("distributedInfo") ||
        !one["distributedInfo"].is_object() || integer(one["distributedInfo"], "rank") != rank)
      continue;
    ImportNotes ignored;
    for (const auto& [key, value] : one.items()) read_member(key, value, metadata, ignored, 0);
  }
}

OuterText read_tail(std::string_view text, bool bare, bool final, Metadata& metadata,
                    ImportNotes& notes) {
  if (!bare) return read_members(text, 0, final, metadata, notes);
  const std::size_t p = skip_space(text, 0);
  if (p < text.size() && text[p] != '\0') notes.add("text_after_the_array", p);
  return {Outer::ended, text.size()};
}

}  // namespace stepscope
