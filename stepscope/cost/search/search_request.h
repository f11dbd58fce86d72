// SPDX-License-Identifier: Apache-2.0
// The dimensions that a search for plans varies, and its constraints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/step/step_interval.h"

namespace stepscope {

// The varied dimensions, by the fields of Plan (and the keys of its JSON).
enum class SearchKey : std::uint8_t {
  tp,
  tensor_layout,
  tp_rows,
  tp_columns,
  tp_depth,
  sequence_parallel,
  cp,
  context_exchange,
  ep,
  micro_batch,
  pp,
  dp,
  schedule,
  virtual_stages,
  recompute,
  recompute_every,
  zero,
  shard_group,
  reduce_each_micro_batch,
  optimizer_at,
  gradients_at,
  parameters_at
};
inline constexpr std::size_t search_key_count = 22;
inline constexpr std::array<std::string_view, search_key_count> search_key_names = {
    "tp",
    "tensor_layout",
    "tp_rows",
    "tp_columns",
    "tp_depth",
    "sequence_parallel",
    "cp",
    "context_exchange",
    "ep",
    "micro_batch",
    "pp",
    "dp",
    "schedule",
    "virtual_stages",
    "recompute",
    "recompute_every",
    "zero",
    "shard_group",
    "reduce_each_micro_batch",
    "optimizer_at",
    "gradients_at",
    "parameters_at"};
static_assert(search_key_names[static_cast<std::size_t>(SearchKey::parameters_at)] ==
              "parameters_at");

// Reasons for rejected plans. A rejected subtree counts all its plans.
enum class Rejected : std::uint8_t {
  tensor,
  context,
  expert,
  batch,
  schedule,
  links,
  memory,
  slow
};
inline constexpr std::size_t rejected_count = 8;
inline constexpr std::array<std::string_view, rejected_count> rejected_names = {
    "tp does not divide the model",
    "cp does not divide the sequence or the heads",
    "ep does not divide the experts or the ranks",
    "dp * micro_batch does not divide the global batch",
    "the schedule cannot run this number of micro-batches",
    "the machine lacks a link it needs",
    "does not fit in memory",
    "slower than plans found (by a lower bound)"};
static_assert(rejected_names[static_cast<std::size_t>(Rejected::slow)].starts_with("slower"));

struct SearchRequest {
  Plan base;  // fields that are not searched: sequence, global batch, precision, overlap, ...
  std::vector<std::int64_t> devices;  // each count is searched
  // By SearchKey; enums by their number. A fixed dimension has only that value.
  std::array<std::optional<std::int64_t>, search_key_count> fixed{};
  std::array<std::optional<std::int64_t>, search_key_count> most{};
  double memory_headroom = 0.1;  // share of the device's memory to keep free
  bool offload = false;          // also states on host and NVMe; else only if nothing else fits
  std::size_t top = 10;
  double model_error = comparison_width;  // plans closer than this are near-ties
  // Plans slower than this times the fastest are not shown. With 1 the search is for the fastest
  // plan alone, without a sensitivity.
  double slowest = 2;
  bool prune = true;  // false: every plan is evaluated
  unsigned threads = 1;
  const StopFlag* stop = nullptr;
  // Called after each part of the work on one count of devices, from any thread. May be empty.
  std::function<void(std::int64_t devices, std::uint64_t done, std::uint64_t total)> show{};
};

// fix(request, "tp", "8"), limit(request, "pp", "16"): values as in a plan's JSON. Errors name the
// key or value and the valid ones.
[[nodiscard]] Result<Done> fix(SearchRequest& request, std::string_view key,
                               std::string_view value);
[[nodiscard]] Result<Done> limit(SearchRequest& request, std::string_view key,
                                 std::string_view value);
// Counts from `from` by doubling, plus `to`.
[[nodiscard]] std::vector<std::int64_t> device_range(std::int64_t from, std::int64_t to);

}  // namespace stepscope
