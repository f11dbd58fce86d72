// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/fit/stack_join.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/read_profile.h"
#include "stepscope/verbs/inputs/other_verbs.h"
#include "stepscope/verbs/inputs/printed_block.h"

namespace stepscope {
namespace {

constexpr std::size_t drawn_nodes = 8000;

Result<PhaseRules> read_rules(const std::vector<std::string>& paths,
                              std::span<const std::string> sources) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = read_text(path);
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  std::vector<RuleFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], texts[i]});
  return make_phase_rules(files, sources);
}

Result<StacksResult> open_rules(const StacksRequest& request) {
  StacksResult result;
  for (const std::string& name : request.lasti) {
    auto table = open_instruction_table(name);
    if (!table) return table.error();
    if (!result.table) {
      result.table = std::move(*table);
    } else if (const auto added = result.table->add(*table); !added) {
      Error error = added.error();
      error.what = "--lasti: " + error.what;
      return error;
    }
    result.lasti += (result.lasti.empty() ? "" : ", ") + name;
  }
  auto rules = read_rules(request.rules,
                          result.table ? result.table->sources() : std::span<const std::string>());
  if (!rules) return rules.error();
  result.rules = std::move(*rules);
  return result;
}

// The profiles that can be read, joined in one; the others are failures.
Result<Profile> read_profiles(const StacksRequest& request, const Progress& progress,
                              std::vector<Error>& failures) {
  const ProfileOptions options = {.format = request.format,
                                  .keep_samples = !request.traces.inputs.empty()};
  std::vector<Profile> read;
  for (const std::string& path : request.profiles) {
    if (progress.stopped()) return interrupted();
    auto profile = read_profile(path, options);
    if (profile && may_be_text(*profile))
      if (Error error = with_printed_block({.what = {}, .file = path}); !error.what.empty())
        profile = std::move(error);
    if (profile && profile->inputs.front().format == "collapsed" &&
        std::ranges::all_of(profile->tree.self, [](auto weight) { return weight == 0; }))
      profile = Error{.what = "has no sample",
                      .file = path,
                      .hint = "give collapsed stacks with a count behind each"};
    if (profile)
      read.push_back(std::move(*profile));
    else
      fail(progress, failures, with_analyze(profile.error(), "stacks"));
  }
  if (read.empty())
    return failures.empty() ? Error{.what = "there is no profile"} : failures.front();
  return merged(std::move(read));
}

Result<Profile> read_before(const StacksRequest& request, WeightUnit expected) {
  auto before = read_profile(request.against, {.format = request.format});
  if (!before) return before.error();
  const auto unit = [](WeightUnit u) { return weight_unit_names[static_cast<std::size_t>(u)]; };
  if (before->unit != expected)
    return Error{
        .what = fmt::format("counts {}, the other profile {}", unit(before->unit), unit(expected)),
        .file = request.against,
        .hint = "give two profiles of one unit"};
  return before;
}

// "deepspeed 0.16.7 and torch 2.6".
std::string in_words(const std::vector<std::string>& sources) {
  return fmt::format("{}", fmt::join(sources, " and "));
}

// Where the lines of frames with a CPython instruction come from, and which frames have no line.
Messages remarks_on_lines(const StacksResult& r) {
  const NodePhases& p = r.phases;
  const std::uint64_t all = p.resolved + p.unresolved;
  if (all == 0) return {};
  if (!r.table) {
    const auto names = instruction_table_names();
    return {msg::table_would_tell_lines(all, std::vector<std::string>(names.begin(), names.end()))};
  }
  Messages remarks;
  if (p.resolved > 0)
    remarks.push_back(msg::lines_of_table(p.resolved, all, r.lasti, in_words(r.table->sources()),
                                          r.table->interpreter()));
  if (p.unresolved > 0) remarks.push_back(msg::frames_without_line(p.unresolved, all));
  if (p.off_table > 0) remarks.push_back(msg::frames_off_table(p.off_table));
  return remarks;
}

// Rules for one version of the sources, which name phases by lines, take part only if a table says
// that the profile is of this version.
Messages remarks_on_versions(const StacksRequest& request, const StacksResult& r) {
  Messages remarks;
  if (r.table) return remarks;
  for (const std::string_view name : instruction_table_names()) {
    const auto table = open_instruction_table(std::string(name));
    if (!table) continue;
    const auto rules = read_rules(request.rules, table->sources());
    if (!rules) continue;
    const NodePhases phases = phases_of(r.profile, *rules);
    for (std::uint32_t n = 0; n < r.profile.tree.size(); ++n) {
      if (r.profile.tree.self[n] == 0 ||
          rules->phases[phases.self[n]].name == r.rules.phases[r.phases.self[n]].name)
        continue;
      remarks.push_back(msg::rules_of_versions(in_words(table->sources()), name));
      break;
    }
  }
  return remarks;
}

void fill(const StacksRequest& request, StacksResult& r, std::optional<Profile> before) {
  const InstructionTable* table = r.table ? &*r.table : nullptr;
  r.phases = phases_of(r.profile, r.rules, table);
  r.summary = summarize(r.profile, r.rules, r.phases);
  r.warnings = input_remarks(r.profile);
  append(r.warnings, remarks_on_lines(r));
  append(r.warnings, remarks_on_versions(request, r));
  if (!before) {
    r.flame = flame_graph(r.profile, r.phases, drawn_nodes);
    return;
  }
  const NodePhases phases = phases_of(*before, r.rules, table);
  r.flame = flame_difference(r.profile, r.phases, *before, phases, drawn_nodes).graph;
  append(r.warnings, input_remarks(*before));
  StackSummary summary = summarize(*before, r.rules, phases);
  r.before = StacksBefore{.profile = std::move(*before), .summary = std::move(summary)};
}

std::optional<int> rank_said(const StacksRequest& request, const std::string& path) {
  if (request.ranks.empty()) return std::nullopt;
  std::optional<int> rank;  // a path that stands twice has the later one's
  for (std::size_t i = 0; i < request.profiles.size(); ++i)
    if (request.profiles[i] == path) rank = request.ranks[request.ranks.size() == 1 ? 0 : i];
  return rank;
}

// Places in JobResult::ranks by input; absent where the rank is unknown.
std::vector<std::optional<std::size_t>> ranks_of(const StacksRequest& request,
                                                 const StacksTrace& beside,
                                                 const Progress& progress, StacksResult& result) {
  const std::vector<RankResult>& ranks = beside.job.ranks;
  std::vector<std::string> paths;
  for (const ProfileInput& i : result.profile.inputs) paths.push_back(i.path);
  const auto named = ranks_from_names(paths, beside.run.world_size);
  std::vector<std::optional<std::size_t>> out(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::optional<int> rank = named[i];
    if (ranks.size() == 1) rank = ranks.front().rank;
    if (const auto said = rank_said(request, paths[i])) rank = said;
    const auto at =
        std::ranges::find_if(ranks, [&](const RankResult& r) { return r.rank == rank; });
    if (at != ranks.end())
      out[i] = static_cast<std::size_t>(at - ranks.begin());
    else
      fail(progress, result.failures,
           {.what = rank ? fmt::format("rank {} is not in the traces", *rank)
                         : fmt::format("the traces have {} ranks, and nothing tells whose "
                                       "profile this is",
                                       ranks.size()),
            .file = paths[i],
            .hint = "say --rank N"});
  }
  return out;
}

double inside(const StackJoin& join) {
  double sum = 0;
  for (const JoinedThread& t : join.threads) sum += t.meanwhile.inside();
  return sum;
}

Message why_not_joined(const StackJoin& join, const std::vector<Step>& steps) {
  if (steps.empty()) return msg::trace_without_step();
  if (join.threads.empty()) return msg::samples_without_instant();
  if (join.last <= steps.front().start)
    return msg::profile_before_steps(steps.front().start - join.last);
  if (join.first >= steps.back().end)
    return msg::profile_after_steps(join.first - steps.back().end);
  return msg::no_sample_in_step();
}

// Profiles whose rank is unknown are failures; the others are joined where they can be.
void join_profiles(const StacksRequest& request, StacksTrace& beside, const Progress& progress,
                   StacksResult& result) {
  const auto ranks = ranks_of(request, beside, progress, result);
  std::vector<std::vector<BudgetPiece>> pieces(beside.job.ranks.size());
  for (std::uint32_t i = 0; i < result.profile.inputs.size(); ++i) {
    if (!ranks[i]) continue;
    ProfileBesideTrace p{.input = i, .rank = *ranks[i], .offset = request.offset};
    const Trace& trace = beside.run.ranks[p.rank].trace;
    const RankResult& rank = beside.job.ranks[p.rank];
    p.why_not = why_not_joined(
        result.profile.inputs[i],
        {.clock = trace.metadata.clock, .offset = request.offset, .gapless = request.gapless});
    if (p.why_not.empty()) {
      if (pieces[p.rank].empty() && !rank.steps.empty())
        pieces[p.rank] = budget_pieces(trace, index_rank(trace), rank.steps,
                                       beside.job.collectives.splits[p.rank], rank.budget.rank());
      p.join = join_stacks(result.profile, result.phases, i, request.offset.value_or(Ns{0}),
                           pieces[p.rank]);
      if (inside(*p.join) <= 0) {
        p.why_not = why_not_joined(*p.join, rank.steps);
        p.join.reset();
      }
    }
    beside.profiles.push_back(std::move(p));
  }
}

Result<Done> add_trace(const StacksRequest& request, const Progress& progress,
                       StacksResult& result) {
  auto analyzed = analyze_traces(request.traces, progress, [&](const ReadTraces& read) {
    JobOptions options = job_options(request.traces, progress, read.run.world_size);
    options.explain = false;
    return options;
  });
  if (!analyzed) return analyzed.error();
  ReadTraces& read = analyzed->read;
  result.failures.insert(result.failures.end(), read.failures.begin(), read.failures.end());
  if (read.ranks.empty()) return Done{};
  StacksTrace beside{.inputs = std::move(read.inputs),
                     .run = std::move(read.run),
                     .job = std::move(analyzed->job)};
  if (auto none = not_in_traces(request.traces, beside.job))
    fail(progress, result.failures, std::move(*none));
  join_profiles(request, beside, progress, result);
  beside.findings = stack_findings(result.profile, result.rules, beside.job.ranks, beside.profiles);
  result.trace = std::move(beside);
  return Done{};
}

}  // namespace

Result<StacksResult> stacks(const StacksRequest& request, const Progress& progress) {
  if (request.ranks.size() > 1 && request.ranks.size() != request.profiles.size())
    return Error{.what = fmt::format("{} of --rank for {} profiles", request.ranks.size(),
                                     request.profiles.size()),
                 .hint = "give one, or one a profile in their order"};
  auto result = open_rules(request);
  if (!result) return result.error();
  auto profile = read_profiles(request, progress, result->failures);
  if (!profile) return profile.error();
  result->profile = std::move(*profile);
  std::optional<Profile> before;
  if (!request.against.empty()) {
    if (auto read = read_before(request, result->profile.unit))
      before = std::move(*read);
    else
      fail(progress, result->failures, read.error());
  }
  fill(request, *result, std::move(before));
  if (!request.traces.inputs.empty())
    if (const auto added = add_trace(request, progress, *result); !added) return added.error();
  return result;
}

}  // namespace stepscope
