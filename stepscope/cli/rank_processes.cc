// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/rank_processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/say.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/comm/groups/shm_group.h"

namespace stepscope {
namespace {

// This process's own program and arguments, whatever argv[0] says.
std::vector<std::string> own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::string> argv;
  for (std::size_t at = 0; at < all.size();) {
    argv.emplace_back(all.c_str() + at);
    at += argv.back().size() + 1;
  }
  if (!argv.empty()) argv[0] = "/proc/self/exe";
  return argv;
}

// Exit code, and whether a rank died or hung.
struct Ended {
  int code = exit_done;
  bool lost = false;
};

Ended run_once(const std::vector<std::string>& argv, int ranks) {
  Failures failures;
  // After a failure ranks say within moments what they lack.
  const auto report = spawn_ranks(argv, ranks, {.grace = std::chrono::seconds(2)});
  if (!report) {
    failures.add(report.error());
    return {.code = exit_failed};
  }
  if (report->interrupted_by != 0) return {.code = exit_interrupted};
  if (!report->first_failed) return {};
  const auto rank = static_cast<std::size_t>(*report->first_failed);
  const RankExit& end = report->ranks[rank];
  if (end.status == exit_lost_peer) return {.code = exit_failed, .lost = true};
  if (end.signal == 0) return {.code = end.status};
  failures.add({.what = fmt::format("rank {} (process {}) was ended by signal {} ({})", rank,
                                    end.pid, end.signal, strsignal(end.signal)),
                .hint = "the other ranks were stopped"});
  return {.code = exit_failed, .lost = true};
}

}  // namespace

int run_as_rank(const std::function<int(std::unique_ptr<Communicator>)>& rank) {
  auto comm = join_shm_group();
  if (comm) return rank(std::move(*comm));
  Failures failures;
  failures.add(comm.error());
  return exit_lost_peer;
}

int run_rank_processes(const RankCommand& command) {
  std::vector<std::string> argv = own_command();
  Ended ended = run_once(argv, command.ranks);
  argv.insert(argv.end(), command.again.begin(), command.again.end());
  for (int i = 0; i < command.restarts && ended.lost; ++i) {
    say("stepscope: starting again ({} of {})\n", i + 1, command.restarts);
    ended = run_once(argv, command.ranks);
  }
  return ended.code;
}

}  // namespace stepscope
