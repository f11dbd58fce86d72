// SPDX-License-Identifier: Apache-2.0
#include "tests/hang/simulated_job.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace stepscope::hang {
namespace {

constexpr int world = 8;

using Random = std::mt19937_64;
std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

// By level: all ranks, groups of four, groups of two.
std::size_t group_of(std::size_t level, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return level == 0 ? 0 : level == 1 ? 1 + r / 4 : 3 + r % 4;
}

struct Item {
  std::size_t level = 0;
  std::string operation;
  std::int64_t count = 0;
};

std::vector<Item> program(Random& random) {
  constexpr std::array<const char*, 4> operations = {"all_reduce", "all_gather", "reduce_scatter",
                                                     "broadcast"};
  std::vector<Item> items;
  const std::size_t length = 24 + below(random, 40);
  for (std::size_t i = 0; i < length; ++i)
    items.push_back({below(random, 3), operations[below(random, operations.size())],
                     static_cast<std::int64_t>(16 + 8 * below(random, 1000) + i)});
  return items;
}

// A call completes when it is the next call of all members and all made the same call.
void run_on(SimulatedJob& job, const std::vector<std::vector<JobCall>>& wanted) {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t g = 0; g < job.groups.size(); ++g) {
      const JobCall* first = nullptr;
      bool all = true;
      for (const int r : job.groups[g]) {
        const auto rank = static_cast<std::size_t>(r);
        const std::size_t at = job.ranks[rank].done;
        if (at == wanted[rank].size() || wanted[rank][at].group != g) {
          all = false;
          break;
        }
        const JobCall& call = wanted[rank][at];
        if (first == nullptr) first = &call;
        all = all && call.operation == first->operation && call.count == first->count;
      }
      if (!all) continue;
      for (const int r : job.groups[g]) ++job.ranks[static_cast<std::size_t>(r)].done;
      moved = true;
    }
  }
}

std::int64_t ordinal_of(const std::vector<JobCall>& calls, std::size_t at) {
  return std::count_if(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(at),
                       [&](const JobCall& c) { return c.group == calls[at].group; });
}

}  // namespace

SimulatedJob simulate(Fault fault, std::uint64_t seed) {
  Random random(seed);
  SimulatedJob job;
  job.fault = fault;
  job.groups = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  std::vector<Item> items = program(random);
  std::size_t at = 8 + below(random, items.size() - 14);
  if (fault == Fault::behind) at = items.size() - 1;
  if (fault == Fault::order || fault == Fault::count) items[at].level = below(random, 2);
  if (fault == Fault::order) {
    items[at + 1].level = items[at].level;
    items[at + 1].operation = items[at].operation == "all_reduce" ? "all_gather" : "all_reduce";
  }
  job.rank = static_cast<int>(below(random, world));
  std::vector<std::vector<JobCall>> wanted(world);
  for (int r = 0; r < world; ++r)
    for (const Item& item : items)
      wanted[static_cast<std::size_t>(r)].push_back(
          {group_of(item.level, r), item.operation, item.count});
  std::vector<JobCall>& wrong = wanted[static_cast<std::size_t>(job.rank)];
  job.group = wrong[at].group;
  job.ordinal = ordinal_of(wrong, at);
  job.operation = wrong[at].operation;
  if (fault == Fault::missing || fault == Fault::behind || fault == Fault::no_record)
    wrong.resize(at);
  if (fault == Fault::order) std::swap(wrong[at], wrong[at + 1]);
  if (fault == Fault::count) wrong[at].count += 1;
  job.ranks.resize(world);
  run_on(job, wanted);
  for (std::size_t r = 0; r < world; ++r) {
    // The host has enqueued calls behind the one in which its rank waits.
    const std::size_t ahead = 1 + 1 + below(random, 3);
    job.ranks[r].calls = wanted[r];
    job.ranks[r].calls.resize(std::min(wanted[r].size(), job.ranks[r].done + ahead));
  }
  return job;
}

}  // namespace stepscope::hang
