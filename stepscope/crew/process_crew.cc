// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/process_crew.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/crew/cores.h"
#include "stepscope/crew/launched_rank.h"
#include "stepscope/crew/mpi_library.h"
#include "stepscope/crew/peer_process.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

// Another process of this host.
struct Peer {
  int rank = 0;  // of the whole job
  PeerProcess process;
};

Result<Done> all_run(std::span<const Peer> peers) {
  for (const Peer& peer : peers)
    if (peer.process.dead())
      return Error{.what = "process " + std::to_string(peer.rank) + " has ended"};
  return Done{};
}

// The work between two meetings may take long, so there is no deadline. MPI cannot sleep: this
// polls all the time for a while, then now and then.
Result<Done> gather(GatheringGroup& group, std::span<const std::byte> own, std::span<std::byte> all,
                    std::span<const Peer> peers) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  group.gather(own, all);
  const auto begin = Clock::now();
  auto looked = begin;
  while (!group.gathered()) {
    const auto now = Clock::now();
    if (now - begin < microseconds(50)) continue;
    std::this_thread::sleep_for(now - begin < milliseconds(100) ? microseconds(20)
                                                                : milliseconds(1));
    if (now - looked < milliseconds(50)) continue;
    looked = now;
    const auto run = all_run(peers);
    if (!run && !group.gathered()) return run.error();
  }
  return Done{};
}

// Waits for all processes of the group.
Result<Done> meet(GatheringGroup& group, std::span<const Peer> peers) {
  const std::array<std::byte, 1> own{};
  std::vector<std::byte> all(static_cast<std::size_t>(group.size()));
  return gather(group, own, all, peers);
}

// Exchanges among `leaders`, if there are several. At its end it lets the others of this host go.
class ProcessCrew final : public Crew {
 public:
  ProcessCrew(std::unique_ptr<GatheringGroup> leaders, std::unique_ptr<GatheringGroup> host,
              std::vector<Peer> peers, CrewFailed failed)
      : leaders_(std::move(leaders)),
        host_(std::move(host)),
        peers_(std::move(peers)),
        failed_(std::move(failed)) {}
  ~ProcessCrew() override {
    if (std::uncaught_exceptions() > 0)
      leave_crew();
    else if (host_)
      std::ignore = meet(*host_, peers_);
  }
  [[nodiscard]] std::size_t rank() const override {
    return static_cast<std::size_t>(leaders_->rank());
  }
  [[nodiscard]] std::size_t size() const override {
    return static_cast<std::size_t>(leaders_->size());
  }
  [[nodiscard]] Exchanged exchange(std::string own) override {
    std::vector<std::uint64_t> sizes(size());
    const std::uint64_t mine = own.size();
    take(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(sizes)));
    const std::size_t most = (*std::ranges::max_element(sizes) + 63) / 64 * 64;
    Exchanged all;
    all.memory.resize(most * size());
    own.resize(most);
    if (most > 0) take(std::as_bytes(std::span(own)), all.memory);
    for (std::size_t r = 0; r < size(); ++r)
      all.of.emplace_back(reinterpret_cast<const char*>(all.memory.data()) + r * most, sizes[r]);
    return all;
  }

 private:
  void take(std::span<const std::byte> own, std::span<std::byte> all) {
    if (const auto met = gather(*leaders_, own, all, peers_); !met) failed_(met.error());
  }

  std::unique_ptr<GatheringGroup> leaders_;
  std::unique_ptr<GatheringGroup> host_;  // null: this process is alone there
  std::vector<Peer> peers_;
  CrewFailed failed_;
};

// What each process sends to the others at the start.
struct Introduction {
  std::int64_t first_of_host = 0;
  std::int64_t process = 0;
  std::uint64_t work = 0;  // a hash
  CoreMask cores{};
};

Result<std::vector<Introduction>> introduce(GatheringGroup& world, const Introduction& own) {
  std::vector<Introduction> all(static_cast<std::size_t>(world.size()));
  const auto met =
      gather(world, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)), {});
  if (!met) return met.error();
  if (std::ranges::any_of(all, [&](const Introduction& i) { return i.work != all[0].work; }))
    return Error{.what = "the launcher's processes were given different inputs",
                 .hint =
                     "give all of them the same, or start each by itself with "
                     "env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID"};
  return all;
}

// The others of this host.
std::vector<Peer> peers_of(std::span<const Introduction> all, int own) {
  std::vector<Peer> peers;
  const std::int64_t here = all[static_cast<std::size_t>(own)].first_of_host;
  for (int r = 0; r < static_cast<int>(all.size()); ++r) {
    const Introduction& other = all[static_cast<std::size_t>(r)];
    if (r != own && other.first_of_host == here)
      peers.push_back({r, PeerProcess(static_cast<pid_t>(other.process))});
  }
  return peers;
}

bool every_process_computes() {
  const char* text = std::getenv("STEPSCOPE_PROCESSES");
  return text != nullptr && std::string_view(text) == "apart";
}

}  // namespace

Result<LaunchedCrew> launched_crew(std::string_view work, CrewFailed failed) {
  const auto launched = launched_rank();
  if (!launched || launched->ranks == 1) return LaunchedCrew{};
  const auto job = mpi_job();
  if (!job) return job.error();
  const auto world = (*job)->world();
  if (world->size() < 2 && launched->ranks == 0) return LaunchedCrew{};
  if (world->size() < 2)
    return Error{.what = "the launcher started " + std::to_string(launched->ranks) +
                         " processes, and MPI joins none of them",
                 .hint = "use the mpirun of this MPI, or srun --mpi=pmix (srun --mpi=list)"};
  const int own = world->rank();
  const HostRanks here = (*job)->on_this_host();
  const auto all = introduce(*world, {.first_of_host = here.first,
                                      .process = ::getpid(),
                                      .work = std::hash<std::string_view>{}(work),
                                      .cores = core_mask()});
  if (!all) return all.error();
  std::vector<Peer> peers = peers_of(*all, own);
  const bool apart = every_process_computes();
  std::map<std::int64_t, std::vector<int>> hosts;  // ranks, by the first of them
  for (int r = 0; r < world->size(); ++r)
    hosts[apart ? r : (*all)[static_cast<std::size_t>(r)].first_of_host].push_back(r);
  std::unique_ptr<GatheringGroup> host;
  std::vector<int> firsts;
  CoreMask cores{};
  unsigned processes = 1;
  for (const auto& [first, ranks] : hosts) {
    firsts.push_back(static_cast<int>(first));
    if (ranks.size() < 2) continue;
    auto group = world->subgroup(ranks);
    if (group == nullptr) continue;
    host = std::move(group);
    processes = static_cast<unsigned>(ranks.size());
    for (const int r : ranks)
      for (std::size_t word = 0; word < cores.size(); ++word)
        cores[word] |= (*all)[static_cast<std::size_t>(r)].cores[word];
  }
  auto leaders = world->subgroup(firsts);
  if (leaders == nullptr) {
    if (const auto met = meet(*host, peers); !met) failed(met.error());
    return LaunchedCrew{.crew = nullptr, .lent = true};
  }
  if (host && !run_on(cores)) processes = 1;
  const int usable = usable_cores() / (apart ? std::max(1, here.count) : 1);
  return LaunchedCrew{.crew = std::make_unique<ProcessCrew>(std::move(leaders), std::move(host),
                                                            std::move(peers), std::move(failed)),
                      .processes = processes,
                      .cores = static_cast<unsigned>(std::max(1, usable))};
}

int launched_number() {
  const auto launched = launched_rank();
  return launched ? launched->rank : 0;
}

void leave_crew() noexcept {
  if (const auto job = mpi_job()) (*job)->abandon();
}

}  // namespace stepscope
