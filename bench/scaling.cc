// SPDX-License-Identifier: Apache-2.0
// scaling PROGRAM [--quick] [--most EXPONENT] [--only NAME]: runs the verbs of PROGRAM on inputs
// that grow in one dimension, at four sizes, each twice as large as the one before. Prints the
// exponents of processor time and of peak memory, and fails if one is above EXPONENT (1.15). An
// exponent is the slope over the three larger sizes, by least squares in logarithms, of what is
// above the program's own start.
// scaling --grow TRACE BYTES writes a recording that is repeated, to standard output.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/child_process.h"
#include "bench/grown_trace.h"
#include "bench/scaled_input.h"

namespace stepscope::bench {
namespace {

constexpr std::size_t sizes = 4;
constexpr int rounds = 2;

struct Use {
  double seconds = 0;
  double bytes = 0;
};
using Uses = std::array<Use, sizes>;

// The least of some runs: other work on the machine adds time only.
std::optional<Use> used_by(const std::vector<std::string>& command, std::string_view folder) {
  std::optional<Use> least;
  for (int round = 0; round < rounds; ++round) {
    for (const char* output : {"d", "stepscope-runs.sqlite"})
      std::filesystem::remove_all(std::filesystem::path(folder) / output);
    const auto use = run_process(command);
    // 3 and 4 are answers: a regression, or too few steps for a verdict.
    if (!use || (use->status != 0 && use->status != 3 && use->status != 4)) return std::nullopt;
    const Use now{use->cpu.count(), static_cast<double>(use->peak_bytes)};
    least =
        least ? Use{std::min(least->seconds, now.seconds), std::min(least->bytes, now.bytes)} : now;
  }
  return least;
}

std::vector<std::string> words_of(const std::string& program, std::string_view command,
                                  const std::string& folder) {
  std::vector<std::string> words{program};
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(' '), command.size());
    std::string word(command.substr(0, end));
    if (const std::size_t at = word.find('@'); at != std::string::npos) word.replace(at, 1, folder);
    words.push_back(std::move(word));
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  words.emplace_back("--json");
  words.push_back(folder + "-answer");
  words.emplace_back("--quiet");
  return words;
}

// The slope over the larger sizes. What is not above the start does not grow.
double exponent(const Uses& uses, double Use::* of, double start) {
  double xy = 0;
  double xx = 0;
  double mean = 0;
  for (std::size_t i = 1; i < sizes; ++i) {
    if (uses[i].*of <= start) return 0;
    mean += std::log2(uses[i].*of - start) / (sizes - 1);
  }
  for (std::size_t i = 1; i < sizes; ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(sizes) / 2;
    xy += x * (std::log2(uses[i].*of - start) - mean);
    xx += x * x;
  }
  return xy / xx;
}

struct Flags {
  std::string program;
  bool quick = false;
  double most = 1.15;
  std::string only;
};

std::optional<Flags> flags_of(const std::vector<std::string>& words) {
  Flags flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool more = i + 1 < words.size();
    if (words[i] == "--quick")
      flags.quick = true;
    else if (words[i] == "--only" && more)
      flags.only = words[++i];
    else if (words[i] == "--most" && more)
      flags.most = std::strtod(words[++i].c_str(), nullptr);
    else if (flags.program.empty() && !words[i].starts_with('-'))
      flags.program = words[i];
    else
      return std::nullopt;
  }
  return flags.program.empty() || flags.most <= 0 ? std::nullopt : std::optional(flags);
}

// Measures the commands of one dimension. Returns how many grow too fast or fail.
int measure(const Flags& flags, const Dimension& dimension, const Use& start,
            const std::string& folder) {
  std::vector<std::string_view> commands = dimension.commands;
  if (flags.quick) commands.resize(1);
  std::vector<Uses> uses(commands.size());
  std::vector<bool> failed(commands.size());
  for (std::size_t i = 0; i < sizes; ++i) {
    std::filesystem::remove_all(folder);
    dimension.write(folder + "/in", dimension.size << i);
    for (std::size_t c = 0; c < commands.size(); ++c) {
      if (failed[c]) continue;
      const auto words = words_of(flags.program, commands[c], folder + "/in");
      const auto use = used_by(words, folder + "/in");
      if (use)
        uses[c][i] = *use;
      else
        failed[c] = true;
    }
  }
  int bad = 0;
  for (std::size_t c = 0; c < commands.size(); ++c) {
    const std::string_view verb = commands[c].substr(0, commands[c].find(" @"));
    if (failed[c]) {
      fmt::print("| {} | {} | {} | failed | | | |\n", dimension.name, verb, dimension.size << 3U);
      ++bad;
      continue;
    }
    const double time = exponent(uses[c], &Use::seconds, start.seconds);
    const double bytes = exponent(uses[c], &Use::bytes, start.bytes);
    const bool over = time > flags.most || bytes > flags.most;
    if (over) ++bad;
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.0f} | {:.2f} |{}\n", dimension.name, verb,
               dimension.size << 3U, uses[c].back().seconds, time,
               (uses[c].back().bytes - start.bytes) / (1 << 20), bytes, over ? " too fast" : "");
    std::fflush(stdout);
  }
  return bad;
}

int measure_all(const Flags& flags) {
  std::string folder = (std::filesystem::temp_directory_path() / "scaling-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const auto start = used_by({flags.program, "--version"}, folder);
  if (!start) {
    fmt::print(stderr, "scaling: cannot run {}\n", flags.program);
    return 1;
  }
  fmt::print("| what grows | verb | largest | s | exponent | MiB | exponent |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  int bad = 0;
  for (const Dimension& dimension : dimensions())
    if (flags.only.empty() ? dimension.quick || !flags.quick : dimension.name == flags.only)
      bad += measure(flags, dimension, *start, folder);
  std::filesystem::remove_all(folder);
  if (bad > 0) fmt::print(stderr, "scaling: {} above {} or failed\n", bad, flags.most);
  return bad > 0 ? 1 : 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "--grow") {
    std::uint64_t bytes = 0;
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), bytes);
    const auto written = write_grown(words[1], bytes);
    if (written) return 0;
    fmt::print(stderr, "scaling: {}\n", written.error().message());
    return 1;
  }
  const auto flags = flags_of(words);
  if (flags) return measure_all(*flags);
  fmt::print(stderr,
             "usage: scaling PROGRAM [--quick] [--most EXPONENT] [--only NAME]\n"
             "       scaling --grow TRACE BYTES > OUT.json\n");
  return 2;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) { return stepscope::bench::run({argv + 1, argv + argc}); }
