// SPDX-License-Identifier: Apache-2.0
// What a line of a followed file says to a JobState, by the kind of the file. The kind is
// recognised from its lines.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/live/job_state.h"
#include "stepscope/read/log/follow_log.h"
#include "stepscope/read/log/line_pattern.h"
#include "stepscope/read/nccl/inspector_log.h"

namespace stepscope {

enum class LineKind : std::uint8_t { unknown, inspector, nccl_plugin, torchtitan, steps, log };
inline constexpr std::array<std::string_view, 6> line_kind_names = {
    "unknown",         "NCCL Inspector", "NCCL plugin of stepscope", "torchtitan's structured log",
    "steps of a rank", "training log"};

class LineSource {
 public:
  // `pattern`: of the lines of a log that report on a step.
  explicit LineSource(std::string path, std::optional<LinePattern> pattern = {})
      : path_(std::move(path)), pattern_(std::move(pattern)) {}

  // `when`: seconds of the state's clock at which the line was written, or read.
  void take(std::string_view line, JobState& state, double when);
  // What follows does not continue what came before.
  void restart();
  // The lines of one poll have been taken.
  void flush(JobState& state, double when);

  [[nodiscard]] LineKind kind() const { return kind_; }
  [[nodiscard]] const InspectorCounts& inspector() const { return inspector_.counts(); }
  [[nodiscard]] const std::string& version() const { return inspector_.version(); }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  // Steps that their writer could not write.
  [[nodiscard]] std::uint64_t lost_steps() const { return lost_steps_; }
  [[nodiscard]] std::uint64_t not_understood() const {
    return not_understood_ + inspector_.counts().not_understood;
  }

 private:
  void take_inspector(std::string_view line, JobState& state, double when);
  void take_plugin(std::string_view line, JobState& state, double when);
  void take_step(std::string_view line, JobState& state, double when);
  void take_torchtitan(std::string_view line, JobState& state, double when);
  std::size_t process(JobState& state, const std::string& host, std::int64_t pid);

  std::string path_;
  std::optional<LinePattern> pattern_;
  LineKind kind_ = LineKind::unknown;
  std::uint64_t lines_ = 0;
  std::uint64_t not_understood_ = 0;
  std::uint64_t lost_steps_ = 0;
  InspectorLog inspector_;
  std::unique_ptr<LogFollower> log_;
  std::int64_t process_ = -1;
  std::int64_t process_pid_ = -1;
  std::string process_host_;
  // torchtitan: the step that runs and when it began, by the writer's clock.
  std::int64_t step_ = -1;
  std::int64_t step_began_us_ = 0;
  // NCCL plugin: this process's rank in each communicator, which rows of rooted calls do not name.
  std::map<std::string, std::int32_t, std::less<>> communicator_ranks_;
};

}  // namespace stepscope
