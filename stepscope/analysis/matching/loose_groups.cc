// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/loose_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// All are natural logarithms of likelihood ratios. Experiment: 12 recorded jobs with two groups per
// rank (tensor × data parallel, FSDP × tensor parallel, hybrid sharding, pipeline × data parallel).
// The median distance of the ends is 0.06 to 0.4 ms within a group (once 2 ms, seven calls on busy
// cores) and 1 to 260 ms between groups; calls of one all-reduce always overlap, of others 1 in 2
// to 1 in 30 do not.
constexpr double apart_ratio = 20;    // typical distance of the ends, of different collectives
constexpr double most_evidence = 3;   // of one pair of calls: ln(apart_ratio)
constexpr double contradiction = -6;  // calls that differ in kind or size, or do not overlap
constexpr double unpaired = -1;       // a call without a counterpart
constexpr double group_used = -4;     // that a rank uses one more group
constexpr double world_used = -4;     // the whole job's group is rarely used beside others
constexpr double least_margin = 3;    // 20 to 1
constexpr double most_contradicted = 0.02;
constexpr std::size_t workers = 2;                            // ProcessGroupGloo::Options::threads
constexpr Ns least_distance = std::chrono::microseconds{20};  // of ends, on one host
constexpr double impossible = -std::numeric_limits<double>::infinity();

// Calls that may be those of one group, as launched.
struct Pool {
  std::size_t first = 0;  // threads [first, first + count)
  std::size_t count = 0;
  std::vector<AlignItem> items;
};

// One rank with loose calls on worker threads.
struct Worker {
  std::uint32_t view = 0;
  std::vector<std::vector<std::uint32_t>> threads;  // calls of each, threads by their number
  std::vector<Pool> pools;                          // of one thread or of several in sequence
  std::vector<std::uint32_t> groups;                // candidates, in their order
};

struct Fit {
  double evidence = 0;
  std::size_t pairs = 0;
  std::size_t contradicted = 0;
};

// A pool and the row of Worker::groups that it belongs to.
struct Choice {
  std::size_t pool = 0;
  std::size_t group = 0;
};
struct Division {
  double evidence = impossible;
  std::vector<Choice> choices;
};

bool on_worker_thread(const Trace& trace, const CollectiveCall& call) {
  return call.launch != no_slice && call.launch != call.slice &&
         trace.slices.track[index(call.launch)] != trace.slices.track[index(call.slice)];
}

class Divider {
 public:
  Divider(std::span<const RankView> views, std::span<const std::uint32_t> of_capture,
          std::span<const CommGroup> groups, std::span<const ClockCorrection> clocks,
          std::span<RankCalls> ranks)
      : views_(views), groups_(groups), clocks_(clocks), ranks_(ranks) {
    for (const std::uint32_t v : of_capture) {
      view_of_[views[v].rank] = v;
      add_worker(v);
    }
  }
  std::vector<UnsureGroup> run();

 private:
  void add_worker(std::uint32_t view);
  [[nodiscard]] Pool make_pool(const Worker& worker, std::size_t first, std::size_t count) const;
  [[nodiscard]] std::vector<std::uint32_t> neighbours(const Worker& worker,
                                                      const CommGroup& group) const;
  void find_scale();
  [[nodiscard]] Fit fit_at(std::span<const AlignItem> mine, std::span<const AlignItem> theirs,
                           std::int64_t shift) const;
  const Fit& fit(std::uint32_t a, std::size_t pool, std::uint32_t b, std::size_t other);
  std::pair<std::size_t, const Fit*> best_partner(std::uint32_t a, std::size_t pool,
                                                  std::uint32_t b);
  double evidence(std::uint32_t worker, std::size_t pool, std::uint32_t group);
  template <class Allowed>
  Division divide(std::uint32_t worker, Allowed&& allowed);
  [[nodiscard]] bool confirmed(std::uint32_t worker, const Choice& choice);
  void decide(std::uint32_t worker);
  void assign(const Worker& worker, const Choice& choice);

  std::span<const RankView> views_;
  std::span<const CommGroup> groups_;
  std::span<const ClockCorrection> clocks_;
  std::span<RankCalls> ranks_;
  std::map<int, std::uint32_t> view_of_;              // of the capture, by rank
  std::map<std::uint32_t, std::uint32_t> worker_of_;  // by view
  std::vector<Worker> workers_;
  std::vector<Division> divisions_;  // by worker
  std::map<std::tuple<std::uint32_t, std::size_t, std::uint32_t, std::size_t>, Fit> fits_;
  double scale_ns_ = 0;  // typical distance of the ends of one collective
  std::vector<UnsureGroup> unsure_;
};

Pool Divider::make_pool(const Worker& worker, std::size_t first, std::size_t count) const {
  const RankView& view = views_[worker.view];
  const auto& calls = ranks_[worker.view].calls;
  std::vector<std::uint32_t> rows;
  for (std::size_t t = first; t < first + count; ++t)
    rows.insert(rows.end(), worker.threads[t].begin(), worker.threads[t].end());
  std::ranges::sort(rows);
  sort_as_launched(view, calls, rows);
  Pool pool{first, count, {}};
  const ClockCorrection& clock = clocks_[worker.view];
  for (const std::uint32_t c : rows)
    pool.items.push_back({.view = worker.view,
                          .call = c,
                          .kind = calls[c].kind,
                          .dtype = calls[c].dtype,
                          .elements = calls[c].elements,
                          .start = clock(calls[c].start),
                          .end = clock(calls[c].end)});
  return pool;
}

void Divider::add_worker(std::uint32_t view) {
  const Trace& trace = *views_[view].trace;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<std::uint32_t>> threads;
  const RankCalls& rank = ranks_[view];
  for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
    const CollectiveCall& call = rank.calls[c];
    if (call.group != no_row || call.edge_count != 0 || is_point_to_point(call.kind)) continue;
    if (!on_worker_thread(trace, call)) continue;
    threads[{trace.track(call.stream).tid, index(call.stream)}].push_back(c);
  }
  if (threads.empty() || rank.listed.empty()) return;
  Worker worker{.view = view, .threads = {}, .pools = {}, .groups = rank.listed};
  for (auto& [thread, calls] : threads) worker.threads.push_back(std::move(calls));
  for (std::size_t first = 0; first < worker.threads.size(); ++first)
    for (std::size_t count = 1; count <= workers; ++count)
      if (first + count <= worker.threads.size())
        worker.pools.push_back(make_pool(worker, first, count));
  worker_of_[view] = static_cast<std::uint32_t>(workers_.size());
  workers_.push_back(std::move(worker));
}

// The traced members next to the rank in the order of the group, as views.
std::vector<std::uint32_t> Divider::neighbours(const Worker& worker, const CommGroup& group) const {
  const auto& ranks = group.ranks;
  const auto self = std::ranges::find(ranks, views_[worker.view].rank) - ranks.begin();
  const auto size = std::ssize(ranks);
  std::vector<std::uint32_t> found;
  for (const std::ptrdiff_t step : {std::ptrdiff_t{1}, size - 1})
    for (std::ptrdiff_t k = 1; k < size; ++k) {
      const int rank = ranks[static_cast<std::size_t>((self + k * step) % size)];
      const auto at = view_of_.find(rank);
      if (at == view_of_.end()) continue;
      if (found.empty() || found.front() != at->second) found.push_back(at->second);
      break;
    }
  return found;
}

// Half of the pools have a counterpart whose ends are nearer.
void Divider::find_scale() {
  std::vector<double> nearest;
  for (std::uint32_t w = 0; w < workers_.size(); ++w)
    for (std::size_t p = 0; p < workers_[w].pools.size(); ++p) {
      std::optional<double> best;
      for (const std::uint32_t g : workers_[w].groups)
        for (const std::uint32_t v : neighbours(workers_[w], groups_[g])) {
          const auto other = worker_of_.find(v);
          if (other == worker_of_.end()) continue;
          for (const Pool& q : workers_[other->second].pools) {
            const auto& a = workers_[w].pools[p].items;
            if (a.size() != q.items.size()) continue;
            std::vector<double> apart;
            for (std::size_t i = 0; i < a.size(); ++i)
              apart.push_back(std::abs(static_cast<double>((a[i].end - q.items[i].end).count())));
            const double middle = lower_median(apart);
            best = std::min(best.value_or(middle), middle);
          }
        }
      if (best) nearest.push_back(*best);
    }
  scale_ns_ = static_cast<double>(least_distance.count());
  if (!nearest.empty()) scale_ns_ = std::max(scale_ns_, lower_median(nearest));
}

const Fit& Divider::fit(std::uint32_t a, std::size_t pool, std::uint32_t b, std::size_t other) {
  const auto [at, fresh] = fits_.try_emplace(std::tuple(a, pool, b, other));
  Fit& found = at->second;
  if (!fresh) return found;
  const std::vector<AlignItem>& mine = workers_[a].pools[pool].items;
  const std::vector<AlignItem>& theirs = workers_[b].pools[other].items;
  found = fit_at(mine, theirs, 0);
  const bool whole = found.contradicted == 0 && mine.size() == theirs.size();
  if (whole) return found;
  if (const auto alignment = align(mine, theirs))
    if (Fit shifted = fit_at(mine, theirs, alignment->shift); shifted.evidence > found.evidence)
      found = shifted;
  return found;
}

// The k-th call of `theirs` is call k + shift of `mine`.
Fit Divider::fit_at(std::span<const AlignItem> mine, std::span<const AlignItem> theirs,
                    std::int64_t shift) const {
  Fit found;
  const double near = scale_ns_;
  const double far = apart_ratio * scale_ns_;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const std::int64_t k = static_cast<std::int64_t>(i) + shift;
    if (k < 0 || k >= std::ssize(mine)) continue;
    const AlignItem& x = mine[static_cast<std::size_t>(k)];
    const AlignItem& y = theirs[i];
    ++found.pairs;
    const bool overlap = x.start <= y.end && y.start <= x.end;
    if (!disagreement(x, y).empty() || (is_barrier_like(x.kind) && !overlap)) {
      ++found.contradicted;
      found.evidence += contradiction;
      continue;
    }
    // Both densities are Cauchy's, whose tails allow for a thread without a core.
    const double d = static_cast<double>((x.end - y.end).count());
    const double ratio = std::log(near / (near * near + d * d) * (far * far + d * d) / far);
    found.evidence += std::clamp(ratio, -most_evidence, most_evidence);
  }
  found.evidence += unpaired * static_cast<double>(mine.size() + theirs.size() - 2 * found.pairs);
  return found;
}

std::pair<std::size_t, const Fit*> Divider::best_partner(std::uint32_t a, std::size_t pool,
                                                         std::uint32_t b) {
  std::size_t best = 0;
  const Fit* found = nullptr;
  for (std::size_t q = 0; q < workers_[b].pools.size(); ++q) {
    const Fit& tried = fit(a, pool, b, q);
    if (found != nullptr && tried.evidence <= found->evidence) continue;
    found = &tried;
    best = q;
  }
  return {best, found};
}

double Divider::evidence(std::uint32_t worker, std::size_t pool, std::uint32_t group) {
  const Worker& mine = workers_[worker];
  const CommGroup& candidate = groups_[group];
  double sum = group_used;
  const auto any = [&](auto&& is) { return std::ranges::any_of(mine.groups, is); };
  const bool larger = any([&](std::uint32_t g) { return groups_[g].size > candidate.size; });
  const bool smaller =
      any([&](std::uint32_t g) { return groups_[g].size > 1 && groups_[g].size < candidate.size; });
  if (smaller && !larger) sum += world_used;
  for (const std::uint32_t v : neighbours(mine, candidate)) {
    const auto other = worker_of_.find(v);
    sum += other == worker_of_.end()
               ? contradiction * static_cast<double>(mine.pools[pool].items.size())
               : best_partner(worker, pool, other->second).second->evidence;
  }
  return sum;
}

// The division with most evidence of those with allowed(first thread, count, group). Threads and
// groups are in order; a group may have no thread.
template <class Allowed>
Division Divider::divide(std::uint32_t worker, Allowed&& allowed) {
  const Worker& mine = workers_[worker];
  const std::size_t threads = mine.threads.size();
  const std::size_t columns = mine.groups.size() + 1;
  struct Cell {
    double evidence = impossible;
    std::optional<std::size_t> pool;  // of the group before; absent: it has none
  };
  std::vector<Cell> cells((threads + 1) * columns);  // threads divided, groups passed
  cells[0].evidence = 0;
  for (std::size_t g = 0; g + 1 < columns; ++g)
    for (std::size_t t = 0; t <= threads; ++t) {
      const double before = cells[t * columns + g].evidence;
      if (before == impossible) continue;
      const auto offer = [&](std::size_t to, double evidence, std::optional<std::size_t> pool) {
        Cell& cell = cells[to * columns + g + 1];
        if (evidence > cell.evidence) cell = {evidence, pool};
      };
      offer(t, before, std::nullopt);
      for (std::size_t p = 0; p < mine.pools.size(); ++p) {
        const Pool& pool = mine.pools[p];
        if (pool.first != t || !allowed(pool, mine.groups[g])) continue;
        offer(t + pool.count, before + evidence(worker, p, mine.groups[g]), p);
      }
    }
  Division found{.evidence = cells.back().evidence, .choices = {}};
  if (found.evidence == impossible) return found;
  std::size_t t = threads;
  for (std::size_t g = columns - 1; g > 0; --g) {
    const Cell& cell = cells[t * columns + g];
    if (!cell.pool) continue;
    found.choices.push_back({*cell.pool, g - 1});
    t -= mine.pools[*cell.pool].count;
  }
  std::ranges::reverse(found.choices);
  return found;
}

// The neighbours gave the same group to the calls that fit best, and these hardly contradict.
bool Divider::confirmed(std::uint32_t worker, const Choice& choice) {
  const Worker& mine = workers_[worker];
  const std::uint32_t group = mine.groups[choice.group];
  for (const std::uint32_t v : neighbours(mine, groups_[group])) {
    const auto other = worker_of_.find(v);
    if (other == worker_of_.end()) return false;
    const auto [partner, fit] = best_partner(worker, choice.pool, other->second);
    const Worker& theirs = workers_[other->second];
    const bool same = std::ranges::any_of(divisions_[other->second].choices, [&](const Choice& c) {
      return c.pool == partner && theirs.groups[c.group] == group;
    });
    if (!same || static_cast<double>(fit->contradicted) >
                     most_contradicted * static_cast<double>(fit->pairs))
      return false;
  }
  return true;
}

void Divider::assign(const Worker& worker, const Choice& choice) {
  RankCalls& rank = ranks_[worker.view];
  const std::uint32_t group = worker.groups[choice.group];
  for (const AlignItem& item : worker.pools[choice.pool].items) {
    CollectiveCall& call = rank.calls[item.call];
    call.group = group;
    complete_by_group(views_[worker.view].rank, groups_[group], call, {});
  }
}

void Divider::decide(std::uint32_t worker) {
  const Worker& mine = workers_[worker];
  const Division& best = divisions_[worker];
  for (const Choice& choice : best.choices) {
    const Pool& pool = mine.pools[choice.pool];
    const std::uint32_t group = mine.groups[choice.group];
    const std::vector<int>& members = groups_[group].ranks;
    const auto other_members = [&](const Pool& tried, std::uint32_t g) {
      const bool touches =
          tried.first < pool.first + pool.count && pool.first < tried.first + tried.count;
      return !touches || groups_[g].ranks != members;
    };
    const Division second = divide(worker, other_members);
    const bool clear = best.evidence - second.evidence >= least_margin;
    if (clear && confirmed(worker, choice)) {
      assign(mine, choice);
      continue;
    }
    UnsureGroup& said = unsure_.emplace_back();
    said.rank = views_[mine.view].rank;
    said.calls = pool.items.size();
    said.groups = groups_[group].name;
    for (const Choice& c : second.choices)
      if (mine.pools[c.pool].first <= pool.first &&
          mine.pools[c.pool].first + mine.pools[c.pool].count > pool.first)
        said.groups += ", " + groups_[mine.groups[c.group]].name;
  }
}

std::vector<UnsureGroup> Divider::run() {
  find_scale();
  const auto any = [](const Pool&, std::uint32_t) { return true; };
  for (std::uint32_t w = 0; w < workers_.size(); ++w) divisions_.push_back(divide(w, any));
  for (std::uint32_t w = 0; w < workers_.size(); ++w) decide(w);
  return std::move(unsure_);
}

}  // namespace

std::vector<UnsureGroup> find_loose_groups(std::span<const RankView> views,
                                           std::span<const std::uint32_t> of_capture,
                                           std::span<const CommGroup> groups,
                                           std::span<const ClockCorrection> clocks,
                                           std::span<RankCalls> ranks) {
  return Divider(views, of_capture, groups, clocks, ranks).run();
}

}  // namespace stepscope
