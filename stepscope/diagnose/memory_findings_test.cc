// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/memory_findings.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Bytes mebibytes(std::int64_t n) { return Bytes{n << 20}; }

std::string ids_of(const DeviceMemoryAccount& device) {
  std::string ids;
  for (const MemoryFinding& f : memory_findings(MemorySnapshot{}, device))
    ids += (ids.empty() ? "" : " ") + f.id;
  return ids;
}

TEST(MemoryFindings, WhatHoldsMostStandsBeforeWhatIsStranded) {
  DeviceMemoryAccount device;
  MemoryFragments& peak = device.peak.fragments;
  peak.reserved = mebibytes(1100);
  peak.requested = mebibytes(1000);
  peak.stranded = mebibytes(64);
  device.peak.by_use[static_cast<std::size_t>(MemoryUse::parameters)] = mebibytes(480);
  device.peak.by_use[static_cast<std::size_t>(MemoryUse::activations)] = mebibytes(520);
  EXPECT_EQ(ids_of(device), "activations parameters stranded");
  peak.stranded = mebibytes(500);
  EXPECT_EQ(ids_of(device), "activations stranded parameters");
  device.retries.count = 1;
  device.retries.bytes = mebibytes(2);
  EXPECT_EQ(ids_of(device), "retries activations stranded parameters");
}

TEST(MemoryFindings, WithoutABackwardWhatIsKeptMayBeACache) {
  DeviceMemoryAccount device;
  device.peak.fragments.reserved = device.peak.fragments.requested = mebibytes(1000);
  device.peak.by_use[static_cast<std::size_t>(MemoryUse::activations)] = mebibytes(520);
  const auto advice = [&] { return say(memory_findings(MemorySnapshot{}, device).front().advice); };
  EXPECT_TRUE(advice().starts_with("Recompute them"));
  device.trains = false;
  EXPECT_TRUE(advice().starts_with("No stack shows a backward pass"));
}

}  // namespace
}  // namespace stepscope
