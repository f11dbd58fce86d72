// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/mpi_job.h"

#ifdef STEPSCOPE_HAS_MPI

#include <cstdlib>

namespace stepscope {

bool& mpi_failed() noexcept {
  static bool failed = false;
  return failed;
}

namespace {

bool mpi_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

void finalize() {
  if (!mpi_ended() && !mpi_failed()) MPI_Finalize();  // otherwise the launcher ends the job
}

constexpr std::size_t block_bytes = 64;

MPI_Datatype block_type() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

class MpiGathering final : public GatheringGroup {
 public:
  explicit MpiGathering(MPI_Comm group) : group_(group) {
    MPI_Comm_rank(group_, &rank_);
    MPI_Comm_size(group_, &size_);
  }
  MpiGathering(const MpiGathering&) = delete;
  MpiGathering& operator=(const MpiGathering&) = delete;
  ~MpiGathering() override {
    if (!mpi_ended() && !mpi_failed()) MPI_Comm_free(&group_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const bool blocks = own.size() % block_bytes == 0;
    const auto count = static_cast<int>(own.size() / (blocks ? block_bytes : 1));
    const MPI_Datatype type = blocks ? block_type() : MPI_BYTE;
    MPI_Iallgather(own.data(), count, type, all.data(), count, type, group_, &gathering_);
  }
  [[nodiscard]] bool gathered() override {
    int done = 0;
    MPI_Test(&gathering_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  [[nodiscard]] std::unique_ptr<GatheringGroup> subgroup(std::span<const int> ranks) override {
    int color = MPI_UNDEFINED;
    int key = 0;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      if (ranks[place] != rank_) continue;
      color = 0;
      key = static_cast<int>(place);
    }
    MPI_Comm split = MPI_COMM_NULL;
    MPI_Comm_split(group_, color, key, &split);
    return split == MPI_COMM_NULL ? nullptr : std::make_unique<MpiGathering>(split);
  }

 private:
  MPI_Comm group_;
  MPI_Request gathering_ = MPI_REQUEST_NULL;
  int rank_ = 0;
  int size_ = 1;
};

std::unique_ptr<GatheringGroup> make_world() {
  return std::make_unique<MpiGathering>(open_mpi_world());
}

HostRanks of_this_host() {
  static const HostRanks here = ranks_on_this_host(MPI_COMM_WORLD);
  return here;
}

}  // namespace

MPI_Comm open_mpi_world() {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit(finalize);
  }
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  return world;
}

HostRanks ranks_on_this_host(MPI_Comm group) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(group, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  HostRanks here;
  MPI_Comm_size(host, &here.count);
  MPI_Comm_rank(group, &here.first);
  MPI_Allreduce(MPI_IN_PLACE, &here.first, 1, MPI_INT, MPI_MIN, host);
  MPI_Comm_free(&host);
  return here;
}

}  // namespace stepscope

const stepscope::MpiJob* stepscope_mpi_job() {
  static const stepscope::MpiJob job = {stepscope::make_world, stepscope::of_this_host,
                                        [] { stepscope::mpi_failed() = true; }};
  return &job;
}

#endif
