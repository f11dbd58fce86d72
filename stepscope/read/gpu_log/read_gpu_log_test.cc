// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/gpu_log/read_gpu_log.h"

#include <gtest/gtest.h>

#include "stepscope/base/files/text_source.h"
#include "stepscope/read/gpu_log/monitor_time.h"

namespace stepscope {
namespace {

Result<GpuLog> read(std::string_view text, const std::string& path = "smi.csv",
                    std::string damage = {}) {
  TextSource source(text, std::move(damage));
  return read_gpu_log(source, path);
}

constexpr Ns ms{1'000'000};
// 2026-11-25 10:11:12 UTC.
constexpr Ns instant{1'795'601'472'000'000'000};

TEST(MonitorTime, ReadsInstantsWithAndWithoutZones) {
  const auto local = monitor_time("2026/11/25 10:11:12.345");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->time, instant + 345 * ms);
  EXPECT_FALSE(local->zoned);
  EXPECT_EQ(monitor_time(" 20261125   10:11:12 ")->time, instant);
  const auto zoned = monitor_time("2026-11-25T11:11:12.5+01:00");
  ASSERT_TRUE(zoned);
  EXPECT_EQ(zoned->time, instant + 500 * ms);
  EXPECT_TRUE(zoned->zoned);
  EXPECT_EQ(monitor_time("2026-11-25 06:41:12-0330")->time, instant);
  EXPECT_EQ(monitor_time("2026-11-25T10:11:12Z")->time, instant);
}

TEST(MonitorTime, RefusesWhatIsNone) {
  for (const char* text :
       {"", "timestamp", "2026/13/25 10:11:12", "2026/02/30 10:11:12", "2026/11/25", "1/2/3",
        "2026/11/25 24:00:00", "2026/11/25 10:11:12.", "2026/11/25 10:11:12 CET",
        "0000/01/01 00:00:00", "2026/11/25 10:11:12+19"})
    EXPECT_FALSE(monitor_time(text)) << text;
}

TEST(ZoneOffset, ReadsZones) {
  EXPECT_EQ(zone_offset("UTC"), Ns{0});
  EXPECT_EQ(zone_offset("+01:00"), std::chrono::hours{1});
  EXPECT_EQ(zone_offset("UTC+5:30"), std::chrono::minutes{330});
  EXPECT_EQ(zone_offset("-0330"), -std::chrono::minutes{210});
  EXPECT_EQ(zone_offset("+8"), std::chrono::hours{8});
  for (const char* text : {"", "CET", "1", "+", "+1:3", "+15", "+01:60", "+01:00x"})
    EXPECT_FALSE(zone_offset(text)) << text;
}

TEST(ReadGpuLog, ReadsTheTableOfNvidiaSmi) {
  const auto log = read(
      "timestamp, index, uuid, name, clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], "
      "power.limit [W], temperature.gpu, clocks_event_reasons.active, utilization.gpu [%], "
      "memory.used [MiB]\n"
      "2026/11/25 10:11:12.000, 0, GPU-aa, NVIDIA H100 80GB HBM3, 1980 MHz, 1980 MHz, 612.25 W, "
      "700.00 W, 61, 0x0000000000000000, 99 %, 70000 MiB\n"
      "2026/11/25 10:11:12.004, 1, GPU-bb, NVIDIA H100 80GB HBM3, 1200 MHz, 1980 MHz, [N/A], "
      "700.00 W, 88, 0x0000000000000048, [Not Supported], 70000 MiB\n"
      "2026/11/25 10:11:12.100, 0, GPU-aa, NVIDIA H100 80GB HBM3, 1965 MHz, 1980 MHz, 699.80 W, "
      "700.00 W, 62, 0x0000000000000004, 100 %, 70000 MiB\n");
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_EQ(log->format, "nvidia-smi");
  EXPECT_TRUE(log->local_time);
  ASSERT_EQ(log->gpus.size(), 2U);
  EXPECT_EQ(log->gpus[1].uuid, "GPU-bb");
  EXPECT_EQ(log->gpus[1].index, 1);
  EXPECT_EQ(log->gpus[0].max_sm_clock_mhz, 1980);
  EXPECT_EQ(log->gpus[0].power_limit_watts, 700);
  ASSERT_EQ(log->readings.size(), 3U);
  EXPECT_EQ(log->readings[0].time, instant);
  EXPECT_EQ(log->readings[1].time, instant + 100 * ms);  // by GPU, then time
  EXPECT_EQ(log->readings[1].reasons, bit_of(ClockReason::sw_power_cap));
  EXPECT_FLOAT_EQ(log->readings[1].power_watts.value_or(0), 699.8F);
  const GpuReading& hot = log->readings[2];
  EXPECT_EQ(hot.sm_clock_mhz, 1200);
  EXPECT_FALSE(hot.power_watts);
  EXPECT_FALSE(hot.utilization);
  EXPECT_EQ(hot.memory_used, Bytes{70000LL * 1024 * 1024});
  EXPECT_EQ(hot.reasons,
            bit_of(ClockReason::hw_slowdown) | bit_of(ClockReason::hw_thermal_slowdown));
  EXPECT_EQ(hot.reasons_known, all_clock_reasons);
  EXPECT_TRUE(log->notes.counts.empty());
}

TEST(ReadGpuLog, ReadsOldNamesPlainUnitsAndColumnsOfReasons) {
  const auto log = read(
      "\xef\xbb\xbftimestamp,gpu_uuid,clocks.sm [MHz],clocks_throttle_reasons.sw_power_cap,"
      "clocks_throttle_reasons.hw_thermal_slowdown,clocks_throttle_reasons.unknown\r\n"
      "2026/11/25 10:11:12.000,GPU-aa,1980,Not Active,Active,Active\r\n"
      "2026/11/25 10:11:13.000,GPU-aa,1980,[N/A],Not Active,Not Active\r\n");
  ASSERT_TRUE(log) << log.error().message();
  ASSERT_EQ(log->readings.size(), 2U);
  EXPECT_EQ(log->readings[0].sm_clock_mhz, 1980);
  EXPECT_EQ(log->readings[0].reasons, bit_of(ClockReason::hw_thermal_slowdown));
  EXPECT_EQ(log->readings[0].reasons_known,
            bit_of(ClockReason::hw_thermal_slowdown) | bit_of(ClockReason::sw_power_cap));
  EXPECT_EQ(log->readings[1].reasons_known, bit_of(ClockReason::hw_thermal_slowdown));
}

TEST(ReadGpuLog, CountsRowsThatItCannotUse) {
  const auto log = read(
      "timestamp, index, clocks.sm [MHz]\n"
      "2026/11/25 10:11:12.000, 0, 1980 MHz\n"
      "yesterday, 0, 1980 MHz\n"
      "2026/11/25 10:11:12.100, 0\n"
      "2026/11/25 10:11:12.200, x, 1980 MHz\n"
      "2026/11/25 10:11:12.300, 0, [Unknown Error]\n"
      "2026/11/25 10:11:12.400, 0, 19");
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_EQ(log->readings.size(), 2U);
  EXPECT_EQ(log->notes.counts.at("no_time"), 1U);
  EXPECT_EQ(log->notes.counts.at("wrong_cell_count"), 1U);
  EXPECT_EQ(log->notes.counts.at("no_gpu"), 1U);
  EXPECT_EQ(log->notes.counts.at("no_reading"), 1U);
  EXPECT_EQ(log->notes.first_byte.at("no_time"), 71U);
}

TEST(ReadGpuLog, SaysWhatALogLacks) {
  const auto error = [](std::string_view text) {
    const auto log = read(text);
    return log ? std::string("read") : log.error().message();
  };
  EXPECT_NE(error("2026/11/25 10:11:12.345, 0, 1980 MHz\n").find("without noheader"),
            std::string::npos);
  EXPECT_NE(error("timestamp, clocks.sm [MHz]\n2026/11/25 10:11:12.345, 1980 MHz\n").find("index"),
            std::string::npos);
  EXPECT_NE(error("index, clocks.sm [MHz], power.draw [W], temperature.gpu\n0, 1980 MHz, 1 W, 1\n")
                .find("timestamp"),
            std::string::npos);
  EXPECT_NE(
      error("# gpu    pwr  gtemp   pclk\n# Idx      W      C    MHz\n    0    612     61   1980\n")
          .find("-o DT"),
      std::string::npos);
  EXPECT_NE(error("#Entity   SMCLK   POWER\nID\nGPU 0     1980    612.2\n").find("| ts"),
            std::string::npos);
  EXPECT_NE(error("DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1980 17956014720\n").find("dump-openmetrics"),
            std::string::npos);
  EXPECT_NE(error("DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1980\n").find("dump-openmetrics"),
            std::string::npos);
  EXPECT_NE(error("timestamp, index, clocks.sm [MHz]\n").find("without a reading"),
            std::string::npos);
  EXPECT_NE(error("step,ms\n1,2\n").find("no log of GPUs"), std::string::npos);
}

TEST(ReadGpuLog, ReadsDmonOfNvidiaSmi) {
  for (const char* text :
       {"#Date       Time        gpu    pwr  gtemp  mtemp     sm   mclk   pclk\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %    MHz    MHz\n"
        " 20261125   10:11:12      0    612     61      -     99   2619   1980\n"
        " 20261125   10:11:13      0    611     61      -     98   2619   1965\n",
        "#Date, Time, gpu, pwr, gtemp, mtemp, sm, mclk, pclk\n"
        "#YYYYMMDD, HH:MM:SS, Idx, W, C, C, %, MHz, MHz\n"
        "20261125, 10:11:12, 0, 612, 61, -, 99, 2619, 1980\n"
        "20261125, 10:11:13, 0, 611, 61, -, 98, 2619, 1965\n"}) {
    const auto log = read(text);
    ASSERT_TRUE(log) << log.error().message();
    EXPECT_EQ(log->format, "nvidia-smi dmon");
    EXPECT_TRUE(log->local_time);
    ASSERT_EQ(log->readings.size(), 2U);
    EXPECT_EQ(log->readings[0].time, instant);
    EXPECT_EQ(log->readings[1].sm_clock_mhz, 1965);
    EXPECT_EQ(log->readings[0].memory_clock_mhz, 2619);
    EXPECT_FLOAT_EQ(log->readings[0].utilization.value_or(0), 0.99F);
    EXPECT_EQ(log->readings[0].reasons_known, 0U);
  }
}

TEST(ReadGpuLog, ReadsDmonOfDcgmiBehindTimes) {
  const auto log = read(
      "2026-11-25 11:11:12.000000+0100 #Entity   SMCLK   DVCCTR   POWER    TENSO\n"
      "2026-11-25 11:11:12.000001+0100 ID\n"
      "2026-11-25 11:11:12.000002+0100 GPU 0     1980    4        612.250  0.512\n"
      "2026-11-25 11:11:12.000003+0100 GPU 1     1200    N/A      300.000  N/A\n"
      "2026-11-25 11:11:12.000004+0100 GPU-I 2   1200    N/A      300.000  N/A\n");
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_EQ(log->format, "dcgmi dmon");
  EXPECT_FALSE(log->local_time);
  ASSERT_EQ(log->readings.size(), 2U);
  EXPECT_EQ(log->readings[0].time, instant + Ns{2000});
  EXPECT_EQ(log->readings[0].reasons, bit_of(ClockReason::sw_power_cap));
  EXPECT_FLOAT_EQ(log->readings[0].tensor_active.value_or(0), 0.512F);
  EXPECT_FALSE(log->readings[1].tensor_active);
  EXPECT_EQ(log->readings[1].reasons_known, 0U);
  EXPECT_EQ(log->notes.counts.at("no_gpu"), 2U);
}

TEST(ReadGpuLog, ReadsMetricsOfDcgmExporter) {
  const auto log = read(
      "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n"
      "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
      "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-aa\",modelName=\"NVIDIA H100\",Hostname=\"n1\"} "
      "1980 1795601472.000\n"
      "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-aa\",modelName=\"NVIDIA H100\",Hostname=\"n2\"} "
      "1200 1795601472000\n"
      "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu=\"0\",UUID=\"GPU-aa\",Hostname=\"n1\"} 6.4e+01 "
      "1795601472.000\n"
      "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",UUID=\"GPU-aa\",Hostname=\"n1\"} 0 1795601472.000\n"
      "# EOF\n");
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_FALSE(log->local_time);
  ASSERT_EQ(log->gpus.size(), 2U);
  EXPECT_EQ(log->gpus[0].host, "n1");
  EXPECT_EQ(log->gpus[1].host, "n2");
  ASSERT_EQ(log->readings.size(), 2U);
  EXPECT_EQ(log->readings[0].time, instant);
  EXPECT_EQ(log->readings[0].sm_clock_mhz, 1980);
  EXPECT_EQ(log->readings[0].reasons, bit_of(ClockReason::hw_thermal_slowdown));
  EXPECT_EQ(log->readings[1].time, instant);
}

TEST(ReadGpuLog, TakesTheRankOfItsNameAndNotesDamage) {
  constexpr std::string_view text =
      "timestamp, index, clocks.sm [MHz]\n2026/11/25 10:11:12.000, 0, 1980 MHz\n";
  const auto rank_of = [&](const char* path) { return read(text, path)->named_rank; };
  EXPECT_EQ(rank_of("logs/gpu_rank12.csv"), 12);
  EXPECT_EQ(rank_of("rank-3.smi.csv.gz"), 3);
  EXPECT_EQ(rank_of("rank3/smi.csv"), std::nullopt);
  EXPECT_EQ(rank_of("ranking.csv"), std::nullopt);
  const auto cut = read(text, "smi.csv.gz", "gzip member cut");
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->notes.truncated);
}

TEST(IsGpuLog, LeavesOtherFilesAlone) {
  for (const char* text :
       {"{\"traceEvents\": []}", "step,timestamp,ms\n1,2,3\n", "timestamp,name,index\n",
        "timestamp,uuid,index\n",
        "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n",
        "[2026-11-25 10:11:12] iteration 1/ 10 | elapsed time per iteration (ms): 12\n",
        "# gpu usage of the team\n", "#Entity relations\nno times before GPU 0\n", ""})
    EXPECT_FALSE(is_gpu_log(text) && read(text)) << text;
}

}  // namespace
}  // namespace stepscope
