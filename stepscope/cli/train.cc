// SPDX-License-Identifier: Apache-2.0
// `stepscope train`: starts the ranks, in processes or threads, watches over them and starts them
// again from the last checkpoint where that is asked for; or is one of those that an MPI launcher
// has started.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/rank_processes.h"
#include "stepscope/cli/rank_transport.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/train_run.h"
#include "stepscope/cli/train_setup.h"
#include "stepscope/comm/communicator/cores.h"
#include "stepscope/comm/groups/shm_group.h"
#include "stepscope/comm/groups/thread_group.h"

namespace stepscope {
namespace {

int train_threads(const TrainFlags& flags, int ranks) {
  auto group = make_thread_group(ranks);
  if (!group) return refused(group.error());
  const StopFlag& stop = stop_on_signals();
  std::vector<int> codes(static_cast<std::size_t>(ranks), exit_done);
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < codes.size(); ++r)
      threads.emplace_back([&, r] { codes[r] = train_rank(flags, std::move((*group)[r]), stop); });
  }
  for (const int code : codes)
    if (code != exit_done) return code == exit_lost_peer ? exit_failed : code;
  return exit_done;
}

// One of the processes that a launcher has started; rank 0 says what is wrong with the command.
int train_launched(const TrainFlags& flags, RankTransport transport) {
  const LaunchedRank own = launched_rank().value_or(LaunchedRank{});
  if (flags.restarts > 0) {
    const Error error{.what = "--restarts: ranks that a launcher has started, it alone can restart",
                      .hint = "start the job again with --resume"};
    return own.rank == 0 ? refused(error) : exit_usage;
  }
  return run_as_mpi_rank(transport, [&](std::unique_ptr<Communicator> comm) {
    const int code = train_rank(flags, std::move(comm), stop_on_signals());
    return code == exit_lost_peer ? exit_failed : code;
  });
}

bool ends_a_rank(const Fault& fault) {
  return fault.kind == FaultKind::kill || fault.kind == FaultKind::stop;
}

int train(TrainFlags flags) {
  const int cores = comm::usable_cores();
  const int ranks = flags.ranks > 0 ? flags.ranks : cores;
  if (!flags.offload.empty() && flags.isolate)
    return refused({.what = "--isolate measures steps whose states are all in memory",
                    .hint = "leave out --offload or --isolate"});
  const auto launched = is_spawned_rank() ? std::nullopt : launched_rank();
  const auto transport =
      rank_transport(is_spawned_rank() ? "shm" : flags.transport, flags.ranks, launched);
  if (!transport) {
    const bool speaks = !launched || launched->rank == 0;
    return speaks ? refused(transport.error()) : exit_usage;
  }
  flags.transport = transport_name(*transport);
  if (*transport == RankTransport::mpi || *transport == RankTransport::mpi_messages)
    return train_launched(flags, *transport);
  if (is_spawned_rank())
    return run_as_rank([&](std::unique_ptr<Communicator> comm) {
      return train_rank(flags, std::move(comm), stop_on_signals());
    });
  const auto settings = train_settings(flags, ranks);
  if (!settings) return refused(settings.error());
  if (ranks > cores)
    fmt::print(stderr, "stepscope: {} ranks share {} cores: times show the sharing\n", ranks,
               cores);
  if (*transport == RankTransport::threads || ranks == 1) {
    if (std::ranges::any_of(settings->faults, ends_a_rank))
      return refused({.what = "--inject kill and stop need ranks that are processes",
                      .hint = "use --transport shm and two ranks or more"});
    return train_threads(flags, ranks);
  }
  RankCommand command{.ranks = ranks, .restarts = flags.restarts, .again = {"--restarted"}};
  if (!flags.resume) command.again.emplace_back("--resume");
  return run_rank_processes(command);
}

}  // namespace

std::function<int()> declare_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  declare(app, *flags);
  return [flags] { return train(*flags); };
}

}  // namespace stepscope
