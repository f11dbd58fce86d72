// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/scenario.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/nearest_names.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

struct ChangeText {
  Change change;
  std::string_view name;
  std::string_view meaning;
  std::string_view example;
  bool kind = false;          // may name a collective
  bool kernel_class = false;  // may name a class of kernels
  bool factor = false;        // needs a factor
  bool rank = false;          // needs a rank after '@'; the others may have one
  bool size = false;          // needs a size, and has no rank
  bool count = false;         // needs a whole number, which may be 0
  bool part = false;          // may name a part of a rank's work
  bool group = false;         // needs the name of a process group
  bool step = false;          // needs the number of a step
};

constexpr std::array<ChangeText, 24> texts = {{
    {.change = Change::no_waiting,
     .name = "no_waiting",
     .meaning = "A transfer begins when its own rank is ready; no rank waits for its peers",
     .example = "no_waiting"},
    {.change = Change::communication_free,
     .name = "communication_free",
     .meaning = "Collectives take no time; waiting for a late rank stays",
     .example = "communication_free:all_gather",
     .kind = true},
    {.change = Change::bandwidth,
     .name = "bandwidth",
     .meaning = "The time of a message beyond its latency is divided by FACTOR",
     .example = "bandwidth:2",
     .kind = true,
     .factor = true},
    {.change = Change::latency,
     .name = "latency",
     .meaning = "The latency of a message is divided by FACTOR",
     .example = "latency:all_reduce:2",
     .kind = true,
     .factor = true},
    {.change = Change::compute,
     .name = "compute",
     .meaning = "Kernels work FACTOR times as fast",
     .example = "compute:matmul:1.3",
     .kernel_class = true,
     .factor = true},
    {.change = Change::host_free,
     .name = "host_free",
     .meaning = "The host and its launches take no time, except data loading",
     .example = "host_free"},
    {.change = Change::host,
     .name = "host",
     .meaning = "The host works FACTOR times as fast, except data loading",
     .example = "host:2",
     .factor = true},
    {.change = Change::data_free,
     .name = "data_free",
     .meaning = "Data loading takes no time",
     .example = "data_free"},
    {.change = Change::allocator_free,
     .name = "allocator_free",
     .meaning = "Calls that allocate, free or map device memory take no time",
     .example = "allocator_free"},
    {.change = Change::collector_free,
     .name = "collector_free",
     .meaning = "Python's garbage collector takes no time",
     .example = "collector_free"},
    {.change = Change::unseen_free,
     .name = "unseen_free",
     .meaning = "Stretches of at least 1 ms in which no row tells what the host does take no time",
     .example = "unseen_free"},
    {.change = Change::profiler_free,
     .name = "profiler_free",
     .meaning = "The profiler's own overhead takes no time",
     .example = "profiler_free"},
    {.change = Change::sync_free,
     .name = "sync_free",
     .meaning = "No call waits for the device, or for a collective before it is needed",
     .example = "sync_free"},
    {.change = Change::syncs_once,
     .name = "syncs_once",
     .meaning =
         "Calls that wait for the device several times a step do so at most once, at its end",
     .example = "syncs_once"},
    {.change = Change::pauses_free,
     .name = "pauses_free",
     .meaning = "Host work that took much longer now and then takes its usual time",
     .example = "pauses_free"},
    {.change = Change::copies_free,
     .name = "copies_free",
     .meaning = "Copies take no time",
     .example = "copies_free"},
    {.change = Change::device_alone,
     .name = "device_alone",
     .meaning = "No other process has the device in between",
     .example = "device_alone"},
    {.change = Change::rank_as_peers,
     .name = "rank_as_peers",
     .meaning = "The rank's own work takes as long as that of its peers",
     .example = "rank_as_peers@3",
     .rank = true,
     .part = true},
    {.change = Change::group_as_siblings,
     .name = "group_as_siblings",
     .meaning = "The transfers of a process group take as long as those of its siblings",
     .example = "group_as_siblings:tp0",
     .group = true},
    {.change = Change::step_as_others,
     .name = "step_as_others",
     .meaning = "The work of a step takes as long as in the other steps",
     .example = "step_as_others:12",
     .step = true},
    {.change = Change::stages_balanced,
     .name = "stages_balanced",
     .meaning =
         "The layers are spread evenly over the pipeline stages, or a slow stage works as the "
         "others do",
     .example = "stages_balanced"},
    {.change = Change::ranks_balanced,
     .name = "ranks_balanced",
     .meaning = "Each piece of compute takes the mean of the ranks of its role",
     .example = "ranks_balanced"},
    {.change = Change::bucket,
     .name = "bucket",
     .meaning = "Gradients are sent in messages of SIZE (DDP buckets)",
     .example = "bucket:25MB",
     .size = true},
    {.change = Change::prefetch,
     .name = "prefetch",
     .meaning = "Parameters of sharded units are fetched COUNT units ahead",
     .example = "prefetch:2",
     .count = true},
}};

std::string syntax_of(const ChangeText& t) {
  std::string syntax(t.name);
  if (t.kind) syntax += "[:COLLECTIVE]";
  if (t.kernel_class) syntax += "[:CLASS]";
  if (t.factor) syntax += ":FACTOR";
  if (t.part) syntax += "[:PART]";
  if (t.group) return syntax + ":GROUP[@RANK]";
  if (t.step) return syntax + ":STEP";
  if (t.size) return syntax + ":SIZE";
  if (t.count) syntax += ":COUNT";
  return syntax + (t.rank ? "@RANK" : "[@RANK]");
}

template <class Value, std::size_t n>
std::optional<Value> find_name(const std::array<std::string_view, n>& names,
                               std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Value>(i);
  return std::nullopt;
}

std::string number_text(double value) {
  std::array<char, 32> room{};
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), value);
  return {room.data(), end};
}

// What is wrong with `text`: its name is known or not.
Error wrong(std::string_view text, const ChangeText* known) {
  if (known != nullptr)
    return {.what = std::string(text) + " is no scenario",
            .hint = "write " + syntax_of(*known) + ", as " + std::string(known->example)};
  std::vector<std::string_view> names;
  for (const ChangeText& t : texts) names.push_back(t.name);
  return {.what = "no scenario is called " + std::string(text),
          .hint = "did you mean " + nearest_names(text.substr(0, text.find_first_of(":@")), names) +
                  "? stepscope list changes explains all"};
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
  if (text.part)
    if (const auto part = find_name<WorkPart>(work_part_names, field)) {
      scenario.part = part;
      return true;
    }
  if (const auto step = number_of<std::int64_t>(field); text.step && step && !scenario.step) {
    scenario.step = step;
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
    if (scenario.part) add(work_part_names[static_cast<std::size_t>(*scenario.part)]);
    if (t.group) add(scenario.group);
    if (scenario.step) add(std::to_string(*scenario.step));
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
      if (!scenario.rank) return wrong(text, &t);
    }
    std::string_view rest = change.substr(name.size());
    if (t.group) {  // a group's name may contain colons
      if (rest.size() < 2) return wrong(text, &t);
      scenario.group = rest.substr(1);
      rest = {};
    }
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view field = rest.substr(0, rest.find(':'));
      if (!take_field(t, field, scenario, has_factor)) return wrong(text, &t);
      rest.remove_prefix(field.size());
    }
    if ((t.factor || t.count) != has_factor || (t.rank && !scenario.rank)) return wrong(text, &t);
    if (t.size && (!scenario.size || scenario.rank)) return wrong(text, &t);
    if (t.step && (!scenario.step || scenario.rank)) return wrong(text, &t);
    return scenario;
  }
  return wrong(text, nullptr);
}

std::vector<ScenarioHelp> scenario_help() {
  std::vector<ScenarioHelp> rows;
  for (const ChangeText& t : texts)
    rows.push_back({.syntax = syntax_of(t), .meaning = t.meaning, .example = t.example});
  return rows;
}

}  // namespace stepscope
