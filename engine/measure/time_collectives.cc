// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/time_collectives.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::array<CollectiveKind, 3> kinds = {
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

struct Buffers {
  std::vector<float> in;
  std::vector<float> out;
};

// `share` elements per rank.
Result<Ticket> submit(Communicator& comm, CollectiveKind kind, std::size_t share, Buffers& b) {
  const std::size_t all = share * static_cast<std::size_t>(comm.size());
  const std::span<float> in(b.in);
  const std::span<float> out(b.out);
  constexpr std::string_view what = "calibrate";
  switch (kind) {
    case CollectiveKind::all_gather:
      return all_gather(comm, in.first(share), out.first(all), what);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(comm, in.first(all), out.first(share), what);
    default:
      return all_reduce(comm, out.first(all), what);
  }
}

Result<double> time_once(Communicator& comm, CollectiveKind kind, std::size_t share, Buffers& b) {
  if (auto together = wait_for(comm, barrier(comm)); !together) return together.error();
  const auto times = wait_for(comm, submit(comm, kind, share, b));
  if (!times) return times.error();
  return static_cast<double>(
      (times->finished - times->last_arrival.value_or(times->submitted)).count());
}

Result<Done> slowest_rank(Communicator& comm, std::vector<double>& ns) {
  const auto agreed = wait_for(comm, all_reduce(comm, ns, "calibrate: times", Reduction::max));
  if (!agreed) return agreed.error();
  return Done{};
}

// The timing of one size, without its group and bytes.
Result<CollectiveTiming> time_size(Communicator& comm, CollectiveKind kind, std::size_t share,
                                   const LinkSweep& sweep, Buffers& b) {
  // The first call touches memory. The second shows how many calls fit into the time.
  std::vector<double> ns(1);
  for (int i = 0; i < 2; ++i) {
    const auto once = time_once(comm, kind, share, b);
    if (!once) return once.error();
    ns[0] = *once;
  }
  if (auto agreed = slowest_rank(comm, ns); !agreed) return agreed.error();
  const double fits = static_cast<double>(sweep.time_a_size.count()) / std::max(1.0, ns[0]);
  const auto calls = static_cast<std::size_t>(
      std::clamp(fits, static_cast<double>(sweep.least), static_cast<double>(sweep.most)));
  ns.assign(calls, 0);
  for (double& t : ns) {
    const auto once = time_once(comm, kind, share, b);
    if (!once) return once.error();
    t = *once;
  }
  if (auto agreed = slowest_rank(comm, ns); !agreed) return agreed.error();
  const auto at_least = [](double t) { return Seconds{std::max(1.0, t) * 1e-9}; };
  return CollectiveTiming{.kind = kind,
                          .group = {},
                          .bytes = {},
                          .time = at_least(upper_median(ns)),
                          .algorithm = {},
                          .spread = TimingSpread{.low = at_least(*quantile(ns, 0.1)),
                                                 .high = at_least(*quantile(ns, 0.9)),
                                                 .calls = calls}};
}

}  // namespace

Result<std::vector<CollectiveTiming>> time_collectives(Communicator& comm, const LinkSweep& sweep) {
  std::vector<CollectiveTiming> timings;
  const int n = comm.size();
  if (n < 2) return timings;
  check(sweep.from.value > 0 && sweep.to >= sweep.from && sweep.sizes_per_octave > 0 &&
            sweep.least > 0,
        "a sweep has sizes and calls");
  const auto elements = [&](double bytes) {
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(bytes / (static_cast<double>(sizeof(float)) * n)));
  };
  Buffers buffers;
  const auto most = elements(static_cast<double>(sweep.to.value)) * static_cast<std::size_t>(n);
  buffers.in.assign(most, 1.0F);
  buffers.out.assign(most, 0.0F);
  const auto from = static_cast<double>(sweep.from.value);
  const double octaves = std::log2(static_cast<double>(sweep.to.value) / from);
  const int last = static_cast<int>(octaves * sweep.sizes_per_octave + 1e-3);
  for (const CollectiveKind kind : kinds) {
    for (int i = 0; i <= last; ++i) {
      const std::size_t share =
          elements(from * std::exp2(static_cast<double>(i) / sweep.sizes_per_octave));
      auto timed = time_size(comm, kind, share, sweep, buffers);
      if (!timed) return timed.error();
      CollectiveTiming timing = *timed;
      timing.bytes = Bytes{static_cast<std::int64_t>(share * sizeof(float)) * n};
      timing.group.size = n;
      timing.group.members = n;
      timings.push_back(timing);
    }
  }
  return timings;
}

}  // namespace stepscope
