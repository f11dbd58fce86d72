// SPDX-License-Identifier: Apache-2.0
// Starts the ranks, as threads or processes, watches over them and starts them again from the last
// checkpoint where that is asked for; or is one of those that something else has started.
#include "engine/train/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/comm/groups/mpi_group.h"
#include "engine/comm/groups/rank_processes.h"
#include "engine/comm/groups/rank_transport.h"
#include "engine/comm/groups/shm_group.h"
#include "engine/comm/groups/thread_group.h"
#include "engine/train/train_rank.h"
#include "engine/train/train_settings.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/crew/cores.h"
#include "stepscope/face/tree/version.h"

namespace stepscope {
namespace {

Error refused_request(Error error) {
  error.code = ErrorCode::refused;
  return error;
}

void note_shared_cores(const TrainProgress& progress, int ranks, int cores) {
  if (ranks > cores)
    progress.say(TrainNote::Kind::shared_cores,
                 fmt::format("{} ranks share {} cores: times show the sharing", ranks, cores));
}

// The first rank that knows why it failed speaks for the job; what the others know is said too.
Result<TrainResult> of_threads(std::vector<std::optional<Result<TrainResult>>> ends,
                               const TrainProgress& progress) {
  const Error* first = nullptr;
  for (const auto& end : ends) {
    if (*end) continue;
    const Error& error = end->error();
    if (first == nullptr || first->code == ErrorCode::reported) first = &error;
  }
  if (first == nullptr) return std::move(**ends.front());
  for (const auto& end : ends) {
    if (*end || &end->error() == first) continue;
    const ErrorCode code = end->error().code;
    if (code != ErrorCode::reported && code != ErrorCode::refused) progress.fail(end->error());
  }
  return *first;
}

Result<TrainResult> train_threads(const TrainRequest& request, int ranks,
                                  const TrainProgress& progress) {
  auto group = make_thread_group(ranks);
  if (!group) return group.error();
  if (progress.begins) progress.begins();
  std::vector<std::optional<Result<TrainResult>>> ends(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ends.size(); ++r)
      threads.emplace_back(
          [&, r] { ends[r] = train_rank(request, std::move((*group)[r]), progress); });
  }
  return of_threads(std::move(ends), progress);
}

// In one of the processes that a launcher has started.
Result<TrainResult> train_launched(const TrainRequest& request, RankTransport transport,
                                   const TrainProgress& progress) {
  if (request.restarts > 0)
    return refused_request(
        {.what = "--restarts: ranks that a launcher has started, it alone can restart",
         .hint = "start the job again with --resume"});
  auto comm = join_launched(transport);
  if (!comm) return comm.error();
  if ((*comm)->rank() == 0)
    note_shared_cores(progress, mpi_ranks_of_host(),
                      static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  if (progress.begins) progress.begins();
  auto result = train_rank(request, std::move(*comm), progress);
  // A rank that fails ends the job: it does not wait for the others at its end. A refusal is of
  // all.
  if (!result && result.error().code != ErrorCode::refused) abandon_mpi();
  return result;
}

// In one of the processes that run_rank_processes() has started.
Result<TrainResult> train_spawned(TrainRequest request, const TrainProgress& progress) {
  auto comm = join_shm_group();
  if (!comm) {
    Error error = comm.error();
    if (error.code != ErrorCode::other_rank) error.code = ErrorCode::group_failed;
    return error;
  }
  if (rank_restarts() > 0) request.resume = true;
  if (progress.begins) progress.begins();
  return train_rank(request, std::move(*comm), progress);
}

Result<TrainResult> train_processes(const TrainRequest& request, int ranks,
                                    const TrainProgress& progress) {
  const auto restarting = [&](int number, const Error& why) {
    if (why.code != ErrorCode::reported) progress.say(TrainNote::Kind::restarting, why.message());
    progress.say(TrainNote::Kind::restarting,
                 fmt::format("starting again ({} of {})", number, request.restarts));
  };
  const auto done = run_rank_processes({.ranks = ranks,
                                        .restarts = request.restarts,
                                        .restarting = restarting,
                                        .stop = progress.stop});
  if (!done) return done.error();
  return TrainResult{.has_results = false};
}

// By arithmetic: no rank is started. If a launcher has started several processes, one has the plan.
Result<TrainResult> plan_training(const TrainRequest& request,
                                  const std::optional<LaunchedRank>& launched) {
  if (launched && launched->rank > 0) return TrainResult{.has_results = false};
  const int known = request.ranks > 0 || !launched ? request.ranks : launched->ranks;
  const int ranks = known > 0 ? known : usable_cores();
  const auto settings = train_settings(request, ranks);
  if (!settings) return settings.error();
  auto plan = zero::Engine::plan_for(settings->engine, request.plan_rank.value_or(0), ranks);
  if (!plan) return plan.error();
  TrainResult result{.plan = *std::move(plan), .plan_of_one_rank = request.plan_rank.has_value()};
  result.version = version();
  result.setup.model = request.preset;
  return result;
}

}  // namespace

Result<TrainResult> train(const TrainRequest& asked, const TrainProgress& progress) {
  TrainRequest request = asked;
  if (request.offload.any() && request.isolate)
    return refused_request({.what = "--isolate measures steps whose states are all in host memory",
                            .hint = "leave out --offload or --isolate"});
  const bool spawned = is_spawned_rank() && request.transport != "threads";
  const auto launched = spawned ? std::nullopt : launched_rank();
  if (request.plan_only) return plan_training(request, launched);
  const auto transport =
      rank_transport(spawned ? "shm" : request.transport, request.ranks, launched);
  if (!transport) return refused_request(transport.error());
  request.transport = transport_name(*transport);
  if (*transport == RankTransport::mpi || *transport == RankTransport::mpi_messages)
    return train_launched(request, *transport, progress);
  if (spawned) return train_spawned(std::move(request), progress);
  const int cores = usable_cores();
  const int ranks = request.ranks > 0 ? request.ranks : cores;
  if (const auto settings = train_settings(request, ranks); !settings) return settings.error();
  note_shared_cores(progress, ranks, cores);
  if (*transport == RankTransport::shm && ranks > 1)
    return train_processes(request, ranks, progress);
  if (std::ranges::any_of(request.faults, ends_a_rank))
    return refused_request({.what = "--inject kill and stop need ranks that are processes",
                            .hint = "use --transport shm and two ranks or more"});
  return train_threads(request, ranks, progress);
}

}  // namespace stepscope
