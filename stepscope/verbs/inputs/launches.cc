// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/launches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "stepscope/analysis/runs/step_times_by_rank.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/output_file.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/inputs/other_verbs.h"
#include "stepscope/verbs/inputs/step_inputs.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view how_to_say =
    "let it write a trace, the JSON of stepscope train or a list of step times to {out}, or print "
    "lines with step_time_ms=…";

std::string last_line(const std::string& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return shorten(printable(last), 200);
}

// What the launch wrote to {out}: the only name of its folder in addition to the log.
Result<std::string> written(const LaunchOrder& order) {
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator at(order.folder, code), end; !code && at != end; at.increment(code))
    if (at->path().filename() != "log") found.push_back(at->path().string());
  if (found.size() == 1) return found.front();
  return Error{.what = found.empty()
                           ? fmt::format("launch {} wrote nothing to {{out}}", order.name)
                           : fmt::format("launch {} wrote {} names that begin with {{out}}",
                                         order.name, found.size()),
               .file = order.folder,
               .hint = "one file or directory is read"};
}

std::optional<LaunchSteps> launch_of_traces(const std::string& input, const LaunchReading& reading,
                                            const Progress& progress, Messages& remarks,
                                            std::vector<Error>& failures) {
  const TracesRequest request{.inputs = {input},
                              .step_annotation = reading.step_annotation,
                              .kernel_rules = reading.kernel_rules,
                              .threads = reading.threads};
  const auto analyzed = analyze_traces(request, progress, [&](const ReadTraces& read) {
    JobOptions options = job_options(request, progress, read.run.world_size);
    options.explain = false;
    return options;
  });
  if (!analyzed) {
    fail(progress, failures, analyzed.error());
    return std::nullopt;
  }
  const auto& [read, job] = *analyzed;
  failures.insert(failures.end(), read.failures.begin(), read.failures.end());
  if (read.ranks.empty()) return std::nullopt;
  LaunchSteps launch = launch_of(job, read.ranks, input);
  if (launch.wall_ns.empty()) {
    fail(progress, failures, no_whole_step(read.inputs, input));
    return std::nullopt;
  }
  std::ranges::move(operator_parts(job, read.ranks), std::back_inserter(launch.parts));
  if (const Message cut = cut_sentence(read.inputs, job); !cut.empty())
    remarks.push_back(msg::plain(say_stopped(cut)));
  if (job.ranks.front().steps.size() == 1 && job.ranks.front().steps.front().name == "window")
    remarks.push_back(msg::steps_not_annotated(input));
  return launch;
}

Result<LaunchSteps> steps_written(const LaunchOrder& order, const std::string& path,
                                  const LaunchReading& reading, const Progress& progress,
                                  Messages& remarks) {
  if (may_be_file(path)) {
    const auto kind = kind_of_steps(path, reading.steps, progress.stop);
    if (!kind) return kind.error();
    if (*kind != StepFileKind::trace) {
      auto times = read_step_times(path, reading.steps, progress.stop);
      if (!times) return times.error();
      return launch_of(std::move(*times), order.name, remarks);
    }
  }
  std::vector<Error> failures;
  auto launch = read_launch(path, reading, progress, remarks, failures);
  if (progress.stopped()) return interrupted();
  if (!launch)
    return Error{.what = fmt::format("launch {} left no steps", order.name),
                 .file = path,
                 .hint = std::string(how_to_say)};
  launch->name = order.name;
  return std::move(*launch);
}

}  // namespace

LaunchSteps launch_of(const JobResult& job, std::span<const RankInput> ranks, std::string name) {
  LaunchSteps launch{.name = std::move(name), .source = say(msg::trace_of_ranks(ranks.size()))};
  for (const Step& step : job.steps.counted)
    launch.wall_ns.push_back(std::max(1.0, static_cast<double>((step.end - step.start).count())));
  if (!launch.wall_ns.empty()) launch.parts = step_parts(job, ranks);
  launch.on_cpu = on_cpu(job.ranks);
  return launch;
}

LaunchSteps launch_of(StepTimes times, std::string name, Messages& remarks) {
  if (times.unit_assumed) remarks.push_back(msg::unit_assumed(name));
  if (times.left_out > 0) remarks.push_back(msg::rows_not_positive(name, times.left_out));
  for (const std::string& remark : times.remarks) remarks.push_back(msg::note_on(name, remark));
  LaunchSteps launch{.name = std::move(name)};
  launch.wall_ns = std::move(times.wall_ns);
  launch.causes = std::move(times.causes);
  if (std::ranges::none_of(times.iterations, [](std::int64_t n) { return n < 0; }))
    launch.numbers = std::move(times.iterations);
  launch.tokens = std::move(times.tokens);
  launch.source = std::move(times.source);
  return launch;
}

std::optional<LaunchSteps> read_launch(const std::string& input, const LaunchReading& reading,
                                       const Progress& progress, Messages& remarks,
                                       std::vector<Error>& failures) {
  if (!may_be_file(input)) return launch_of_traces(input, reading, progress, remarks, failures);
  const auto kind = kind_of_steps(input, reading.steps, progress.stop);
  if (!kind) {
    fail(progress, failures, kind.error());
    return std::nullopt;
  }
  if (*kind == StepFileKind::trace)
    return launch_of_traces(input, reading, progress, remarks, failures);
  auto times = read_step_times(input, reading.steps, progress.stop);
  if (!times) {
    fail(progress, failures, with_other_verbs(times.error()));
    return std::nullopt;
  }
  return launch_of(std::move(*times), input, remarks);
}

Result<LaunchSteps> run_launch(const LaunchOrder& order, const LaunchReading& reading,
                               const Progress& progress, Messages& remarks) {
  std::error_code code;
  fs::remove_all(order.folder, code);
  fs::create_directories(order.folder, code);
  if (code)
    return Error{.what = "cannot be made: " + code.message(),
                 .file = order.folder,
                 .hint = "choose a place that you may write to"};
  const std::string out = order.folder + "/out";
  const std::string log = order.folder + "/log";
  bool writes = false;
  std::vector<std::string> words = order.words;
  for (std::string& word : words) {
    writes = writes || word.find("{out}") != std::string::npos;
    word = replaced(std::move(word), "{out}", out);
  }
  const auto status = run_child(words, log, {.stop = progress.stop, .seconds = order.seconds});
  if (!status) return status.error();
  if (*status != 0)
    return Error{.what = fmt::format("launch {} ended with exit code {}: {}", order.name, *status,
                                     last_line(log)),
                 .file = words.back(),
                 .hint = "run the command by itself"};
  if (writes) {
    const auto path = written(order);
    if (!path) return path.error();
    return steps_written(order, *path, reading, progress, remarks);
  }
  auto times = read_step_times(log, reading.steps, progress.stop);
  if (!times)
    return Error{.what = fmt::format("launch {} names no step times", order.name),
                 .file = words.back(),
                 .hint = std::string(how_to_say)};
  return launch_of(std::move(*times), order.name, remarks);
}

std::string replaced(std::string text, const std::string& key, const std::string& value) {
  for (std::size_t at = text.find(key); at != std::string::npos;
       at = text.find(key, at + value.size()))
    text.replace(at, key.size(), value);
  return text;
}

std::vector<std::string> shell_words(const std::string& command) {
  return {"/bin/sh", "-c", command};
}

namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Its process group has its number. Signals that this program catches are at their default there.
int start(std::vector<std::string> words, const std::string& log, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGXFSZ}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF));
  const int failed = ::posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                                    pointers(words).data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failed;
}

// True once it has ended.
bool ended(pid_t child, int& status) { return ::waitpid(child, &status, WNOHANG) == child; }

bool ends_within(pid_t child, int& status, std::chrono::duration<double> time) {
  const auto until = SteadyClock::now() + time;
  while (!ended(child, status)) {
    if (SteadyClock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void end_group(pid_t child) {
  const Unbroken ending;
  int status = 0;
  ::kill(-child, SIGTERM);
  if (!ends_within(child, status, std::chrono::duration<double>(0.5))) {
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  ::kill(-child, SIGKILL);  // what it left behind
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const std::string& log,
                      const ChildLimits& limits) {
  pid_t child = 0;
  if (const int failed = start(words, log, child); failed != 0)
    return Error{.what = fmt::format("cannot be started: {}", std::strerror(failed)),
                 .file = words.front(),
                 .hint = "give the path of a program, or a shell's command line in quotes"};
  const auto begin = SteadyClock::now();
  int status = 0;
  auto pause = std::chrono::milliseconds(1);
  while (!ended(child, status)) {
    const bool stop = limits.stop != nullptr && limits.stop->requested();
    const std::chrono::duration<double> took = SteadyClock::now() - begin;
    if (stop || (limits.seconds && took.count() > *limits.seconds)) {
      end_group(child);
      return Error{
          .what = stop ? "interrupted" : fmt::format("took longer than {:g} s", *limits.seconds),
          .file = words.back(),
          .hint = stop ? "" : "give it more time with --timeout",
          .code = stop ? ErrorCode::interrupted : ErrorCode::failed};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace stepscope
