// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/contention.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/base/run_sort.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_runs = 3;

struct Run {
  StringId name;
  StringId shape;
  NameClass kind;
  std::int64_t ns;
  bool overlapped;

  [[nodiscard]] auto key() const { return std::tuple(index(name), index(shape), overlapped); }
};

// Shapes of operators by external id; sorted.
using Shapes = std::vector<std::pair<std::uint32_t, StringId>>;

Shapes recorded_shapes(const Trace& trace) {
  const Slices& s = trace.slices;
  Shapes shapes;
  for (std::uint32_t i = 0; trace.ops.size() > 0 && i < s.size(); ++i) {
    if (s.category[i] != Category::cpu_op || s.external_id[i] == 0 || s.detail[i] == no_row)
      continue;
    shapes.emplace_back(s.external_id[i], trace.ops.input_dims[s.detail[i]]);
  }
  run_sort(shapes, [](const auto& a, const auto& b) { return a.first < b.first; });
  return shapes;
}

StringId shape_of(const Shapes& shapes, std::uint32_t id) {
  const auto at =
      std::lower_bound(shapes.begin(), shapes.end(), id,
                       [](const auto& shape, std::uint32_t i) { return shape.first < i; });
  return id != 0 && at != shapes.end() && at->first == id ? at->second : empty_string;
}

// Runs of compute kernels that communication does not touch, or covers for at least half.
std::vector<Run> compute_runs(const Trace& trace, const DeviceLane& lane) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> comm;
  for (const SliceId op : lane.ops)
    if (trace.is_communication(op)) extend(comm, s.start[index(op)], s.end(op), op);
  std::vector<Run> runs;
  const Shapes shapes = comm.empty() ? Shapes{} : recorded_shapes(trace);
  if (shapes.empty()) return runs;
  for (const SliceId op : lane.ops) {
    if (!trace.is_compute(op)) continue;
    const Ns length = s.dur[index(op)];
    Ns covered{};
    cut(
        comm, s.start[index(op)], s.end(op), [&](Ns from, Ns to, SliceId) { covered += to - from; },
        [](Ns, Ns) {});
    if (length == Ns{} || (covered > Ns{} && 2 * covered < length)) continue;
    const StringId shape = shape_of(shapes, s.external_id[index(op)]);
    if (shape == empty_string) continue;
    runs.push_back({s.name[index(op)], shape, s.kind[index(op)], length.count(), covered > Ns{}});
  }
  return runs;
}

bool of_one_kind(std::span<const std::int64_t> sorted, double middle) {
  const double low = quantile_sorted(sorted, 0.1).value_or(0);
  const double high = quantile_sorted(sorted, 0.9).value_or(0);
  return high - low <= 0.5 * middle;
}

std::optional<Contention> compare(const Trace& trace, const Run& run,
                                  std::span<const std::int64_t> alone,
                                  std::span<const std::int64_t> overlapped) {
  if (alone.size() < least_runs || overlapped.size() < least_runs) return std::nullopt;
  const double middle = quantile_sorted(alone, 0.5).value_or(0);
  if (middle <= 0 || !of_one_kind(alone, middle)) return std::nullopt;
  const double shared = quantile_sorted(overlapped, 0.5).value_or(0);
  Contention c;
  c.name = trace.strings[run.name];
  c.kind = run.kind;
  c.shape = trace.strings[run.shape];
  c.alone = Ns{static_cast<std::int64_t>(middle)};
  c.overlapped = Ns{static_cast<std::int64_t>(shared)};
  c.slowdown = shared / middle;
  c.count = overlapped.size();
  c.lost = (c.overlapped - c.alone) * static_cast<std::int64_t>(c.count);
  return c;
}

}  // namespace

std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane, std::size_t most) {
  std::vector<Run> runs = compute_runs(trace, lane);
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tuple(a.key(), a.ns) < std::tuple(b.key(), b.ns);
  });
  std::vector<std::int64_t> times(runs.size());
  std::transform(runs.begin(), runs.end(), times.begin(), [](const Run& run) { return run.ns; });
  std::vector<Contention> rows;
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t shared = first;  // where the overlapped runs of this kernel begin
    std::size_t last = first;
    for (; last < runs.size() && runs[last].name == runs[first].name &&
           runs[last].shape == runs[first].shape;
         ++last)
      if (!runs[last].overlapped) shared = last + 1;
    const std::span<const std::int64_t> all(times);
    const auto row = compare(trace, runs[first], all.subspan(first, shared - first),
                             all.subspan(shared, last - shared));
    if (row) rows.push_back(*row);
    first = last;
  }
  // Rows are in the order in which their names were first read, which differs between readings.
  std::sort(rows.begin(), rows.end(), [](const Contention& a, const Contention& b) {
    return std::tie(b.lost, a.name, a.shape) < std::tie(a.lost, b.name, b.shape);
  });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

}  // namespace stepscope
