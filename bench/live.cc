// SPDX-License-Identifier: Apache-2.0
// The cost of following a running job. A second process appends one line of NCCL Inspector a second
// to each of FILES files (4,096 by default, groups of 8 and of 512 ranks in turn). This process
// follows them once a second for SECONDS (60 by default) as `stepscope live` does, with metrics and
// JSON each time, and prints its processor time, its largest memory, and how much it read.
// Usage: live [FILES [SECONDS [DIRECTORY]]].
#include "stepscope/verbs/live/live.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "stepscope/verbs/live/live_json.h"
#include "stepscope/verbs/live/live_metrics.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

std::string path_of(const std::string& folder, int rank) {
  return fmt::format("{}/node{}-pid{}.log", folder, rank / 8, 1000 + rank);
}

std::string line_of(int rank, int files, int second) {
  const int size = second % 2 == 0 ? 8 : std::min(files, 512);
  const int group = second % 2 == 0 ? rank / 8 : rank % (files / size);
  const int member = second % 2 == 0 ? rank % 8 : rank / (files / size);
  const long long now = 1'750'000'000'000'000 + second * 1'000'000LL;
  return fmt::format(
      R"({{"header":{{"id":"0x7f8c49{:06x}{}","comm_name":"{} {}","rank":{},"n_ranks":{},)"
      R"("nnodes":{}}},"metadata":{{"inspector_output_format_version":"v4.2","git_rev":"",)"
      R"("rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":{},"hostname":"node{}",)"
      R"("pid":{}}},"coll_perf":{{"coll":"AllReduce","coll_algo":"RING","coll_proto":"SIMPLE",)"
      R"("coll_sn":{},"coll_msg_size_bytes":26214400,"coll_exec_time_us":{},)"
      R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,)"
      R"("coll_busbw_gbs":485.119099}}}})"
      "\n",
      group, size, size == 8 ? "TP" : "DP", group, member, size, (size + 7) / 8, now, rank / 8,
      1000 + rank, second / 2, 3000 + (rank * 7919 + second * 104729) % 500);
}

// Keeps its files closed, so that it needs no more of them than this process may open.
[[noreturn]] void write_lines(const std::string& folder, int files) {
  const auto begin = Clock::now();
  for (int second = 0;; ++second) {
    for (int rank = 0; rank < files; ++rank) {
      std::FILE* file = std::fopen(path_of(folder, rank).c_str(), "a");
      if (file == nullptr) std::_Exit(1);
      std::fputs(line_of(rank, files, second).c_str(), file);
      std::fclose(file);
      if (rank % 256 == 255)
        std::this_thread::sleep_until(begin + std::chrono::seconds(second) +
                                      std::chrono::microseconds(1'000'000LL * rank / files));
    }
    std::this_thread::sleep_until(begin + std::chrono::seconds(second + 1));
  }
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto s = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return s(used.ru_utime) + s(used.ru_stime);
}

int run(int files, double seconds, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const pid_t writer = ::fork();
  if (writer == 0) write_lines(folder, files);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  LiveRequest request{.sources = {folder}, .for_s = seconds};
  std::uint64_t lines = 0, matched = 0;
  std::size_t written = 0;
  const auto ended = live(request, [&](const LiveView& view) {
    written += live_metrics(view).size() + json_text(live_tree(view)).size();
    lines = view.files.lines;
    matched = view.job.coverage().matched;
    return true;
  });
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  const double busy = (cpu_seconds() - cpu) / wall;
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  std::filesystem::remove_all(folder);
  if (!ended) {
    fmt::print(stderr, "live: {}\n", ended.error().message());
    return 1;
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{} files, {:.0f} s: {} lines read ({} in whole collectives), {:.1f} MB of JSON and "
      "metrics made, {:.1f} % of a core, {:.0f} MB of memory at most\n",
      files, wall, lines, matched, static_cast<double>(written) / 1e6, 100 * busy,
      static_cast<double>(used.ru_maxrss) / 1e3);
  return 0;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  const int files = argc > 1 ? std::atoi(argv[1]) : 4096;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 60;
  const std::string folder =
      argc > 3 ? argv[3]
               : (std::filesystem::temp_directory_path() / fmt::format("live-bench-{}", ::getpid()))
                     .string();
  if (files < 8 || files % 8 != 0 || (files > 512 && files % 512 != 0) || !(seconds > 0)) {
    std::fputs("live: FILES is a multiple of 8, above 512 one of 512; SECONDS is above 0\n",
               stderr);
    return 2;
  }
  return stepscope::run(files, seconds, folder);
}
