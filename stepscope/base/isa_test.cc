// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace stepscope {
namespace {

// Linux's own account of the CPU: the first value of a key in /proc/cpuinfo.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

TEST(Isa, FeaturesAreThoseThatTheSystemNames) {
  std::istringstream words(cpuinfo("flags"));
  const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags on this machine";
  const auto all = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return flags.contains(name); });
  };
  const CpuFeatures& has = cpu_features();
  EXPECT_EQ(has.intel, cpuinfo("vendor_id") == "GenuineIntel");
  EXPECT_EQ(has.popcnt, all({"popcnt"}));
  EXPECT_EQ(has.pclmul, all({"pclmulqdq"}));
  EXPECT_EQ(has.bmi, all({"bmi1"}));
  EXPECT_EQ(has.bmi2, all({"bmi2"}));
  EXPECT_EQ(has.avx2, all({"avx2", "fma"}));
  EXPECT_EQ(has.avx512, all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}));
  EXPECT_EQ(has.avx512_bf16, all({"avx512_bf16"}));
  EXPECT_EQ(has.amx_bf16, all({"amx_tile", "amx_bf16"}));
}

}  // namespace
}  // namespace stepscope
