// SPDX-License-Identifier: Apache-2.0
// Lines of a rank's file of steps, as telemetry/step_file.h and the monitor of the Python package
// write them: one JSON object per line and step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepscope {

struct StepLine {
  std::int32_t rank = 0;
  std::int32_t world = 1;
  // Ranks that do the same work in a step and so may be compared: named by one of them, and how
  // many they are. By default all.
  std::int32_t peers = 0;
  std::int32_t peer_count = 1;
  std::string host{};
  std::int64_t pid = -1;
  std::int64_t run = 0;  // when the writer began, by its clock; another value: another run
  std::int64_t step = 0;
  std::int64_t end_us = 0;  // by the writer's clock; 0: unknown
  double wall_ns = 0;
  double wait_ns = 0;      // for other ranks; at most wall_ns
  std::uint64_t lost = 0;  // steps before this one that could not be written
  std::vector<std::pair<std::string, double>> phases_ns{};  // parts of the rest, at most 16
};

[[nodiscard]] bool is_step_line(std::string_view line);
// Absent for a line with missing or impossible fields.
[[nodiscard]] std::optional<StepLine> parse_step_line(std::string_view line);

}  // namespace stepscope
