// SPDX-License-Identifier: Apache-2.0
// `stepscope train`: starts the ranks, in processes or threads, watches over them and starts them
// again from the last checkpoint where that is asked for.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/rank_processes.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/train_run.h"
#include "stepscope/cli/train_setup.h"
#include "stepscope/comm/cores.h"
#include "stepscope/comm/shm_group.h"
#include "stepscope/comm/thread_group.h"

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
    if (code != exit_done) return code;
  return exit_done;
}

int train(const TrainFlags& flags) {
  const int cores = comm::usable_cores();
  const int ranks = flags.ranks > 0 ? flags.ranks : cores;
  if (flags.transport == "mpi")
    return refused({.what = "--transport mpi: this command starts its ranks itself",
                    .hint = "use shm or threads"});
  if (!flags.offload.empty() || flags.isolate)
    return refused({.what = "--offload and --isolate are not built yet", .hint = "leave them out"});
  if (is_spawned_rank())
    return run_as_rank([&](std::unique_ptr<Communicator> comm) {
      return train_rank(flags, std::move(comm), stop_on_signals());
    });
  if (const auto settings = train_settings(flags, ranks); !settings)
    return refused(settings.error());
  if (ranks > cores)
    fmt::print(stderr, "stepscope: {} ranks share {} cores: times show the sharing\n", ranks,
               cores);
  if (flags.transport == "threads" || ranks == 1) return train_threads(flags, ranks);
  const RankCommand command{
      .ranks = ranks,
      .restarts = flags.restarts,
      .again = flags.resume ? std::vector<std::string>{} : std::vector<std::string>{"--resume"}};
  return run_rank_processes(command);
}

}  // namespace

std::function<int()> declare_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  declare(app, *flags);
  return [flags] { return train(*flags); };
}

}  // namespace stepscope
