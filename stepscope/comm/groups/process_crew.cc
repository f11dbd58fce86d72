// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/process_crew.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/comm/communicator/cores.h"
#include "stepscope/comm/groups/mpi_group.h"

namespace stepscope {
namespace {

// The work between two meetings may take long. That a process has ended is found without a
// deadline.
constexpr Ns meeting_deadline = std::chrono::hours(24);

// Exchanges among `leaders`, if there are several. At its end it lets the others of this host go.
class ProcessCrew final : public Crew {
 public:
  ProcessCrew(std::unique_ptr<Communicator> leaders, std::unique_ptr<Communicator> host,
              CrewFailed failed)
      : leaders_(std::move(leaders)), host_(std::move(host)), failed_(std::move(failed)) {
    leaders_->set_deadline(meeting_deadline);
  }
  ~ProcessCrew() override {
    if (host_) std::ignore = wait_for(*host_, barrier(*host_, "end of the work of a host"));
  }
  [[nodiscard]] std::size_t rank() const override {
    return static_cast<std::size_t>(leaders_->rank());
  }
  [[nodiscard]] std::size_t size() const override {
    return static_cast<std::size_t>(leaders_->size());
  }
  [[nodiscard]] Exchanged exchange(std::string own) override {
    std::vector<std::int64_t> sizes(size());
    const std::vector<std::int64_t> mine = {static_cast<std::int64_t>(own.size())};
    meet(all_gather(*leaders_, mine, sizes, "sizes of shares"));
    const auto most = static_cast<std::size_t>(*std::ranges::max_element(sizes));
    Exchanged all;
    all.memory.resize(most * size());
    own.resize(most);
    if (most > 0)
      meet(all_gather(*leaders_, std::as_bytes(std::span(own)), all.memory,
                      "shares of an analysis"));
    for (std::size_t r = 0; r < size(); ++r)
      all.of.emplace_back(reinterpret_cast<const char*>(all.memory.data()) + r * most,
                          static_cast<std::size_t>(sizes[r]));
    return all;
  }

 private:
  void meet(const Result<Ticket>& ticket) {
    if (const auto met = wait_for(*leaders_, ticket); !met) failed_(met.error());
  }

  std::unique_ptr<Communicator> leaders_;
  std::unique_ptr<Communicator> host_;  // null: this process is alone there
  CrewFailed failed_;
};

// The message of each process to the others at the start.
struct Introduction {
  std::int64_t first_of_host = 0;
  std::uint64_t work = 0;  // a hash
  comm::CoreMask cores{};
};

Result<std::vector<Introduction>> introduce(Communicator& world, const Introduction& own) {
  std::vector<Introduction> all(static_cast<std::size_t>(world.size()));
  const auto met = wait_for(
      world, all_gather(world, std::as_bytes(std::span(&own, 1)),
                        std::as_writable_bytes(std::span(all)), "introduction of processes"));
  if (!met) return met.error();
  if (std::ranges::any_of(all, [&](const Introduction& i) { return i.work != all[0].work; }))
    return Error{.what = "the launcher's processes were given different inputs",
                 .hint =
                     "give all of them the same, or start each by itself with "
                     "env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID"};
  return all;
}

bool every_process_computes() {
  const char* text = std::getenv("STEPSCOPE_PROCESSES");
  return text != nullptr && std::string_view(text) == "apart";
}

}  // namespace

Result<LaunchedCrew> launched_crew(std::string_view work, CrewFailed failed) {
  const auto launched = launched_rank();
  if (!launched || launched->ranks == 1) return LaunchedCrew{};
  auto world = make_mpi_group();
  if (!world) return world.error();
  if ((*world)->size() < 2 && launched->ranks == 0) return LaunchedCrew{};
  if ((*world)->size() < 2)
    return Error{.what = "the launcher started " + std::to_string(launched->ranks) +
                         " processes, and MPI joins none of them",
                 .hint = "use the mpirun of this MPI, or srun --mpi=pmix (srun --mpi=list)"};
  const int own = (*world)->rank();
  const bool apart = every_process_computes();
  const auto all = introduce(**world, {.first_of_host = apart ? own : mpi_first_of_host(),
                                       .work = std::hash<std::string_view>{}(work),
                                       .cores = comm::core_mask()});
  if (!all) return all.error();
  std::map<int, std::vector<int>> hosts;  // ranks, by the first of them
  for (int r = 0; r < (*world)->size(); ++r)
    hosts[static_cast<int>((*all)[static_cast<std::size_t>(r)].first_of_host)].push_back(r);
  std::unique_ptr<Communicator> host;
  std::vector<int> firsts;
  comm::CoreMask cores{};
  unsigned processes = 1;
  for (const auto& [first, ranks] : hosts) {
    firsts.push_back(first);
    if (ranks.size() < 2) continue;
    auto group = (*world)->subgroup(ranks, "host of rank " + std::to_string(first));
    if (!group) return group.error();
    if (*group == nullptr) continue;
    host = *std::move(group);
    host->set_deadline(meeting_deadline);
    processes = static_cast<unsigned>(ranks.size());
    for (const int r : ranks)
      for (std::size_t word = 0; word < cores.size(); ++word)
        cores[word] |= (*all)[static_cast<std::size_t>(r)].cores[word];
  }
  auto leaders = (*world)->subgroup(firsts, "first processes of hosts");
  if (!leaders) return leaders.error();
  if (*leaders == nullptr) {
    const auto met = wait_for(*host, barrier(*host, "end of the work of a host"));
    if (!met) failed(met.error());
    return LaunchedCrew{.crew = nullptr, .lent = true};
  }
  if (host && !comm::run_on(cores)) processes = 1;
  const int usable = comm::usable_cores() / (apart ? std::max(1, mpi_ranks_of_host()) : 1);
  return LaunchedCrew{.crew = std::make_unique<ProcessCrew>(*std::move(leaders), std::move(host),
                                                            std::move(failed)),
                      .processes = processes,
                      .cores = static_cast<unsigned>(std::max(1, usable))};
}

int launched_number() {
  const auto launched = launched_rank();
  return launched ? launched->rank : 0;
}

void leave_crew() noexcept { abandon_mpi(); }

}  // namespace stepscope
