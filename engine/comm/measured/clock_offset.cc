// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/clock_offset.h"

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace stepscope {
namespace {

constexpr int round_trips = 64;
constexpr std::string_view what = "clocks of hosts";

Result<Done> answer(Communicator& comm, const HostClock& clock, int rank) {
  std::array<std::int64_t, 1> time{};
  for (int i = 0; i < round_trips; ++i) {
    if (auto asked = wait_for(comm, recv(comm, time, rank, what)); !asked) return asked.error();
    time[0] = clock.now().count();
    if (auto told = wait_for(comm, send(comm, time, rank, what)); !told) return told.error();
  }
  return Done{};
}

Result<ClockOffset> ask(Communicator& comm, const HostClock& clock) {
  ClockOffset best{.offset = {}, .uncertainty = Ns::max()};
  std::array<std::int64_t, 1> time{};
  for (int i = 0; i < round_trips; ++i) {
    const Ns begin = clock.now();
    if (auto sent = wait_for(comm, send(comm, time, 0, what)); !sent) return sent.error();
    if (auto told = wait_for(comm, recv(comm, time, 0, what)); !told) return told.error();
    const Ns half = (clock.now() - begin + Ns{1}) / 2;
    if (half < best.uncertainty) best = {Ns{time[0]} - (begin + half), half};
  }
  return best;
}

}  // namespace

HostClock host_clock() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return {.boot = static_cast<std::int64_t>(std::hash<std::string>{}(text))};
}

Result<ClockOffset> clock_offset(Communicator& comm, const HostClock& clock) {
  std::vector<std::int64_t> boots(static_cast<std::size_t>(comm.size()));
  const std::array<std::int64_t, 1> own = {clock.boot};
  if (auto told = wait_for(comm, all_gather(comm, own, boots, what)); !told) return told.error();
  ClockOffset offset;
  for (int rank = 1; rank < comm.size(); ++rank) {
    if (boots[static_cast<std::size_t>(rank)] == boots[0]) continue;
    if (comm.rank() == 0) {
      if (auto done = answer(comm, clock, rank); !done) return done.error();
    } else if (comm.rank() == rank) {
      auto measured = ask(comm, clock);
      if (!measured) return measured;
      offset = *measured;
    }
  }
  return offset;
}

}  // namespace stepscope
