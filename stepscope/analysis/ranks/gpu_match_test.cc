// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/gpu_match.h"

#include <gtest/gtest.h>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr Ns capture_start{1'795'601'472'000'000'000};  // 2026-11-25 10:11:12 UTC
constexpr Ns capture_end = capture_start + std::chrono::seconds{10};

// A reading of each GPU ten times a second, from `before` before the capture to as long after it.
GpuLog log_of(int gpus, Ns zone, Ns around = minutes{2}) {
  GpuLog log{.path = "smi.csv", .local_time = true};
  for (int g = 0; g < gpus; ++g) {
    log.gpus.push_back({.index = g, .uuid = "GPU-" + std::to_string(g), .name = "NVIDIA H100"});
    for (Ns t = capture_start - around; t < capture_end + around; t += milliseconds{100})
      log.readings.push_back({.time = t + zone,
                              .gpu = static_cast<std::uint32_t>(g),
                              .sm_clock_mhz = 1980.0F,
                              .utilization = 1.0F});
  }
  return log;
}

struct Job {
  explicit Job(int ranks, int devices, int per_host = 8) {
    for (int d = 0; d < devices; ++d) seen.push_back({.id = d, .name = "NVIDIA H100"});
    for (int r = 0; r < ranks; ++r)
      owners.push_back({.rank = r,
                        .device = r % per_host,
                        .devices = seen,
                        .absolute = true,
                        .window = {capture_start, capture_end}});
  }
  Job(const Job&) = delete;
  std::vector<DeviceProperties> seen;
  std::vector<GpuOwner> owners;
};

TEST(MatchGpus, TakesOrdinalsForIndicesWhereAllGpusAreSeen) {
  const Job job(8, 8);
  const std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  const GpuMatches found = match_gpus(logs, job.owners, 8, Ns{0});
  ASSERT_EQ(found.ranks.size(), 8U);
  for (std::size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(found.ranks[r].gpu, r);
    EXPECT_EQ(found.ranks[r].rule, GpuMatchRule::index);
  }
  EXPECT_TRUE(found.logs[0].problem.empty());
}

TEST(MatchGpus, DoesNotGuessWhereGpusAreHidden) {
  const Job job(8, 1, 1);
  const std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  const GpuMatches found = match_gpus(logs, job.owners, 8, Ns{0});
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_FALSE(found.logs[0].problem.empty());
  // The same, where each process has an ordinal of its own, but sees four of eight GPUs.
  const Job half(4, 4);
  const GpuMatches other = match_gpus(logs, half.owners, 4, Ns{0});
  EXPECT_TRUE(other.ranks.empty());
  EXPECT_NE(say(other.logs[0].problem).find("gpu_rank0.csv"), std::string::npos);
}

TEST(MatchGpus, TakesALogOfOneGpuForTheRankOfItsName) {
  const Job job(8, 1, 1);
  std::vector<GpuLog> logs;
  for (const int rank : {3, 5}) {
    logs.push_back(log_of(1, hours{1}));
    logs.back().named_rank = rank;
    logs.back().gpus[0].index = 7;
  }
  const GpuMatches found = match_gpus(logs, job.owners, 8, std::nullopt);
  ASSERT_EQ(found.ranks.size(), 2U);
  EXPECT_EQ(found.ranks[0].owner, 3U);
  EXPECT_EQ(found.ranks[1].owner, 5U);
  EXPECT_EQ(found.ranks[1].log, 1U);
  EXPECT_EQ(found.ranks[0].rule, GpuMatchRule::file_name);
  EXPECT_EQ(found.logs[0].zone, hours{1});
}

TEST(MatchGpus, TellsHostsApartByTheirNames) {
  Job job(16, 8);
  for (GpuOwner& o : job.owners) o.host = o.rank < 8 ? "node-a.local" : "node-b.local";
  std::vector<GpuLog> logs = {log_of(8, Ns{0}), log_of(8, Ns{0})};
  logs[0].path = "run/node-b.csv";
  logs[1].path = "run/node-a/smi.csv";
  const GpuMatches found = match_gpus(logs, job.owners, 16, Ns{0});
  ASSERT_EQ(found.ranks.size(), 16U);
  EXPECT_EQ(found.ranks[0].log, 1U);
  EXPECT_EQ(found.ranks[10].log, 0U);
  EXPECT_EQ(found.ranks[10].gpu, 2U);
  // Without the names nothing is known, with one log or with two.
  logs[0].path = "smi0.csv";
  logs[1].path = "smi1.csv";
  EXPECT_TRUE(match_gpus(logs, job.owners, 16, Ns{0}).ranks.empty());
  const GpuMatches one = match_gpus(std::span(logs).first(1), job.owners, 16, Ns{0});
  EXPECT_TRUE(one.ranks.empty());
  EXPECT_NE(say(one.logs[0].problem).find("which host"), std::string::npos);
  // Eight of sixteen ranks: the log may be of the other host.
  const GpuMatches half =
      match_gpus(std::span(logs).first(1), std::span(job.owners).first(8), 16, Ns{0});
  EXPECT_TRUE(half.ranks.empty());
}

TEST(MatchGpus, DoesNotTakePartOfAHostsNameForIt) {
  Job job(2, 8, 1);
  job.owners[0].host = "node1";
  job.owners[1].host = "node12";
  std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  logs[0].path = "node12-smi.csv";
  const GpuMatches found = match_gpus(logs, job.owners, 2, Ns{0});
  ASSERT_EQ(found.ranks.size(), 1U);
  EXPECT_EQ(found.ranks[0].owner, 1U);
}

TEST(MatchGpus, FindsGpusByUuid) {
  Job job(2, 1, 1);
  std::vector<DeviceProperties> second = {{.id = 0, .name = "NVIDIA H100", .uuid = "5"}};
  job.seen[0].uuid = "2";
  job.owners[1].devices = second;
  const std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  const GpuMatches found = match_gpus(logs, job.owners, 2, Ns{0});
  ASSERT_EQ(found.ranks.size(), 2U);
  EXPECT_EQ(found.ranks[0].gpu, 2U);
  EXPECT_EQ(found.ranks[1].gpu, 5U);
  EXPECT_EQ(found.ranks[1].rule, GpuMatchRule::uuid);
}

TEST(MatchGpus, DoesNotTakeAGpuOfAnotherUuid) {
  Job job(1, 1, 1);
  job.seen[0].uuid = "3";
  const std::vector<GpuLog> logs = {log_of(1, Ns{0})};  // nvidia-smi -i 0
  const GpuMatches found = match_gpus(logs, job.owners, 1, Ns{0});
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_NE(say(found.logs[0].problem).find("GPU-3, is not in it"), std::string::npos);
}

TEST(MatchGpus, RefusesAnotherGpu) {
  Job job(8, 8);
  std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  logs[0].gpus[3].name = "Tesla T4";
  const GpuMatches found = match_gpus(logs, job.owners, 8, Ns{0});
  EXPECT_EQ(found.ranks.size(), 7U);
  EXPECT_NE(say(found.logs[0].problem).find("Tesla T4"), std::string::npos);
}

TEST(MatchGpus, FindsTheZoneIfOneFits) {
  const Job job(8, 8);
  for (const Ns zone : {Ns{hours{0}}, Ns{hours{1}}, Ns{minutes{345}}, -Ns{minutes{210}},
                        Ns{hours{14}}, -Ns{hours{11}}}) {
    const std::vector<GpuLog> logs = {log_of(8, zone)};
    const GpuMatches found = match_gpus(logs, job.owners, 8, std::nullopt);
    ASSERT_EQ(found.logs[0].zone, zone) << say(found.logs[0].problem);
    EXPECT_EQ(found.logs[0].zone_source, ZoneSource::only_one);
    EXPECT_EQ(found.ranks.size(), 8U);
  }
}

TEST(MatchGpus, AsksForTheZoneIfSeveralFit) {
  const Job job(8, 8);
  const std::vector<GpuLog> logs = {log_of(8, hours{1}, minutes{70})};
  const GpuMatches found = match_gpus(logs, job.owners, 8, std::nullopt);
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_FALSE(found.logs[0].zone);
  EXPECT_NE(say(found.logs[0].problem).find("--gpu-log-zone"), std::string::npos);
  const GpuMatches told = match_gpus(logs, job.owners, 8, hours{1});
  EXPECT_EQ(told.ranks.size(), 8U);
  EXPECT_EQ(told.logs[0].zone_source, ZoneSource::given);
}

TEST(MatchGpus, DoesNotTakeAZoneInWhichTheGpuIdles) {
  const Job job(8, 8);
  std::vector<GpuLog> logs = {log_of(8, hours{1}, minutes{70})};
  // The GPUs work in one of three possible zones.
  for (GpuReading& r : logs[0].readings) {
    const Ns utc = r.time - hours{1};
    r.utilization =
        utc >= capture_start - minutes{1} && utc < capture_end + minutes{1} ? 1.0F : 0.0F;
  }
  const GpuMatches found = match_gpus(logs, job.owners, 8, std::nullopt);
  EXPECT_EQ(found.logs[0].zone, hours{1});
}

TEST(MatchGpus, SaysThatTheLogIsOfAnotherTime) {
  const Job job(8, 8);
  std::vector<GpuLog> logs = {log_of(8, minutes{20})};
  GpuMatches found = match_gpus(logs, job.owners, 8, std::nullopt);
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_NE(say(found.logs[0].problem).find("no reading lies in the captures"), std::string::npos);
  logs[0].local_time = false;  // with a zone
  found = match_gpus(logs, job.owners, 8, std::nullopt);
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_NE(say(found.logs[0].problem).find("2026-11-25 10:11:12"), std::string::npos);
}

TEST(MatchGpus, LeavesRelativeClocksAlone) {
  Job job(8, 8);
  for (GpuOwner& o : job.owners) o.absolute = false;
  const std::vector<GpuLog> logs = {log_of(8, Ns{0})};
  const GpuMatches found = match_gpus(logs, job.owners, 8, Ns{0});
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_NE(say(found.logs[0].problem).find("epoch"), std::string::npos);
}

TEST(ZoneInWords, IsShort) {
  EXPECT_EQ(zone_in_words(Ns{0}), "UTC");
  EXPECT_EQ(zone_in_words(hours{1}), "UTC+1");
  EXPECT_EQ(zone_in_words(-Ns{minutes{210}}), "UTC-3:30");
  EXPECT_EQ(zone_in_words(minutes{605}), "UTC+10:05");
}

GpuReading reading(std::int64_t ns, float clock, std::uint32_t reasons = 0) {
  return {.time = Ns{ns},
          .sm_clock_mhz = clock,
          .reasons = reasons,
          .reasons_known = all_clock_reasons};
}

TEST(GpuStates, WeightsReadingsWithTheTimeTheyStandFor) {
  const std::vector<GpuReading> readings = {reading(0, 2000), reading(100, 1000, 64),
                                            reading(200, 2000)};
  const std::vector<TimeSpan> spans = {{Ns{50}, Ns{250}}, {Ns{250}, Ns{390}}, {Ns{390}, Ns{1000}}};
  const auto states = gpu_states(readings, Ns{0}, {}, spans);
  ASSERT_EQ(states.size(), 3U);
  // 50 ns of 2000, 100 of 1000, 50 of 2000.
  EXPECT_EQ(states[0].sm_clock_mhz.mean(), 1500);
  EXPECT_EQ(states[0].sm_clock_mhz.least(), 1000);
  EXPECT_EQ(states[0].readings, 3U);
  EXPECT_EQ(states[0].covered, Ns{200});
  EXPECT_EQ(states[0].reasons[static_cast<std::size_t>(ClockReason::hw_thermal_slowdown)].mean(),
            0.5);
  // The last reading stands until 400, twice the median distance.
  EXPECT_EQ(states[1].covered, Ns{140});
  EXPECT_EQ(states[2].covered, Ns{10});
  EXPECT_TRUE(states[1].tells());
  EXPECT_FALSE(states[2].tells());
  GpuState all;
  for (const GpuState& s : states) all.add(s);
  EXPECT_EQ(all.covered, Ns{350});
  EXPECT_EQ(all.sm_clock_mhz.least(), 1000);
  EXPECT_DOUBLE_EQ(all.sm_clock_mhz.mean().value_or(0), (250.0 * 2000 + 100.0 * 1000) / 350);
}

TEST(GpuStates, SubtractsTheZoneAndCorrectsTheClock) {
  const std::vector<GpuReading> readings = {reading(1000, 2000), reading(1100, 1000)};
  const std::vector<TimeSpan> spans = {{Ns{90}, Ns{190}}};
  const auto states = gpu_states(readings, Ns{900}, {.offset = Ns{10}}, spans);
  EXPECT_EQ(states[0].sm_clock_mhz.mean(), 2000);
}

TEST(GpuStates, HoldsNothingForAbsentValues) {
  const std::vector<GpuReading> readings = {{.time = Ns{0}, .power_watts = 500.0F},
                                            {.time = Ns{100}, .power_watts = 600.0F}};
  const std::vector<TimeSpan> spans = {{Ns{0}, Ns{200}}};
  const auto states = gpu_states(readings, Ns{0}, {}, spans);
  EXPECT_EQ(states[0].power_watts.mean(), 550);
  EXPECT_FALSE(states[0].sm_clock_mhz.mean());
  EXPECT_FALSE(states[0].reasons[0].mean());
  EXPECT_TRUE(gpu_states({}, Ns{0}, {}, spans)[0].covered == Ns{0});
}

}  // namespace

}  // namespace stepscope
