// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/plan_evidence.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/fit/mfu_rank.h"
#include "stepscope/fit/step_class.h"

namespace stepscope {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

// Possible sizes of the dimension's groups under the plan. A data group may be that of dp, of dp *
// cp (these average gradients together), of the ranks with one expert's weights, or of a shard
// group and its replicas.
std::vector<std::int64_t> sizes(const Plan& p, Dimension dimension) {
  switch (dimension) {
    case Dimension::tp:
      return {p.tp};
    case Dimension::sp:
      return {sequence_parts(p) > 1 ? sequence_parts(p) : p.tp, p.tp};
    case Dimension::cp:
      return {p.cp};
    case Dimension::ep:
      return {p.ep, p.ep * p.tp};
    case Dimension::dp: {
      const std::int64_t all = p.dp * p.cp;
      std::vector<std::int64_t> list = {all, p.dp, expert_replicas(p), all * p.tp};
      if (p.shard_group > 0) list.insert(list.end(), {p.shard_group, all / p.shard_group});
      return list;
    }
    case Dimension::pp:
      return {p.pp, 2};  // stages communicate in pairs, and the two ends share embeddings
    case Dimension::world:
    case Dimension::unknown:
      break;
  }
  return {};
}

std::string flag_of(Dimension dimension) {
  const auto known = dimension == Dimension::sp ? Dimension::tp : dimension;
  return std::string(dimension_names[static_cast<std::size_t>(known)]);
}

std::int64_t size_of(const CommGroup& group) {
  return group.ranks.empty() ? group.size : static_cast<std::int64_t>(group.ranks.size());
}

// Groups that at least one rank used.
std::vector<bool> used_groups(const CollectiveMatches& matches) {
  std::vector<bool> used(matches.groups.size());
  for (const RankCalls& rank : matches.ranks)
    for (const CollectiveCall& call : rank.calls)
      if (call.group < used.size()) used[call.group] = true;
  return used;
}

// Traffic of data-parallel ranks, in bytes of whole buffers.
struct DataTraffic {
  double scattered = 0;
  double gathered = 0;
  double reduced = 0;
};

DataTraffic data_traffic(const Plan& plan, const JobResult& job) {
  DataTraffic sum;
  for (const CollectiveRow& row : job.collectives.rows) {
    if (!row.bytes || class_of(row.dimension, plan) != StepClass::data_comm) continue;
    const double bytes = static_cast<double>(row.bytes->value) * static_cast<double>(row.count);
    if (row.kind == CollectiveKind::reduce_scatter) sum.scattered += bytes;
    if (row.kind == CollectiveKind::all_gather) sum.gathered += bytes;
    if (row.kind == CollectiveKind::all_reduce) sum.reduced += bytes;
  }
  return sum;
}

// Scattered gradients mean sharded states. Parameters that nobody gathers are not sharded. Less
// than a megabyte may be a metric.
std::optional<Error> sharding_contradiction(const Plan& plan, const JobResult& job) {
  constexpr double matters = 1e6;
  const DataTraffic sum = data_traffic(plan, job);
  if (plan.zero == 0 && sum.scattered > matters)
    return Error{.what =
                     "the plan has zero = 0, but data-parallel ranks of the traces "
                     "reduce-scatter gradients, which shards the optimizer's states",
                 .hint = "give --zero 1, 2 or 3"};
  if (plan.zero == 3 && sum.reduced > matters && sum.gathered < matters)
    return Error{.what =
                     "the plan has zero = 3, but data-parallel ranks of the traces all-reduce "
                     "gradients and gather no parameters",
                 .hint = "give --zero 0, 1 or 2"};
  return std::nullopt;
}

}  // namespace

std::optional<Error> contradiction(const Plan& plan, const JobResult& job,
                                   std::optional<int> recorded_world) {
  const std::string degrees = "tp * cp * pp * dp = " + text(plan.tp) + " * " + text(plan.cp) +
                              " * " + text(plan.pp) + " * " + text(plan.dp);
  const auto traced = static_cast<std::int64_t>(job.ranks.size());
  if (recorded_world && *recorded_world != plan.devices)
    return Error{.what = "the plan has " + text(plan.devices) + " devices (" + degrees +
                         "), the traces record a world of " + text(*recorded_world) + " ranks",
                 .hint = "give the --tp, --pp, --cp and --dp of this run"};
  if (traced > plan.devices)
    return Error{.what = "the plan has " + text(plan.devices) + " devices (" + degrees + "), and " +
                         text(traced) + " ranks were traced",
                 .hint = "give the --tp, --pp, --cp and --dp of this run"};
  const CollectiveMatches& matches = job.collectives.matches;
  const std::vector<bool> used = used_groups(matches);
  for (std::size_t g = 0; g < matches.groups.size(); ++g) {
    const Dimension dimension = job.collectives.dimension_of[g];
    const std::vector<std::int64_t> right = sizes(plan, dimension);
    const std::int64_t size = size_of(matches.groups[g]);
    if (!used[g] || size < 2 || right.empty() || std::ranges::find(right, size) != right.end())
      continue;
    const std::string flag = flag_of(dimension);
    const std::int64_t degree = right.front();
    return Error{.what = "the plan has " + flag + " = " + text(degree) + ", but the group \"" +
                         group_label(matches.groups[g]) + "\" of the traces, whose dimension is " +
                         flag + ", has " + text(size) + " ranks",
                 .hint = "give --" + flag + " " + text(size) +
                         ", or --groups FILE where the group serves another dimension"};
  }
  return sharding_contradiction(plan, job);
}

std::optional<Dtype> traced_dtype(std::span<const RankResult> ranks) {
  std::array<Ns, dtype_count> time{};
  for (const RankResult& r : ranks)
    for (const ExecutedStep& step : r.work.executed.steps)
      for (std::size_t p = 0; p < precision_count; ++p)
        if (const auto dtype = dtype_of(static_cast<OperandFormat>(p)))
          time[index(*dtype)] += step.products[p].time + step.products[p].unknown_time;
  const auto most = std::ranges::max_element(time);
  if (*most <= Ns{}) return std::nullopt;
  return static_cast<Dtype>(most - time.begin());
}

namespace {

// Rows of the first matrix, where it meets another matrix; 0 for batches of products. A bias
// (addmm) is no matrix.
std::int64_t rows_of_product(const OpInputs& inputs) {
  const auto at =
      std::ranges::find_if(inputs.args, [](const OpInput& a) { return a.dims.size() > 1; });
  if (at == inputs.args.end() || at + 1 == inputs.args.end() || (at + 1)->dims.size() != 2)
    return 0;
  return at->dims.size() <= 3 && at->dims.back() > 0
             ? element_count(at->dims).value_or(0) / at->dims.back()
             : 0;
}

}  // namespace

std::optional<std::int64_t> traced_micro_batch(std::span<const RankResult> ranks,
                                               std::int64_t sequence, std::int64_t cp) {
  if (sequence <= 0 || cp <= 0 || sequence % cp != 0) return std::nullopt;
  std::map<std::int64_t, Ns> time_of;  // by rows of the first operand
  Ns all{};
  for (const RankResult& r : ranks)
    for (const OperatorRow& row : r.work.operators) {
      if (row.kind != NameClass::matmul || row.dims == empty_string) continue;
      const auto inputs = parse_inputs((*r.strings)[row.dims], (*r.strings)[row.types], "");
      const std::int64_t rows = inputs ? rows_of_product(*inputs) : 0;
      if (rows == 0) continue;
      time_of[rows] += row.device;
      all += row.device;
    }
  if (time_of.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(time_of, {}, [](const auto& t) { return t.second; });
  const std::int64_t own = sequence / cp;
  if (most->first % own != 0 || 3 * most->second < all) return std::nullopt;
  return most->first / own;
}

}  // namespace stepscope
