// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// Write, read and write again: the second machine equals the first, so the text has every field of
// every catalogue machine.
TEST(MachineText, EveryMachineOfTheCatalogueComesBack) {
  ASSERT_FALSE(machine_catalogue().empty());
  for (const Machine& machine : machine_catalogue()) {
    const std::string text = machine_text(machine);
    const auto again = parse_machine(text, machine.name);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(machine_text(*again), text) << machine.name;
    EXPECT_EQ(again->memory, machine.memory) << machine.name;
    EXPECT_EQ(again->memory_rate, machine.memory_rate) << machine.name;
    EXPECT_EQ(again->peak_rates, machine.peak_rates) << machine.name;
    EXPECT_EQ(again->sources, machine.sources) << machine.name;
    EXPECT_EQ(again->notes, machine.notes) << machine.name;
    EXPECT_EQ(again->aliases.size(), machine.aliases.size()) << machine.name;
    ASSERT_EQ(again->compute.has_value(), machine.compute.has_value()) << machine.name;
    if (machine.compute) {
      EXPECT_EQ(again->compute->values, machine.compute->values) << machine.name;
    }
    ASSERT_EQ(again->scale_up.has_value(), machine.scale_up.has_value()) << machine.name;
    if (machine.scale_up) {
      EXPECT_EQ(again->scale_up->peers, machine.scale_up->peers) << machine.name;
      EXPECT_EQ(again->scale_up->topology, machine.scale_up->topology) << machine.name;
      EXPECT_EQ(again->scale_up->timing.has_value(), machine.scale_up->timing.has_value());
    }
    ASSERT_EQ(again->scale_out.has_value(), machine.scale_out.has_value()) << machine.name;
    EXPECT_EQ(again->host.has_value(), machine.host.has_value()) << machine.name;
    EXPECT_EQ(again->nvme.has_value(), machine.nvme.has_value()) << machine.name;
  }
}

// The catalogue never uses some fields. This machine has all of them, with all digits.
TEST(MachineText, EveryFieldComesBack) {
  constexpr std::string_view whole = R"({
  "name": "Box 1",
  "vendor": "Box",
  "aliases": ["Box One", {"name": "Box", "memory_must_match": true}],
  "peak_tflops": {"fp32": 0.11713, "bf16": 100.125},
  "matmul_max_tflops": {"bf16": 80},
  "vector_tflops": {"bf16": 0.5},
  "memory_gb": 80.123456789,
  "memory_gb_per_s": 2000.3,
  "compute": {"units": 4, "matmul_efficiency": {"fp32": 0.91},
              "attention_efficiency": {"fp32": 0.5}, "vendor_attention_efficiency": {"fp32": 0.6},
              "launch_us": 0, "tail": 0.125, "source": "a fit"},
  "scale_up": {"name": "boxlink", "gb_per_s_per_direction": 400,
               "p2p_gb_per_s_per_direction": 100, "domain": 8,
               "topology": "hybrid mesh", "peers_gb_per_s_per_direction": [50, 0, 25.5],
               "switch_reduction": {"name": "r", "group_from": 4},
               "timing": {"start_us": 20.5, "measured_to_gb": 0.067108864, "source": "t"}},
  "scale_out": {"name": "net", "gb_per_s_per_direction": 25, "ports_per_node": 4,
                "devices_per_node": 8, "rails": false, "pod_devices": 64,
                "oversubscription": 2.5, "switch_reduction": {"name": "s"},
                "timing": {"start_us": 9, "source": "u"}},
  "host": {"gb_per_s_per_direction": 32, "memory_gb_per_s": 50.5, "memory_gb": 256},
  "nvme": {"read_gb_per_s": 3.2, "write_gb_per_s": 1.1, "capacity_gb": 2000},
  "sources": ["its maker"],
  "notes": {"memory_gb": "or 79"}
})";
  const auto machine = parse_machine(whole, "box.json");
  ASSERT_TRUE(machine) << machine.error().message();
  std::string packed = machine_text(*machine);
  std::string expected(whole);
  const auto strip = [](std::string& text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  };
  strip(packed);
  strip(expected);
  EXPECT_EQ(packed, expected);
}

}  // namespace
}  // namespace stepscope
