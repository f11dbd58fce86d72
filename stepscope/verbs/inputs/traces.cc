// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/traces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/gpu_log/read_gpu_log.h"
#include "stepscope/say/phrases.h"
#include "stepscope/verbs/inputs/other_verbs.h"
#include "stepscope/verbs/inputs/reproducer.h"

namespace stepscope {
namespace {

std::string_view name_of(RankSource source) {
  switch (source) {
    case RankSource::metadata:
      return "metadata";
    case RankSource::file_name:
      return "file_name";
    case RankSource::only_file:
      return "only_file";
    case RankSource::order:
      return "order";
  }
  return "";
}

// Where a file that ends too early stops making sense.
std::optional<std::uint64_t> cut_at(const InputReport& i) {
  std::optional<std::uint64_t> at;
  if (!i.notes.truncated) return at;
  for (const char* reason :
       {"truncated_event", "cut_compression", "damaged_compression", "unterminated_array"})
    if (const auto noted = i.notes.first_byte.find(reason); noted != i.notes.first_byte.end())
      at = std::min(at.value_or(noted->second), noted->second);
  return at;
}

std::vector<InputRow> input_rows(const Run& run) {
  std::vector<InputRow> rows;
  for (const InputReport& i : run.inputs) {
    InputRow row;
    row.path = i.path;
    row.format = i.format;
    row.rank = i.rank;
    for (const RankTrace& r : run.ranks)
      if (i.rank == r.rank && !i.error) row.rank_source = name_of(r.source);
    if (i.clock) row.clock = *i.clock == Clock::unix_epoch ? "unix" : "relative";
    row.file_bytes = i.file_bytes;
    row.text_bytes = i.text_bytes;
    row.events = i.notes.events;
    row.truncated = i.notes.truncated;
    row.cut_at = cut_at(i);
    row.packed_cut = i.notes.counts.contains("cut_compression");
    row.notes = {i.notes.counts.begin(), i.notes.counts.end()};
    if (i.error) row.error = i.error->what;
    rows.push_back(std::move(row));
  }
  return rows;
}

// "0,2,8-15", as --ranks takes them.
std::string list_of(const std::set<int>& ranks) {
  std::string text;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const int first = *at;
    int last = first;
    for (++at; at != ranks.end() && *at == last + 1; ++at) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return text;
}

Error no_such_ranks(const TracesRequest& request, const Run& run) {
  std::vector<int> recorded;
  recorded.reserve(run.ranks.size());
  for (const RankTrace& r : run.ranks) recorded.push_back(r.rank);
  return {.what = "no rank of --ranks " + list_of(request.ranks) +
                  " is in the traces, which have " + ranks_in_words(recorded),
          .hint = "give other ranks, or leave --ranks out"};
}

// The error about a file that is no trace names the verbs that read it.
void name_other_verbs(Run& run) {
  constexpr int max_files = 8;  // files
  int asked = 0;
  for (InputReport& i : run.inputs) {
    if (!i.error || i.of_other_job || ++asked > max_files) continue;
    i.error->file = i.path;
    i.error = with_readers(std::move(*i.error));
  }
}

}  // namespace

namespace {

// Whether all processes see the same files; each of them gets the same answer.
Result<Done> same_files(Crew& crew, std::span<const std::string> files) {
  std::string own;
  for (const std::string& file : files) {
    const auto bytes = file_size(file);
    append_plain(own, std::pair(file, bytes ? *bytes : 0));
  }
  const Exchanged all = crew.exchange(std::move(own));
  const auto other =
      std::ranges::find_if(all.of, [&](const auto& seen) { return seen != all.of[0]; });
  if (other == all.of.end()) return Done{};
  return Error{.what = fmt::format("processes 0 and {} see different files behind the inputs",
                                   other - all.of.begin()),
               .hint = "give a folder that all machines share; stepscope digest makes one"};
}

// Reads the logs of GPUs among the inputs, which are no traces.
Result<Done> read_gpu_logs(const TracesRequest& request, const Progress& progress,
                           std::vector<std::string>& files, ReadTraces& read) {
  const std::vector<std::string> paths = find_gpu_logs(request.inputs);
  for (const std::string& path : paths) {
    std::erase(files, path);
    auto log = read_gpu_log(path, progress.stop);
    if (!log && log.error().code == ErrorCode::interrupted) return log.error();
    if (log)
      read.gpu_logs.push_back(std::move(*log));
    else
      read.gpu_log_errors.push_back(log.error());
  }
  if (!paths.empty() && files.empty() && read.failures.empty())
    fail(progress, read.failures,
         {.what = "a log of GPUs, which tells nothing without the traces of its ranks",
          .file = paths.front(),
          .hint = "name the traces with it"});
  return Done{};
}

// Says why inputs are left out: a trace of another job with the reason, several in one line.
void fail_inputs(const Run& run, const Progress& progress, std::vector<Error>& failures) {
  std::vector<const InputReport*> of_other_jobs;
  for (const InputReport& i : run.inputs) {
    if (i.error && i.of_other_job) of_other_jobs.push_back(&i);
    if (i.error && !i.of_other_job) fail(progress, failures, *i.error);
  }
  if (of_other_jobs.size() == 1) fail(progress, failures, *of_other_jobs.front()->error);
  if (of_other_jobs.size() < 2) return;
  const std::string& first = of_other_jobs.front()->path;
  fail(progress, failures,
       {.what = fmt::format("{} traces of other jobs are left out, as {}", of_other_jobs.size(),
                            first.substr(first.rfind('/') + 1)),
        .hint = "name the traces of one job; the JSON says why (inputs[].error)"});
}

}  // namespace

namespace {

Result<Done> check_sizes(const ParallelSizes& sizes, std::optional<int> world) {
  std::int64_t product = 1;
  std::string flags;
  for (const auto& [name, size] :
       {std::pair{"tp", sizes.tp}, std::pair{"pp", sizes.pp}, std::pair{"dp", sizes.dp}}) {
    if (!size) continue;
    product *= *size;
    flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", name, *size);
  }
  if (!world || *world % product == 0) return Done{};
  return Error{
      .what = fmt::format("{}: the job has {} ranks, no multiple of {}", flags, *world, product),
      .hint = "give sizes whose product divides the ranks"};
}

}  // namespace

Result<ReadTraces> read_traces(const TracesRequest& request, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  ReadTraces read;
  std::optional<NameRules> rules;
  if (!request.kernel_rules.empty()) {
    const auto text = read_text(request.kernel_rules);
    if (!text) return text.error();
    auto parsed = name_rules_with(*text, request.kernel_rules);
    if (!parsed) return parsed.error();
    rules = *std::move(parsed);
  }
  InputFiles files = find_input_files(request.inputs);
  for (Error& e : files.errors) {
    // What a folder without traces holds instead.
    std::error_code code;
    if (!is_url(e.file) && std::filesystem::is_directory(e.file, code)) {
      const auto commands = commands_for_folder(e.file);
      if (!commands.empty()) e.hint = fmt::format("its files: {}", fmt::join(commands, "; "));
    }
    fail(progress, read.failures, e);
  }
  std::erase_if(files.files, [&](const std::string& file) {
    return request.refused.contains(shown_name(file));
  });
  if (request.crew != nullptr)
    if (const auto same = same_files(*request.crew, files.files); !same) return same.error();
  if (const auto stopped = read_gpu_logs(request, progress, files.files, read); !stopped)
    return stopped.error();
  read.run = read_run(files.files, {.threads = {threads_of(request), request.crew},
                                    .stop = progress.stop,
                                    .window = request.window,
                                    .rules = rules ? &*rules : nullptr,
                                    .progress = [&](std::uint64_t done, std::uint64_t total) {
                                      if (progress.show) progress.show(reading, done, total);
                                    }});
  if (const auto possible = check_sizes(request.sizes, read.run.world_size); !possible)
    return possible.error();
  name_other_verbs(read.run);
  if (progress.stopped()) return interrupted();
  fail_inputs(read.run, progress, read.failures);
  for (const Error& e : read.run.errors) fail(progress, read.failures, e);
  read.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  read.inputs = input_rows(read.run);
  for (RankTrace& r : read.run.ranks)
    if (request.ranks.empty() || request.ranks.contains(r.rank))
      read.ranks.push_back({r.rank, &r.trace});
  read.ranks_left_out = read.run.ranks.size() - read.ranks.size();
  if (read.ranks.empty() && !read.run.ranks.empty())
    fail(progress, read.failures, no_such_ranks(request, read.run));
  return read;
}

namespace {

// The files of the rank on which the check failed; all where it was about no single one.
std::set<std::string> files_of(const Bug& bug, const ReadTraces& read) {
  std::set<std::string> files;
  for (const InputReport& i : read.run.inputs)
    if (!i.error && (!bug.input || i.rank == read.ranks[*bug.input].rank)) files.insert(i.path);
  return files;
}

// The check that fails when the files alone are analysed; empty if it succeeds.
std::string failed_check(const TracesRequest& request, const std::string& file,
                         const std::function<JobOptions(const ReadTraces& read)>& options) {
  TracesRequest alone = request;
  alone.inputs = {file};
  alone.window.reset();  // the file has no more than the window
  const auto read = read_traces(alone, {});
  try {
    if (read) std::ignore = analyze_job(read->ranks, options(*read));
  } catch (const Bug& bug) {
    return bug.what();
  }
  return {};
}

// The trace is read once more, because analyses put it on the clock of the job.
void reproduce(const Bug& bug, const TracesRequest& request, const std::set<std::string>& files,
               const std::function<JobOptions(const ReadTraces& read)>& options,
               const Progress& progress, std::vector<Error>& failures) {
  TracesRequest alone = request;
  alone.inputs.assign(files.begin(), files.end());
  const auto read = read_traces(alone, {.stop = progress.stop});
  if (!read || read->ranks.empty()) {
    fail(progress, failures, read ? no_ranks(read->failures, *files.begin()) : read.error());
    return;
  }
  const auto written = write_reproducer(
      *read->ranks[0].trace, options(*read).steps, bug.what(), request.reproducer,
      [&](const std::string& file) { return failed_check(request, file, options); });
  if (!written) fail(progress, failures, written.error());
}

}  // namespace

Result<AnalyzedTraces> analyze_traces(
    TracesRequest request, const Progress& progress,
    const std::function<JobOptions(const ReadTraces& read)>& options) {
  Progress reading_on = progress;
  std::vector<Error> bugs;
  for (;;) {
    auto read = read_traces(request, reading_on);
    if (!read) return read.error();
    try {
      JobResult job = analyze_job(read->ranks, options(*read));
      if (job.interrupted) return interrupted();
      read->failures.insert(read->failures.begin(), bugs.begin(), bugs.end());
      return AnalyzedTraces{*std::move(read), std::move(job)};
    } catch (const Bug& bug) {
      // Processes that share the work would wait for each other.
      if (request.crew != nullptr && request.crew->size() > 1) throw;
      std::set<std::string> files = files_of(bug, *read);
      const Error error = refused_for(bug, files.empty() ? "" : *files.begin());
      if (!request.reproducer.empty() && !files.empty())
        reproduce(bug, request, files, options, progress, bugs);
      if (!bug.input || read->ranks.size() == 1 || files.empty()) return error;
      fail(progress, bugs, error);
      request.refused.merge(files);
      reading_on.failed = {};  // they were reported when the files were read first
    }
  }
}

std::vector<std::string> commands_for_other_files(const TracesRequest& request,
                                                  const ReadTraces& read) {
  std::vector<std::string> known;
  for (const InputReport& i : read.run.inputs) known.push_back(i.path);
  for (const GpuLog& log : read.gpu_logs) known.push_back(log.path);
  std::vector<std::string> commands;
  if (request.crew != nullptr) return commands;
  for (const std::string& input : request.inputs) {
    std::error_code code;
    if (is_url(input) || !std::filesystem::is_directory(input, code)) continue;
    for (std::string& command : commands_for_others(input, known))
      commands.push_back(std::move(command));
  }
  return commands;
}

unsigned threads_of(const TracesRequest& request) {
  return request.threads > 0 ? request.threads : std::max(1U, std::thread::hardware_concurrency());
}

Error no_ranks(std::span<const Error> failures, const std::string& input) {
  if (!failures.empty()) return failures.front();
  return {.what = "holds no trace", .file = input, .hint = "name the traces of a run"};
}

JobOptions job_options(const TracesRequest& request, const Progress& progress,
                       std::optional<int> recorded_world) {
  JobOptions options;
  options.steps.annotation = request.step_annotation;
  options.first_step = request.first_step;
  options.last_step = request.last_step;
  options.world_size = request.sizes.world_size() ? request.sizes.world_size() : recorded_world;
  options.dimensions = request.dimensions;
  options.sizes = request.sizes;
  options.threads = {threads_of(request), request.crew};
  options.stop = progress.stop;
  return options;
}

Error no_whole_step(std::span<const InputRow> rows, const std::string& input) {
  const auto cut = std::ranges::find_if(rows, [](const InputRow& i) { return i.truncated; });
  if (cut == rows.end())
    return {.what = "the traces have no step that all ranks share",
            .file = input,
            .hint = "record the same steps on all ranks"};
  const std::string hint = "copy the file again, or record it again";
  if (cut->packed_cut)
    return {.what = fmt::format("is cut off after {} bytes, and no whole step is left",
                                cut->file_bytes),
            .file = cut->path,
            .hint = hint};
  return {.what = "is cut off, and no whole step is left",
          .file = cut->path,
          .byte = cut->cut_at,
          .hint = hint};
}

namespace {

// "mesh_tp, mesh_dp": the first of a job's groups.
std::string some_groups(const CollectiveMatches& matches) {
  constexpr std::size_t max_labels = 6;
  std::vector<std::string> labels;
  for (const CommGroup& group : matches.groups) {
    std::string label = group_label(group);
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(std::move(label));
  }
  const bool more = labels.size() > max_labels;
  if (more) labels.resize(max_labels);
  return fmt::format("{}{}", fmt::join(labels, ", "), more ? ", …" : "");
}

}  // namespace

std::optional<Error> no_such_steps(const TracesRequest& request, const JobResult& job) {
  const bool asked = request.first_step || request.last_step;
  if (!asked || job.ranks.empty() || !job.steps.common.empty() || !job.steps.recorded)
    return std::nullopt;
  const bool broken =
      std::ranges::any_of(job.steps.cut, [](const CutRank& cut) { return !cut.steps.empty(); });
  if (broken) return std::nullopt;  // they are there, and cut_sentence() says what became of them
  const auto number = [](std::optional<std::int64_t> n) {
    return n ? std::to_string(*n) : std::string();
  };
  const std::string range = request.first_step == request.last_step
                                ? number(request.first_step)
                                : number(request.first_step) + ':' + number(request.last_step);
  return Error{.what = fmt::format("no step of --steps {} is in the traces, which have {} to {}",
                                   range, job.steps.recorded->first, job.steps.recorded->second),
               .hint = "give other steps, or leave --steps out"};
}

namespace {

std::optional<Error> no_such_group(const TracesRequest& request, const JobResult& job) {
  const CollectiveMatches& matches = job.collectives.matches;
  for (const auto& [key, dimension] : request.dimensions) {
    const auto is_named = [&](const CommGroup& group) {
      return group.name == key || group.description == key ||
             fmt::format("{}", fmt::join(group.ranks, ",")) == key;
    };
    if (std::ranges::any_of(matches.groups, is_named)) continue;
    return Error{.what = "--groups: the traces have no group " + key,
                 .hint = matches.groups.empty() ? "they name no groups: give their ranks"
                                                : "name one of theirs: " + some_groups(matches)};
  }
  return std::nullopt;
}

// Groups of a pipeline may be those of two neighbours.
std::optional<Error> other_sizes(const TracesRequest& request, const JobResult& job) {
  const auto& groups = job.collectives.matches.groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Dimension dimension = job.collectives.dimension_of[g];
    const bool tensor = dimension == Dimension::tp;
    const auto& size = tensor ? request.sizes.tp : request.sizes.pp;
    const bool differs = tensor ? groups[g].size != size : groups[g].size > size;
    if (!size || groups[g].size < 2 || !differs || (!tensor && dimension != Dimension::pp))
      continue;
    return Error{
        .what = fmt::format("--{} {}: the traces' group {} has {} ranks", tensor ? "tp" : "pp",
                            *size, group_label(groups[g]), groups[g].size),
        .hint = fmt::format("leave --{} out", tensor ? "tp" : "pp")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> not_in_traces(const TracesRequest& request, const JobResult& job) {
  if (auto none = no_such_steps(request, job)) return none;
  if (auto none = no_such_group(request, job)) return none;
  return other_sizes(request, job);
}

}  // namespace stepscope
