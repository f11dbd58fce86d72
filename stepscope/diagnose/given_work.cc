// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/given_work.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>

#include "stepscope/diagnose/thresholds.h"

namespace stepscope {
namespace {

// One rank in one step, as deviations from the mean of its role in that step.
struct WorkPoint {
  double work = 0;  // FLOPs of the products
  double time = 0;  // their kernels' time
};

std::optional<double> correlation(std::span<const WorkPoint> points) {
  double ww = 0;
  double tt = 0;
  double wt = 0;
  for (const WorkPoint& p : points) {
    ww += p.work * p.work;
    tt += p.time * p.time;
    wt += p.work * p.time;
  }
  if (points.size() < threshold::least_points || ww <= 0 || tt <= 0) return std::nullopt;
  return wt / std::sqrt(ww * tt);
}

// The work of the steps that all ranks of the role have; absent where time does not follow it.
std::optional<UnevenWork> work_of(std::vector<const RankResult*> ranks) {
  UnevenWork role{.ranks = std::move(ranks)};
  std::map<std::int64_t, std::vector<WorkPoint>> steps;
  for (const RankResult* r : role.ranks)
    for (const ExecutedStep& s : r->work.executed.steps)
      steps[s.index].push_back({s.flops().value, static_cast<double>(s.time().count())});
  std::vector<WorkPoint> deviations;
  std::size_t counted = 0;
  for (const auto& [index, points] : steps) {
    if (points.size() != role.ranks.size()) continue;
    WorkPoint mean;
    for (const WorkPoint& p : points) {
      mean.work += p.work / static_cast<double>(points.size());
      mean.time += p.time / static_cast<double>(points.size());
    }
    if (mean.work <= 0) continue;
    const auto [low, high] = std::ranges::minmax(points, {}, &WorkPoint::work);
    role.spread += (high.work - low.work) / mean.work;
    ++counted;
    for (const WorkPoint& p : points)
      deviations.push_back({p.work - mean.work, p.time - mean.time});
  }
  const auto follows = correlation(deviations);
  if (counted == 0 || !follows || *follows < threshold::work_explains_time) return std::nullopt;
  role.spread /= static_cast<double>(counted);
  role.follows = *follows;
  return role;
}

}  // namespace

bool knows_work(const RankResult& rank) {
  if (!rank.work.executed.any_shapes) return false;
  double known = 0;
  double unknown = 0;
  for (const ExecutedStep& s : rank.work.executed.steps) {
    known += static_cast<double>(s.time().count());
    unknown += static_cast<double>(s.unknown_time().count());
  }
  return known > 0 && unknown < threshold::most_without_shapes * (known + unknown);
}

std::optional<double> given_work(const JobResult& job, std::span<const int> ranks) {
  const RankResult* first = ranks.empty() ? nullptr : find_rank(job.ranks, ranks.front());
  if (first == nullptr) return std::nullopt;
  struct Sums {
    double given = 0;
    double of_peers = 0;
    std::size_t count = 0;
  };
  std::map<std::int64_t, Sums> steps;
  std::size_t named = 0;
  std::size_t members = 0;
  for (const RankResult& r : job.ranks) {
    if (r.role != first->role) continue;
    if (!knows_work(r)) return std::nullopt;
    const bool is_named = std::ranges::find(ranks, r.rank) != ranks.end();
    ++members;
    if (is_named) ++named;
    for (const ExecutedStep& s : r.work.executed.steps) {
      Sums& sums = steps[s.index];
      (is_named ? sums.given : sums.of_peers) += s.flops().value;
      ++sums.count;
    }
  }
  if (named != ranks.size() || members == named) return std::nullopt;
  Sums all;
  for (const auto& [index, sums] : steps) {
    if (sums.count != members) continue;
    all.given += sums.given / static_cast<double>(named);
    all.of_peers += sums.of_peers / static_cast<double>(members - named);
  }
  return all.of_peers > 0 ? std::optional(all.given / all.of_peers) : std::nullopt;
}

std::optional<UnevenWork> uneven_work(const JobResult& job) {
  std::map<std::string_view, std::vector<const RankResult*>> roles;
  for (const RankResult& r : job.ranks)
    if (knows_work(r)) roles[r.role].push_back(&r);
  std::optional<UnevenWork> worst;
  for (auto& [name, ranks] : roles) {
    if (ranks.size() < 2) continue;
    auto role = work_of(std::move(ranks));
    if (role && role->spread >= threshold::uneven_work && (!worst || role->spread > worst->spread))
      worst = std::move(role);
  }
  return worst;
}

}  // namespace stepscope
