// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_line.h"

#include <algorithm>

#include "stepscope/read/bytes/json_members.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_ranks = 16'777'216;
constexpr std::int64_t longest_step_ns = 864'000'000'000'000;  // ten days
constexpr std::size_t most_phases = 16;
constexpr std::size_t longest_name = 256;

}  // namespace

bool is_step_line(std::string_view line) {
  constexpr std::string_view key = R"("stepscope")";
  if (!line.starts_with('{')) return false;
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return false;
  // Writers differ in the blanks around the colon.
  std::string_view rest = line.substr(at + key.size());
  const auto skip_blanks = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  };
  skip_blanks();
  if (!rest.starts_with(':')) return false;
  rest.remove_prefix(1);
  skip_blanks();
  return rest.starts_with(R"("step")");
}

std::optional<StepLine> parse_step_line(std::string_view line) {
  if (!is_step_line(line)) return std::nullopt;
  const auto row = parse_json(line, "line");
  if (!row || row->kind != JsonValue::Kind::object) return std::nullopt;
  const auto world = json_whole(*row, "world", 1, most_ranks);
  const auto rank = json_whole(*row, "rank", 0, world.value_or(1) - 1);
  const auto step = json_whole(*row, "step", 0, std::int64_t{1} << 52);
  const auto wall = json_whole(*row, "wall_ns", 1, longest_step_ns);
  const auto wait = json_whole(*row, "wait_ns", 0, longest_step_ns);
  if (!world || !rank || !step || !wall || !wait) return std::nullopt;
  const auto peers = json_whole(*row, "peers", 0, *rank).value_or(0);
  StepLine out{.rank = static_cast<std::int32_t>(*rank),
               .world = static_cast<std::int32_t>(*world),
               .peers = static_cast<std::int32_t>(peers),
               .peer_count = static_cast<std::int32_t>(
                   json_whole(*row, "peer_count", 1, *world).value_or(*world)),
               .host = json_string(*row, "host").substr(0, longest_name),
               .pid = json_whole(*row, "pid").value_or(-1),
               .run = json_whole(*row, "run").value_or(0),
               .step = *step,
               .end_us = json_whole(*row, "end_us", 0).value_or(0),
               .wall_ns = static_cast<double>(*wall),
               .wait_ns = static_cast<double>(std::min(*wait, *wall)),
               .lost = static_cast<std::uint64_t>(json_whole(*row, "lost").value_or(0))};
  if (const JsonValue* phases = json_member(*row, "phases_ns", JsonValue::Kind::object))
    for (std::size_t i = 0; i < phases->keys.size() && out.phases_ns.size() < most_phases; ++i)
      if (const auto ns = json_whole(*phases, phases->keys[i], 0, longest_step_ns))
        out.phases_ns.emplace_back(phases->keys[i].substr(0, longest_name),
                                   static_cast<double>(*ns));
  return out;
}

}  // namespace stepscope
