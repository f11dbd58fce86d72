// SPDX-License-Identifier: Apache-2.0
// Measures the error rate of `compare`, its power to find a change, and its speed.
//
// A/A: both arms come from one AR(1) with a standard deviation of 3 %, by rho and steps per arm.
// `compare` is called with the practical floor of 1 %, without it, and without the demand for 8
// effective steps. Two other tests run on the same data: Welch's test, which takes steps as
// independent, and the usual block bootstrap. Power: B is 2 % slower. Real step times (FILES, lists
// as `compare` reads them): neighbouring stretches from a random place are launches in the order A
// B, A B B A, or that twice; for the power, B is 5 % slower. Speed: two lists of a million steps.
//
//   compare [--repetitions N] [FILES…]
#include <fmt/format.h>
#include <time.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/stats/block_bootstrap.h"
#include "stepscope/stats/student_t.h"
#include "stepscope/stats/summary.h"
#include "stepscope/stats/warm_up.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class Source {
 public:
  explicit Source(std::uint64_t seed) : random_(seed) {}
  Doubles autoregression(std::size_t n, double rho, double level) {
    Doubles x(n);
    double v = noise_(random_);
    for (double& out : x) {
      out = level * (1 + 0.03 * v);
      v = rho * v + std::sqrt(1 - rho * rho) * noise_(random_);
    }
    return x;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_;
};

Series settled(const Doubles& x) { return Series(x).subspan(find_warm_up(x).count); }

// The call of `compare` with one launch per arm, including warm-up.
RatioTest test_arms(const Doubles& a, const Doubles& b) {
  const Series in_a = settled(a);
  const Series in_b = settled(b);
  return test_ratio({&in_a, 1}, {&in_b, 1}, {.replicates = 500});
}

bool plain_welch(const Doubles& a, const Doubles& b) {
  const auto n = static_cast<double>(a.size());
  const double error =
      std::sqrt((std::pow(*sample_stdev(a), 2) + std::pow(*sample_stdev(b), 2)) / n);
  return student_t_tails(std::fabs(*mean(a) - *mean(b)) / error, 2 * n - 2) < 0.05;
}

bool plain_bootstrap(const Doubles& a, const Doubles& b) {
  const Series in_a = a;
  const Series in_b = b;
  Doubles ratios = bootstrap_median({&in_b, 1}, {.replicates = 500, .seed = 3}).replicates;
  const auto other = bootstrap_median({&in_a, 1}, {.replicates = 500, .seed = 4}).replicates;
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] /= other[i];
  return *quantile(ratios, 0.025) > 1 || *quantile(ratios, 0.975) < 1;
}

struct Calls {
  int with_floor = 0;
  int without_floor = 0;
  int without_gate = 0;
  int welch = 0;
  int bootstrap = 0;
  int slower = 0;
  int no_data = 0;
};

void count(const RatioTest& t, Calls& calls) {
  const bool apart = (t.interval->first > 1 || t.interval->second < 1) && *t.p < 0.05;
  const bool enough = t.verdict != Verdict::not_enough_data;
  calls.with_floor += t.verdict == Verdict::slower || t.verdict == Verdict::faster;
  calls.slower += t.verdict == Verdict::slower;
  calls.without_floor += enough && apart;
  calls.without_gate += apart;
  calls.no_data += !enough;
}

std::string percent(int calls, int of) { return fmt::format("{:6.2f}", 100.0 * calls / of); }

void table_of_ar1(int repetitions) {
  fmt::print(
      "A/A on AR(1), sd 3 %, {} repetitions a row: share of calls in percent\n"
      "  rho  steps  compare  floor 0  no gate | Welch  bootstrap | no data | power at +2 %\n",
      repetitions);
  for (const double rho : {0.0, 0.3, 0.6, 0.8})
    for (const std::size_t n : {std::size_t{50}, std::size_t{200}}) {
      Source source(1000 + n + static_cast<std::uint64_t>(rho * 10));
      Calls equal;
      Calls changed;
      for (int i = 0; i < repetitions; ++i) {
        const Doubles a = source.autoregression(n, rho, 100);
        const Doubles b = source.autoregression(n, rho, 100);
        count(test_arms(a, b), equal);
        equal.welch += plain_welch(a, b);
        equal.bootstrap += plain_bootstrap(a, b);
        count(test_arms(a, source.autoregression(n, rho, 102)), changed);
      }
      fmt::print("  {:.1f}  {:5}   {}   {}   {} | {}  {} | {}  | {}\n", rho, n,
                 percent(equal.with_floor, repetitions), percent(equal.without_floor, repetitions),
                 percent(equal.without_gate, repetitions), percent(equal.welch, repetitions),
                 percent(equal.bootstrap, repetitions), percent(equal.no_data, repetitions),
                 percent(changed.slower, repetitions));
    }
}

// Neighbouring stretches from `at` on: `launches` per arm in the order A B B A A B …, n steps per
// arm. Steps of B are longer by `factor`.
RatioTest test_stretches(const Doubles& x, std::size_t at, std::size_t n, std::size_t launches,
                         double factor = 1) {
  const std::size_t each = n / launches;
  Doubles slower(x.begin() + static_cast<std::ptrdiff_t>(at),
                 x.begin() + static_cast<std::ptrdiff_t>(at + 2 * n));
  for (double& v : slower) v *= factor;
  std::vector<Series> a;
  std::vector<Series> b;
  for (std::size_t i = 0; i < 2 * launches; ++i) {
    const bool in_b = i % 4 == 1 || i % 4 == 2;
    if (in_b)
      b.push_back(Series(slower).subspan(i * each, each));
    else
      a.push_back(Series(x).subspan(at + i * each, each));
  }
  return test_ratio(a, b, {.replicates = 500});
}

// Uses all places, or `repetitions` random ones.
void print_real(const Doubles& x, std::size_t n, std::size_t launches, int repetitions,
                const std::string& file) {
  const std::size_t places = x.size() - 2 * n + 1;
  const bool all = places <= static_cast<std::size_t>(repetitions);
  const int draws = all ? static_cast<int>(places) : repetitions;
  Source source(n);
  Calls calls;
  Calls changed;
  double effective = 0;
  for (int i = 0; i < draws; ++i) {
    const std::size_t at = all ? static_cast<std::size_t>(i) : source.below(places);
    const RatioTest t = test_stretches(x, at, n, launches);
    count(t, calls);
    effective += t.a.run.effective / draws;
    count(test_stretches(x, at, n, launches, 1.05), changed);
  }
  fmt::print("  {:5}  {:8}  {:6}   {}   {} |  {}  {:6.1f} |        {}  {}\n", n, launches, draws,
             percent(calls.with_floor, draws), percent(calls.without_floor, draws),
             percent(calls.no_data, draws), effective, percent(changed.slower, draws), file);
}

void table_of_real(const std::vector<std::string>& files, int repetitions) {
  fmt::print(
      "A/A on real step times, from up to {} places: share of calls in percent\n"
      "  steps  launches  places  compare  floor 0 | no data   n_eff | power at +5 %  file\n",
      repetitions);
  for (const std::string& file : files) {
    const auto times = read_step_times(file);
    if (!times) {
      fmt::print(stderr, "{}\n", times.error().message());
      continue;
    }
    const Series kept = settled(times->wall_ns);
    const Doubles x(kept.begin(), kept.end());
    for (const std::size_t n : {std::size_t{20}, std::size_t{60}, std::size_t{200}})
      for (const std::size_t launches : {std::size_t{1}, std::size_t{2}, std::size_t{4}})
        if (x.size() >= 2 * n) print_real(x, n, launches, repetitions, file);
  }
}

void speed() {
  constexpr std::size_t n = 1'000'000;
  Source source(7);
  std::array<std::string, 2> texts;
  for (std::string& text : texts)
    for (const double ms : source.autoregression(n, 0.6, 100)) text += fmt::format("{:.6f}\n", ms);
  const double begin = processor_seconds();
  std::array<LaunchSteps, 2> arms;
  for (std::size_t i = 0; i < 2; ++i)
    arms[i].wall_ns = std::move(parse_step_times(texts[i], "list")->wall_ns);
  const double read = processor_seconds();
  const RunComparison c = compare_runs({&arms[0], 1}, {&arms[1], 1}, {});
  const double done = processor_seconds();
  fmt::print(
      "two lists of {} steps: {:.3f} s of processor time ({:.3f} to read, {:.3f} to compare); "
      "ratio {:.5f}, n_eff {:.0f}\n",
      n, done - begin, read - begin, done - read, c.ratio.ratio, c.a.n_eff);
}

int run(int argc, char** argv) {
  int repetitions = 2000;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--repetitions" && i + 1 < argc)
      repetitions = std::max(1, std::atoi(argv[++i]));
    else
      files.emplace_back(argv[i]);
  }
  speed();
  table_of_ar1(repetitions);
  if (!files.empty()) table_of_real(files, repetitions);
  return 0;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) { return stepscope::run(argc, argv); }
