// SPDX-License-Identifier: Apache-2.0
// The speed of reading memory snapshots and computing their account, on one core: parse_pickle, the
// snapshot from it, its account, and all together, compared with memchr over the same bytes. Usage:
// memory_snapshot [FILE]. The default is a generated training run of some hundred thousand events.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "tests/memory/simulated_training.h"
#include "tests/memory/written_snapshot.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

struct Stage {
  std::string name;
  std::vector<double> seconds{};
};

template <class Work>
void timed(Stage& stage, Work work) {
  const auto begin = Clock::now();
  work();
  stage.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
}

// Keeps the compiler from dropping the measured work.
std::uint64_t kept = 0;

void round_of(const std::string& bytes, std::vector<Stage>& stages) {
  std::string copy = bytes;
  const auto whole = Clock::now();
  Result<PlainTree> tree = Error{};
  timed(stages[0], [&] { tree = parse_pickle(std::move(copy), "made"); });
  if (!tree) std::abort();
  Result<MemorySnapshot> snapshot = Error{};
  timed(stages[1], [&] { snapshot = memory_snapshot_of(*tree, "made"); });
  if (!snapshot) std::abort();
  timed(stages[2], [&] { kept += memory_account(*snapshot).devices.size(); });
  stages[3].seconds.push_back(std::chrono::duration<double>(Clock::now() - whole).count());
  timed(stages[4], [&] {
    for (const char* at = bytes.data(); at != nullptr;) {
      at = static_cast<const char*>(
          std::memchr(at, '\xff', bytes.size() - static_cast<std::size_t>(at - bytes.data())));
      if (at == nullptr) break;
      ++at;
      ++kept;
    }
  });
}

int run(const std::string& bytes) {
  std::vector<Stage> stages = {
      {"parse_pickle"}, {"memory_snapshot_of"}, {"memory_account"}, {"all three"}, {"memchr"}};
  for (int i = 0; i < 7; ++i) round_of(bytes, stages);
  fmt::print("{:.1f} MB\n", static_cast<double>(bytes.size()) / 1e6);
  for (Stage& s : stages) {
    std::ranges::sort(s.seconds, std::ranges::greater{});
    const auto rate = [&](double seconds) {
      return static_cast<double>(bytes.size()) / 1e6 / seconds;
    };
    fmt::print("{:<22} {:8.0f} {:8.0f} {:8.0f} MB/s (min, median, max)\n", s.name,
               rate(s.seconds.front()), rate(s.seconds[s.seconds.size() / 2]),
               rate(s.seconds.back()));
  }
  return kept == 0 ? 1 : 0;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  using namespace stepscope;
  if (argc > 1) {
    std::ifstream file(argv[1], std::ios::binary);
    return run(std::string((std::istreambuf_iterator<char>(file)), {}));
  }
  return run(testing::pickled(
      testing::simulated_training({.layers = 60, .steps = 600, .width = 400'000}, 1).allocator));
}
