// SPDX-License-Identifier: Apache-2.0
#include "engine/train/calibrate_here.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "engine/comm/groups/mpi_group.h"
#include "engine/comm/groups/rank_processes.h"
#include "engine/comm/groups/rank_transport.h"
#include "engine/comm/groups/shm_group.h"
#include "engine/measure/calibrate.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/crew/cores.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/calibrate/calibrate_views.h"

namespace stepscope {
namespace {

int calibrate_rank(const CalibrateFlags& flags, Communicator* comm) {
  Failures failures;
  const auto result = calibrate(
      {.comm = comm, .transport = flags.transport, .drive = flags.drive, .quick = flags.quick});
  const bool first = comm == nullptr || comm->rank() == 0;
  if (!result) {
    if (first) failures.add(result.error());
    return exit_failed;
  }
  if (!first) return exit_done;
  failures.keep(write_file(flags.file, machine_text(result->made.machine)));
  if (failures.any()) return exit_failed;
  if (flags.out.has_tree()) write_tree(flags.out, calibrate_tree(*result, flags.file), failures);
  if (flags.out.prints())
    print_text(fmt::format("{}\n{}: a machine for --machine of predict, plan, analyze and train\n",
                           calibration_text(*result, text_options(flags.out.html)), flags.file));
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

// What kept ranks from measuring, unless another process says it; the exit code.
int failed(const Error& error) {
  if (error.code == ErrorCode::interrupted) return exit_interrupted;
  Failures failures;
  if (error.code != ErrorCode::reported) failures.add(error);
  return exit_failed;
}

// One of the processes that a launcher has started.
int calibrate_launched(const CalibrateFlags& flags, RankTransport transport) {
  const auto comm = join_launched(transport);
  if (!comm) return failed(comm.error());
  const int rank = (*comm)->rank();
  const int ranks = (*comm)->size();
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (rank == 0 && mpi_ranks_of_host() > cores)
    say("stepscope: {} ranks share {} cores: times show the sharing\n", mpi_ranks_of_host(), cores);
  if (mpi_ranks_of_host() != ranks) {
    if (rank != 0) return exit_usage;
    return refused({.what = "calibrate: the ranks are on several hosts, a machine file is of one",
                    .hint = "start all ranks on one host, and calibrate each kind of host"});
  }
  const int code = calibrate_rank(flags, ranks == 1 ? nullptr : comm->get());
  if (code == exit_failed) abandon_mpi();  // else all ranks end alike
  return code;
}

int calibrate_spawned(const CalibrateFlags& flags) {
  const auto comm = join_shm_group();
  if (comm) return calibrate_rank(flags, comm->get());
  (void)failed(comm.error());
  return lost_peer_status;
}

}  // namespace

int calibrate_here(const CalibrateFlags& asked) {
  CalibrateFlags flags = asked;
  const int ranks = flags.ranks > 0 ? flags.ranks : usable_cores();
  const bool spawned = is_spawned_rank();
  const auto launched = spawned ? std::nullopt : launched_rank();
  const auto transport = rank_transport(spawned ? "shm" : flags.transport, flags.ranks, launched);
  if (!transport) return speaks_for_launched() ? refused(transport.error()) : exit_usage;
  flags.transport = transport_name(*transport);
  if (*transport != RankTransport::shm) return calibrate_launched(flags, *transport);
  if (spawned) return calibrate_spawned(flags);
  if (ranks == 1) return calibrate_rank(flags, nullptr);
  const auto done = run_rank_processes({.ranks = ranks});
  return done ? static_cast<int>(exit_done) : failed(done.error());
}

}  // namespace stepscope
