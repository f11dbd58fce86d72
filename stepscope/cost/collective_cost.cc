// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/collective_cost.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <tuple>

#include "stepscope/cost/collective_terms.h"

namespace stepscope {
namespace {

using namespace collective_terms;

Seconds micro(double us) { return Seconds{us * 1e-6}; }

// A barrier moves no bytes.
double bytes_of(CollectiveKind kind, Bytes total) {
  return kind == CollectiveKind::barrier ? 0 : static_cast<double>(total.value);
}

template <class... Values>
void add(std::string& text, const char* format, Values... values) {
  std::array<char, 160> part{};
  const int length = std::snprintf(part.data(), part.size(), format, values...);
  text.append(part.data(), std::min(part.size() - 1, static_cast<std::size_t>(length)));
}

void add_steps(std::string& text, const Terms& t) {
  if (t.hops > 0) add(text, "%.0f x %.3g us within", t.hops, t.hop);
  if (t.hops > 0 && t.hops_across > 0) text += " + ";
  if (t.hops_across > 0) add(text, "%.0f x %.3g us across", t.hops_across, t.hop_across);
  if (t.hops + t.hops_across == 0) text += "0";
}

void add_transfer(std::string& text, const Terms& t, const GroupPlacement& g, double bytes) {
  const bool within = t.within_factor > 0 && g.within.value > 0;
  const bool across = t.across_factor > 0;
  if (within && across) text += "max(";
  if (within) {
    add(text, "%.4g x %.6g GB / %.4g GB/s within", t.within_factor, bytes / 1e9,
        g.within.value / 1e9);
  }
  if (within && across) text += ", ";
  if (across) {
    add(text, "%.4g x %.6g GB / %.4g GB/s across", t.across_factor, bytes / 1e9,
        g.across.value / 1e9);
  }
  if (within && across) text += ")";
  if (!within && !across) text += "0";
}

// start + (a + b + sqrt((a - b)^2 + 4 c a b)) / 2 + 2 k sqrt(a b) with the values.
std::string formula(const Terms& t, const GroupPlacement& placed, const Group& g, double bytes) {
  std::string text;
  add(text, "start %.4g us + combined(a = ", t.start);
  add_steps(text, t);
  text += ", b = ";
  add_transfer(text, t, placed, bytes);
  add(text, "; c = %.3g, k = %.3g) = %.6g us", t.exposed, t.fill, time(t, g, bytes));
  return text;
}

}  // namespace

Seconds collective_time(const Network& network, CollectiveKind kind, Bytes total,
                        const GroupPlacement& group) {
  if (group.size < 2) return {};
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  double best = std::numeric_limits<double>::infinity();
  for_each(network, kind, group, g, false, [&](Algorithm, Protocol, bool, const Terms& t) {
    const double a = steps(t);
    const double b = transfer(t, g, bytes);
    best = std::min(best, t.start + combined(t, a, b));
  });
  return micro(best);
}

std::vector<AlgorithmTime> collective_algorithms(const Network& network, CollectiveKind kind,
                                                 Bytes total, const GroupPlacement& group) {
  std::vector<AlgorithmTime> times;
  if (group.size < 2) return times;
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  const auto visit = [&](Algorithm algorithm, Protocol protocol, bool offered, const Terms& t) {
    const Seconds taken = micro(time(t, g, bytes));
    auto at = std::ranges::find(times, algorithm, &AlgorithmTime::algorithm);
    if (at != times.end() && at->time <= taken) return;
    if (at == times.end()) at = times.insert(times.end(), AlgorithmTime{});
    *at = {.algorithm = algorithm,
           .protocol = protocol,
           .offered = offered,
           .time = taken,
           .start = micro(t.start),
           .steps = micro(steps(t)),
           .transfer = micro(transfer(t, g, bytes)),
           .formula = formula(t, group, g, bytes)};
  };
  for_each(network, kind, group, g, true, visit);
  std::ranges::sort(times, [](const AlgorithmTime& a, const AlgorithmTime& b) {
    return std::tie(a.time, a.algorithm) < std::tie(b.time, b.algorithm);
  });
  return times;
}

}  // namespace stepscope
