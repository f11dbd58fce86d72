// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/process_group.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// No job has more ranks: a larger size is damage, and its list would fill the memory.
constexpr int most_members = 1 << 20;

std::vector<int> whole_world(int size) {
  if (size > most_members) return {};
  std::vector<int> ranks(static_cast<std::size_t>(std::max(size, 0)));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> strided(const Collective& c) {
  std::vector<int> ranks;
  const bool usable =
      c.group_size > 0 && c.group_size <= most_members && c.global_rank_start >= 0 &&
      (c.global_rank_stride > 0 || c.group_size == 1) &&
      c.global_rank_start + std::int64_t{c.group_size} * std::max(c.global_rank_stride, 0) <=
          std::numeric_limits<int>::max();
  for (int i = 0; usable && i < c.group_size; ++i)
    ranks.push_back(c.global_rank_start + i * std::max(c.global_rank_stride, 0));
  return ranks;
}

const ProcessGroup* configured(const Trace& trace, std::string_view name) {
  const auto& groups = trace.metadata.groups;
  const auto at = std::ranges::find(groups, name, &ProcessGroup::name);
  return at == groups.end() ? nullptr : &*at;
}

// In some versions an empty list in a file's table of groups means the whole world.
std::vector<int> configured_ranks(const Trace& trace, const ProcessGroup& group, int size) {
  if (!group.ranks.empty()) return group.ranks;
  const int world = trace.metadata.world_size.value_or(-1);
  const int wanted = size > 0 ? size : group.size;
  return world > 0 && (wanted == world || wanted <= 0) ? whole_world(world) : std::vector<int>{};
}

bool size_fits(const std::vector<int>& ranks, int size) {
  return !ranks.empty() && (size <= 0 || ranks.size() == static_cast<std::size_t>(size));
}

}  // namespace

std::optional<std::vector<int>> parse_ranks(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<int> ranks;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    if (text.front() == ' ' || text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    const auto rank = take_number<int>(text);
    if (!rank || *rank < 0) return std::nullopt;
    ranks.push_back(*rank);
  }
  if (ranks.empty()) return std::nullopt;
  return ranks;
}

std::optional<std::vector<int>> parse_cut_ranks(std::string_view text) {
  constexpr std::string_view cut = ", ...]";
  if (!text.ends_with(cut)) return std::nullopt;
  return parse_ranks(std::string(text.substr(0, text.size() - cut.size())) + ']');
}

std::optional<CommGroup> group_of(const Trace& trace, const Collective& collective) {
  CommGroup group;
  group.name = trace.strings[collective.group_name];
  group.description = trace.strings[collective.group_description];
  group.size = collective.group_size;
  const ProcessGroup* known = group.name.empty() ? nullptr : configured(trace, group.name);
  if (known != nullptr && group.description.empty()) group.description = known->description;

  const auto listed = parse_ranks(trace.strings[collective.group_ranks]);
  if (listed && size_fits(*listed, group.size)) group.ranks = *listed;
  if (group.ranks.empty()) group.ranks = strided(collective);
  if (group.ranks.empty() && known != nullptr) {
    std::vector<int> ranks = configured_ranks(trace, *known, group.size);
    if (size_fits(ranks, group.size)) group.ranks = std::move(ranks);
  }
  if (group.ranks.empty() && !group.name.empty() && group.size > 0 &&
      trace.metadata.world_size == group.size)
    group.ranks = whole_world(group.size);
  if (group.ranks.empty())
    group.first = parse_cut_ranks(trace.strings[collective.group_ranks]).value_or(group.first);
  if (group.name.empty() && group.ranks.empty()) return std::nullopt;
  if (group.size <= 0 && known != nullptr && known->size > 0) group.size = known->size;
  if (!group.ranks.empty()) group.size = static_cast<int>(group.ranks.size());
  if (group.name.empty()) group.name = "unknown";
  return group;
}

namespace {

using Key = std::pair<std::vector<int>, std::string>;  // sorted ranks, name
constexpr int cut_list = -1;                           // before the ranks that a cut list shows

Key key_of(const CommGroup& group) {
  Key key{group.ranks, group.name};
  if (!std::ranges::is_sorted(key.first)) std::ranges::sort(key.first);
  if (key.first.empty() && !group.first.empty()) {
    key.first = group.first;
    key.first.insert(key.first.begin(), cut_list);
  }
  return key;
}

// The records of all views, with the ranks of cut lists where all members are traced.
std::vector<std::vector<CommGroup>> with_cut_lists(std::span<const std::vector<CommGroup>> by_view,
                                                   std::span<const int> rank_of) {
  std::vector<std::vector<CommGroup>> whole(by_view.begin(), by_view.end());
  std::map<Key, std::set<int>> members;
  for (std::size_t v = 0; v < whole.size(); ++v)
    for (const CommGroup& group : whole[v]) {
      if (!group.ranks.empty() || group.first.empty()) continue;
      std::set<int>& of_group = members[key_of(group)];
      of_group.insert(group.first.begin(), group.first.end());
      of_group.insert(rank_of[v]);
    }
  for (std::vector<CommGroup>& groups : whole)
    for (CommGroup& group : groups) {
      if (!group.ranks.empty() || group.first.empty()) continue;
      std::set<int> rest = members.at(key_of(group));
      if (rest.size() != static_cast<std::size_t>(std::max(group.size, 0))) continue;
      for (const int rank : group.first) rest.erase(rank);
      group.ranks = std::exchange(group.first, {});
      group.ranks.insert(group.ranks.end(), rest.begin(), rest.end());
    }
  return whole;
}

// For one set of ranks: the names that some traced members lack. If each member has exactly one
// such name, the names are one group.
void join_renamed(std::span<const std::vector<CommGroup>> by_view, std::span<const int> rank_of,
                  std::map<Key, Key>& alias) {
  std::map<std::vector<int>, std::map<int, std::set<std::string>>> names;  // ranks → member → names
  for (std::size_t v = 0; v < by_view.size(); ++v) {
    for (const CommGroup& group : by_view[v]) {
      if (group.ranks.empty()) continue;
      const Key key = key_of(group);
      names[key.first][rank_of[v]].insert(key.second);
    }
  }
  for (const auto& [ranks, members] : names) {
    std::map<std::string_view, std::size_t> known_to;  // name → number of members
    for (const auto& [rank, mine] : members)
      for (const std::string& name : mine) ++known_to[name];
    std::vector<std::string> left;
    bool single = members.size() > 1;
    for (const auto& [rank, mine] : members) {
      const auto is_left = [&](const std::string& name) {
        return known_to.at(name) < members.size();
      };
      single = single && std::ranges::count_if(mine, is_left) == 1;
      std::ranges::copy_if(mine, std::back_inserter(left), is_left);
    }
    if (!single) continue;
    for (const std::string& name : left) alias[{ranks, name}] = {ranks, left.front()};
  }
}

}  // namespace

GroupJoin join_groups(std::span<const std::vector<CommGroup>> recorded,
                      std::span<const int> rank_of) {
  const std::vector<std::vector<CommGroup>> by_view = with_cut_lists(recorded, rank_of);
  std::map<Key, Key> alias;
  join_renamed(by_view, rank_of, alias);
  // A group that one rank recorded without ranks joins the only group of that name with ranks.
  std::map<std::string, std::set<std::vector<int>>> ranks_of_name;
  for (const auto& groups : by_view) {
    for (const CommGroup& group : groups) {
      if (!group.ranks.empty()) ranks_of_name[group.name].insert(key_of(group).first);
    }
  }
  GroupJoin join;
  std::map<Key, std::uint32_t> row;
  join.job_group.resize(by_view.size());
  for (std::size_t v = 0; v < by_view.size(); ++v) {
    for (const CommGroup& group : by_view[v]) {
      Key key = key_of(group);
      if (key.first.empty() && ranks_of_name[group.name].size() == 1)
        key.first = *ranks_of_name[group.name].begin();
      if (const auto to = alias.find(key); to != alias.end()) key = to->second;
      const auto [at, fresh] = row.try_emplace(key, static_cast<std::uint32_t>(join.groups.size()));
      if (fresh) join.groups.push_back(group);
      CommGroup& joined = join.groups[at->second];
      if (joined.ranks.empty()) joined.ranks = group.ranks;
      if (joined.size <= 0) joined.size = group.size;
      if (joined.description.empty()) joined.description = group.description;
      join.job_group[v].push_back(at->second);
    }
  }
  return join;
}

std::optional<std::vector<std::size_t>> cheapest_assignment(std::span<const std::int64_t> cost,
                                                            std::size_t n) {
  constexpr std::int64_t far = no_assignment;
  std::vector<std::int64_t> row_potential(n, 0);
  std::vector<std::int64_t> column_potential(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, n);  // of a column; n: none. Column n starts a path
  for (std::size_t row = 0; row < n; ++row) {
    std::vector<std::int64_t> distance(n, far);  // of columns from the row
    std::vector<std::size_t> before(n, n);       // column on the way
    std::vector<bool> reached(n + 1, false);
    std::size_t column = n;
    row_of[n] = row;
    while (row_of[column] != n) {
      reached[column] = true;
      const std::size_t here = row_of[column];
      std::int64_t least = far;
      std::size_t next = n;
      for (std::size_t c = 0; c < n; ++c) {
        if (reached[c]) continue;
        if (cost[here * n + c] != far) {
          const std::int64_t way = cost[here * n + c] - row_potential[here] - column_potential[c];
          if (way < distance[c]) {
            distance[c] = way;
            before[c] = column;
          }
        }
        if (distance[c] < least) {
          least = distance[c];
          next = c;
        }
      }
      if (least == far) return std::nullopt;
      for (std::size_t c = 0; c <= n; ++c) {
        if (reached[c]) {
          row_potential[row_of[c]] += least;
          column_potential[c] -= least;
        } else if (c < n && distance[c] != far) {
          distance[c] -= least;
        }
      }
      column = next;
    }
    while (column != n) {
      row_of[column] = row_of[before[column]];
      column = before[column];
    }
  }
  std::vector<std::size_t> columns(n);
  for (std::size_t c = 0; c < n; ++c) columns[row_of[c]] = c;
  return columns;
}

}  // namespace stepscope
