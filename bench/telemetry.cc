// SPDX-License-Identifier: Apache-2.0
// bench/telemetry [ROUNDS]: the cost of a RankRecorder's record to the training thread, in ns,
// compared with reading the clock. Each round times a batch of every call and of an empty reading
// of the recorder's clock, interleaved. Prints minimum, median and maximum over rounds. If a call
// reads the clock, it also prints the median difference to the empty reading of the same round.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/telemetry/range.h"
#include "engine/telemetry/rank_recorder.h"
#include "stepscope/stats/summary.h"

namespace {

using namespace stepscope;

constexpr int batch = 2000;  // shorter than a time slice of a busy machine

struct Row {
  std::string name;
  int readings = 0;  // of the clock, in each call
  std::vector<double> ns;
};

template <class Call>
double ns_per(const Call& call) {
  const Ns start = host_now();
  for (int i = 0; i < batch; ++i) {
    call(i);
    asm volatile("" ::: "memory");  // keeps calls separate
  }
  return static_cast<double>((host_now() - start).count()) / batch;
}

struct Bench {
  RankRecorder recorder{{.world = 2,
                         .units = std::vector<std::string>(64, "unit"),
                         .groups = {{"world", 2}},
                         .steps = 1,
                         .collectives = 2 * batch}};
  SpanRing ring{1 << 16};
  RankWindow window;
  std::vector<Row> rows{{"clock: the recorder's", 1, {}},
                        {"clock: clock_gettime", 0, {}},
                        {"enter", 1, {}},
                        {"enter_at", 0, {}},
                        {"layer", 0, {}},
                        {"pass", 0, {}},
                        {"collective", 0, {}},
                        {"transfer", 0, {}},
                        {"prefetch", 0, {}},
                        {"memory", 0, {}},
                        {"end_step_at", 0, {}},
                        {"end_step", 1, {}},
                        {"Range", 2, {}}};

  CollectiveRecord call_at(int i, Ns now) const {
    const Ns begin = now + Ns{i * 1000};
    return {.kind = CollectiveKind::all_gather,
            .purpose = CollectivePurpose::parameters,
            .sequence = static_cast<std::uint64_t>(i),
            .bytes = Bytes{1 << 20},
            .submitted = begin,
            .last_arrival = begin + Ns{300},
            .finished = begin + Ns{900},
            .stall = Ns{100}};
  }

  void round() {
    const RangeRecording recording(ring);
    std::int64_t sink = 0;
    const Ns now = recorder.now();
    std::size_t row = 0;
    const auto time = [&](const auto& call) { rows[row++].ns.push_back(ns_per(call)); };
    time([&](int) { sink += recorder.now().count(); });
    time([&](int) { sink += host_now().count(); });
    time([&](int i) { recorder.enter(static_cast<Activity>(i % 11)); });
    time([&](int i) { recorder.enter_at(static_cast<Activity>(i % 11), now + Ns{i * 50}); });
    time([&](int i) {
      recorder.layer(static_cast<std::uint16_t>(i % 64),
                     (i & 64) != 0 ? Activity::backward : Activity::forward, Ns{1000 + i});
    });
    time([&](int i) { recorder.pass(TrainingPass::forward, Ns{1000 + i}, 128); });
    time([&](int i) { recorder.collective(call_at(i, now)); });
    time([&](int i) {
      const Ns begin = now + Ns{i * 100};
      recorder.transfer(TransferDirection::nvme_to_host, Bytes{4096}, begin, begin + Ns{90}, true);
    });
    time([&](int) { recorder.prefetch(PrefetchOutcome::hit, Bytes{4096}, Ns{}, Ns{500}); });
    time([&](int i) { recorder.memory(MemoryClass::activations, Bytes{i}, Bytes{i}); });
    const Ns later = recorder.now() + Ns{batch * 1000};
    time([&](int i) { recorder.end_step_at(later + Ns{i * 50}, 128, Flops{1e9}, Flops{1e9}); });
    time([&](int) { recorder.end_step(128, Flops{1e9}, Flops{1e9}); });
    time([&](int) { const Range range("layer 3"); });
    recorder.take_window(window);
    if (sink == 0) fmt::print("");
  }

  void print() const {
    fmt::print("{:24} {:>8} {:>8} {:>8}   {}\n", "ns a call", "min", "median", "max",
               "beside the clock (median)");
    for (const Row& row : rows) {
      std::vector<double> beside(row.ns);
      for (std::size_t i = 0; i < beside.size(); ++i) beside[i] -= row.readings * rows[0].ns[i];
      fmt::print("{:24} {:8.1f} {:8.1f} {:8.1f}   {:.1f}\n", row.name, std::ranges::min(row.ns),
                 *median(row.ns), std::ranges::max(row.ns), *median(beside));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.round();
  for (auto& row : bench.rows) row.ns.clear();
  for (int i = 0; i < rounds; ++i) bench.round();
  bench.print();
  return 0;
}
