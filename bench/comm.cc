// SPDX-License-Identifier: Apache-2.0
// comm [--rounds N] [--bucket BYTES] [--mpi PROGRAM]: times reduce-scatter, all-gather and
// all-reduce of two processes over shared memory. It compares them in turn with the memory's limit
// (STREAM: non-temporal copy and add of the same blocks, both processes at once, in the same run)
// and with Open MPI (bench/comm_mpi under mpirun). Prints Markdown: medians over the rounds, ratios
// as median (min … max).
#include <immintrin.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/child_process.h"
#include "bench/comm_timing.h"
#include "engine/comm/collectives/reduce.h"
#include "engine/comm/communicator/copy.h"
#include "engine/comm/groups/shm_group.h"

namespace stepscope::bench {
namespace {

constexpr int ranks = 2;
constexpr std::size_t bound_streams_from = 1 << 20;  // bytes of the whole message

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "comm: %s\n", why.c_str());
  std::exit(1);
}

void finish(Communicator& comm, const Result<Ticket>& ticket) {
  if (const auto done = wait_for(comm, ticket); !done) stop(done.error().message());
}

struct Buffers {
  std::vector<float> in;
  std::vector<float> out;
};

// The floor of each collective on one rank, without any exchange.
void time_floor(Communicator& comm, std::size_t bytes, Buffers& at, std::array<double, 2>& took) {
  const std::size_t half = bytes / ranks;
  const auto* first = reinterpret_cast<const std::byte*>(at.in.data());
  auto* out = reinterpret_cast<std::byte*>(at.out.data());
  const std::array<const std::byte*, 2> sources{first, first + half};
  const auto nothing = [] {};
  const auto meet = [&comm] { finish(comm, barrier(comm)); };
  const int times = repetitions(bytes);
  took[0] = median_seconds(times, nothing, meet, [&] {
    comm::reduce_in_order(ElementType::f32, Reduction::sum, sources, out, half,
                          bytes >= bound_streams_from);
  });
  took[1] = median_seconds(times, nothing, meet, [&] {
    comm::copy_message(out, first, half, bytes >= bound_streams_from);
  });
}

int run_rank() {
  auto joined = join_shm_group();
  if (!joined) stop(joined.error().message());
  Communicator& comm = **joined;
  for (const std::size_t bytes : comm_sizes) {
    const std::size_t count = bytes / sizeof(float);
    Buffers at{std::vector<float>(count), std::vector<float>(count)};
    const std::span<float> all(at.in);
    const auto block =
        all.subspan(count / ranks * static_cast<std::size_t>(comm.rank()), count / ranks);
    const auto out = std::span(at.out).first(count / ranks);
    const auto refill = [&] { std::ranges::fill(at.in, static_cast<float>(comm.rank())); };
    const auto meet = [&comm] { finish(comm, barrier(comm)); };
    const int times = repetitions(bytes);
    const std::array<double, 3> took = {
        median_seconds(times, refill, meet,
                       [&] { finish(comm, reduce_scatter(comm, all, out, "bench")); }),
        median_seconds(times, refill, meet,
                       [&] { finish(comm, all_gather(comm, block, all, "bench")); }),
        median_seconds(times, refill, meet, [&] { finish(comm, all_reduce(comm, all, "bench")); })};
    std::array<double, 2> floor{};
    time_floor(comm, bytes, at, floor);
    if (comm.rank() != 0) continue;
    print_row("reduce_scatter", bytes, took[0]);
    print_row("all_gather", bytes, took[1]);
    print_row("all_reduce", bytes, took[2]);
    print_row("stream_add", bytes, floor[0]);
    print_row("stream_copy", bytes, floor[1]);
  }
  return 0;
}

int spawn(const std::string& self, const std::string& bucket) {
  SpawnOptions options;
  options.bucket = {std::atoll(bucket.c_str())};
  const auto report = spawn_ranks(std::vector<std::string>{self, "rank"}, ranks, options);
  if (!report) stop(report.error().message());
  return report->first_failed ? 1 : 0;
}

using Key = std::pair<std::string, std::size_t>;
using Samples = std::map<Key, std::vector<double>>;

void add_rows(const std::string& text, const std::string& prefix, Samples& samples) {
  std::istringstream in(text);
  std::string what;
  std::size_t bytes = 0;
  double seconds = 0;
  while (in >> what >> bytes >> seconds) samples[{prefix + what, bytes}].push_back(seconds);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string time_text(double seconds) {
  std::array<char, 32> text{};
  if (seconds < 1e-3) {
    std::snprintf(text.data(), text.size(), "%.1f µs", seconds * 1e6);
  } else {
    std::snprintf(text.data(), text.size(), "%.2f ms", seconds * 1e3);
  }
  return text.data();
}

// The ratios of two quantities measured in the same rounds.
std::string ratio_text(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i) {
    ratios.push_back(above[i] / below[i]);
  }
  if (ratios.empty()) return "-";
  std::ranges::sort(ratios);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f (%.2f … %.2f)", ratios[ratios.size() / 2],
                ratios.front(), ratios.back());
  return text.data();
}

// The memory's limit: reduce-scatter adds two blocks into a third, all-gather copies one,
// all-reduce does both.
std::vector<double> floor_of(const std::string& what, std::size_t bytes, const Samples& samples) {
  const auto& add = samples.at({"stream_add", bytes});
  const auto& copy = samples.at({"stream_copy", bytes});
  if (what == "reduce_scatter") return add;
  if (what == "all_gather") return copy;
  std::vector<double> both(add);
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += copy[i];
  return both;
}

void print_table(const Samples& samples) {
  std::printf(
      "| f32, 2 processes | size | shared memory | GB/s | STREAM's bound | bound / ours | "
      "Open MPI | Open MPI / ours |\n|---|---|---|---|---|---|---|---|\n");
  for (const char* what : {"reduce_scatter", "all_gather", "all_reduce"}) {
    for (const std::size_t bytes : comm_sizes) {
      const auto& ours = samples.at({what, bytes});
      const auto floor = floor_of(what, bytes, samples);
      const auto peer = samples.find({std::string("mpi_") + what, bytes});
      const bool has_peer = peer != samples.end();
      std::printf("| %s | %zu KiB | %s | %.2f | %s | %s | %s | %s |\n", what, bytes / 1024,
                  time_text(median(ours)).c_str(), static_cast<double>(bytes) / median(ours) / 1e9,
                  time_text(median(floor)).c_str(), ratio_text(floor, ours).c_str(),
                  has_peer ? time_text(median(peer->second)).c_str() : "-",
                  has_peer ? ratio_text(peer->second, ours).c_str() : "-");
    }
  }
}

struct Flags {
  int rounds = 5;
  std::string bucket = std::to_string(default_bucket.value);
  std::string mpi;
};

int measure(const std::string& self, const Flags& flags) {
  Samples samples;
  for (int round = 0; round < flags.rounds; ++round) {
    const auto ours = run_process({self, "spawn", flags.bucket});
    if (!ours || ours->status != 0) stop("the ranks failed");
    add_rows(ours->output, "", samples);
    if (flags.mpi.empty()) continue;
    const auto peer = run_process({"mpirun", "-n", "2", flags.mpi});
    if (!peer || peer->status != 0) stop("mpirun failed");
    add_rows(peer->output, "mpi_", samples);
  }
  std::printf("%d rounds, bucket %s bytes\n\n", flags.rounds, flags.bucket.c_str());
  print_table(samples);
  return 0;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  using namespace stepscope::bench;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  if (words.size() == 1 && words[0] == "rank") return run_rank();
  if (words.size() == 2 && words[0] == "spawn") return spawn(self, words[1]);
  Flags flags;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--rounds") flags.rounds = std::atoi(words[i + 1].c_str());
    if (words[i] == "--bucket") flags.bucket = words[i + 1];
    if (words[i] == "--mpi") flags.mpi = words[i + 1];
  }
  return measure(self, flags);
}
