// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "stepscope/cost/machine/machine.h"

namespace stepscope {
namespace {

Result<Machine> with(const std::string& links) {
  return parse_machine(R"({"name": "x", "peak_tflops": {}, "sources": ["s"], )" + links + "}", "m");
}

std::string complaint(const std::string& links) {
  const Result<Machine> machine = with(links);
  return machine ? "" : machine.error().message();
}

std::optional<double> value(const LinkTiming& timing, LinkParameter p) {
  return timing.values[static_cast<std::size_t>(p)];
}

TEST(MachineLinks, KeepWhatTheFileSaysOfBothTiers) {
  const auto m = with(R"("scale_up": {"name": "l", "topology": "hybrid mesh",
      "peers_gb_per_s_per_direction": [25, 0, 50],
      "switch_reduction": {"name": "NVLS", "group_from": 5},
      "timing": {"source": "t", "start_us": 12.5, "rate_ll": 0.3}},
    "scale_out": {"ports_per_node": 4, "devices_per_node": 8, "rails": true, "pod_devices": 3072,
      "oversubscription": 7, "timing": {"source": "u", "turn": 0.3}})");
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->scale_up->topology, Topology::hybrid_mesh);
  ASSERT_EQ(m->scale_up->peers.size(), 3u);
  EXPECT_EQ(m->scale_up->peers[1].value, 0);
  EXPECT_EQ(m->scale_up->peers[2].value, 50e9);
  EXPECT_EQ(m->scale_up->reduction->group_from, 5);
  EXPECT_EQ(value(*m->scale_up->timing, LinkParameter::start_us), 12.5);
  EXPECT_EQ(value(*m->scale_up->timing, LinkParameter::rate_ll), 0.3);
  EXPECT_FALSE(value(*m->scale_up->timing, LinkParameter::hop_ll_us));
  EXPECT_EQ(m->scale_out->ports_per_node, 4);
  EXPECT_EQ(m->scale_out->devices_per_node, 8);
  EXPECT_EQ(m->scale_out->rails, true);
  EXPECT_EQ(m->scale_out->pod_devices, 3072);
  EXPECT_EQ(m->scale_out->oversubscription, 7);
  EXPECT_EQ(value(*m->scale_out->timing, LinkParameter::turn), 0.3);
}

TEST(MachineLinks, NameTheFieldThatIsWrong) {
  const auto says = [](const std::string& links, std::string_view part) {
    EXPECT_NE(complaint(links).find(part), std::string::npos) << complaint(links);
  };
  says(R"("scale_up": {"name": "l", "topology": "ring"})", "\"scale_up.topology\" must be one of");
  says(R"("scale_up": {"name": "l", "peers_gb_per_s_per_direction": 3})", "must be a list");
  says(R"("scale_up": {"name": "l", "peers_gb_per_s_per_direction": [-1]})", "from 1e-6 to 1e9");
  says(R"("memory_gb_per_s": 1e-300)", "from 1e-6 to 1e9");
  says(R"("scale_up": {"name": "l", "switch_reduction": {"from": 5}})", "switch_reduction.from");
  says(R"("scale_up": {"name": "l", "timing": {"start_us": 1}})", "timing.source\" is missing");
  says(R"("scale_up": {"name": "l", "timing": {"source": "s", "turn": 1}})",
       "\"scale_up.timing.turn\" is not a timing of these links");
  says(R"("scale_out": {"timing": {"source": "s", "alpha": 1}})", "\"scale_out.timing.alpha\"");
  says(R"("scale_out": {"timing": {"source": "s", "rate_ll": 0.9}})", "must lie between");
  says(R"("scale_out": {"rails": 1})", "must be true or false");
  says(R"("scale_out": {"ports_per_node": 1.5})", "must be a whole number");
  says(R"("scale_out": {"oversubscription": 0.5})", "is below 1");
}

TEST(MachineLinks, OfTheCatalogueSayWhatAGroupOfTwoGets) {
  const Machine* v100 = find_machine("Tesla V100-SXM2-16GB");
  ASSERT_NE(v100, nullptr);
  EXPECT_EQ(v100->scale_up->peers.front().value, 25e9);
  const Machine* perlmutter = find_machine("A100-40GB SXM, 4 in a mesh (Perlmutter)");
  ASSERT_NE(perlmutter, nullptr);
  EXPECT_EQ(link_rate(*perlmutter, std::vector{0, 1})->value, 100e9);
  EXPECT_EQ(link_rate(*perlmutter, std::vector{0, 1, 2, 3})->value, 300e9);
}

}  // namespace
}  // namespace stepscope
