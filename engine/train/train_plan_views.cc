// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_plan_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_tree_rows = 100'000;
constexpr std::size_t most_text_rows = 40;

// The ranks whose shards are shown: [first, end).
struct ShownRanks {
  int first = 0;
  int end = 0;
};

std::size_t units_of(const zero::Plan& plan) { return plan.units.size(); }

// All ranks as far as the rows go, but the plan's own rank at least.
ShownRanks shown_ranks(const TrainResult& r, std::size_t rows_of_rank, std::size_t most_rows) {
  const zero::PlanRequest& request = r.plan->request;
  if (r.plan_of_one_rank) return {request.rank, request.rank + 1};
  const auto fit =
      static_cast<int>(std::min<std::size_t>(most_rows / std::max<std::size_t>(1, rows_of_rank),
                                             static_cast<std::size_t>(request.world_size)));
  return {0, std::max(1, fit)};
}

// In a tree the shards of all ranks, or of one.
ShownRanks tree_ranks(const TrainResult& r) {
  const ShownRanks shown = shown_ranks(r, units_of(*r.plan), most_tree_rows);
  const zero::PlanRequest& request = r.plan->request;
  const bool all = r.plan_of_one_rank || shown.end == request.world_size;
  return all ? shown : ShownRanks{request.rank, request.rank + 1};
}

struct RankShard {
  std::int64_t elements = 0;
  std::int64_t of = 0;
  [[nodiscard]] double saved() const {
    return of == 0 ? 0 : 1 - static_cast<double>(elements) / static_cast<double>(of);
  }
};

RankShard all_of_rank(const zero::Plan& plan, int rank) {
  RankShard sum;
  for (const nn::Unit& unit : plan.units) {
    sum.elements += held_shard(plan.request, unit.count, rank).shard_size();
    sum.of += unit.count;
  }
  return sum;
}

std::int64_t optimizer_bytes(const zero::Plan& plan, std::int64_t elements) {
  return elements * zero::adamw_bytes(plan.request.type).per_parameter();
}

Json shards_json(const zero::Plan& plan, const ShownRanks& ranks) {
  Json rows = Json::array();
  for (int rank = ranks.first; rank < ranks.end; ++rank)
    for (const nn::Unit& unit : plan.units) {
      const zero::OptimizerShard shard = held_shard(plan.request, unit.count, rank);
      rows.push_back({{"rank", rank},
                      {"unit", unit.name},
                      {"start", shard.param_start},
                      {"end", shard.param_end},
                      {"elements", shard.shard_size()},
                      {"optimizer_bytes", optimizer_bytes(plan, shard.shard_size())},
                      {"saved_share", shard.memory_savings()}});
    }
  return rows;
}

Json ranks_json(const zero::Plan& plan, const ShownRanks& ranks) {
  Json rows = Json::array();
  for (int rank = ranks.first; rank < ranks.end; ++rank) {
    const RankShard shard = all_of_rank(plan, rank);
    rows.push_back({{"rank", rank},
                    {"elements", shard.elements},
                    {"optimizer_bytes", optimizer_bytes(plan, shard.elements)},
                    {"saved_share", shard.saved()}});
  }
  return rows;
}

Json planned_memory_json(const zero::Plan& plan) {
  Json rows = Json::array();
  for (std::size_t c = 0; c < zero::arena_class_count; ++c) {
    const zero::ClassMemory& memory = plan.memory[c];
    if (memory.arena().value == 0) continue;
    rows.push_back({{"name", zero::arena_class_names[c]},
                    {"planned_bytes", memory.arena().value},
                    {"padding_bytes", memory.padding.value},
                    {"unused_bytes", memory.unused.value}});
  }
  return rows;
}

Json planned_calls_json(const zero::Plan& plan) {
  Json rows = Json::array();
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    const zero::PlannedCalls calls = planned_calls(plan, kind);
    if (calls.calls == 0) continue;
    rows.push_back({{"kind", collective_kind_names[static_cast<std::size_t>(kind)]},
                    {"calls", calls.calls},
                    {"bytes", calls.payload.value},
                    {"padding_bytes", calls.padding.value}});
  }
  return rows;
}

Json actions_json(const zero::Plan& plan) {
  Json rows = Json::array();
  for (const zero::Action& action : plan.step) {
    if (action.micro_batch > 0) break;
    rows.push_back({{"kind", zero::action_names[static_cast<std::size_t>(action.kind)]},
                    {"unit", plan.units[action.unit].name}});
  }
  return rows;
}

Messages notes_of(const TrainResult& r, const ShownRanks& shown) {
  const zero::PlanRequest& request = r.plan->request;
  if (r.plan_of_one_rank || shown.end - shown.first == request.world_size) return {};
  return {
      msg::shards_of_one_rank(request.rank, request.world_size,
                              units_of(*r.plan) * static_cast<std::size_t>(request.world_size))};
}

}  // namespace

Json train_plan_tree(const TrainResult& r) {
  const zero::Plan& plan = *r.plan;
  const zero::PlanRequest& request = plan.request;
  const ShownRanks shown = tree_ranks(r);
  return {{"schema", "stepscope.train_plan/1"},
          {"version", r.version},
          {"setup",
           {{"model", r.setup.model},
            {"parameters", all_of_rank(plan, 0).of},
            {"ranks", request.world_size},
            {"zero", request.stage},
            {"precision", element_name(request.type)},
            {"accumulation", request.micro_batches}}},
          {"rank", request.rank},
          {"memory", planned_memory_json(plan)},
          {"total_bytes", plan.total().value},
          {"file_bytes", file_bytes(plan).value},
          {"collectives", planned_calls_json(plan)},
          {"actions", actions_json(plan)},
          {"shards", shards_json(plan, shown)},
          {"ranks", ranks_json(plan, shown)},
          {"warnings", say_all(notes_of(r, shown))}};
}

std::vector<TreeTable> train_plan_tables(const Json& tree) {
  std::vector<TreeTable> tables;
  for (const char* name : {"shards", "ranks", "memory", "collectives", "actions"})
    if (!tree[name].empty()) tables.push_back(table_of(name, tree[name]));
  return tables;
}

std::string train_plan_text(const TrainResult& r, const TextOptions& options) {
  const zero::Plan& plan = *r.plan;
  const auto width = static_cast<std::size_t>(std::max(40, options.width));
  const ShownRanks shown = shown_ranks(r, units_of(plan) + 1, most_text_rows);
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](int rank, std::string unit, std::string start, std::string end,
                       std::int64_t elements, double saved) {
    rows.push_back({std::to_string(rank), std::move(unit), std::move(start), std::move(end),
                    std::to_string(elements),
                    format_bytes(static_cast<double>(optimizer_bytes(plan, elements))),
                    fmt::format("{:.1f} %", 100 * saved)});
  };
  for (int rank = shown.first; rank < shown.end; ++rank) {
    for (const nn::Unit& unit : plan.units) {
      const zero::OptimizerShard shard = held_shard(plan.request, unit.count, rank);
      add(rank, unit.name, std::to_string(shard.param_start), std::to_string(shard.param_end),
          shard.shard_size(), shard.memory_savings());
    }
    const RankShard all = all_of_rank(plan, rank);
    add(rank, "all", "", "", all.elements, all.saved());
  }
  const int left = plan.request.world_size - (shown.end - shown.first);
  std::string out =
      plan_text(plan) +
      "\nElements whose optimizer states a rank holds, from start to "
      "before end:\n" +
      text_table(
          {{"rank"}, {"unit", false}, {"start"}, {"end"}, {"elements"}, {"optimizer"}, {"saved"}},
          std::move(rows), width);
  if (left > 0 && !r.plan_of_one_rank)
    out += fmt::format("  {} more: --plan-rank R shows one{}\n",
                       counted(static_cast<std::uint64_t>(left), "rank"),
                       notes_of(r, tree_ranks(r)).empty() ? ", --json FILE has all" : "");
  return out;
}

}  // namespace stepscope
