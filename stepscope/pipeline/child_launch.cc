// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/child_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace stepscope {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Its process group has its number. Signals that this program catches are at their default there.
int start(std::vector<std::string> words, const std::string& log, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGXFSZ}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF));
  const int failed = ::posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                                    pointers(words).data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failed;
}

// True once it has ended.
bool ended(pid_t child, int& status) { return ::waitpid(child, &status, WNOHANG) == child; }

bool ends_within(pid_t child, int& status, std::chrono::duration<double> time) {
  const auto until = SteadyClock::now() + time;
  while (!ended(child, status)) {
    if (SteadyClock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void end_group(pid_t child) {
  int status = 0;
  ::kill(-child, SIGTERM);
  if (!ends_within(child, status, std::chrono::seconds(2))) {
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  ::kill(-child, SIGKILL);  // what it left behind
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words, const std::string& log,
                      const ChildLimits& limits) {
  pid_t child = 0;
  if (const int failed = start(words, log, child); failed != 0)
    return Error{.what = fmt::format("cannot be started: {}", std::strerror(failed)),
                 .file = words.front(),
                 .hint = "give the path of a program, or a shell's command line in quotes"};
  const auto begin = SteadyClock::now();
  int status = 0;
  auto pause = std::chrono::milliseconds(1);
  while (!ended(child, status)) {
    const bool stop = limits.stop != nullptr && limits.stop->requested();
    const std::chrono::duration<double> took = SteadyClock::now() - begin;
    if (stop || (limits.seconds && took.count() > *limits.seconds)) {
      end_group(child);
      return Error{
          .what = stop ? "interrupted" : fmt::format("took longer than {:g} s", *limits.seconds),
          .file = words.back(),
          .hint = stop ? "" : "give it more time with --timeout",
          .code = stop ? ErrorCode::interrupted : ErrorCode::failed};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace stepscope
