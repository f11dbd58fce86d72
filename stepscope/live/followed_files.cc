// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/followed_files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr int most_depth = 3;
constexpr std::uint64_t turn = std::uint64_t{256} << 10;  // of a file, before the next one's turn
constexpr std::string_view ras_end = ".ras.json";
constexpr std::uintmax_t most_replaced_bytes = std::uintmax_t{16} << 20;

bool follows(const fs::path& path) {
  constexpr std::array<std::string_view, 12> others = {
      ".gz", ".zst", ".xz", ".bz2", ".zip", ".html", ".png", ".pt", ".npy", ".bin", ".so", ".py"};
  const std::string name = path.filename().string();
  if (name.starts_with('.') || name.ends_with('~') || name.ends_with(".tmp")) return false;
  return std::ranges::none_of(others, [&](std::string_view end) { return name.ends_with(end); });
}

// Seconds since a file was written.
double age_of(const struct stat& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(
      0.0, std::chrono::duration<double>(now).count() - static_cast<double>(file.st_mtim.tv_sec));
}

// Reports an error, unless it was the last reported error (`told`).
void tell(Error error, std::string& told, std::vector<Error>& errors) {
  if (std::exchange(told, error.what) != error.what) errors.push_back(std::move(error));
}

}  // namespace

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

FollowedFiles::FollowedFiles(std::vector<std::string> paths, const FollowLimits& limits)
    : paths_(std::move(paths)), limits_(limits) {}

// Whether rotation has given a followed file this name, as train.log.1.
bool FollowedFiles::renamed(const std::string& path) const {
  struct stat at{};
  if (::stat(path.c_str(), &at) != 0 || !read_.contains({at.st_dev, at.st_ino})) return false;
  for (std::size_t end = path.size() - 1; end > 0 && path[end] != '/'; --end)
    if (known_.contains(path.substr(0, end))) return true;
  return false;
}

void FollowedFiles::add(const std::string& path) {
  if (renamed(path)) return;
  if (!known_.insert(path).second) return;
  if (files_.size() + replaced_.size() >= limits_.most_files) {
    known_.erase(path);
    ++left_out_;
    return;
  }
  if (path.ends_with(".prom") || path.ends_with(ras_end)) {
    replaced_.push_back({.path = path});
    return;
  }
  // A file that appears while the job is followed is read from its start.
  FollowLimits limits = limits_;
  if (looked_) limits.most_old = std::numeric_limits<std::uint64_t>::max();
  Followed& file = files_.emplace_back(path, limits);
  struct stat at{};
  if (!looked_ && ::stat(path.c_str(), &at) == 0) file.age = age_of(at);
}

Result<Done> FollowedFiles::look() {
  left_out_ = 0;
  for (const std::string& path : paths_) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      if (looked_) continue;
      if (auto address = ras_address(path)) {
        asked_[path].client = std::make_unique<RasClient>(std::move(*address));
        continue;
      }
      return Error{.what = "does not exist",
                   .file = path,
                   .hint = "give a directory that the job writes to, a file, or HOST:PORT of RAS"};
    }
    if (!fs::is_directory(status)) {
      add(path);
      continue;
    }
    auto entry = fs::recursive_directory_iterator(
        path, fs::directory_options::skip_permission_denied, error);
    if (error && !looked_)
      return Error{
          .what = "cannot list: " + error.message(), .file = path, .hint = "check its permissions"};
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry.depth() >= most_depth) entry.disable_recursion_pending();
      std::error_code none;
      if (entry->is_regular_file(none) && follows(entry->path())) add(entry->path().string());
    }
  }
  looked_ = true;
  return Done{};
}

bool FollowedFiles::poll_file(Followed& file, JobState& state, double now,
                              std::vector<Error>& errors) {
  // Lines of a file that was written long ago were written at the latest then.
  const double when = now - std::max(0.0, file.age);
  const auto got = file.tail.poll(
      turn, [&](std::string_view line) { file.lines.take(line, state, when); },
      [&] { file.lines.restart(); });
  file.lines.flush(state, when);
  if (!got) {
    tell(got.error(), file.told, errors);
    return false;
  }
  file.told.clear();
  file.missing = *got == TailState::missing;
  if (file.tail.file() != file.id) read_.insert(file.id = file.tail.file());
  if (*got != TailState::more) file.age = -1;
  return *got == TailState::more;
}

void FollowedFiles::tell_steps(Replaced& file, const EngineMetrics& before,
                               const EngineMetrics& after, JobState& state, double when) {
  const auto steps = steps_between(before, after);
  if (!steps) return;
  const StepSample sample{
      .wall_ns = steps->step_ns, .steps = steps->steps, .iteration = after.steps};
  state.step(StepSource::engine, sample);
  state.own_work(file.path, steps->own_ns, sample, when);
  file.compared = true;
}

void FollowedFiles::conclude(JobState& state, double now) {
  for (Replaced& file : replaced_)
    if (file.before && !file.compared)
      tell_steps(file, EngineMetrics{}, *file.before, state, now - file.age);
}

void FollowedFiles::take_metrics(Replaced& file, std::string_view text, JobState& state, double age,
                                 double now, std::vector<Error>& errors) {
  if (text == "# EOF\n") return;  // no step has ended yet
  const auto metrics = parse_engine_metrics(text);
  if (!metrics) {
    Error error = metrics.error();
    error.file = file.path;
    file.other = !contains(text, "stepscope_");  // written by somebody else
    if (!file.other) tell(std::move(error), file.told, errors);
    if (contains(text, "nccl_collective_exec_time_") && !std::exchange(told_inspector_, true))
      errors.push_back({.what = "the Prometheus text of NCCL Inspector has means of a GPU, which "
                                "tell neither rank nor communicator: it is not read",
                        .file = file.path,
                        .hint = "leave NCCL_INSPECTOR_PROM_DUMP unset for its JSON lines"});
    return;
  }
  file.told.clear();
  file.understood = true;
  if (metrics->own_s.empty()) state.heard(state.process(file.path), now - age);
  if (file.before) tell_steps(file, *file.before, *metrics, state, now - age);
  file.before = *metrics;
  file.age = age;
}

void FollowedFiles::poll_replaced(Replaced& file, JobState& state, double now,
                                  std::vector<Error>& errors) {
  struct stat at{};
  if (file.other || ::stat(file.path.c_str(), &at) != 0) return;
  const std::int64_t changed = at.st_mtim.tv_sec * 1'000'000'000 + at.st_mtim.tv_nsec;
  if (changed == file.changed_ns) return;
  const bool first = file.changed_ns < 0;
  file.changed_ns = changed;
  std::ifstream in(file.path, std::ios::binary);
  std::ostringstream text;
  if (static_cast<std::uintmax_t>(at.st_size) <= most_replaced_bytes) text << in.rdbuf();
  const double age = first ? age_of(at) : 0;
  if (!file.path.ends_with(ras_end))
    return take_metrics(file, text.view(), state, age, now, errors);
  const auto status = parse_ras_status(text.str());
  if (!status) {
    Error error = status.error();
    error.file = file.path;
    return tell(std::move(error), file.told, errors);
  }
  file.told.clear();
  file.understood = true;
  state.ras(*status, now - age);
}

void FollowedFiles::poll_ras(JobState& state, double now, std::vector<Error>& errors) {
  for (auto& [place, asked] : asked_) {
    const auto answer = asked.client->take();
    if (!answer) continue;
    asked.answers = answer->has_value();
    asked.asked_once = true;
    if (asked.answers) {
      asked.told.clear();
      state.ras(**answer, now);
    } else {
      tell(answer->error(), asked.told, errors);
    }
  }
}

bool FollowedFiles::poll(JobState& state, double now, std::vector<Error>& errors,
                         const StopFlag* stop) {
  bool more = false;
  for (Followed& file : files_) {
    if (stop != nullptr && stop->requested()) return false;
    more |= poll_file(file, state, now, errors);
  }
  for (Replaced& file : replaced_) poll_replaced(file, state, now, errors);
  poll_ras(state, now, errors);
  return more;
}

bool FollowedFiles::waiting() const {
  return std::ranges::any_of(asked_, [](const auto& entry) { return !entry.second.asked_once; });
}

FollowTotals FollowedFiles::totals() const {
  FollowTotals out{.files = files_.size() + replaced_.size(), .left_out = left_out_};
  for (const Followed& file : files_) {
    const TailCounts& tail = file.tail.counts();
    out.missing += file.missing ? 1U : 0U;
    out.bytes += tail.bytes;
    out.skipped_bytes += tail.skipped_bytes;
    out.long_lines += tail.long_lines;
    out.rotations += tail.rotations;
    out.truncations += tail.truncations;
    out.lines += file.lines.lines();
    out.not_understood += file.lines.not_understood();
    out.orphans += file.lines.inspector().orphans;
    out.lost_lines += file.lines.inspector().lost_lines + file.lines.lost_steps();
    std::string kind(line_kind_names[static_cast<std::size_t>(file.lines.kind())]);
    if (!file.lines.version().empty()) kind += " " + file.lines.version();
    ++out.kinds[kind];
  }
  for (const Replaced& file : replaced_)
    ++out.kinds[!file.understood               ? "unknown"
                : file.path.ends_with(ras_end) ? "NCCL RAS"
                                               : "metrics of stepscope train"];
  for (const auto& [place, asked] : asked_)
    ++out.kinds[asked.answers ? "NCCL RAS" : "NCCL RAS without an answer"];
  return out;
}

}  // namespace stepscope
