// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/sequence_steps.h"

#include <map>

#include "stepscope/analysis/steps/iteration_name.h"
#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using Places = std::vector<std::optional<std::int64_t>>;
using Counts = std::map<std::int64_t, std::int64_t>;  // of calls, by step

Counts counts_of(std::span<const StepItem> sequence) {
  Counts counts;
  for (const StepItem& item : sequence)
    if (item.step) ++counts[*item.step];
  return counts;
}

// The number of calls that most sequences have, of equal ones the larger; by step.
Counts usual_counts(std::span<const Counts> counts) {
  std::map<std::int64_t, Counts> votes;  // step → calls → sequences
  for (const Counts& of_sequence : counts)
    for (const auto& [step, calls] : of_sequence) ++votes[step][calls];
  Counts usual;
  for (const auto& [step, sequences] : votes) {
    std::int64_t most = 0;
    for (const auto& [calls, number] : sequences)
      if (number >= most) {
        most = number;
        usual[step] = calls;
      }
  }
  return usual;
}

bool near_in_time(std::span<const std::vector<StepItem>> sequences, std::span<const Places> places,
                  Ns step_length) {
  std::map<std::int64_t, Ns> first;  // ends of the first sequence that has the place
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    std::vector<Ns> apart;
    for (std::size_t i = 0; i < sequences[s].size(); ++i) {
      if (!places[s][i]) continue;
      const auto [at, fresh] = first.try_emplace(*places[s][i], sequences[s][i].end);
      if (!fresh) apart.push_back(std::chrono::abs(sequences[s][i].end - at->second));
    }
    if (!apart.empty() && upper_median(apart) > step_length / 4) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Places>> places_by_step(std::span<const std::vector<StepItem>> sequences,
                                                  Ns step_length) {
  std::vector<Counts> counts;
  counts.reserve(sequences.size());
  for (const auto& sequence : sequences) counts.push_back(counts_of(sequence));
  const Counts usual = usual_counts(counts);
  Counts first;
  std::int64_t total = 0;
  for (const auto& [step, calls] : usual) {
    first[step] = total;
    total += calls;
  }
  std::vector<Places> places;
  std::size_t placed = 0;
  std::size_t all = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    Places& mine = places.emplace_back(sequences[s].size());
    Counts seen;
    for (std::size_t i = 0; i < sequences[s].size(); ++i) {
      const auto step = sequences[s][i].step;
      ++all;
      if (!step || counts[s][*step] != usual.at(*step)) continue;
      mine[i] = first[*step] + seen[*step]++;
      ++placed;
    }
  }
  if (2 * placed <= all || !near_in_time(sequences, places, step_length)) return std::nullopt;
  return places;
}

std::optional<std::int64_t> launching_step(const RankView& view, const CollectiveCall& call) {
  if (call.launch == no_slice) return std::nullopt;
  const Ns at = view.trace->slices.start[index(call.launch)];
  const std::int32_t last = last_step_of_host(view.steps, at);
  if (last < 0) return std::nullopt;
  const Step& step = view.steps[static_cast<std::size_t>(last)];
  // The last step ends with its annotation; an earlier one goes on to the next.
  if (!step_number(step.name) || (&step == &view.steps.back() && at >= step.host_end))
    return std::nullopt;
  return step.index;
}

}  // namespace stepscope
