// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/job_shape.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

std::int64_t members_of(const CommGroup& group) {
  return group.ranks.empty() ? std::max(group.size, 1) : std::ssize(group.ranks);
}

// What the ranks did in a group.
struct GroupUse {
  bool used = false;
  bool shards = false;  // gathers or scatters
};

std::vector<GroupUse> uses_of(const CollectiveMatches& matches) {
  std::vector<GroupUse> uses(matches.groups.size());
  for (const RankCalls& rank : matches.ranks)
    for (const CollectiveCall& call : rank.calls) {
      if (call.group >= uses.size()) continue;
      uses[call.group].used = true;
      uses[call.group].shards |=
          call.kind == CollectiveKind::all_gather || call.kind == CollectiveKind::reduce_scatter;
    }
  return uses;
}

// Megatron's order of ranks: tp, cp, dp, pp. A group is one of data-parallel ranks if its members
// differ in nothing but that place.
bool differs_in_dp(const CommGroup& group, const JobShape& shape) {
  if (group.ranks.size() < 2) return false;
  const std::int64_t inner = shape.tp * shape.cp;
  bool differs = false;
  for (const int rank : group.ranks) {
    const auto place = [&](int r) { return r / inner % shape.dp; };
    differs |= place(rank) != place(group.ranks.front());
  }
  return differs;
}

// A lookup's table and indices.
struct Lookup {
  std::int64_t rows = 0;  // of the table
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
};

std::optional<Lookup> lookup_of(const Trace& trace, std::uint32_t row) {
  const std::uint32_t detail = trace.slices.detail[row];
  if (trace.slices.category[row] != Category::cpu_op || detail == no_row) return std::nullopt;
  const auto inputs = parse_inputs(trace.strings[trace.ops.input_dims[detail]], "", "");
  if (!inputs) return std::nullopt;
  const Dims* table = inputs->tensor(0, 2);
  const Dims* indices = inputs->tensor(1, 2);
  if (table == nullptr || indices == nullptr || indices->size() != 2) return std::nullopt;
  return Lookup{table->front(), indices->at(0), indices->at(1)};
}

}  // namespace

std::optional<TokenLookups> token_lookups(std::span<const RankView> views) {
  struct Found {
    Lookup lookup;
    std::pair<std::size_t, std::size_t> step;  // view and its step
  };
  std::vector<Found> found;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Trace& trace = *views[v].trace;
    const StringId name = trace.strings.find("aten::embedding");
    if (name == empty_string) continue;
    for (std::uint32_t row = 0; row < trace.slices.size(); ++row) {
      if (trace.slices.name[row] != name) continue;
      const auto step = step_of_host(views[v].steps, trace.slices.start[row]);
      const auto lookup = lookup_of(trace, row);
      if (step && lookup) found.push_back({*lookup, {v, *step}});
    }
  }
  std::int64_t largest = 0;
  for (const Found& f : found) largest = std::max(largest, f.lookup.rows);
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> calls;  // by step
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> shapes;
  for (const Found& f : found)
    if (f.lookup.rows == largest) {
      ++calls[f.step];
      ++shapes[{f.lookup.sequences, f.lookup.tokens}];
    }
  if (calls.empty()) return std::nullopt;
  std::map<std::int64_t, std::int64_t> steps_with;
  for (const auto& [step, count] : calls) ++steps_with[count];
  const auto [sequences, tokens] = *most_frequent(shapes);
  return TokenLookups{
      .sequences = sequences, .tokens = tokens, .calls = *most_frequent(steps_with)};
}

JobShape recorded_shape(const Collectives& collectives, const PipelineBubble* pipeline,
                        const std::optional<TokenLookups>& lookups, std::optional<int> world_size) {
  const CollectiveMatches& matches = collectives.matches;
  const std::vector<GroupUse> uses = uses_of(matches);
  std::array<std::int64_t, dimension_count> size{};
  size.fill(1);
  for (std::size_t g = 0; g < matches.groups.size(); ++g) {
    auto& largest = size[static_cast<std::size_t>(collectives.dimension_of[g])];
    if (uses[g].used) largest = std::max(largest, members_of(matches.groups[g]));
  }
  const auto of = [&](Dimension d) { return size[static_cast<std::size_t>(d)]; };
  JobShape shape{.tp = std::max(of(Dimension::tp), of(Dimension::sp)),
                 .cp = of(Dimension::cp),
                 .ep = of(Dimension::ep),
                 .pp = of(Dimension::pp)};
  if (pipeline != nullptr) {
    shape.pp = std::max<std::int64_t>(shape.pp, pipeline->stages);
    if (pipeline->micro_batches) shape.micro_batches = *pipeline->micro_batches;
  }
  if (lookups) {
    shape.micro_batch = lookups->sequences;
    if (!shape.micro_batches) shape.micro_batches = lookups->calls;
  }
  const std::int64_t world =
      world_size.value_or(matches.world_size.value_or(static_cast<int>(matches.ranks.size())));
  shape.dp = std::max<std::int64_t>(1, world / (shape.tp * shape.cp * shape.pp));
  return shape;
}

std::vector<bool> data_groups(const Collectives& collectives, const JobShape& shape) {
  const CollectiveMatches& matches = collectives.matches;
  const std::vector<GroupUse> uses = uses_of(matches);
  std::vector<bool> data(matches.groups.size());
  for (std::size_t g = 0; g < data.size(); ++g) {
    if (!uses[g].used || shape.dp == 1) continue;
    const Dimension d = collectives.dimension_of[g];
    data[g] = d == Dimension::dp || d == Dimension::world ||
              (d == Dimension::unknown && differs_in_dp(matches.groups[g], shape));
  }
  // Hybrid sharding: the groups of shards keep their size.
  const std::int64_t all = shape.dp * shape.cp;
  const auto partial = [&](std::size_t g) {
    return collectives.dimension_of[g] == Dimension::dp && data[g] &&
           members_of(matches.groups[g]) < shape.dp && all % members_of(matches.groups[g]) == 0;
  };
  bool shards = false;
  bool copies = false;
  for (std::size_t g = 0; g < data.size(); ++g)
    if (partial(g)) (uses[g].shards ? shards : copies) = true;
  for (std::size_t g = 0; g < data.size(); ++g)
    if (shards && copies && partial(g) && uses[g].shards) data[g] = false;
  return data;
}

}  // namespace stepscope
