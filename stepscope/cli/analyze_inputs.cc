// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/analyze_inputs.h"

#include <fmt/format.h>

#include <chrono>

#include "stepscope/cli/terminal.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/words/phrases.h"

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

std::string recorded_ranks(const Run& run) {
  std::vector<int> ranks;
  ranks.reserve(run.ranks.size());
  for (const RankTrace& r : run.ranks) ranks.push_back(r.rank);
  return ranks_in_words(ranks);
}

}  // namespace

Run read_inputs(const AnalyzeFlags& flags, const StopFlag& stop, Failures& failures,
                double& seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const InputFiles files = find_input_files(flags.inputs);
  for (const Error& e : files.errors) failures.add(e);
  ProgressLine line("reading");
  Run run = read_run(files.files, {.threads = flags.threads,
                                   .stop = &stop,
                                   .window = flags.window,
                                   .progress = [&](std::uint64_t done, std::uint64_t total) {
                                     line.show(done, total);
                                   }});
  for (const InputReport& i : run.inputs)
    if (i.error) failures.add(*i.error);
  for (const Error& e : run.errors) failures.add(e);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
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
    row.notes = {i.notes.counts.begin(), i.notes.counts.end()};
    if (i.error) row.error = i.error->what;
    rows.push_back(std::move(row));
  }
  return rows;
}

JobOptions job_options(const AnalyzeFlags& flags, const StopFlag& stop,
                       std::optional<int> world_size) {
  JobOptions options;
  options.steps.annotation = flags.step_annotation;
  options.first_step = flags.first_step;
  options.last_step = flags.last_step;
  options.world_size = flags.sizes.world_size() ? flags.sizes.world_size() : world_size;
  options.dimensions = flags.dimensions;
  options.sizes = flags.sizes;
  options.timeline = !flags.html.empty() || flags.timeline;
  options.threads = flags.threads;
  options.stop = &stop;
  if (flags.machine) options.messages = message_model(*flags.machine, options.world_size);
  return options;
}

std::vector<RankInput> wanted_ranks(const AnalyzeFlags& flags, Run& run, Failures& failures) {
  std::vector<RankInput> ranks;
  for (RankTrace& r : run.ranks)
    if (flags.ranks.empty() || flags.ranks.contains(r.rank)) ranks.push_back({r.rank, &r.trace});
  if (ranks.empty() && !run.ranks.empty())
    failures.add({.what = "no rank of --ranks " + flags.ranks_text +
                          " is in the traces, which have " + recorded_ranks(run)});
  return ranks;
}

void check_steps(const AnalyzeFlags& flags, const JobResult& job, Failures& failures) {
  if (flags.steps_text.empty() || job.ranks.empty() || !job.steps.empty() || !job.recorded_steps)
    return;
  failures.add({.what = fmt::format("no step of --steps {} is in the traces, which have {} to {}",
                                    flags.steps_text, job.recorded_steps->first,
                                    job.recorded_steps->second)});
}

}  // namespace stepscope
