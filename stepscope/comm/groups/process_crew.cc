// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/process_crew.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "stepscope/comm/communicator/cores.h"
#include "stepscope/comm/groups/mpi_group.h"

namespace stepscope {
namespace {

// The work between two meetings may take long. That a process has ended is found without a
// deadline.
constexpr Ns meeting_deadline = std::chrono::hours(24);

class ProcessCrew final : public Crew {
 public:
  ProcessCrew(std::unique_ptr<Communicator> group, CrewFailed failed)
      : group_(std::move(group)), failed_(std::move(failed)) {
    group_->set_deadline(meeting_deadline);
  }
  [[nodiscard]] std::size_t rank() const override {
    return static_cast<std::size_t>(group_->rank());
  }
  [[nodiscard]] std::size_t size() const override {
    return static_cast<std::size_t>(group_->size());
  }
  [[nodiscard]] Exchanged exchange(std::string own) override {
    std::vector<std::int64_t> sizes(size());
    const std::vector<std::int64_t> mine = {static_cast<std::int64_t>(own.size())};
    meet(all_gather(*group_, mine, sizes, "sizes of shares"));
    const auto most = static_cast<std::size_t>(*std::ranges::max_element(sizes));
    Exchanged all;
    all.memory.resize(most * size());
    own.resize(most);
    if (most > 0)
      meet(all_gather(*group_, std::as_bytes(std::span(own)), all.memory, "shares of an analysis"));
    for (std::size_t r = 0; r < size(); ++r)
      all.of.emplace_back(reinterpret_cast<const char*>(all.memory.data()) + r * most,
                          static_cast<std::size_t>(sizes[r]));
    return all;
  }

 private:
  void meet(const Result<Ticket>& ticket) {
    if (const auto met = wait_for(*group_, ticket); !met) failed_(met.error());
  }

  std::unique_ptr<Communicator> group_;
  CrewFailed failed_;
};

}  // namespace

Result<std::unique_ptr<Crew>> launched_crew(CrewFailed failed) {
  const auto launched = launched_rank();
  if (!launched || launched->ranks == 1) return std::unique_ptr<Crew>();
  auto group = make_mpi_group();
  if (!group) return group.error();
  if ((*group)->size() < 2 && launched->ranks == 0) return std::unique_ptr<Crew>();
  if ((*group)->size() < 2)
    return Error{.what = "the launcher started " + std::to_string(launched->ranks) +
                         " processes, and MPI joins none of them",
                 .hint = "use the mpirun of this MPI, or srun --mpi=pmix (srun --mpi=list)"};
  return std::unique_ptr<Crew>(std::make_unique<ProcessCrew>(*std::move(group), std::move(failed)));
}

unsigned threads_of_crew() {
  return static_cast<unsigned>(
      std::max(1, comm::usable_cores() / std::max(1, mpi_ranks_of_host())));
}

int launched_number() {
  const auto launched = launched_rank();
  return launched ? launched->rank : 0;
}

void leave_crew() noexcept { abandon_mpi(); }

}  // namespace stepscope
