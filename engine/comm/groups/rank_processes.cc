// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/rank_processes.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/groups/shm_group.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

constexpr std::string_view restarts_name = "STEPSCOPE_RESTARTS";

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

struct RanksEnd {
  Result<Done> done = Done{};
  bool lost = false;  // a rank died or hung
};

RanksEnd run_once(const std::vector<std::string>& argv, const RankLaunch& launch, int restart) {
  if (argv.empty())
    return {.done = Error{.what = "this process's command line cannot be read",
                          .file = "/proc/self/cmdline",
                          .hint = "mount /proc: the ranks are started with the same command"}};
  // After a failure ranks say within moments what they lack.
  const auto report =
      spawn_ranks(argv, launch.ranks,
                  {.grace = std::chrono::seconds(2),
                   .environment = {std::string(restarts_name) + "=" + std::to_string(restart)},
                   .stop = launch.stop});
  if (!report) return {.done = report.error()};
  if (report->interrupted_by != 0) return {.done = interrupted()};
  if (!report->first_failed) return {};
  const auto rank = static_cast<std::size_t>(*report->first_failed);
  const RankExit& end = report->ranks[rank];
  if (end.status == interrupted_status && end.signal == 0) return {.done = interrupted()};
  if (end.signal == 0)
    return {.done = Error{.what = "rank " + std::to_string(rank) + " ended with status " +
                                  std::to_string(end.status),
                          .code = ErrorCode::reported},
            .lost = end.status == lost_peer_status};
  return {.done = Error{.what = "rank " + std::to_string(rank) + " (process " +
                                std::to_string(end.pid) + ") was ended by signal " +
                                std::to_string(end.signal) + " (" + strsignal(end.signal) + ")",
                        .hint = "the other ranks were stopped"},
          .lost = true};
}

}  // namespace

Result<Done> run_rank_processes(const RankLaunch& launch) {
  const std::vector<std::string> argv = own_command();
  RanksEnd end = run_once(argv, launch, 0);
  for (int i = 1; i <= launch.restarts && end.lost; ++i) {
    if (launch.restarting) launch.restarting(i, end.done.error());
    if (launch.stop != nullptr && launch.stop->requested()) return interrupted();
    end = run_once(argv, launch, i);
  }
  return end.done;
}

int rank_restarts() {
  const char* text = is_spawned_rank() ? std::getenv(restarts_name.data()) : nullptr;
  return text == nullptr ? 0 : leading_number<int>(text).value_or(0);
}

}  // namespace stepscope
