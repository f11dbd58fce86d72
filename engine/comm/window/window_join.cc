// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/window/window_join.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/comm/communicator/futex.h"
#include "engine/comm/window/window_group.h"
#include "stepscope/crew/cores.h"

namespace stepscope::comm {
namespace {

void come(Window& window, int rank) {
  RankControl& own = window.control(rank);
  const CoreMask cores = core_mask();
  for (std::size_t i = 0; i < cores.size(); ++i) own.cores[i] = cores[i];
  own.pid = ::getpid();
  own.state = RankState::joined;
  for (int p = 0; p < window.ranks(); ++p) {
    if (p != rank) ring(window.control(p));
  }
}

// The first rank in this state, or -1.
int find_state(const Window& window, RankState state) {
  for (int p = 0; p < window.ranks(); ++p) {
    if (window.control(p).state.load() == state) return p;
  }
  return -1;
}

// Why the group did not form. All ranks know, and the first of them says it.
Error not_formed(Window& window, std::string what, std::string hint) {
  const bool first = window.control(0).told.exchange(1) == 0;
  return {.what = std::move(what),
          .hint = std::move(hint),
          .code = first ? ErrorCode::failed : ErrorCode::other_rank};
}

// "rank 533", "rank 533 and 490 others".
std::string absent_ranks(const Window& window, int first) {
  int others = 0;
  for (int p = first + 1; p < window.ranks(); ++p)
    if (window.control(p).state.load() == RankState::absent) ++others;
  std::string text = "rank " + std::to_string(first);
  if (others > 0) text += " and " + std::to_string(others) + (others == 1 ? " other" : " others");
  return text + " of " + std::to_string(window.ranks());
}

std::optional<Error> wait_for_all(Window& window, int rank, Ns deadline) {
  RankControl& own = window.control(rank);
  const Ns begin = monotonic_now();
  for (;;) {
    const std::uint32_t rings = own.doorbell.load();
    own.sleeping.store(1);
    const int missing = find_state(window, RankState::absent);
    const int dead = find_state(window, RankState::dead);
    if (missing >= 0 && dead < 0) futex_wait(own.doorbell, rings, look_interval);
    own.sleeping.store(0);
    if (dead >= 0) {
      return not_formed(window,
                        "rank " + std::to_string(rank) + ": rank " + std::to_string(dead) +
                            " ended before all ranks had come",
                        "see what it printed");
    }
    if (missing < 0) return std::nullopt;
    if (monotonic_now() - begin > deadline) {
      return not_formed(window,
                        "rank " + std::to_string(rank) + ": " + absent_ranks(window, missing) +
                            " did not come within the deadline",
                        "all ranks must join the group when they start; start fewer where the "
                        "machine is too slow for so many");
    }
  }
}

bool core_for_each(const Window& window) {
  CoreMask all{};
  for (int p = 0; p < window.ranks(); ++p) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= window.control(p).cores[i].load();
  }
  return window.ranks() <= count_cores(all);
}

}  // namespace

Result<std::unique_ptr<Communicator>> join_window(std::shared_ptr<Window> window, int rank,
                                                  std::string name, Ns deadline) {
  come(*window, rank);
  if (auto fault = wait_for_all(*window, rank, deadline)) return *fault;
  WindowGroupSetup setup;
  setup.rank = rank;
  setup.name = std::move(name);
  setup.deadline = deadline;
  setup.processes = true;
  setup.spin = core_for_each(*window);
  setup.window = std::move(window);
  return std::unique_ptr<Communicator>(std::make_unique<WindowGroup>(std::move(setup)));
}

}  // namespace stepscope::comm
