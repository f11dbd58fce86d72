// SPDX-License-Identifier: Apache-2.0
// ingest [--analyze STEPSCOPE] [--rounds N] FILE...: reads each file with the floor, with
// stepscope's reader and with the whole command. They run in turn, in processes of their own.
// Prints a Markdown table. Files larger than 4 GiB are read once, only by stepscope's reader
// (simdjson cannot read them). ingest --child FILE THREADS: one run of the reader, for the parent.
// The floor is the program in the same folder.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/child_process.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope::bench {
namespace {

constexpr double mib = 1024.0 * 1024.0;
// The goals of a read (the reader's contract, and the tables below).
constexpr double reader_of_floor = 0.7;
constexpr double two_threads_of_one = 1.8;
constexpr double analyze_of_floor = 0.5;
constexpr double trace_bytes_per_event = 64;
constexpr double peak_bytes_per_event = 80;
constexpr double peak_bytes_fixed = 256 * mib;
constexpr std::uint64_t largest_for_floor = (1ULL << 32) - (1ULL << 20);

struct Scenario {
  std::string name;
  std::string what;  // floor, read or analyze
  unsigned threads = 1;
};

// The output of one run. Counts come from the reader only; the command does not repeat them.
struct Sample {
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_bytes = 0;
  double json_bytes = 0;
  double events = 0;
  double trace_bytes = 0;
  std::string note{};
};

struct Series {
  Scenario scenario;
  std::vector<Sample> samples;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double wall(const Sample& sample) { return sample.seconds; }
double on_cpu(const Sample& sample) { return sample.cpu_seconds; }
double peak(const Sample& sample) { return sample.peak_bytes; }

double median_of(const Series& series, double (*value)(const Sample&)) {
  std::vector<double> all;
  std::ranges::transform(series.samples, std::back_inserter(all), value);
  return median(all);
}

// The child prints the same line as bench/floor: "seconds cpu_seconds json_bytes events trace_bytes
// note".
int run_read_child(const std::string& path, unsigned threads) {
  const auto begin = std::chrono::steady_clock::now();
  const Run run = read_run(std::vector{path}, {.threads = threads, .stop = {}, .progress = {}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (run.ranks.empty() || run.inputs[0].notes.truncated) {
    fmt::print(stderr, "ingest: {} was not read whole\n", path);
    return 1;
  }
  std::size_t bytes = 0;
  for (const RankTrace& rank : run.ranks) bytes += rank.trace.bytes();
  timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  fmt::print("{} {} {} {} {} -\n", took.count(),
             static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9,
             run.inputs[0].text_bytes, run.inputs[0].notes.events, bytes);
  return 0;
}

struct Options {
  std::string self;       // this program
  std::string floor;      // the program in the same folder
  std::string command{};  // stepscope; empty: do not measure analyze
  unsigned rounds = 5;
  std::vector<std::string> files{};
};

Result<Sample> measure(const Options& options, const Scenario& scenario, const std::string& file) {
  const std::string threads = std::to_string(scenario.threads);
  std::vector<std::string> command;
  if (scenario.what == "floor")
    command = {options.floor, file};
  else if (scenario.what == "read")
    command = {options.self, "--child", file, threads};
  else
    command = {options.command, "analyze", file, "--threads", threads};
  auto use = run_process(command);
  if (!use) return use.error();
  if (use->status != 0)
    return Error{.what = scenario.name + " ended with " + std::to_string(use->status),
                 .file = file};
  Sample sample{.seconds = use->wall.count(),
                .cpu_seconds = use->cpu.count(),
                .peak_bytes = static_cast<double>(use->peak_bytes)};
  if (scenario.what == "analyze") return sample;
  std::istringstream line(use->output);
  line >> sample.seconds >> sample.cpu_seconds >> sample.json_bytes >> sample.events >>
      sample.trace_bytes;
  std::getline(line >> std::ws, sample.note);
  return sample;
}

std::vector<Series> scenarios(const Options& options, const std::string& file) {
  const auto size = file_size(file);
  if (size && *size > largest_for_floor) return {{{"reader, 2 threads", "read", 2}, {}}};
  std::vector<Series> all = {{{"floor", "floor", 1}, {}},
                             {{"reader, 1 thread", "read", 1}, {}},
                             {{"reader, 2 threads", "read", 2}, {}}};
  if (!options.command.empty()) {
    all.push_back({{"analyze, 1 thread", "analyze", 1}, {}});
    all.push_back({{"analyze, 2 threads", "analyze", 2}, {}});
  }
  return all;
}

// Speed of `a` divided by speed of `b`, round by round: runs of a round share the machine's load.
std::vector<double> ratios(const Series& a, const Series& b, double (*time)(const Sample&)) {
  std::vector<double> all;
  for (std::size_t i = 0; i < a.samples.size(); ++i)
    all.push_back(time(b.samples[i]) / time(a.samples[i]));
  return all;
}

std::string spread(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return fmt::format("{:.2f} ({:.2f}–{:.2f})", median(values), low, high);
}

void print_table(const std::string& file, const std::vector<Series>& all) {
  const Series& first = all.front();
  const Series& reader = all.size() > 1 ? all[1] : first;
  const double json = first.samples[0].json_bytes;
  const double events = reader.samples[0].events;
  fmt::print("\n### {}\n\n{:.1f} MB of JSON, {:.0f} events, {} rounds; simdjson: {}\n\n",
             file.substr(file.rfind('/') + 1), json / 1e6, events, first.samples.size(),
             first.samples[0].note);
  const bool floor = first.scenario.what == "floor";
  fmt::print(
      "| | MB/s | × floor (range) | CPU s | × floor by CPU | M events/s | bytes an event "
      "| peak RSS MiB |\n|---|---|---|---|---|---|---|---|\n");
  for (const Series& series : all) {
    const double seconds = median_of(series, wall);
    const double bytes = series.samples[0].trace_bytes;
    fmt::print("| {} | {:.0f} | {} | {:.2f} | {} | {:.2f} | {} | {:.0f} |\n", series.scenario.name,
               json / seconds / 1e6, floor ? spread(ratios(series, first, wall)) : "-",
               median_of(series, on_cpu),
               floor ? fmt::format("{:.2f}", median(ratios(series, first, on_cpu))) : "-",
               events / seconds / 1e6, bytes > 0 ? fmt::format("{:.1f}", bytes / events) : "-",
               median_of(series, peak) / mib);
  }
}

void print_target(const std::string& what, double value, double target, bool at_least) {
  const bool reached = at_least ? value >= target : value <= target;
  fmt::print("- {}: {:.2f}, to reach {} {:.2f}: {}\n", what, value, at_least ? "≥" : "≤", target,
             reached ? "reached" : "**not reached**");
}

void print_targets(const std::vector<Series>& all) {
  fmt::print("\n");
  const auto find = [&](const std::string& what, unsigned threads) -> const Series* {
    const auto at = std::ranges::find_if(all, [&](const Series& s) {
      return s.scenario.what == what && s.scenario.threads == threads;
    });
    return at == all.end() ? nullptr : &*at;
  };
  const Series* floor = find("floor", 1);
  const Series* one = find("read", 1);
  const Series* two = find("read", 2);
  if (floor != nullptr && one != nullptr)
    print_target("reader, 1 thread, × floor", median(ratios(*one, *floor, wall)), reader_of_floor,
                 true);
  if (one != nullptr)
    print_target("reader, 2 threads, × 1 thread", median(ratios(*two, *one, wall)),
                 two_threads_of_one, true);
  for (const unsigned threads : {1U, 2U})
    if (const Series* analyze = find("analyze", threads))
      print_target(analyze->scenario.name + ", × floor", median(ratios(*analyze, *floor, wall)),
                   analyze_of_floor, true);
  const Sample& counts = two->samples[0];
  print_target("bytes an event", counts.trace_bytes / counts.events, trace_bytes_per_event, false);
  const double allowed = peak_bytes_per_event * counts.events + peak_bytes_fixed;
  for (const Series& series : all)
    if (series.scenario.what != "floor")
      print_target("peak RSS MiB, " + series.scenario.name, median_of(series, peak) / mib,
                   allowed / mib, false);
}

int run_file(const Options& options, const std::string& file) {
  std::vector<Series> all = scenarios(options, file);
  const unsigned rounds = all.size() == 1 ? 1 : options.rounds;
  for (unsigned round = 0; round < rounds; ++round)
    for (Series& series : all) {
      if (::isatty(STDERR_FILENO) != 0)
        fmt::print(stderr, "round {}/{}: {}\n", round + 1, rounds, series.scenario.name);
      const auto sample = measure(options, series.scenario, file);
      if (!sample) {
        fmt::print(stderr, "ingest: {}\n", sample.error().message());
        return 1;
      }
      series.samples.push_back(*sample);
    }
  print_table(file, all);
  print_targets(all);
  return 0;
}

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  Options options{.self = self, .floor = self.parent_path() / "floor"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--analyze" && has_value)
      options.command = arguments[++i];
    else if (arguments[i] == "--rounds" && has_value)
      options.rounds = static_cast<unsigned>(std::strtoul(arguments[++i].c_str(), nullptr, 10));
    else if (arguments[i].starts_with("--"))
      return std::nullopt;
    else
      options.files.push_back(arguments[i]);
  }
  if (options.files.empty() || options.rounds == 0) return std::nullopt;
  return options;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "--child")
    return run_read_child(arguments[1], arguments[2] == "2" ? 2 : 1);
  const auto options = parse(arguments);
  if (!options) {
    fmt::print(stderr, "usage: ingest [--analyze STEPSCOPE] [--rounds N] FILE...\n");
    return 2;
  }
  int status = 0;
  for (const std::string& file : options->files)
    status = std::max(status, run_file(*options, file));
  return status;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  stepscope::keep_freed_memory();  // like the program
  return stepscope::bench::run({argv + 1, argv + argc});
}
