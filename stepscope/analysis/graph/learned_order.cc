// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/learned_order.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "stepscope/base/freed_memory.h"

namespace stepscope {
namespace {

constexpr Ns rounded_off = std::chrono::microseconds{1};  // coarsest rounding of recorded instants
constexpr std::uint64_t contradicted = 100;               // one in so many uses may contradict
constexpr std::size_t most_candidates = 8;                // of one operation
constexpr std::uint32_t most_launch_lag = 2;              // in steps
constexpr std::uint32_t all_kinds = std::numeric_limits<std::uint32_t>::max();

std::uint64_t joined_hash(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 33U);
}

// One rank's uses as a table of steps and operations.
struct Occurrences {
  std::vector<std::uint64_t> site;             // by use: name and occurrence within the step
  std::map<std::int32_t, std::uint64_t> kind;  // by step: hash of its sites
  std::uint64_t program = 0;                   // the most frequent kind
};

Occurrences occurrences_of(std::span<const OrderedUse> uses) {
  Occurrences o;
  o.site.reserve(uses.size());
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (i == 0 || uses[i].step != uses[i - 1].step) seen.clear();
    o.site.push_back(joined_hash(uses[i].name, seen[uses[i].name]++));
    std::uint64_t& kind = o.kind[uses[i].step];
    kind = joined_hash(kind, o.site.back());
  }
  std::map<std::uint64_t, std::uint32_t> steps;
  for (const auto& [step, kind] : o.kind) ++steps[kind];
  std::uint32_t most = 0;
  for (const auto& [kind, count] : steps)
    if (count > most) {
      most = count;
      o.program = kind;
    }
  return o;
}

// A use that may wait for another one, `lag` steps earlier.
struct Candidate {
  std::uint32_t before = 0;  // sites of the program
  std::uint32_t after = 0;
  std::uint32_t lag = 0;

  auto operator<=>(const Candidate&) const = default;
};

struct Counted {
  Candidate candidate;
  std::uint64_t votes = 0;
  std::set<std::uint32_t> kinds{};  // of the steps that show it
};

// It holds in steps of this kind.
struct HeldOrder {
  Candidate candidate;
  std::uint32_t kind = all_kinds;
};

// All ranks of one program.
class Program {
 public:
  explicit Program(std::span<const std::vector<OrderedUse>> views) : views_(views) {}

  void add(std::uint32_t view, const Occurrences& o) {
    Member m{.view = view, .site = {}, .use = {}, .kind = {}};
    const auto& uses = views_[view];
    if (uses.empty()) return;
    m.site.reserve(uses.size());
    std::int32_t last = uses.front().step;
    m.first_step = last;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      m.site.push_back(
          number_.try_emplace(o.site[i], static_cast<std::uint32_t>(number_.size())).first->second);
      m.first_step = std::min(m.first_step, uses[i].step);
      last = std::max(last, uses[i].step);
    }
    m.steps = static_cast<std::uint32_t>(last - m.first_step) + 1;
    m.kind.assign(m.steps, all_kinds);
    for (const auto& [step, hash] : o.kind) {
      const auto number = static_cast<std::uint32_t>(kinds_.size());
      const std::uint32_t kind = kinds_.try_emplace(hash, number).first->second;
      if (kind == steps_of_kind_.size()) steps_of_kind_.push_back(0);
      ++steps_of_kind_[kind];
      m.kind[static_cast<std::size_t>(step - m.first_step)] = kind;
    }
    members_.push_back(std::move(m));
  }

  void learn() {
    tabulate();
    for (const Member& m : members_) vote(m);
    vote_for_synchronous();
    std::ranges::sort(votes_);
    std::vector<Counted> counted;
    for (const Vote& vote : votes_) {
      if (counted.empty() || counted.back().candidate != vote.candidate)
        counted.push_back({vote.candidate});
      ++counted.back().votes;
      counted.back().kinds.insert(vote.kind);
    }
    release(votes_);
    std::ranges::stable_sort(counted, [](const Counted& a, const Counted& b) {
      return a.candidate.after != b.candidate.after ? a.candidate.after < b.candidate.after
                                                    : a.votes > b.votes;
    });
    std::size_t tested = 0;  // of the same operation
    for (std::size_t i = 0; i < counted.size(); ++i) {
      tested =
          i > 0 && counted[i - 1].candidate.after == counted[i].candidate.after ? tested + 1 : 0;
      if (tested < most_candidates) hold(counted[i]);
    }
  }

  // by member
  [[nodiscard]] std::vector<std::vector<UseOrder>> orders() const {
    std::vector<std::vector<UseOrder>> orders;
    for (const Member& m : members_) {
      const auto& uses = views_[m.view];
      auto& list = orders.emplace_back();
      // On each stream the last use to begin implies the other uses.
      for (std::size_t first = 0; first < held_.size();) {
        std::size_t last = first;
        const std::uint32_t site = held_[first].candidate.after;
        while (last < held_.size() && held_[last].candidate.after == site) ++last;
        for (std::uint32_t row = 0; row < m.steps; ++row) {
          const std::uint32_t after = m.use[std::size_t{row} * sites_ + site];
          if (after == no_use) continue;
          std::map<std::uint32_t, std::uint32_t> of_lane;
          for (std::size_t i = first; i < last; ++i) {
            const auto& [candidate, kind] = held_[i];
            if (kind != all_kinds && kind != m.kind[row]) continue;
            const std::uint32_t before =
                use_of(m, std::int64_t{m.first_step} + row - candidate.lag, candidate.before);
            if (before == no_use || uses[before].end > uses[after].start + rounded_off) continue;
            const auto [at, fresh] = of_lane.try_emplace(uses[before].lane, before);
            if (!fresh && uses[at->second].start < uses[before].start) at->second = before;
          }
          for (const auto& [lane, before] : of_lane) list.push_back({before, after});
        }
        first = last;
      }
    }
    return orders;
  }
  struct Member {
    std::uint32_t view = 0;
    std::int32_t first_step = 0;
    std::uint32_t steps = 0;
    std::vector<std::uint32_t> site;  // by use
    std::vector<std::uint32_t> use;   // by step and site; no_use
    std::vector<std::uint32_t> kind;  // by step: number of its kind
  };
  [[nodiscard]] std::span<const Member> members() const { return members_; }

 private:
  [[nodiscard]] std::uint32_t use_of(const Member& m, std::int64_t step, std::uint32_t site) const {
    const std::int64_t row = step - m.first_step;
    if (row < 0 || row >= std::int64_t{m.steps}) return no_use;
    const std::size_t at = static_cast<std::size_t>(row) * sites_ + site;
    return at < m.use.size() ? m.use[at] : no_use;
  }
  void tabulate() {
    sites_ = static_cast<std::uint32_t>(number_.size());
    for (Member& m : members_) {
      m.use.assign(std::size_t{m.steps} * sites_, no_use);
      const auto& uses = views_[m.view];
      for (std::uint32_t i = 0; i < uses.size(); ++i)
        m.use[static_cast<std::size_t>(uses[i].step - m.first_step) * sites_ + m.site[i]] = i;
    }
  }

  // The last use on another stream to end before each use begins, of those launched before it: an
  // event is recorded before a stream waits for it.
  void vote(const Member& m) {
    const auto& uses = views_[m.view];
    std::vector<std::uint32_t> by_end;
    for (std::uint32_t i = 0; i < uses.size(); ++i)
      if (uses[i].lane != no_lane) by_end.push_back(i);
    std::ranges::stable_sort(by_end, {}, [&](std::uint32_t i) { return uses[i].end; });
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
      const OrderedUse& use = uses[i];
      for (const std::uint32_t before : use.follows)
        if (before != no_use) vote(m, before, i);
      auto at = std::ranges::upper_bound(by_end, use.start + rounded_off, {},
                                         [&](std::uint32_t k) { return uses[k].end; });
      for (; at != by_end.begin(); --at) {
        const OrderedUse& last = uses[*(at - 1)];
        if (last.end <= use.ready || use.start - last.end > use.wake_up) break;
        if (*(at - 1) >= i || last.start >= use.start) continue;
        if (last.lane != use.lane) vote(m, *(at - 1), i);
        break;
      }
    }
  }

  // Communication whose next computation waits for it: a synchronous collective of c10d. If some
  // calls of a stream and name show such a wait and no call contradicts it, the wait holds for all
  // calls of that stream and name: the others may end before anything could wait for them.
  void vote_for_synchronous() {
    struct Pair {
      const Member* member = nullptr;
      std::uint32_t before = 0;
      std::uint32_t after = 0;
    };
    struct Rule {
      std::vector<Pair> pairs;
      std::uint64_t seen = 0;
      std::uint64_t contradicted = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint64_t>, Rule> rules;  // by stream and name
    for (const Member& m : members_) {
      const auto& uses = views_[m.view];
      std::map<std::uint32_t, std::uint32_t> stream_number;  // by first launch: equal on all ranks
      std::uint32_t next = no_use;                           // the next computation in the step
      std::vector<std::uint32_t> next_of(uses.size(), no_use);
      for (std::uint32_t i = static_cast<std::uint32_t>(uses.size()); i-- > 0;) {
        if (next != no_use && uses[next].step != uses[i].step) next = no_use;
        next_of[i] = next;
        if (!uses[i].communication && uses[i].lane != no_lane) next = i;
      }
      for (std::uint32_t i = 0; i < uses.size(); ++i) {
        const std::uint32_t number =
            stream_number
                .try_emplace(uses[i].lane, static_cast<std::uint32_t>(stream_number.size()))
                .first->second;
        if (!uses[i].communication || next_of[i] == no_use) continue;
        const OrderedUse& after = uses[next_of[i]];
        if (after.lane == uses[i].lane) continue;
        Rule& rule = rules[{number, uses[i].name}];
        rule.pairs.push_back({&m, i, next_of[i]});
        if (after.start + rounded_off < uses[i].end)
          ++rule.contradicted;
        else if (uses[i].end > after.ready && after.start - uses[i].end <= after.wake_up)
          ++rule.seen;
      }
    }
    for (const auto& [key, rule] : rules)
      if (rule.seen > 0 && rule.contradicted * contradicted <= rule.pairs.size())
        for (const Pair& pair : rule.pairs) vote(*pair.member, pair.before, pair.after);
  }
  void vote(const Member& m, std::uint32_t before, std::uint32_t after) {
    const auto& uses = views_[m.view];
    const std::int32_t lag = uses[after].step - uses[before].step;
    if (lag < 0 || lag > std::int32_t{most_launch_lag}) return;
    votes_.push_back({{m.site[before], m.site[after], static_cast<std::uint32_t>(lag)},
                      m.kind[static_cast<std::size_t>(uses[after].step - m.first_step)]});
  }

  // By kind of the steps in which it began before the other ended.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> contradictions(Candidate c) const {
    std::map<std::uint32_t, std::uint64_t> count;
    for (const Member& m : members_) {
      const auto& uses = views_[m.view];
      for (std::uint32_t row = 0; row < m.steps; ++row) {
        const std::uint32_t after = m.use[std::size_t{row} * sites_ + c.after];
        if (after == no_use) continue;
        const std::uint32_t before = use_of(m, std::int64_t{m.first_step} + row - c.lag, c.before);
        if (before != no_use && uses[before].end > uses[after].start + rounded_off)
          ++count[m.kind[row]];
      }
    }
    return count;
  }

  // Steps of other kinds may have other operations at the same places. So what they contradict may
  // still hold in the kinds that show it.
  void hold(const Counted& counted) {
    const std::map<std::uint32_t, std::uint64_t> against = contradictions(counted.candidate);
    std::uint64_t all = 0;
    for (const auto& [kind, count] : against) all += count;
    const std::uint64_t steps =
        std::accumulate(steps_of_kind_.begin(), steps_of_kind_.end(), std::uint64_t{0});
    if (all * contradicted <= steps) {
      held_.push_back({counted.candidate, all_kinds});
      return;
    }
    for (const std::uint32_t kind : counted.kinds) {
      const auto own = against.find(kind);
      if (own == against.end() || own->second * contradicted <= steps_of_kind_[kind])
        held_.push_back({counted.candidate, kind});
    }
  }

  std::span<const std::vector<OrderedUse>> views_;
  std::vector<Member> members_;
  std::unordered_map<std::uint64_t, std::uint32_t> number_;  // of a site
  std::uint32_t sites_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> kinds_;  // number of a kind
  std::vector<std::uint64_t> steps_of_kind_;
  struct Vote {
    Candidate candidate;
    std::uint32_t kind = 0;

    auto operator<=>(const Vote&) const = default;
  };
  std::vector<Vote> votes_;
  std::vector<HeldOrder> held_;
};
}  // namespace

std::vector<std::vector<UseOrder>> learn_order(std::span<const std::vector<OrderedUse>> views,
                                               const Workers& workers) {
  std::map<std::uint64_t, Program> programs;
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    const Occurrences o = occurrences_of(views[v]);
    programs.try_emplace(o.program, views).first->second.add(v, o);
  }
  std::vector<Program*> all;
  for (auto& [hash, program] : programs) all.push_back(&program);
  std::vector<std::vector<std::vector<UseOrder>>> learned(all.size());  // by program and member
  shared_for(learned, workers, Distribution::turns, [&](std::size_t p) {
    all[p]->learn();
    learned[p] = all[p]->orders();
  });
  std::vector<std::vector<UseOrder>> orders(views.size());
  for (std::size_t p = 0; p < all.size(); ++p)
    for (std::size_t m = 0; m < learned[p].size(); ++m)
      orders[all[p]->members()[m].view] = std::move(learned[p][m]);
  return orders;
}

}  // namespace stepscope
