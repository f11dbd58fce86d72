// SPDX-License-Identifier: Apache-2.0
// How soon and how surely `stepscope live` names a slow rank. Simulated jobs of 2 to 16 ranks write
// the files of NCCL Inspector, or files of steps; they are followed as those of real jobs, once a
// step. FAULTY jobs (200) have a rank that becomes slow; named in time is the right rank, alone,
// within 10 steps. CLEAN jobs (100) of STEPS steps (10,000) have no slow rank; a rank that is named
// is a false alarm, and so are longer transfers. LINKS jobs (20) have a slow link, which is no
// rank's fault; reported in time are the longer transfers of its communicator, within 10 steps.
// Usage: live_faults [FAULTY [CLEAN [STEPS [LINKS [SEED]]]]].
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "followed_job.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  const auto number = [&](int i, std::int64_t usual) {
    return argc > i ? std::atoll(argv[i]) : usual;
  };
  const std::int64_t faulty = number(1, 200), clean = number(2, 100), steps = number(3, 10'000),
                     links = number(4, 20);
  const auto seed = static_cast<std::uint64_t>(number(5, 1));
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("live-faults-{}", ::getpid())).string();
  constexpr std::int64_t in_time = 10;
  std::int64_t named = 0, right_alone = 0, false_alarms = 0, told = 0, later = 0, blamed = 0,
               others = 0;
  std::uint64_t lines = 0;
  for (std::int64_t i = 0; i < faulty; ++i) {
    std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(i));
    const WrittenJobSetting s = drawn_fault(random);
    const FollowedJob o = follow_job(s, random(), s.slow_from + in_time + 1, folder);
    const bool in_10 = o.right >= 0 && o.right <= in_time;
    named += in_10 ? 1 : 0;
    right_alone += in_10 && o.wrong == 0 && o.wrong_links == 0 ? 1 : 0;
    lines += o.lines;
    if (!in_10 || o.wrong > 0 || o.wrong_links > 0)
      fmt::print(
          "faulty job {}: {}x{} ranks, step {:.2f} s, {}, slower by {:.0f} % from step {}: named "
          "after {}, {} others\n",
          i, s.tensor, s.data, s.step_s, s.files_of_steps ? "files of steps" : "Inspector",
          100 * s.slow, s.slow_from, o.right, o.wrong);
  }
  fmt::print("{} of {} slow ranks named within {} steps, {} of them alone\n", named, faulty,
             in_time, right_alone);
  for (std::int64_t i = 0; i < clean; ++i) {
    std::mt19937_64 random(seed * 1'000'003 + 500'000 + static_cast<std::uint64_t>(i));
    const WrittenJobSetting s = drawn_setting(random);
    const FollowedJob o = follow_job(s, random(), steps, folder);
    false_alarms += o.wrong > 0 || o.wrong_links > 0 ? 1 : 0;
    lines += o.lines;
    if (o.wrong > 0 || o.wrong_links > 0)
      fmt::print("clean job {}: {}x{} ranks, step {:.2f} s, {}: {} ranks named, {} links\n", i,
                 s.tensor, s.data, s.step_s, s.files_of_steps ? "files of steps" : "Inspector",
                 o.wrong, o.wrong_links);
  }
  fmt::print("{} of {} clean jobs of {} steps with a false alarm\n", false_alarms, clean, steps);
  for (std::int64_t i = 0; i < links; ++i) {
    std::mt19937_64 random(seed * 1'000'003 + 900'000 + static_cast<std::uint64_t>(i));
    WrittenJobSetting s = drawn_fault(random);
    s.fault = WrittenFault::link;
    s.files_of_steps = false;
    const FollowedJob o = follow_job(s, random(), s.slow_from + 100, folder);
    told += o.link >= 0 && o.link <= in_time ? 1 : 0;
    later += o.link > in_time ? 1 : 0;
    blamed += o.wrong > 0 ? 1 : 0;
    others += o.wrong_links > 0 ? 1 : 0;
    if (o.link < 0 || o.link > in_time || o.wrong > 0 || o.wrong_links > 0)
      fmt::print(
          "slow link {}: {}x{} ranks, step {:.2f} s, {}, longer by {:.0f} % of a step from step "
          "{}: told "
          "after {}, {} ranks and {} other links blamed\n",
          i, s.tensor, s.data, s.step_s, s.verbose ? "verbose" : "not verbose", 100 * s.slow,
          s.slow_from, o.link, o.wrong, o.wrong_links);
  }
  fmt::print(
      "{} of {} slow links told as longer transfers within {} steps, {} within 100, ranks blamed "
      "in "
      "{}, other links in {}\n",
      told, links, in_time, told + later, blamed, others);
  fmt::print("{} lines\n", lines);
  return 0;
}
