// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/line_source.h"

#include <cmath>
#include <limits>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/step_line.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_line_ranks = 16'777'216;
constexpr double most_us = 864e9;  // ten days

bool is_plugin_line(std::string_view line) {
  return (line.starts_with("{\"ph\":\"") || line.starts_with("{\"schemaVersion\"")) &&
         contains_any(line, {"\"Collective name\"", "stepscope", "\"cat\":\"nccl_"});
}

bool is_torchtitan_line(std::string_view line) {
  return line.starts_with('{') && contains(line, "\"log_type_name\"") &&
         contains(line, "\"time_us\"");
}

LineKind kind_of(std::string_view line) {
  if (is_inspector_line(line)) return LineKind::inspector;
  if (is_step_line(line)) return LineKind::steps;
  if (is_plugin_line(line)) return LineKind::nccl_plugin;
  if (is_torchtitan_line(line)) return LineKind::torchtitan;
  const bool json = line.starts_with('{') && !line.starts_with("{'");  // a Python dict is a log's
  const bool of_trainer = contains_any(line, {"\"elapsed_time\":", "\"mode\":", "\"time\":"});
  return json && !of_trainer ? LineKind::unknown : LineKind::log;
}

CollectiveKind plugin_kind(std::string_view name) {
  using enum CollectiveKind;
  if (name == "allreduce") return all_reduce;
  if (name == "allgather" || name == "_allgather_base") return all_gather;
  if (name == "reduce_scatter" || name == "_reduce_scatter_base") return reduce_scatter;
  if (name == "broadcast") return broadcast;
  if (name == "reduce") return reduce;
  if (name.starts_with("all_to_all") || name == "alltoall") return all_to_all;
  if (name == "gather") return gather;
  if (name == "scatter") return scatter;
  return unknown;
}

}  // namespace

void LineSource::restart() {
  inspector_.restart();
  log_.reset();
  step_ = -1;
  process_ = -1;
}

std::size_t LineSource::process(JobState& state, const std::string& host, std::int64_t pid) {
  if (process_ < 0 || pid != process_pid_ || host != process_host_) {
    const std::string name = host.empty() && pid < 0 ? path_ : host + " pid " + std::to_string(pid);
    process_ = static_cast<std::int64_t>(state.process(name));
    process_pid_ = pid;
    process_host_ = host;
    LiveProcess& p = state.at(static_cast<std::size_t>(process_));
    p.host = host;
    p.pid = pid;
  }
  return static_cast<std::size_t>(process_);
}

void LineSource::take(std::string_view line, JobState& state, double when) {
  ++lines_;
  if (kind_ == LineKind::unknown) kind_ = kind_of(line);
  // A job's output may begin with lines of another kind.
  if (kind_ == LineKind::log && lines_ < 100 && line.starts_with('{'))
    if (const LineKind better = kind_of(line); better != LineKind::unknown) kind_ = better;
  switch (kind_) {
    case LineKind::inspector:
      return take_inspector(line, state, when);
    case LineKind::nccl_plugin:
      return take_plugin(line, state, when);
    case LineKind::torchtitan:
      return take_torchtitan(line, state, when);
    case LineKind::steps:
      return take_step(line, state, when);
    case LineKind::log:
      if (!log_) log_ = std::make_unique<LogFollower>(pattern_);
      return log_->take(line);
    case LineKind::unknown:
      ++not_understood_;
  }
}

void LineSource::flush(JobState& state, double when) {
  if (!log_) return;
  for (const LogStep& s : log_->take_steps()) {
    state.heard(process(state, "", -1), when);
    state.step(StepSource::log, {.wall_ns = s.wall_ns, .steps = s.steps, .iteration = s.iteration});
  }
}

void LineSource::take_inspector(std::string_view line, JobState& state, double when) {
  const auto taken = inspector_.take(line);
  if (!taken) return;
  const InspectorContext& context = *taken->context;
  const std::size_t writer = process(state, context.host, context.pid);
  if (taken->drops) state.dropped(taken->drops->collectives + taken->drops->p2p);
  if (!taken->operation) return state.heard(writer, when);
  const InspectorOperation& op = *taken->operation;
  if (op.p2p) return state.point_to_point(writer, when);
  if (!op.gpu_timed) {
    // Not comparable with times of GPUs.
    state.not_gpu_timed();
    return state.heard(writer, when);
  }
  state.collective(writer,
                   {.communicator = context.communicator,
                    .name = context.name,
                    .rank = context.rank,
                    .ranks = context.ranks},
                   {.kind = op.kind,
                    .number = op.number,
                    .bytes = op.bytes,
                    .duration = op.duration,
                    .stamp_us = op.start_us > 0 ? op.start_us : context.dump_us,
                    .exact = op.start_us > 0},
                   when);
}

// A row of a call: {"ph":"X","cat":"kernel",…,"args":{"Collective name":…}}, and a comma behind it.
void LineSource::take_plugin(std::string_view line, JobState& state, double when) {
  if (line.ends_with(',')) line.remove_suffix(1);
  if (!contains(line, "\"cat\":\"kernel\"")) {
    if (process_ >= 0) state.heard(static_cast<std::size_t>(process_), when);
    return;
  }
  const auto row = parse_json(line, "line");
  const JsonValue* args = row ? json_member(*row, "args", JsonValue::Kind::object) : nullptr;
  if (args == nullptr) {
    ++not_understood_;
    return;
  }
  const std::size_t writer = process(state, path_, -1);
  const auto begin = json_number(*row, "ts");
  const auto taken = json_number(*row, "dur");
  const auto number = json_whole(*args, "Seq");
  const auto ranks = json_whole(*args, "Group size", 1, most_line_ranks);
  const std::string group = json_string(*args, "Process Group Name");
  const CollectiveKind kind = plugin_kind(json_string(*args, "Collective name"));
  const auto root_or_rank = json_whole(*args, "Rank", 0, most_line_ranks);
  if (!number) return state.point_to_point(writer, when);
  const bool names_itself = kind != CollectiveKind::broadcast && kind != CollectiveKind::reduce &&
                            kind != CollectiveKind::gather && kind != CollectiveKind::scatter;
  if (names_itself && root_or_rank && communicator_ranks_.size() < 4096)
    communicator_ranks_.try_emplace(group, static_cast<std::int32_t>(*root_or_rank));
  const auto own = communicator_ranks_.find(group);
  if (!begin || !taken || !ranks || group.empty() || own == communicator_ranks_.end() ||
      own->second >= *ranks || !(*taken >= 0 && *taken < most_us) ||
      !(*begin >= 0 && *begin < 1e17)) {
    ++not_understood_;
    return state.heard(writer, when);
  }
  if (json_string(*args, "timing") != "gpu") {
    state.not_gpu_timed();
    return state.heard(writer, when);
  }
  const auto elements = json_whole(*args, "Out msg nelems");
  state.collective(writer,
                   {.communicator = group,
                    .name = json_string(*args, "Process Group Description"),
                    .rank = own->second,
                    .ranks = static_cast<std::int32_t>(*ranks)},
                   {.kind = kind,
                    .number = static_cast<std::uint64_t>(*number),
                    .bytes = static_cast<std::uint64_t>(elements.value_or(0)),
                    .duration = Ns{std::llround(*taken * 1e3)},
                    .stamp_us = std::max<std::int64_t>(1, std::llround(*begin)),
                    .exact = true},
                   when);
}

void LineSource::take_step(std::string_view line, JobState& state, double when) {
  const auto step = parse_step_line(line);
  if (!step) {
    ++not_understood_;
    return;
  }
  const std::size_t writer = process(state, step->host, step->pid);
  lost_steps_ += step->lost;
  state.rank_step(writer,
                  {.rank = step->rank,
                   .world = step->world,
                   .peers = step->peers,
                   .peer_count = step->peer_count},
                  {.step = step->step,
                   .wall_ns = step->wall_ns,
                   .wait_ns = step->wait_ns,
                   .run = step->run,
                   .phases_ns = step->phases_ns},
                  when);
}

// A step lasts from its first record to the first record of the next step of the same process.
void LineSource::take_torchtitan(std::string_view line, JobState& state, double when) {
  const auto record = parse_json(line, "line");
  const bool object = record && record->kind == JsonValue::Kind::object;
  const auto rank = object ? json_whole(*record, "rank", 0, most_line_ranks) : std::nullopt;
  const auto stamp = object ? json_whole(*record, "time_us", 1) : std::nullopt;
  if (!rank || !stamp) {
    ++not_understood_;
    return;
  }
  const auto pid = json_whole(*record, "pid");
  const std::size_t writer =
      process(state, json_string(*record, "host_name").substr(0, 256), pid.value_or(-1));
  if (state.at(writer).rank < 0)
    state.name_rank(writer, static_cast<int>(*rank), when);
  else
    state.heard(writer, when);
  const auto step = json_whole(*record, "step", 0, std::numeric_limits<std::int64_t>::max() - 1);
  if (!step || *step == step_) return;
  const double wall = static_cast<double>(*stamp - step_began_us_) * 1e3;
  if (*rank == 0 && step_ >= 0 && *step == step_ + 1 && wall > 0 && wall < most_us * 1e3)
    state.step(StepSource::log, {.wall_ns = wall, .iteration = step_});
  step_ = *step;
  step_began_us_ = *stamp;
}

}  // namespace stepscope
