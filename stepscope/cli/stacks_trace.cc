// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/stacks_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "stepscope/cli/terminal.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

// Places in JobResult::ranks by input; absent where nothing tells.
std::vector<std::optional<std::size_t>> ranks_of(const StacksTraceFlags& flags,
                                                 const Profile& profile, const TraceBeside& beside,
                                                 Failures& failures) {
  const std::vector<RankResult>& ranks = beside.job.ranks;
  std::vector<std::string> paths;
  for (const ProfileInput& i : profile.inputs) paths.push_back(i.path);
  const auto named = ranks_from_names(paths, beside.run.world_size);
  std::vector<std::optional<std::size_t>> out(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::optional<int> rank = named[i];
    if (ranks.size() == 1) rank = ranks.front().rank;
    if (const auto said = flags.rank_of.find(paths[i]); said != flags.rank_of.end())
      rank = said->second;
    const auto at =
        std::ranges::find_if(ranks, [&](const RankResult& r) { return r.rank == rank; });
    if (at != ranks.end())
      out[i] = static_cast<std::size_t>(at - ranks.begin());
    else
      failures.add({.what = rank ? fmt::format("rank {} is not in the traces", *rank)
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

std::string apart(const StackJoin& join, const std::vector<Step>& steps) {
  if (steps.empty()) return "the trace has no step";
  if (join.threads.empty()) return "none of its samples has an instant";
  if (join.last <= steps.front().start)
    return fmt::format("the profile ends {} before the first step begins",
                       format_time(steps.front().start - join.last));
  if (join.first >= steps.back().end)
    return fmt::format("the profile begins {} after the last step has ended",
                       format_time(join.first - steps.back().end));
  return "no sample lies within a step";
}

}  // namespace

void declare(CLI::App& app, StacksTraceFlags& f) {
  app.add_option("--trace", f.traces.request.inputs,
                 "Traces of the same run: what the device did while the host sat in its phases")
      ->type_name("TRACES")
      ->group("Beside a trace");
  app.add_option("--rank", f.ranks,
                 "The rank that was profiled, where the traces have several; one a profile, in "
                 "their order, or one for all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Beside a trace");
  app.add_option("--offset", f.offset_text,
                 "What added to the profile's clock gives the trace's, where they are not the same")
      ->type_name("SECONDS")
      ->group("Beside a trace");
  app.add_flag("--gapless", f.gapless,
               "No sample of a thread is missing (py-spy record --idle), so its place is an "
               "instant")
      ->group("Beside a trace");
  app.add_option("--steps", f.traces.steps, "Only these steps: A:B, A:, :B or N")
      ->type_name("A:B")
      ->group("Beside a trace");
  app.add_option("--step-annotation", f.traces.request.step_annotation,
                 "Steps are the annotations of this name (default ProfilerStep)")
      ->type_name("NAME")
      ->group("Beside a trace");
}

std::optional<Ns> parse_seconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(dot + 1, text.size()));
  const auto digits = [](std::string_view t) {
    return std::ranges::all_of(t, [](char c) { return c >= '0' && c <= '9'; });
  };
  // 9'223'372'036 s are what nanoseconds hold.
  if (dot == 0 || dot > 10 || fraction.size() > 9 || (dot < text.size() && fraction.empty()) ||
      !digits(text.substr(0, dot)) || !digits(fraction))
    return std::nullopt;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < dot + 9; ++i) {
    const std::size_t at = i - dot;
    const char digit = i < dot ? text[i] : at < fraction.size() ? fraction[at] : '0';
    if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, digit - '0', &ns))
      return std::nullopt;
  }
  return Ns{negative ? -ns : ns};
}

Result<Done> resolve(StacksTraceFlags& f, std::span<const std::string> profiles) {
  if (f.traces.request.inputs.empty()) {
    const char* alone = !f.ranks.empty()                            ? "--rank"
                        : !f.offset_text.empty()                    ? "--offset"
                        : f.gapless                                 ? "--gapless"
                        : !f.traces.steps.empty()                   ? "--steps"
                        : !f.traces.request.step_annotation.empty() ? "--step-annotation"
                                                                    : nullptr;
    if (alone == nullptr) return Done{};
    return Error{.what = std::string(alone) + " says nothing without a trace",
                 .hint = "give --trace TRACES"};
  }
  if (f.ranks.size() > 1 && f.ranks.size() != profiles.size())
    return Error{
        .what = fmt::format("{} of --rank for {} profiles", f.ranks.size(), profiles.size()),
        .hint = "give one, or one a profile in their order"};
  for (std::size_t i = 0; i < profiles.size() && !f.ranks.empty(); ++i)
    f.rank_of[profiles[i]] = f.ranks[f.ranks.size() == 1 ? 0 : i];
  if (!f.offset_text.empty()) {
    f.offset = parse_seconds(f.offset_text);
    if (!f.offset)
      return Error{.what = "--offset " + f.offset_text + " is no number of seconds",
                   .hint = "write 12.5, -0.25 or 1700000000.123456789"};
  }
  auto traces = traces_request(f.traces);
  if (!traces) return traces.error();
  f.request = std::move(*traces);
  return Done{};
}

std::unique_ptr<TraceBeside> read_beside(const StacksTraceFlags& flags, Failures& failures) {
  const Progress progress = progress_of(failures);
  auto read = read_traces(flags.request, progress);
  if (!read || read->ranks.empty()) return nullptr;
  auto beside = std::make_unique<TraceBeside>();
  JobOptions options = job_options(flags.request, progress, read->run.world_size);
  options.explain = false;
  beside->job = analyze_job(read->ranks, options);
  if (beside->job.interrupted) return nullptr;
  if (const auto none = no_such_steps(flags.request, beside->job)) failures.add(*none);
  beside->run = std::move(read->run);
  beside->inputs = std::move(read->inputs);
  return beside;
}

StacksTrace join_profiles(const StacksTraceFlags& flags, const Profile& profile,
                          const NodePhases& phases, TraceBeside& beside, Failures& failures) {
  StacksTrace out{.inputs = beside.inputs, .job = {}, .profiles = {}};
  const auto ranks = ranks_of(flags, profile, beside, failures);
  std::vector<std::vector<BudgetPiece>> pieces(beside.job.ranks.size());
  for (std::uint32_t i = 0; i < profile.inputs.size(); ++i) {
    if (!ranks[i]) continue;
    ProfileBesideTrace p{.input = i, .rank = *ranks[i], .offset = flags.offset};
    const Trace& trace = beside.run.ranks[p.rank].trace;
    const RankResult& rank = beside.job.ranks[p.rank];
    p.why_not = why_not_joined(
        profile.inputs[i],
        {.clock = trace.metadata.clock, .offset = flags.offset, .gapless = flags.gapless});
    if (p.why_not.empty()) {
      if (pieces[p.rank].empty() && !rank.steps.empty())
        pieces[p.rank] = budget_pieces(trace, index_rank(trace), rank.steps,
                                       beside.job.collectives.splits[p.rank], rank.budget.rank());
      p.join = join_stacks(profile, phases, i, flags.offset.value_or(Ns{0}), pieces[p.rank]);
      if (inside(*p.join) <= 0) {
        p.why_not = apart(*p.join, rank.steps);
        p.join.reset();
      }
    }
    out.profiles.push_back(std::move(p));
  }
  out.job = std::move(beside.job);
  return out;
}

}  // namespace stepscope
