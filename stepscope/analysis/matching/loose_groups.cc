// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/loose_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Experiment: 87 recorded captures of jobs with several groups per rank (tensor × data parallel,
// FSDP × tensor parallel, hybrid sharding, pipelines × data parallel, experts together with a group
// of all ranks), 6 to 81 calls per group. Within the true group no call ended before another had
// begun, in wrong ones 1 to 128 had, except in two captures. The logarithms of the distances of the
// ends have a standard deviation of 1.5 within a group. Between groups they are larger by ln 2 to
// ln 500; where nothing else contradicts a wrong group, by ln 3.
constexpr double most_contradicted = 0.01;
constexpr double least_paired = 0.8;  // a capture may begin or end in between
constexpr double deviation = 1.5;
constexpr double log_apart = 1.1;   // ln 3
constexpr double least_margin = 1;  // of the logarithm of the likelihood, over all members
constexpr double group_used = -4;   // that a rank uses one more group
constexpr double unchecked = -1;    // a call of a group without another traced member
constexpr double left_out = -50;    // a thread that fits no group
constexpr double not_its_own = 10;  // a call without its counterpart: more than any distance
constexpr double long_alone = 10;   // times the typical distance: the call waits for others
constexpr std::size_t workers = 2;  // ProcessGroupGloo::Options::threads
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
  bool ordered = true;                              // threads are in this order, too
};

// Two pools side by side.
struct Fit {
  std::size_t pairs = 0;
  std::size_t contradicted = 0;
  double log_distance = 0;  // sum over pairs, of the ends over their typical distance

  Fit& operator+=(const Fit& other) {
    pairs += other.pairs;
    contradicted += other.contradicted;
    log_distance += other.log_distance;
    return *this;
  }
};

// That a group's calls are those of one pool of each member.
struct Hypothesis {
  std::uint32_t group = no_row;
  std::vector<std::pair<std::uint32_t, std::size_t>> pools;  // worker, its pool
  double score = impossible;                                 // of one call
  bool chosen = false;
  bool certain = false;
};

// A pool and the hypothesis that it is part of; none: left out.
struct Choice {
  std::size_t pool = 0;
  Hypothesis* of = nullptr;
};
struct Division {
  double score = impossible;
  std::vector<Choice> choices;
};

bool on_worker_thread(const Trace& trace, const CollectiveCall& call) {
  return call.launch != no_slice && call.launch != call.slice &&
         trace.slices.track[index(call.launch)] != trace.slices.track[index(call.slice)];
}

bool touch(const Pool& a, const Pool& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

class Divider {
  const CapturedViews& in_;
  HostClocks hosts_;
  std::map<std::uint32_t, std::uint32_t> worker_of_;  // by view
  std::vector<Worker> workers_;
  std::vector<Division> divisions_;  // by worker
  std::map<std::tuple<std::uint32_t, std::size_t, std::uint32_t, std::size_t>, Fit> fits_;
  // By worker, pool and group: the best that has them. Hypotheses keep their place.
  std::map<std::tuple<std::uint32_t, std::size_t, std::uint32_t>, Hypothesis*> supposed_;
  std::vector<std::unique_ptr<Hypothesis>> hypotheses_;
  // The divisions that are not chosen yet, the largest last.
  std::set<std::pair<std::size_t, Hypothesis*>> asked_;
  std::set<std::pair<std::uint32_t, std::size_t>> doubtful_;  // pools: choose()
  double scale_ns_ = 0;  // typical distance of the ends of one collective
  std::vector<UnsureGroup> unsure_;

 public:
  explicit Divider(const CapturedViews& in) : in_(in), hosts_(find_clocks(in.views)) {
    for (const std::uint32_t v : in.of) add_worker(v);
  }

  std::vector<UnsureGroup> run() {
    find_scale();
    std::set<std::uint32_t> listed;
    for (const Worker& worker : workers_) listed.insert(worker.groups.begin(), worker.groups.end());
    for (const std::uint32_t group : listed) suppose(group);
    agree();
    for (std::uint32_t w = 0; w < workers_.size(); ++w) decide(w);
    return std::move(unsure_);
  }

 private:
  Pool make_pool(const Worker& worker, std::size_t first, std::size_t count) const {
    const RankView& view = in_.views[worker.view];
    const auto& calls = in_.ranks[worker.view].calls;
    std::vector<std::uint32_t> rows;
    for (std::size_t t = first; t < first + count; ++t)
      rows.insert(rows.end(), worker.threads[t].begin(), worker.threads[t].end());
    std::ranges::sort(rows);
    sort_as_launched(view, calls, rows);
    Pool pool{first, count, {}};
    for (const std::uint32_t c : rows)
      pool.items.push_back(item_of(worker.view, c, calls[c], in_.clocks[worker.view]));
    return pool;
  }

  void add_worker(std::uint32_t view) {
    const Trace& trace = *in_.views[view].trace;
    std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<std::uint32_t>> threads;
    const RankCalls& rank = in_.ranks[view];
    for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
      const CollectiveCall& call = rank.calls[c];
      if (call.group != no_row || call.edge_count != 0 || is_message(call.kind)) continue;
      if (!on_worker_thread(trace, call)) continue;
      threads[{trace.track(call.stream).tid, index(call.stream)}].push_back(c);
    }
    if (threads.empty() || rank.listed.empty()) return;
    Worker worker{.view = view,
                  .threads = {},
                  .pools = {},
                  .groups = rank.listed,
                  .ordered = rank.listed_in_order};
    for (auto& [thread, calls] : threads) worker.threads.push_back(std::move(calls));
    for (std::size_t first = 0; first < worker.threads.size(); ++first)
      for (std::size_t count = 1; count <= workers; ++count)
        if (first + count <= worker.threads.size())
          worker.pools.push_back(make_pool(worker, first, count));
    worker_of_[view] = static_cast<std::uint32_t>(workers_.size());
    workers_.push_back(std::move(worker));
  }

  // By how much the clock of `theirs` is behind that of `mine`, if that is another host's: as usual
  // for the ends of calls [0, theirs.size()) of both.
  Ns clocks_apart(std::span<const AlignItem> mine, std::span<const AlignItem> theirs) const {
    const std::string& host = hosts_.clocks[hosts_.of_view[mine.front().view]].host;
    const std::string& other = hosts_.clocks[hosts_.of_view[theirs.front().view]].host;
    if (host == other || host.empty() || other.empty()) return Ns{0};
    std::vector<Ns> distances;
    for (std::size_t i = 0; i < theirs.size(); ++i)
      distances.push_back(mine[i].end - theirs[i].end);
    return lower_median(distances);
  }

  // Half of the pools of neighbours in some group have a counterpart whose ends are nearer.
  void find_scale() {
    std::map<std::pair<std::uint32_t, std::size_t>, double> nearest;  // by worker and pool
    const auto compare = [&](std::uint32_t a, std::uint32_t b) {
      for (std::size_t p = 0; p < workers_[a].pools.size(); ++p)
        for (const Pool& other : workers_[b].pools) {
          const auto& mine = workers_[a].pools[p].items;
          if (mine.size() != other.items.size()) continue;
          const Ns clocks = clocks_apart(mine, other.items);
          std::vector<double> distances;
          for (std::size_t i = 0; i < mine.size(); ++i)
            distances.push_back(
                std::abs(static_cast<double>((mine[i].end - other.items[i].end - clocks).count())));
          const double middle = lower_median(distances);
          double& least = nearest.try_emplace({a, p}, middle).first->second;
          least = std::min(least, middle);
        }
    };
    for (std::uint32_t w = 0; w < workers_.size(); ++w)
      for (const std::uint32_t g : workers_[w].groups) {
        const auto& ranks = in_.groups[g].ranks;
        const auto self = std::ranges::find(ranks, in_.views[workers_[w].view].rank);
        if (self == ranks.end() || self + 1 == ranks.end()) continue;
        const auto view = in_.by_rank.find(*(self + 1));
        const auto next =
            view == in_.by_rank.end() ? worker_of_.end() : worker_of_.find(view->second);
        if (next != worker_of_.end()) compare(w, next->second);
      }
    std::vector<double> distances;
    for (const auto& [pool, distance] : nearest) distances.push_back(distance);
    scale_ns_ = static_cast<double>(least_distance.count());
    if (!distances.empty()) scale_ns_ = std::max(scale_ns_, lower_median(distances));
  }

  // The k-th call of `theirs` is call k + shift of `mine`. The clocks of two hosts may be apart by
  // the median distance of the ends.
  Fit fit_at(std::span<const AlignItem> mine, std::span<const AlignItem> theirs,
             std::int64_t shift) const {
    Fit found;
    const auto first = static_cast<std::size_t>(std::max<std::int64_t>(0, -shift));
    const auto last = std::min(std::ssize(theirs), std::ssize(mine) - shift);
    if (static_cast<std::int64_t>(first) >= last) return found;
    theirs = theirs.subspan(first, static_cast<std::size_t>(last) - first);
    mine = mine.subspan(static_cast<std::size_t>(static_cast<std::int64_t>(first) + shift));
    const Ns clocks = clocks_apart(mine, theirs);
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const AlignItem& x = mine[i];
      AlignItem y = theirs[i];
      y.start += clocks;
      y.end += clocks;
      ++found.pairs;
      const bool overlap = x.start <= y.end && y.start <= x.end;
      if (!disagreement(x, y).empty() || (is_barrier_like(x.kind) && !overlap))
        ++found.contradicted;
      const auto distance = static_cast<double>(std::chrono::abs(x.end - y.end).count());
      found.log_distance += std::log(std::max(distance, scale_ns_ / 10) / scale_ns_);
    }
    return found;
  }

  const Fit& fit(std::uint32_t a, std::size_t pool, std::uint32_t b, std::size_t other) {
    const auto [at, fresh] = fits_.try_emplace(std::tuple(a, pool, b, other));
    Fit& found = at->second;
    if (!fresh) return found;
    const std::vector<AlignItem>& mine = workers_[a].pools[pool].items;
    const std::vector<AlignItem>& theirs = workers_[b].pools[other].items;
    found = fit_at(mine, theirs, 0);
    const bool whole = found.contradicted == 0 && mine.size() == theirs.size();
    const auto alignment = whole ? std::nullopt : align(mine, theirs);
    if (alignment && alignment->shift != 0) {
      const Fit shifted = fit_at(mine, theirs, alignment->shift);
      const auto share = [](const Fit& f) {
        return static_cast<double>(f.contradicted) /
               static_cast<double>(std::max<std::size_t>(f.pairs, 1));
      };
      if (share(shifted) < share(found)) found = shifted;
    }
    return found;
  }

  // The pool of `b` with most calls that fit, and whose calls end nearest.
  std::size_t best_partner(std::uint32_t a, std::size_t pool, std::uint32_t b) {
    std::size_t best = 0;
    double most = impossible;
    const std::size_t calls = workers_[a].pools[pool].items.size();
    for (std::size_t q = 0; q < workers_[b].pools.size(); ++q) {
      const std::size_t theirs = workers_[b].pools[q].items.size();
      const Fit& tried = fit(a, pool, b, q);
      const auto lost = static_cast<double>(calls + theirs - 2 * tried.pairs + tried.contradicted);
      const double evidence = -tried.log_distance - not_its_own * lost;
      if (evidence <= most) continue;
      most = evidence;
      best = q;
    }
    return best;
  }

  // All traced members have calls. The pools of the first member give the pools of the next, and so
  // on.
  void suppose(std::uint32_t group) {
    std::vector<std::uint32_t> members;  // workers
    for (const int rank : in_.groups[group].ranks) {
      const auto view = in_.by_rank.find(rank);
      if (view == in_.by_rank.end()) continue;
      const auto worker = worker_of_.find(view->second);
      if (worker == worker_of_.end()) return;
      members.push_back(worker->second);
    }
    if (members.empty()) return;
    for (std::size_t p = 0; p < workers_[members.front()].pools.size(); ++p) {
      auto supposed = std::make_unique<Hypothesis>();
      supposed->group = group;
      supposed->pools.emplace_back(members.front(), p);
      for (std::size_t m = 1; m < members.size(); ++m) {
        const auto [before, pool] = supposed->pools.back();
        supposed->pools.emplace_back(members[m], best_partner(before, pool, members[m]));
      }
      supposed->score = score_of(*supposed);
      if (supposed->score == impossible) continue;
      for (const auto& [worker, pool] : supposed->pools) {
        Hypothesis*& best = supposed_[{worker, pool, group}];
        if (best == nullptr || best->score < supposed->score) best = supposed.get();
      }
      hypotheses_.push_back(std::move(supposed));
    }
  }

  // The score of one call, compared with ends at their typical distance. A group with double the
  // ranks explains that double the ends are near each other.
  double score_of(const Hypothesis& supposed) {
    const auto& pools = supposed.pools;
    if (in_.groups[supposed.group].size == 1)
      return score_alone(workers_[pools[0].first].pools[pools[0].second]);
    if (pools.size() == 1) return unchecked;
    Fit all;
    for (std::size_t m = 0; m < pools.size(); ++m) {
      if (m + 1 == pools.size() && pools.size() == 2) break;
      const auto& [a, p] = pools[m];
      const auto& [b, q] = pools[(m + 1) % pools.size()];
      const Fit& one = fit(a, p, b, q);
      const std::size_t most =
          std::max(workers_[a].pools[p].items.size(), workers_[b].pools[q].items.size());
      if (static_cast<double>(one.pairs) < least_paired * static_cast<double>(most))
        return impossible;
      all += one;
    }
    const auto pairs = static_cast<double>(all.pairs);
    if (static_cast<double>(all.contradicted) > most_contradicted * pairs) return impossible;
    const double near = -log_apart * all.log_distance / pairs;
    const double explained =
        log_apart * log_apart / 2 * std::log2(static_cast<double>(pools.size()));
    return (near + explained) / (deviation * deviation);
  }

  // A rank alone waits for nobody.
  double score_alone(const Pool& pool) const {
    std::vector<double> lengths;
    for (const AlignItem& item : pool.items)
      lengths.push_back(static_cast<double>((item.end - item.start).count()));
    return lower_median(lengths) > long_alone * scale_ns_ ? impossible : unchecked;
  }

  // The best division of those with allowed(pool, hypothesis). A group may have no thread.
  template <class Allowed>
  Division divide(std::uint32_t worker, Allowed&& allowed) {
    const Worker& mine = workers_[worker];
    std::vector<std::size_t> order(mine.groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Division best = divide_in_order(worker, order, allowed);
    constexpr std::size_t most_orders = 6;  // groups, whose 720 orders are tried
    if (mine.ordered || order.size() > most_orders) return best;
    while (std::ranges::next_permutation(order).found)
      if (Division tried = divide_in_order(worker, order, allowed); tried.score > best.score)
        best = std::move(tried);
    return best;
  }

  // `order`: rows of Worker::groups.
  template <class Allowed>
  Division divide_in_order(std::uint32_t worker, std::span<const std::size_t> order,
                           Allowed&& allowed) {
    const Worker& mine = workers_[worker];
    const std::size_t threads = mine.threads.size();
    struct Cell {
      double score = impossible;
      std::size_t threads = 0;  // before
      std::optional<Choice> last{};
    };
    // By groups passed and threads divided.
    std::vector<std::vector<Cell>> cells(order.size() + 1, std::vector<Cell>(threads + 1));
    cells[0][0].score = 0;
    const auto offer = [](Cell& cell, double score, std::size_t before,
                          std::optional<Choice> last) {
      if (score > cell.score) cell = {score, before, last};
    };
    const auto leave_out = [&](std::vector<Cell>& row) {
      for (std::size_t p = 0; p < mine.pools.size(); ++p)
        if (mine.pools[p].count == 1)
          offer(row[mine.pools[p].first + 1], row[mine.pools[p].first].score + left_out,
                mine.pools[p].first, Choice{p, nullptr});
    };
    // A cell's way leads to the row before, except where a thread is left out.
    for (std::size_t g = 0; g < order.size(); ++g) {
      leave_out(cells[g]);
      const std::uint32_t group = mine.groups[order[g]];
      for (std::size_t t = 0; t <= threads; ++t)
        if (cells[g][t].score != impossible)
          offer(cells[g + 1][t], cells[g][t].score, t, std::nullopt);
      for (std::size_t p = 0; p < mine.pools.size(); ++p) {
        const Pool& pool = mine.pools[p];
        const auto found = supposed_.find({worker, p, group});
        if (found == supposed_.end() || found->second->score == impossible) continue;
        if (cells[g][pool.first].score == impossible || !allowed(pool, *found->second)) continue;
        const double score =
            group_used + found->second->score * static_cast<double>(pool.items.size());
        offer(cells[g + 1][pool.first + pool.count], cells[g][pool.first].score + score, pool.first,
              Choice{p, found->second});
      }
    }
    leave_out(cells.back());
    Division found{.score = cells.back()[threads].score, .choices = {}};
    if (found.score == impossible) return found;
    std::size_t t = threads;
    for (std::size_t g = order.size();;) {
      const Cell& cell = cells[g][t];
      if (cell.last) found.choices.push_back(*cell.last);
      const bool stays = cell.last && cell.last->of == nullptr;
      if (!stays && g == 0) break;
      if (!stays) --g;
      t = cell.threads;
    }
    std::ranges::reverse(found.choices);
    return found;
  }

  void assign(const Worker& worker, const Choice& choice) {
    RankCalls& rank = in_.ranks[worker.view];
    const std::uint32_t group = choice.of->group;
    for (const AlignItem& item : worker.pools[choice.pool].items) {
      CollectiveCall& call = rank.calls[item.call];
      call.group = group;
      complete_by_group(in_.views[worker.view].rank, in_.groups[group], call, {});
    }
  }

  // How much likelier it is that the calls are this group's, over all members, than that they are
  // those of groups with other members, of no more ranks.
  double gain_of(const Hypothesis& h) {
    double gain = 0;
    for (const auto& [worker, p] : h.pools) {
      const Pool& pool = workers_[worker].pools[p];
      const Division with = divide(worker, [&](const Pool& tried, const Hypothesis& of) {
        return !touch(tried, pool) || &of == &h;
      });
      const Division without = divide(worker, [&](const Pool& tried, const Hypothesis& of) {
        return !touch(tried, pool) || (in_.groups[of.group].ranks != in_.groups[h.group].ranks &&
                                       of.pools.size() <= h.pools.size());
      });
      gain += with.score - without.score;
    }
    return gain;
  }

  // Whether calls may be those of a hypothesis that fell for one that was not certain itself.
  bool doubtful(const Hypothesis& h) const {
    return std::ranges::any_of(h.pools, [&](const auto& of_worker) {
      return std::ranges::any_of(doubtful_, [&](const auto& fallen) {
        const Worker& worker = workers_[of_worker.first];
        return fallen.first == of_worker.first &&
               touch(worker.pools[fallen.second], worker.pools[of_worker.second]);
      });
    });
  }

  // No other hypothesis may have these calls.
  void choose(Hypothesis& h) {
    h.chosen = true;
    for (const auto& [worker, p] : h.pools)
      for (std::size_t q = 0; q < workers_[worker].pools.size(); ++q)
        if (touch(workers_[worker].pools[p], workers_[worker].pools[q]))
          for (const std::uint32_t group : workers_[worker].groups) {
            const auto found = supposed_.find({worker, q, group});
            if (found == supposed_.end() || found->second == &h) continue;
            Hypothesis& other = *found->second;
            const auto calls = static_cast<double>(workers_[worker].pools[q].items.size());
            if (!h.certain && (h.score - other.score) * calls < least_margin)
              doubtful_.insert(other.pools.begin(), other.pools.end());
            other.score = impossible;
          }
  }

  void divide_anew(std::uint32_t worker) {
    divisions_[worker] = divide(worker, [](const Pool&, const Hypothesis&) { return true; });
    for (const Choice& choice : divisions_[worker].choices)
      if (choice.of != nullptr && !choice.of->chosen)
        asked_.emplace(choice.of->pools.size(), choice.of);
  }

  // Either the calls of all members of a group are its own, or those of none. Larger groups among
  // the divisions of single ranks are asked first. A group that is not likelier over all members
  // than other divisions is given up, and its members are divided again.
  void agree() {
    divisions_.resize(workers_.size());
    for (std::uint32_t w = 0; w < workers_.size(); ++w) divide_anew(w);
    while (!asked_.empty()) {
      Hypothesis& next = *asked_.extract(std::prev(asked_.end())).value().second;
      if (next.chosen || next.score == impossible) continue;
      const double gain = gain_of(next);
      next.certain = gain >= least_margin && !doubtful(next);
      if (gain >= 0)
        choose(next);
      else
        next.score = impossible;
      for (const auto& [worker, pool] : next.pools) divide_anew(worker);
    }
  }

  // What is certain.
  void decide(std::uint32_t worker) {
    const Worker& mine = workers_[worker];
    for (const Choice& choice : divisions_[worker].choices) {
      if (choice.of != nullptr && choice.of->certain) {
        assign(mine, choice);
        continue;
      }
      UnsureGroup& said = unsure_.emplace_back();
      said.rank = in_.views[mine.view].rank;
      said.calls = mine.pools[choice.pool].items.size();
      if (choice.of != nullptr) said.group = in_.groups[choice.of->group].name;
    }
  }
};

}  // namespace

std::vector<UnsureGroup> find_loose_groups(const CapturedViews& in) { return Divider(in).run(); }

}  // namespace stepscope
