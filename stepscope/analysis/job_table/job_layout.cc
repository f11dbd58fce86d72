// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_layout.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace stepscope {
namespace {

constexpr std::uint32_t no_table_row = 0xffffffff;

template <class T>
std::vector<T> distinct(std::span<const T> column) {
  std::vector<T> values;
  for (const T v : column)
    if (values.empty() || values.back() != v) values.push_back(v);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Index of each row's value; neighbours are mostly equal.
template <class T>
std::vector<std::uint32_t> index_in(std::span<const T> values, std::span<const T> column) {
  std::vector<std::uint32_t> index(column.size());
  for (std::size_t r = 0; r < column.size(); ++r)
    index[r] = r > 0 && column[r] == column[r - 1]
                   ? index[r - 1]
                   : static_cast<std::uint32_t>(std::ranges::lower_bound(values, column[r]) -
                                                values.begin());
  return index;
}

auto key_of(const LaidOp& o) { return std::tuple(o.stage, o.op, o.seq_id); }
LaidOp laid(const JobOperations& table, std::size_t row) {
  return {table.op[row], table.stage[row], table.seq_id[row]};
}
std::uint64_t mixed(const LaidOp& o) {
  std::uint64_t x = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(o.stage)) << 40) ^
                    (static_cast<std::uint64_t>(o.op) << 32) ^ static_cast<std::uint32_t>(o.seq_id);
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44d;
  return x ^ (x >> 33);
}

std::string words(const LaidOp& o) {
  return std::string(name_of(o.op)) + " " + std::to_string(o.seq_id) + " of stage " +
         std::to_string(o.stage);
}

// Rows by (step, DP rank), and an id shared only by equal lists of operations.
struct Cases {
  std::vector<std::int64_t> steps;
  std::vector<std::int32_t> dp_ranks;
  std::vector<std::uint32_t> step_of;  // by row
  std::vector<std::uint32_t> dp_of;
  // By step * DP ranks + DP rank; 0 = no row. Empty if there are too many cases for the rows.
  std::vector<std::uint64_t> list;

  [[nodiscard]] std::size_t at(std::size_t step, std::size_t dp) const {
    return step * dp_ranks.size() + dp;
  }
};

Cases cases_of(const JobOperations& table) {
  Cases c;
  c.steps = distinct<std::int64_t>(table.step);
  c.dp_ranks = distinct<std::int32_t>(table.dp_rank);
  c.step_of = index_in<std::int64_t>(c.steps, table.step);
  c.dp_of = index_in<std::int32_t>(c.dp_ranks, table.dp_rank);
  // Each case has several operations. Far fewer indicate damage and would take much memory.
  if (c.steps.size() * c.dp_ranks.size() > 4 * table.size() + 1024) return c;
  c.list.assign(c.steps.size() * c.dp_ranks.size(), 0);
  for (std::size_t r = 0; r < table.size(); ++r)
    c.list[c.at(c.step_of[r], c.dp_of[r])] += mixed(laid(table, r));
  return c;
}

// The most common list; of several the first one found.
std::uint64_t common_list(const Cases& c) {
  std::unordered_map<std::uint64_t, std::size_t> count;
  for (const std::uint64_t l : c.list)
    if (l != 0) ++count[l];
  std::uint64_t best = 0;
  for (const std::uint64_t l : c.list)
    if (l != 0 && (best == 0 || count[l] > count[best])) best = l;
  return best;
}

std::vector<LaidOp> list_of(const JobOperations& table, const Cases& c, std::size_t step,
                            std::size_t dp) {
  std::vector<LaidOp> ops;
  for (std::size_t r = 0; r < table.size(); ++r)
    if (c.step_of[r] == step && c.dp_of[r] == dp) ops.push_back(laid(table, r));
  std::ranges::sort(ops, {}, key_of);
  return ops;
}

// "lacks forward-send 3 of stage 2 and 4 more", "has … besides".
std::string difference(const std::vector<LaidOp>& common, const std::vector<LaidOp>& other) {
  if (other.empty()) return "has no operations";
  const auto less = [](const LaidOp& a, const LaidOp& b) { return key_of(a) < key_of(b); };
  std::vector<LaidOp> only;
  std::ranges::set_difference(common, other, std::back_inserter(only), less);
  const bool lacks = !only.empty();
  if (!lacks) std::ranges::set_difference(other, common, std::back_inserter(only), less);
  if (only.empty()) return "has an operation twice";
  std::string text = (lacks ? "lacks " : "has ") + words(only.front());
  if (only.size() > 1) text += " and " + std::to_string(only.size() - 1) + " more";
  return lacks ? text : text + " besides";
}

// The DP ranks and steps with the common list; the others are reported.
struct Kept {
  std::vector<std::uint32_t> dp;  // indices into Cases
  std::vector<std::uint32_t> step;
};

Kept keep(const JobOperations& table, const Cases& c, std::uint64_t common,
          const std::vector<LaidOp>& ops, JobLayout& layout) {
  std::vector<std::size_t> fits(c.dp_ranks.size(), 0);
  for (std::size_t s = 0; s < c.steps.size(); ++s)
    for (std::size_t d = 0; d < fits.size(); ++d) fits[d] += c.list[c.at(s, d)] == common ? 1U : 0U;
  const std::size_t most = *std::ranges::max_element(fits);
  Kept kept;
  constexpr std::size_t most_said = 3;
  for (std::uint32_t d = 0; d < fits.size(); ++d) {
    if (fits[d] * 2 >= most) {
      kept.dp.push_back(d);
      continue;
    }
    std::uint32_t s = 0;
    while (c.list[c.at(s, d)] == common) ++s;
    if (++layout.dp_ranks_left_out <= most_said)
      layout.left_out.push_back("DP rank " + std::to_string(c.dp_ranks[d]) +
                                " is left out: in step " + std::to_string(c.steps[s]) + " it " +
                                difference(ops, list_of(table, c, s, d)));
  }
  for (std::uint32_t s = 0; s < c.steps.size(); ++s) {
    const auto odd = std::ranges::find_if(
        kept.dp, [&](std::uint32_t d) { return c.list[c.at(s, d)] != common; });
    if (odd == kept.dp.end()) {
      kept.step.push_back(s);
      continue;
    }
    if (++layout.steps_left_out <= most_said)
      layout.left_out.push_back("step " + std::to_string(c.steps[s]) +
                                " is left out: its DP rank " + std::to_string(c.dp_ranks[*odd]) +
                                " " + difference(ops, list_of(table, c, s, *odd)));
  }
  return kept;
}

// Index of an operation in the list (no_table_row if absent): the first by stage and kind, then by
// seq_id.
class Numbers {
 public:
  explicit Numbers(const std::vector<LaidOp>& ops) {
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const std::size_t kind = kind_of(ops[i]);
      if (kind >= first_.size()) first_.resize(kind + 1, 0);
      if (i == 0 || kind_of(ops[i - 1]) != kind) first_[kind] = i;
      dense_ = dense_ && static_cast<std::uint32_t>(ops[i].seq_id) == i - first_[kind];
    }
    if (dense_) return;
    for (std::uint32_t i = 0; i < ops.size(); ++i) sparse_[key_of(ops[i])] = i;
  }
  [[nodiscard]] std::uint32_t operator()(const LaidOp& o) const {
    if (dense_)
      return kind_of(o) < first_.size() ? first_[kind_of(o)] + static_cast<std::uint32_t>(o.seq_id)
                                        : no_table_row;
    const auto at = sparse_.find(key_of(o));
    return at == sparse_.end() ? no_table_row : at->second;
  }

 private:
  static std::size_t kind_of(const LaidOp& o) {
    return static_cast<std::size_t>(o.stage) * job_op_count + static_cast<std::size_t>(o.op);
  }
  std::vector<std::uint32_t> first_;
  bool dense_ = true;  // each kind's seq_ids count from 0
  std::map<std::tuple<std::int32_t, JobOp, std::int32_t>, std::uint32_t> sparse_;
};

}  // namespace

Result<JobLayout> lay_out(const JobOperations& table) {
  constexpr std::string_view whole_table = "record whole steps of all DP ranks";
  if (table.size() == 0)
    return Error{.what = "the table has no operations", .hint = std::string(whole_table)};
  const Cases c = cases_of(table);
  if (c.list.empty())
    return Error{.what = std::to_string(c.steps.size()) + " steps and " +
                         std::to_string(c.dp_ranks.size()) +
                         " DP ranks, more than there are operations for",
                 .hint = std::string(whole_table)};
  const std::uint64_t common = common_list(c);
  const auto first = static_cast<std::size_t>(std::ranges::find(c.list, common) - c.list.begin());
  JobLayout layout;
  layout.ops = list_of(table, c, first / c.dp_ranks.size(), first % c.dp_ranks.size());
  for (std::size_t i = 1; i < layout.ops.size(); ++i)
    if (key_of(layout.ops[i]) == key_of(layout.ops[i - 1]))
      return Error{.what = words(layout.ops[i]) + " stands twice in step " +
                           std::to_string(c.steps[first / c.dp_ranks.size()]),
                   .hint = "remove rows that stand twice"};
  const Kept kept = keep(table, c, common, layout.ops, layout);
  if (kept.step.empty())
    return Error{
        .what = "no step in which the DP ranks have the same operations; " + layout.left_out.back(),
        .hint = std::string(whole_table)};
  for (const LaidOp& o : layout.ops) layout.stages = std::max(layout.stages, o.stage + 1);
  std::vector<std::uint32_t> new_step(c.steps.size(), no_table_row);
  std::vector<std::uint32_t> new_dp(c.dp_ranks.size(), no_table_row);
  for (const std::uint32_t s : kept.step) {
    new_step[s] = static_cast<std::uint32_t>(layout.steps.size());
    layout.steps.push_back(c.steps[s]);
  }
  for (const std::uint32_t d : kept.dp) {
    new_dp[d] = static_cast<std::uint32_t>(layout.dp_ranks.size());
    layout.dp_ranks.push_back(c.dp_ranks[d]);
  }
  const Numbers number(layout.ops);
  layout.row.assign(layout.cells() * layout.steps.size(), no_table_row);
  for (std::uint32_t r = 0; r < table.size(); ++r) {
    const std::uint32_t s = new_step[c.step_of[r]];
    const std::uint32_t d = new_dp[c.dp_of[r]];
    if (s == no_table_row || d == no_table_row) continue;
    const std::uint32_t n = number(laid(table, r));
    if (n >= layout.ops.size()) break;
    layout.row[(d * layout.ops.size() + n) * layout.steps.size() + s] = r;
  }
  if (std::ranges::find(layout.row, no_table_row) != layout.row.end())
    return Error{.what = "lists of operations that differ, though their sums agree",
                 .hint = std::string(whole_table)};
  return layout;
}

}  // namespace stepscope
