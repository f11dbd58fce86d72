// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/runs/runs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include "stepscope/base/files/open_source.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/verbs/digest/digest.h"
#include "stepscope/verbs/inputs/launch_folder.h"
#include "stepscope/verbs/inputs/step_inputs.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t shortest_commit = 7;
// So strict a test of levels finds a change in under 1 % of 300 runs whose medians only scatter.
constexpr ChangeOptions run_changes{.least = 0.01, .shortest = 3, .p = 1e-4};

struct RunFiles {
  std::string name;
  std::string path;
  bool folder = false;
  std::string fingerprint{};
  std::int64_t newest_unix_ns = 0;  // change of a file
};

struct Reading {
  const RunsRequest& request;
  const Progress& progress;
  Messages warnings{};
  std::vector<Error> failures{};
};

// Names, sizes and times of the files change where a run is written again.
RunFiles files_of(const fs::directory_entry& entry) {
  RunFiles run{.name = entry.path().filename().string(), .path = entry.path().string()};
  std::error_code code;
  run.folder = entry.is_directory(code);
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  const auto add = [&](const std::string& path) {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return;
    ++files;
    bytes += static_cast<std::uint64_t>(s.st_size);
    run.newest_unix_ns = std::max<std::int64_t>(
        run.newest_unix_ns, s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec);
  };
  if (run.folder) {
    for (fs::recursive_directory_iterator at(entry.path(), code), end; !code && at != end;
         at.increment(code))
      add(at->path().string());
  } else {
    add(run.path);
  }
  run.fingerprint = fmt::format("{}:{}:{}", files, bytes, run.newest_unix_ns);
  return run;
}

// The folders and files of `folder` by name, without hidden ones and the history.
Result<std::vector<RunFiles>> candidates(const std::string& folder, const std::string& history) {
  std::vector<RunFiles> all;
  std::error_code code;
  fs::directory_iterator at(folder, code);
  for (const fs::directory_iterator end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    std::error_code same;
    const bool is_history = fs::equivalent(at->path(), history, same) ||
                            name.starts_with(fs::path(history).filename().string() + "-");
    if (!name.starts_with('.') && !is_history) all.push_back(files_of(*at));
  }
  if (code)
    return Error{.what = "cannot be read: " + code.message(),
                 .file = folder,
                 .hint = "give a folder whose folders are runs"};
  std::ranges::sort(all, {}, &RunFiles::name);
  return all;
}

void describe(const Analysis& analysis, PastRun& run) {
  const JobResult& job = analysis.job;
  run.ranks = job.ranks.size();
  run.device = job.ranks.front().device.label();
  if (job.clocks.origin.count() > 0) run.recorded_unix_ns = job.clocks.origin.count();
  if (analysis.mfu) run.mfu = analysis.mfu->mfu;
  if (!analysis.answer.culprits.empty())
    run.cause = culprit_kind_names[static_cast<std::size_t>(analysis.answer.culprits.front().kind)];
  run.sentence = say_stopped(analysis.answer.sentence);
  for (const Finding& f : analysis.findings)
    run.findings.push_back({.key = f.key, .what = say(f.what), .gain = f.gain});
}

// Digests of the run's traces: the files themselves where they are digests, else new ones below
// `folder`.
Result<std::vector<DigestFile>> digests_of(Reading& in, const RunFiles& files,
                                           const std::string& folder) {
  std::vector<DigestFile> all;
  const auto add = [&](const std::string& path, const std::string& root) {
    const fs::path below = fs::path(path).lexically_relative(root);
    const bool whole = below.empty() || below == ".";
    all.push_back(
        {.name = whole ? fs::path(path).filename().string() : below.string(), .path = path});
  };
  const InputFiles found = find_input_files(std::span(&files.path, 1));
  if (!found.files.empty() && std::ranges::all_of(found.files, is_digest_name)) {
    for (const std::string& path : found.files) add(path, files.path);
    return all;
  }
  const auto made =
      digest({.inputs = {files.path}, .folder = folder, .threads = in.request.reading.threads},
             in.progress);
  if (!made) return made.error();
  in.failures.insert(in.failures.end(), made->failures.begin(), made->failures.end());
  for (const DigestRow& row : made->digests) add(row.output, folder);
  return all;
}

// False where the traces have no steps; the reason is among the failures. The digests are analysed:
// the traces are read once, and digests give the same answer.
bool read_traces_of(Reading& in, const RunFiles& files, const std::vector<DigestFile>& digests,
                    PastRun& run) {
  std::vector<std::string> inputs;
  for (const DigestFile& digest : digests) inputs.push_back(digest.path);
  const AnalyzeRequest request{.traces = {.inputs = inputs,
                                          .step_annotation = in.request.reading.step_annotation,
                                          .kernel_rules = in.request.reading.kernel_rules,
                                          .threads = in.request.reading.threads},
                               .job = in.request.job};
  auto result = or_refused(files.path, [&] { return analyze(request, in.progress); });
  if (!result) {
    fail(in.progress, in.failures, result.error());
    return false;
  }
  in.failures.insert(in.failures.end(), result->failures.begin(), result->failures.end());
  if (result->analysis.job.ranks.empty()) return false;
  run.steps = launch_of(result->analysis.job, result->ranks, run.name);
  if (run.steps.wall_ns.empty()) {
    fail(in.progress, in.failures, no_whole_step(result->analysis.inputs, files.path));
    return false;
  }
  describe(result->analysis, run);
  return true;
}

bool read_steps_of(Reading& in, const RunFiles& files, PastRun& run) {
  auto times = read_step_times(files.path, in.request.reading.steps, in.progress.stop);
  if (!times) {
    // A folder of runs may hold notes and pictures.
    if (times.error().code != ErrorCode::interrupted)
      in.warnings.push_back(msg::is_no_run(files.name, times.error().what));
    return false;
  }
  run.steps = launch_of(std::move(*times), run.name, in.warnings);
  return true;
}

bool is_trace(const Reading& in, const RunFiles& files) {
  if (files.folder) return true;
  const auto kind = kind_of_steps(files.path, in.request.reading.steps, in.progress.stop);
  return kind && *kind == StepFileKind::trace;
}

// Reads a run and stores it. Absent: it has no steps; the reason is among the failures or warnings.
Result<std::optional<PastRun>> add_run(Reading& in, HistoryFile& history, const RunFiles& files,
                                       const PastRun* known) {
  PastRun run{.name = files.name,
              .fingerprint = files.fingerprint,
              .recorded_unix_ns = files.newest_unix_ns,
              .commit = in.request.commit,
              .tag = in.request.tag,
              .version = std::string(version())};
  if (known != nullptr && run.commit.empty()) run.commit = known->commit;
  if (known != nullptr && run.tag.empty()) run.tag = known->tag;
  std::vector<DigestFile> digests;
  std::optional<LaunchFolder> scratch;  // until they are stored
  if (is_trace(in, files)) {
    auto folder = LaunchFolder::make({});
    if (!folder) return folder.error();
    scratch.emplace(std::move(*folder));
    auto made = digests_of(in, files, scratch->path());
    if (!made) fail(in.progress, in.failures, made.error());
    if (!made || !read_traces_of(in, files, *made, run)) return std::optional<PastRun>();
    digests = std::move(*made);
  } else if (!read_steps_of(in, files, run)) {
    return std::optional<PastRun>();
  }
  if (in.progress.stopped()) return interrupted();
  if (const auto stored = history.put(run, digests); !stored) return stored.error();
  run.steps.parts.clear();
  run.digests = digests.size();
  for (const DigestFile& digest : digests)
    if (const auto size = file_size(digest.path)) run.digest_bytes += *size;
  return std::optional(std::move(run));
}

bool is_named(const PastRun& run, const std::string& name) {
  return run.name == name || run.tag == name || run.commit == name ||
         (name.size() >= shortest_commit && run.commit.starts_with(name));
}

Comparison compare_newest(const RunsRequest& request, const std::vector<LaunchSteps>& a,
                          const PastRun& b) {
  Comparison c{.version = std::string(version()),
               .label_a = request.baseline.empty() ? a.front().name : request.baseline,
               .label_b = b.name,
               .runs = {},
               .options = request.options,
               .max_regression = request.max_regression};
  if (c.max_regression) c.options.ratio.floor = std::min(c.options.ratio.floor, *c.max_regression);
  c.runs = compare_runs(a, std::span(&b.steps, 1), {}, c.options);
  c.regression = regression_of(c.runs, c.max_regression);
  if (a.size() == 1) c.warnings.push_back(msg::one_run_before());
  return c;
}

// The runs that row `at` is compared with.
std::vector<std::size_t> baseline_of(const RunsRequest& request, const RunsResult& r,
                                     std::size_t at) {
  std::vector<std::size_t> rows;
  if (!request.baseline.empty()) {
    for (std::size_t i = 0; i < r.rows.size(); ++i)
      if (r.rows[i].baseline && !r.rows[at].baseline) rows.push_back(i);
  } else if (at > 0) {
    rows.push_back(at - 1);
  }
  return rows;
}

Result<Done> compare_rows(const RunsRequest& request, const HistoryFile& file, RunsResult& r) {
  for (RunRow& row : r.rows) {
    row.baseline = !request.baseline.empty() && is_named(row.run, request.baseline);
    row.median_ns = describe_arm(std::span(&row.run.steps, 1), request.options).median_ns;
  }
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    std::vector<LaunchSteps> a;
    for (const std::size_t at : baseline_of(request, r, i)) a.push_back(r.rows[at].run.steps);
    if (a.empty()) continue;
    PastRun& run = r.rows[i].run;
    if (i + 1 < r.rows.size()) {
      r.rows[i].beside = compare_runs(a, std::span(&run.steps, 1), {}, request.options).ratio;
      continue;
    }
    for (LaunchSteps& launch : a)
      if (const auto read = file.read_parts(launch); !read) return read.error();
    if (const auto read = file.read_parts(run.steps); !read) return read.error();
    r.newest = compare_newest(request, a, run);
    r.rows[i].beside = r.newest->runs.ratio;
  }
  return Done{};
}

std::string history_of(const std::string& folder, const std::string& history) {
  return history.empty() ? (fs::path(folder) / "stepscope-runs.sqlite").string() : history;
}

}  // namespace

Result<RestoredRun> restore_run(const RestoreRequest& request) {
  RestoredRun restored{.version = std::string(version()),
                       .history = history_of(request.folder, request.history),
                       .run = request.run,
                       .output = request.output};
  std::error_code ignored;
  if (!fs::exists(restored.history, ignored))
    return Error{.what = "there is no history here",
                 .file = restored.history,
                 .hint = "keep one with stepscope runs DIR"};
  const auto file = HistoryFile::open(restored.history);
  if (!file) return file.error();
  const auto known = file->runs();
  if (!known) return known.error();
  const auto run = std::ranges::find(*known, request.run, &PastRun::name);
  if (run == known->end())
    return Error{.what = fmt::format("no run has the name {}", request.run),
                 .file = restored.history,
                 .hint = "stepscope runs DIR lists the runs",
                 .code = ErrorCode::refused};
  if (run->digests == 0)
    return Error{.what = fmt::format("no digests of the run {} are kept", request.run),
                 .file = restored.history,
                 .hint = "only traces have digests; a run that an older stepscope read has none",
                 .code = ErrorCode::refused};
  const auto written = file->write_digests(request.run, request.output);
  if (!written) return written.error();
  restored.digests = *written;
  return restored;
}

Result<RunsResult> runs(const RunsRequest& request, const Progress& progress) {
  RunsResult r{.version = std::string(version()),
               .history = history_of(request.folder, request.history)};
  const auto found = candidates(request.folder, r.history);
  if (!found) return found.error();
  auto file = HistoryFile::open(r.history);
  if (!file) return file.error();
  auto known = file->runs();
  if (!known) return known.error();

  std::map<std::string, PastRun> by_name;
  for (PastRun& run : *known) by_name.emplace(run.name, std::move(run));
  std::map<std::string, bool> added;
  Reading in{.request = request, .progress = progress};
  for (const RunFiles& files : *found) {
    if (progress.stopped()) return interrupted();
    const auto at = by_name.find(files.name);
    const PastRun* before = at == by_name.end() ? nullptr : &at->second;
    if (before != nullptr && before->fingerprint == files.fingerprint) continue;
    auto run = add_run(in, *file, files, before);
    if (progress.stopped()) return interrupted();
    if (!run) return run.error();
    if (!*run) continue;
    added[files.name] = true;
    by_name.insert_or_assign(files.name, std::move(**run));
  }

  for (auto& [name, run] : by_name)
    r.rows.push_back({.run = std::move(run), .added = added.contains(name)});
  std::ranges::stable_sort(r.rows, {}, [](const RunRow& row) { return row.run.recorded_unix_ns; });
  r.warnings = std::move(in.warnings);
  r.failures = std::move(in.failures);
  if (r.rows.empty())
    return r.failures.empty()
               ? Error{.what = "has no runs",
                       .file = request.folder,
                       .hint = "each folder in it, log or list of step times is one run"}
               : r.failures.front();
  const auto named = [&](const RunRow& row) { return is_named(row.run, request.baseline); };
  if (!request.baseline.empty() && std::ranges::none_of(r.rows, named))
    return Error{.what = fmt::format("no run has the tag, commit or name {}", request.baseline),
                 .file = r.history,
                 .hint = "without --baseline the runs are listed",
                 .code = ErrorCode::refused};
  if (const auto compared = compare_rows(request, *file, r); !compared) return compared.error();
  std::vector<double> medians;
  for (const RunRow& row : r.rows) medians.push_back(row.median_ns);
  r.changes = find_changes(medians, run_changes);
  return r;
}

}  // namespace stepscope
