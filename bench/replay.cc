// SPDX-License-Identifier: Apache-2.0
// replay TABLE [ROUNDS]: the cost of replaying a job's table of operations, on one thread. It
// compares one replay of all steps with the floor: reading each column and index of a replay once
// and writing as much. Then it times the construction of the graph, and the sweep that makes each
// worker alone ideal.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/read/job_table/job_table.h"

namespace stepscope::bench {
namespace {

template <class Timed>
double seconds_of(Timed timed) {
  const auto begin = std::chrono::steady_clock::now();
  timed();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Spread {
  std::vector<double> all;

  [[nodiscard]] double at(double quantile) const {
    std::vector<double> sorted = all;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1))];
  }
};

void print(const char* what, const Spread& s, double scale, const char* unit) {
  fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} | {} |\n", what, s.at(0) * scale, s.at(0.5) * scale,
             s.at(1) * scale, unit);
}

// Reads each column and index once, and writes the ends.
std::int64_t floor_of(const JobReplay& replay, std::vector<Ns>& ends) {
  const std::uint64_t indices =
      std::accumulate(replay.graph.preds.begin(), replay.graph.preds.end(), std::uint64_t{0}) +
      std::accumulate(replay.graph.first_pred.begin(), replay.graph.first_pred.end(),
                      std::uint64_t{0});
  const Ns* const work = replay.work.data();
  const std::size_t columns = replay.work.size();
  for (std::size_t i = 0; i < ends.size(); ++i)
    ends[i] = work[i < columns ? i : i - columns] + Ns{1};
  return static_cast<std::int64_t>(indices) + ends.back().count();
}

struct Case {
  JobOperations table;
  JobLayout layout;
  JobReplay replay;

  [[nodiscard]] std::size_t workers() const {
    return layout.dp_ranks.size() * static_cast<std::size_t>(layout.stages);
  }
  // The durations if only this worker is ideal.
  void mend(std::size_t worker, std::vector<Lasting>& lasting) const {
    const std::size_t stages = static_cast<std::size_t>(layout.stages);
    const std::size_t ops = layout.ops.size();
    for (std::size_t c = 0; c < lasting.size(); ++c) {
      const auto stage = static_cast<std::size_t>(layout.ops[c % ops].stage);
      lasting[c] = c / ops * stages + stage == worker ? Lasting::ideal : Lasting::recorded;
    }
  }
  // Memory held or needed at once: the rows by cell, work and launch delays, and either the
  // measurements during the graph's construction or the ends of a replay.
  [[nodiscard]] double bytes() const {
    const auto columns = static_cast<double>(replay.work.size());
    const auto nodes = static_cast<double>(replay.graph.size() * replay.steps);
    const auto graph =
        static_cast<double>(replay.graph.preds.size() + replay.graph.first_pred.size()) * 4;
    return columns * (4 + 8 + 8) + graph + std::max(columns * 3 * 8, nodes * 8);
  }
};

struct Times {
  Spread one;
  Spread floor;
  Spread ratio;
  Spread make;
  Spread sweep;
};

Times measure(const Case& c, int rounds) {
  Times times;
  ReplayRoom room;
  const std::vector<Lasting> recorded(c.replay.cells(), Lasting::recorded);
  std::vector<Lasting> lasting = recorded;
  std::vector<Ns> ends(c.replay.graph.size() * c.replay.steps);
  std::int64_t kept = 0;
  for (int round = 0; round < rounds; ++round) {
    times.one.all.push_back(
        seconds_of([&] { kept += step_times(c.replay, recorded, room).front().count(); }));
    times.floor.all.push_back(seconds_of([&] { kept += floor_of(c.replay, ends); }));
    times.ratio.all.push_back(times.one.all.back() / times.floor.all.back());
    times.make.all.push_back(seconds_of([&] {
      const auto again = lay_out(c.table);
      kept += make_job_replay(c.table, *again).measured.front().count();
    }));
    times.sweep.all.push_back(seconds_of([&] {
      for (std::size_t w = 0; w < c.workers(); ++w) {
        c.mend(w, lasting);
        kept += step_times(c.replay, lasting, room).front().count();
      }
    }));
  }
  if (kept == 0) fmt::print("\n");  // keeps the work from being optimised away
  return times;
}

int run(const std::string& path, int rounds) {
  auto table = read_job_table(path);
  auto layout = table ? lay_out(table->operations) : Result<JobLayout>(table.error());
  if (!layout) {
    fmt::print(stderr, "{}\n", layout.error().message());
    return 1;
  }
  Case c{.table = std::move(table->operations), .layout = std::move(*layout), .replay = {}};
  c.replay = make_job_replay(c.table, c.layout);
  const auto nodes = static_cast<double>(c.replay.graph.size() * c.replay.steps);
  fmt::print("{} operations, {} steps, {} workers, {} nodes ({:.2f} waits each)\n\n",
             c.table.size(), c.replay.steps, c.workers(), nodes,
             static_cast<double>(c.replay.graph.preds.size()) /
                 static_cast<double>(c.replay.graph.size()));
  const Times t = measure(c, rounds);
  fmt::print("| | min | median | max | |\n|---|---|---|---|---|\n");
  print("one replay of all steps", t.one, 1e3, "ms");
  print("floor", t.floor, 1e3, "ms");
  print("replay / floor", t.ratio, 1, "");
  print("layout and graph", t.make, 1e3, "ms");
  print("every worker mended alone", t.sweep, 1e3, "ms");
  fmt::print(
      "\nreplay: {:.1f} M nodes/s; graph and replay: {:.1f} M nodes/s; {:.1f} bytes a node "
      "at most\n",
      nodes / t.one.at(0.5) / 1e6, nodes / (t.one.at(0.5) + t.make.at(0.5)) / 1e6,
      c.bytes() / nodes);
  return 0;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: replay TABLE [ROUNDS]\n");
    return 2;
  }
  return stepscope::bench::run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 30);
}
