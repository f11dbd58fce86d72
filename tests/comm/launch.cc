// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace stepscope::comm_test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Launch::Launch(int ranks, const std::string& mode, long bucket, int grace_ms) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words{STEPSCOPE_COMM_RANK,      "spawn",
                                 std::to_string(ranks),    std::to_string(bucket),
                                 std::to_string(grace_ms), mode};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (failed != 0) throw std::runtime_error("cannot run " + words[0]);
}

Launch::~Launch() {
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_);
}

bool Launch::read_more() {
  std::array<char, 4096> block{};
  const ssize_t got = ::read(output_, block.data(), block.size());
  if (got > 0) printed_.append(block.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void Launch::read_until(const std::string& word, int lines) {
  const auto have = [&] {
    const auto all = lines_of(printed_);
    return std::ranges::count_if(
        all, [&](const std::string& line) { return line.find(word) != std::string::npos; });
  };
  while (have() < lines && read_more()) {
  }
}

int Launch::finish() {
  while (read_more()) {
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Launch::line(const std::string& beginning) const {
  for (const std::string& line : lines_of(printed_)) {
    if (line.starts_with(beginning)) return line.substr(beginning.size());
  }
  return {};
}

std::vector<pid_t> Launch::rank_pids() const {
  std::vector<pid_t> pids;
  for (const std::string& line : lines_of(printed_)) {
    const auto at = line.find(": pid ");
    if (at != std::string::npos) pids.push_back(std::stoi(line.substr(at + 6)));
  }
  return pids;
}

bool gone_within(const std::vector<pid_t>& pids, double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
    if (std::ranges::all_of(pids,
                            [](pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; })) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace stepscope::comm_test
