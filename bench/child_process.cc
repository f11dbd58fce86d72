// SPDX-License-Identifier: Apache-2.0
#include "bench/child_process.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "stepscope/base/freed_memory.h"

namespace stepscope::bench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

// Linux counts the peak of the process that starts a program as the program's own. Writing 5 makes
// this process's peak what it holds now (proc(5), clear_refs).
void forget_peak() {
  return_freed_memory();
  std::ofstream("/proc/self/clear_refs") << 5;
}

std::chrono::duration<double> seconds(const timeval& t) {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

}  // namespace

Result<ProcessUse> run_process(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return Error{.what = "no pipe for " + command[0]};
  std::vector<std::string> arguments = command;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  forget_peak();
  pid_t child = 0;
  const auto begin = std::chrono::steady_clock::now();
  const int failed = ::posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                    pointers(arguments).data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ProcessUse use;
  if (failed == 0) use.output = read_all(ends[0]);
  ::close(ends[0]);
  if (failed != 0) return Error{.what = "cannot run it", .file = command[0]};
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child) return Error{.what = "lost its child"};
  use.wall = std::chrono::steady_clock::now() - begin;
  use.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  use.cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  use.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  return use;
}

}  // namespace stepscope::bench
