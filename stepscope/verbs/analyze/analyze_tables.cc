// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_tables.h"

#include <string>
#include <utility>

#include "stepscope/verbs/analyze/range_views.h"

namespace stepscope {
namespace {

// The columns of the tables of an analysis (TreeTable::columns).
constexpr std::string_view steps_columns =
    "rank:int index:int name:text start_ns:int wall_ns:int budget_ns.compute:int "
    "budget_ns.comm_overlapped:int budget_ns.comm_exposed_wait:int "
    "budget_ns.comm_exposed_transfer:int budget_ns.comm_exposed_unsplit:int "
    "budget_ns.copy_exposed:int budget_ns.idle_data:int budget_ns.idle_host:int "
    "budget_ns.idle_sync:int budget_ns.idle_launch:int budget_ns.idle_dependency:int "
    "budget_ns.idle_unexplained:int budget_ns.not_recorded:int "
    "phases_ns.forward:int phases_ns.backward:int "
    "phases_ns.recompute:int phases_ns.optimizer:int phases_ns.data:int phases_ns.other:int";
constexpr std::string_view gaps_columns =
    "rank:int cause:text start_ns:int wall_ns:int step:int host_activity:text culprit:text";
constexpr std::string_view collectives_columns =
    "name:text group:text dimension:text group_size:int dtype:text count:int matched:int "
    "split:int bytes:int algbw_gb_per_s:real busbw_gb_per_s:real link_share:real "
    "transfer_ns:int wait_ns:int exposed_ns:int duration_ns:int skew_ns:int last_rank:int "
    "last_rank_share:real clock_uncertainty_ns:int";
constexpr std::string_view stragglers_columns =
    "rank:int role:text late_ns:int late_share:real last_count:int collectives:int "
    "persistence:real upper_bound_ns:int significant:bool cause:text";
constexpr std::string_view ranks_columns =
    "rank:int steps:int device:text gpu_name:text role:text budget_ns.compute:int "
    "budget_ns.comm_overlapped:int budget_ns.comm_exposed_wait:int "
    "budget_ns.comm_exposed_transfer:int budget_ns.comm_exposed_unsplit:int "
    "budget_ns.copy_exposed:int budget_ns.idle_data:int budget_ns.idle_host:int "
    "budget_ns.idle_sync:int budget_ns.idle_launch:int budget_ns.idle_dependency:int "
    "budget_ns.idle_unexplained:int budget_ns.not_recorded:int "
    "phases_ns.forward:int phases_ns.backward:int "
    "phases_ns.recompute:int phases_ns.optimizer:int phases_ns.data:int phases_ns.other:int "
    "outside_ns.before:int outside_ns.after:int outside_ns.between:int overlap.ratio:real "
    "overlap.efficiency:real overlap.compute_ns:int overlap.comm_ns:int overlap.overlap_ns:int "
    "overlap.step_ns:int overlap.no_overlap_ns:int overlap.perfect_overlap_ns:int "
    "overlap.schedule_bound_ns:int host.launches:int host.launch_ns:int "
    "host.empty_queue_launches:int host.starved_ns:int host.slack_p10_ns:int "
    "host.slack_p50_ns:int host.slack_p90_ns:int host.queue_mean:real host.queue_max:int "
    "host.launch_bound:bool host.sync_ns:int host.allocator_ns:int host.data_ns:int "
    "host.gc_ns:int host.overhead_ns:int host.negative_latencies:int";
constexpr std::string_view budget_columns =
    "category:text ns:int share:real worst_ns:real worst_rank:int stdev_ns:real "
    "least_ns:real";
constexpr std::string_view ddp_buckets_columns =
    "rank:int step:int bucket:int bytes:int ready_ns:int launched_ns:int done_ns:int "
    "exposed_ns:int";
constexpr std::string_view ddp_bucket_sums_columns =
    "bucket:int count:int bytes:int mean_ns:int total_ns:int mean_exposed_ns:int";
constexpr std::string_view kernels_columns =
    "rank:int name:text class:text count:int total_ns:int mean_ns:int min_ns:int max_ns:int "
    "share:real flops:real tflops:real bytes:int gb_per_s:real tensor_core:bool";
constexpr std::string_view operators_columns =
    "rank:int name:text class:text shape:text dtype:text calls:int host_self_ns:int "
    "device_ns:int mean_ns:int min_ns:int max_ns:int share:real flops:real tflops:real "
    "bytes:int gb_per_s:real peak_share:real bandwidth_share:real bound:text";
constexpr std::string_view memory_phases_columns =
    "rank:int device:int phase:text start_ns:int end_ns:int at_start_bytes:int at_end_bytes:int "
    "change_bytes:int peak_allocated_bytes:int reserved_bytes:int not_allocated_bytes:int "
    "not_allocated_share:real";

TreeTable memory_phases(const Json& root) {
  TreeTable table{"memory_phases", Json::array(), memory_phases_columns};
  for (const Json& rank : root["ranks"]) {
    if (rank["memory"].is_null()) continue;
    for (const Json& device : rank["memory"]["devices"])
      for (const Json& phase : device["phases"]) {
        Json row = {{"rank", rank["rank"]}, {"device", device["device"]}};
        row.update(phase);
        table.rows.push_back(std::move(row));
      }
  }
  return table;
}

TreeTable gaps(const Json& root) {
  TreeTable table{"gaps", Json::array(), gaps_columns};
  for (const Json& rank : root["ranks"])
    for (const Json& cause : rank["gaps"])
      for (const Json& gap : cause["largest"]) {
        Json row = {{"rank", rank["rank"]}, {"cause", cause["cause"]}};
        row.update(flat(gap));
        table.rows.push_back(std::move(row));
      }
  return table;
}

// One row a rank, its sums; what differs by kernel, gap, ... has tables of its own.
TreeTable ranks(const Json& root) {
  TreeTable table{"ranks", Json::array(), ranks_columns};
  for (const Json& rank : root["ranks"]) {
    Json row = {{"rank", rank["rank"]}, {"steps", rank["steps"].size()}};
    for (const char* key :
         {"device", "gpu_name", "role", "budget_ns", "phases_ns", "outside_ns", "overlap", "host"})
      if (!rank[key].is_null()) row[key] = rank[key];
    table.rows.push_back(flat(row));
  }
  return table;
}

// One row a category: of a step, mean over ranks and steps, and where the ranks differ.
TreeTable budget(const Json& root) {
  TreeTable table{"budget", Json::array(), budget_columns};
  const Json& job = root["job"];
  std::int64_t whole = 0;
  for (const auto& [category, ns] : job["budget_ns"].items()) whole += ns.get<std::int64_t>();
  if (whole == 0) return table;  // no step
  for (const auto& [category, ns] : job["budget_ns"].items()) {
    Json row = {{"category", category},
                {"ns", ns},
                {"share", ns.get<double>() / static_cast<double>(whole)}};
    const Json& spread = job["spread"][category];
    for (const char* key : {"worst_ns", "worst_rank", "stdev_ns", "least_ns"})
      row[key] = spread[key];
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<TreeTable> analyze_tables(const Json& tree) {
  std::vector<TreeTable> tables = {
      per_rank(tree, "steps", "steps", steps_columns),
      gaps(tree),
      table_of("collectives", tree["collectives"], collectives_columns),
      table_of("stragglers", tree["stragglers"], stragglers_columns),
      ranks(tree),
      budget(tree),
      table_of("ddp_buckets", tree["ddp_buckets"], ddp_buckets_columns),
      table_of("ddp_bucket_sums", tree["ddp_bucket_sums"], ddp_bucket_sums_columns),
      ranges_table(tree),
      per_rank(tree, "kernels", "kernels", kernels_columns),
      per_rank(tree, "operators", "operators", operators_columns),
      memory_phases(tree)};
  if (const Json& expected = tree["expected"]; !expected.is_null()) {
    if (!expected["step"].is_null())
      tables.push_back(table_of("expected_step", expected["step"]["classes"]));
    tables.push_back(per_rank(expected, "operators", "expected_operators"));
    tables.push_back(table_of("expected_collectives", expected["collectives"]));
  }
  if (!tree["mfu"].is_null()) tables.push_back(table_of("mfu", tree["mfu"]["terms"]));
  return tables;
}

}  // namespace stepscope
