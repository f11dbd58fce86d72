// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/thread_group.h"

#include "engine/comm/window/window_group.h"
#include "stepscope/crew/cores.h"

namespace stepscope {

Result<std::vector<std::unique_ptr<Communicator>>> make_thread_group(int ranks, Bytes bucket) {
  if (ranks < 1 || ranks > most_sharing_ranks) {
    return Error{.what = "a group cannot have " + std::to_string(ranks) + " ranks",
                 .hint = "1 to " + std::to_string(most_sharing_ranks)};
  }
  const auto window = comm::Window::create(comm::window_shape(ranks, bucket));
  if (!window) return window.error();
  std::vector<std::unique_ptr<Communicator>> group;
  group.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    comm::WindowGroupSetup setup;
    setup.window = *window;
    setup.rank = r;
    setup.spin = ranks <= usable_cores();
    group.push_back(std::make_unique<comm::WindowGroup>(std::move(setup)));
  }
  return group;
}

}  // namespace stepscope
