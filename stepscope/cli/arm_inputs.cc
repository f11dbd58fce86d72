// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/arm_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "stepscope/cli/terminal.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/files/read_trace.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

std::optional<LaunchSteps> read_traces(const std::string& input, const ArmSource& source,
                                       std::vector<std::string>& remarks, Failures& failures) {
  const InputFiles files = find_input_files({&input, 1});
  for (const Error& e : files.errors) failures.add(e);
  if (files.files.empty()) return std::nullopt;
  ProgressLine line("reading");
  Run run = read_run(files.files, {.threads = source.threads,
                                   .stop = source.stop,
                                   .progress = [&](std::uint64_t done, std::uint64_t total) {
                                     line.show(done, total);
                                   }});
  for (const InputReport& i : run.inputs)
    if (i.error) failures.add(*i.error);
  for (const Error& e : run.errors) failures.add(e);
  std::vector<RankInput> ranks;
  for (RankTrace& r : run.ranks) ranks.push_back({r.rank, &r.trace});
  if (ranks.empty()) return std::nullopt;
  JobOptions options = source.job;
  options.world_size = run.world_size;
  options.threads = source.threads;
  options.stop = source.stop;
  options.explain = false;
  const JobResult job = analyze_job(ranks, options);
  if (job.interrupted) return std::nullopt;
  LaunchSteps launch{.name = input,
                     .source = fmt::format("trace of {}", counted(ranks.size(), "rank"))};
  for (const JobStep& step : job.steps)
    launch.wall_ns.push_back(std::max(1.0, static_cast<double>(step.wall.count())));
  if (launch.wall_ns.empty()) {
    failures.add({.what = "has no step that all ranks share", .file = input});
    return std::nullopt;
  }
  if (job.ranks.front().steps.size() == 1 && job.ranks.front().steps.front().name == "window")
    remarks.push_back(input + " has no step annotations: the whole trace counts as one step");
  launch.parts = step_parts(job, ranks);
  return launch;
}

}  // namespace

LaunchSteps launch_of(StepTimes times, std::string name, std::vector<std::string>& remarks) {
  if (times.unit_assumed)
    remarks.push_back(name +
                      " names no unit: its numbers are taken as --unit says (ms unless "
                      "given)");
  if (times.left_out > 0)
    remarks.push_back(fmt::format("{}: {} without a positive number left out", name,
                                  counted(times.left_out, "row")));
  for (const std::string& remark : times.remarks) remarks.push_back(name + ": " + remark);
  LaunchSteps launch{.name = std::move(name)};
  launch.wall_ns = std::move(times.wall_ns);
  launch.causes = std::move(times.causes);
  launch.source = std::move(times.source);
  return launch;
}

std::optional<LaunchSteps> read_launch(const std::string& input, const ArmSource& source,
                                       std::vector<std::string>& remarks, Failures& failures) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(input, ignored))
    return read_traces(input, source, remarks, failures);
  const auto kind = step_file_kind(input);
  if (!kind) {
    failures.add(kind.error());
    return std::nullopt;
  }
  if (*kind == StepFileKind::trace) return read_traces(input, source, remarks, failures);
  auto times = read_step_times(input, source.unit);
  if (!times) {
    failures.add(times.error());
    return std::nullopt;
  }
  return launch_of(std::move(*times), input, remarks);
}

}  // namespace stepscope
