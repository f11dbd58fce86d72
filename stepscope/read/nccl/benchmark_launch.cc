// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/benchmark_launch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

enum class Launched : std::uint8_t { ranks, hosts, on_each, factor };

struct LaunchFlag {
  std::string_view launcher;  // that has the flag; "": all of them; "test": the benchmark
  std::string_view name;
  Launched what;
};

constexpr std::array<LaunchFlag, 15> launch_flags = {{
    {"", "-np", Launched::ranks},
    {"", "-n", Launched::ranks},
    {"", "--np", Launched::ranks},
    {"srun", "--ntasks", Launched::ranks},
    {"srun", "-N", Launched::hosts},
    {"srun", "--nodes", Launched::hosts},
    {"srun", "--ntasks-per-node", Launched::on_each},
    {"mpi", "-N", Launched::on_each},
    {"mpi", "-npernode", Launched::on_each},
    {"mpi", "--npernode", Launched::on_each},
    {"mpi", "-ppn", Launched::on_each},
    {"test", "-g", Launched::factor},
    {"test", "--ngpus", Launched::factor},
    {"test", "-t", Launched::factor},
    {"test", "--nthreads", Launched::factor},
}};

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(begin);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::string_view name_of_program(std::string_view word) {
  return word.substr(word.find_last_of('/') + 1);
}

// "srun", or "mpi" of mpirun, mpiexec, mpirun.mpich.
std::string_view launcher_of(std::string_view word) {
  const std::string_view name = name_of_program(word);
  if (name == "srun") return name;
  return name.starts_with("mpirun") || name.starts_with("mpiexec") ? "mpi" : "";
}

bool is_test(std::string_view word) {
  const std::string_view name = name_of_program(word);
  return name.ends_with("_perf") || name.starts_with("osu_");
}

int small_number(std::string_view word) {
  const auto n = clean_integer(word);
  return n && *n > 0 && *n <= 10'000'000 ? static_cast<int>(*n) : 0;
}

}  // namespace

std::optional<BenchmarkLaunch> benchmark_launch(std::string_view line) {
  std::string_view launcher;
  bool in_test = false;
  std::array<std::int64_t, 4> given = {0, 0, 0, 1};
  const auto of = [&](Launched what) -> std::int64_t& {
    return given[static_cast<std::size_t>(what)];
  };
  std::int64_t mapped = 0;  // "-map-by ppr:1:node" goes over a number for each node
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (launcher.empty()) {
      launcher = launcher_of(word);
      continue;
    }
    if (is_test(word)) in_test = true;
    const std::size_t equals = std::min(word.find('='), word.size());
    if (word.starts_with("ppr:") && word.ends_with(":node"))
      mapped = small_number(word.substr(4, word.size() - 9));
    for (const LaunchFlag& flag : launch_flags) {
      const bool has =
          in_test ? flag.launcher == "test" : flag.launcher.empty() || flag.launcher == launcher;
      if (!has || flag.name != word.substr(0, equals)) continue;
      const int n = small_number(equals < word.size() ? word.substr(equals + 1) : next_word(line));
      if (n == 0) return std::nullopt;  // a variable of the shell
      of(flag.what) = flag.what == Launched::factor ? of(flag.what) * n : n;
      break;
    }
  }
  const std::int64_t ranks = of(Launched::ranks) * of(Launched::factor);
  if (!in_test || ranks <= 0 || ranks > 10'000'000) return std::nullopt;
  const std::int64_t on_each = mapped > 0 ? mapped : of(Launched::on_each);
  BenchmarkLaunch launch{.ranks = static_cast<int>(ranks),
                         .hosts = static_cast<int>(of(Launched::hosts))};
  if (launch.hosts == 0 && on_each > 0 && of(Launched::ranks) % on_each == 0)
    launch.hosts = static_cast<int>(of(Launched::ranks) / on_each);
  return launch;
}

}  // namespace stepscope
