// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/scenario.h"

#include <array>
#include <charconv>
#include <cmath>

#include "stepscope/base/byte_size.h"

namespace stepscope {
namespace {

struct ChangeText {
  Change change;
  std::string_view name;
  bool kind = false;          // may name a collective
  bool kernel_class = false;  // may name a class of kernels
  bool factor = false;        // needs a factor
  bool rank = false;          // needs a rank after '@'; the others may have one
  bool size = false;          // needs a size, and has no rank
  bool count = false;         // needs a whole number, which may be 0
};

constexpr std::array<ChangeText, 19> texts = {{
    {.change = Change::no_waiting, .name = "no_waiting"},
    {.change = Change::communication_free, .name = "communication_free", .kind = true},
    {.change = Change::bandwidth, .name = "bandwidth", .kind = true, .factor = true},
    {.change = Change::latency, .name = "latency", .kind = true, .factor = true},
    {.change = Change::compute, .name = "compute", .kernel_class = true, .factor = true},
    {.change = Change::host_free, .name = "host_free"},
    {.change = Change::host, .name = "host", .factor = true},
    {.change = Change::data_free, .name = "data_free"},
    {.change = Change::allocator_free, .name = "allocator_free"},
    {.change = Change::collector_free, .name = "collector_free"},
    {.change = Change::profiler_free, .name = "profiler_free"},
    {.change = Change::sync_free, .name = "sync_free"},
    {.change = Change::copies_free, .name = "copies_free"},
    {.change = Change::device_alone, .name = "device_alone"},
    {.change = Change::rank_as_peers, .name = "rank_as_peers", .rank = true},
    {.change = Change::stages_balanced, .name = "stages_balanced"},
    {.change = Change::ranks_balanced, .name = "ranks_balanced"},
    {.change = Change::bucket, .name = "bucket", .size = true},
    {.change = Change::prefetch, .name = "prefetch", .count = true},
}};

template <class Value, std::size_t n>
std::optional<Value> find_name(const std::array<std::string_view, n>& names,
                               std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Value>(i);
  return std::nullopt;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string number_text(double value) {
  std::array<char, 32> room{};
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), value);
  return {room.data(), end};
}

Error unknown(std::string_view text) {
  std::string known;
  for (const ChangeText& t : texts) {
    if (!known.empty()) known += ", ";
    known += t.name;
    if (t.kind) known += "[:COLLECTIVE]";
    if (t.kernel_class) known += "[:CLASS]";
    if (t.factor) known += ":FACTOR";
    if (t.size) known += ":SIZE";
    if (t.count) known += ":COUNT";
    known += t.rank ? "@RANK" : "";
  }
  known += "; all others but bucket may have @RANK too";
  return {.what = "no scenario is called " + std::string(text), .hint = "known are " + known};
}

// One field after the name; false if it is not allowed there.
bool take_field(const ChangeText& text, std::string_view field, Scenario& scenario,
                bool& has_factor) {
  if (text.size) {
    const auto bytes = parse_bytes(field);
    if (!bytes || scenario.size) return false;
    scenario.size = Bytes{*bytes};
    return true;
  }
  if (text.kind)
    if (const auto kind = find_name<CollectiveKind>(collective_kind_names, field)) {
      scenario.kind = kind;
      return true;
    }
  if (text.kernel_class)
    if (const auto c = find_name<NameClass>(name_class_names, field)) {
      scenario.kernel_class = c;
      return true;
    }
  if (const auto count = number_of<std::uint16_t>(field); text.count && count) {
    scenario.factor = *count;
    has_factor = true;
    return true;
  }
  const auto factor = number_of<double>(field);
  if (!text.factor || !factor || !(*factor > 0) || !std::isfinite(*factor)) return false;
  scenario.factor = *factor;
  has_factor = true;
  return true;
}

}  // namespace

std::string name_of(const Scenario& scenario) {
  for (const ChangeText& t : texts) {
    if (t.change != scenario.change) continue;
    std::string name(t.name);
    const auto add = [&](std::string_view field) {
      name += ':';
      name += field;
    };
    if (scenario.kind) add(collective_kind_names[static_cast<std::size_t>(*scenario.kind)]);
    if (scenario.kernel_class)
      add(name_class_names[static_cast<std::size_t>(*scenario.kernel_class)]);
    if (t.factor || t.count) add(number_text(scenario.factor));
    if (scenario.size) add(byte_size_text(*scenario.size));
    if (scenario.rank) name += '@' + std::to_string(*scenario.rank);
    return name;
  }
  return {};
}

Result<Scenario> parse_scenario(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view change = text.substr(0, at);
  const std::string_view name = change.substr(0, change.find(':'));
  for (const ChangeText& t : texts) {
    if (t.name != name) continue;
    Scenario scenario{.change = t.change};
    bool has_factor = false;
    if (at != std::string_view::npos) {
      scenario.rank = number_of<int>(text.substr(at + 1));
      if (!scenario.rank) return unknown(text);
    }
    std::string_view rest = change.substr(name.size());
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view field = rest.substr(0, rest.find(':'));
      if (!take_field(t, field, scenario, has_factor)) return unknown(text);
      rest.remove_prefix(field.size());
    }
    if ((t.factor || t.count) != has_factor || (t.rank && !scenario.rank)) return unknown(text);
    if (t.size && (!scenario.size || scenario.rank)) return unknown(text);
    return scenario;
  }
  return unknown(text);
}

}  // namespace stepscope
