// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/shm_group.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "engine/comm/window/window_join.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

std::optional<int> number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const auto value = number_of<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

bool is_spawned_rank() { return std::getenv("STEPSCOPE_SHM_FD") != nullptr; }

Result<std::unique_ptr<Communicator>> join_shm_group(Ns deadline) {
  const auto rank = number_in_environment("STEPSCOPE_RANK");
  const auto ranks = number_in_environment("STEPSCOPE_RANKS");
  const auto descriptor = number_in_environment("STEPSCOPE_SHM_FD");
  if (!rank || !ranks || !descriptor) {
    return Error{.what = "this process is no rank of a local group",
                 .hint =
                     "STEPSCOPE_RANK, STEPSCOPE_RANKS and STEPSCOPE_SHM_FD come from "
                     "spawn_ranks"};
  }
  auto window = comm::Window::map(*descriptor);
  if (!window) return window.error();
  if ((*window)->ranks() != *ranks || *rank >= *ranks) {
    return Error{.what = "the shared memory is for " + std::to_string((*window)->ranks()) +
                         " ranks; this is rank " + std::to_string(*rank) + " of " +
                         std::to_string(*ranks)};
  }
  if ((*window)->control(*rank).state.load() != comm::RankState::absent) {
    return Error{.what = "rank " + std::to_string(*rank) + " has joined before",
                 .hint = "join once a process; use subgroups for other groups"};
  }
  ::close(*descriptor);
  return comm::join_window(std::move(*window), *rank, "world", deadline);
}

}  // namespace stepscope
