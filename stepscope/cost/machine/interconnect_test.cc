// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/interconnect.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

Machine machine(const std::string& links) {
  auto m = parse_machine(R"({"name": "box", "peak_tflops": {}, "sources": ["s"], )" + links + "}",
                         "box");
  EXPECT_TRUE(m) << m.error().message();
  return *m;
}

Network network(const std::string& links) {
  auto n = make_network(machine(links));
  EXPECT_TRUE(n) << n.error().message();
  return *n;
}

Network eight_per_switch() {
  return network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400, "domain": 8,
      "topology": "switch"}, "scale_out": {"gb_per_s_per_direction": 25})");
}

Network four_in_a_mesh() {
  return network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 300,
      "p2p_gb_per_s_per_direction": 100, "domain": 4, "topology": "mesh"},
      "scale_out": {"gb_per_s_per_direction": 25})");
}

double gb(ByteRate rate) { return rate.value / 1e9; }

TEST(Network, TakesMeasuredTimingAndSaysWhatItAssumes) {
  const Network n = network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400,
      "domain": 8, "topology": "switch", "timing": {"source": "s", "start_us": 7}},
      "scale_out": {"gb_per_s_per_direction": 25})");
  EXPECT_EQ(of(n.up_timing, LinkParameter::start_us), 7);
  EXPECT_EQ(of(n.up_timing, LinkParameter::hop_ll_us), *info(LinkParameter::hop_ll_us).up);
  EXPECT_EQ(of(n.up_timing, LinkParameter::hop_ll_us, Protocol::simple),
            *info(LinkParameter::hop_simple_us).up);
  ASSERT_EQ(n.assumptions.size(), 1u) << "one line for both links";
  EXPECT_TRUE(n.assumptions[0].starts_with("scale_up.timing and scale_out.timing: "))
      << n.assumptions[0];
  EXPECT_NE(n.assumptions[0].find("stepscope calibrate"), std::string::npos) << n.assumptions[0];
}

TEST(Network, NamesLinksThatAServerMayLack) {
  const std::string link =
      R"("scale_up": {"name": "bridge", "gb_per_s_per_direction": 300, "domain": 2,
      "topology": "mesh")";
  const auto told = [](const Network& n) {
    return std::ranges::any_of(n.assumptions, [](const std::string& a) {
      return a.starts_with(
          "links are assumed: bridge joins each 2 devices (300 GB/s each way), the "
          "network gives a device 25 GB/s");
    });
  };
  const std::string out = R"(, "scale_out": {"gb_per_s_per_direction": 25})";
  EXPECT_TRUE(told(network(link + R"(, "optional": true})" + out)));
  EXPECT_FALSE(told(network(link + "}" + out)));
}

TEST(Network, NamesTheFewTimingsThatLack) {
  std::string timing = R"("source": "s")";
  for (const LinkParameterInfo& parameter : link_parameters)
    if (parameter.up && parameter.name != "hop_ll_us")
      timing += ", \"" + std::string(parameter.name) + "\": " + std::to_string(*parameter.up);
  const Network n = network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400,
      "domain": 8, "topology": "switch", "timing": {)" +
                            timing + "}}");
  ASSERT_FALSE(n.assumptions.empty());
  EXPECT_NE(n.assumptions[0].find("1 number is taken from other machines (hop_ll_us 0.75)"),
            std::string::npos)
      << n.assumptions[0];
}

TEST(Network, ListsItsTiersInnermostFirst) {
  const Network n = network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400,
      "domain": 8, "topology": "switch"}, "scale_out": {"gb_per_s_per_direction": 50,
      "rails": true, "pod_devices": 3072, "oversubscription": 7})");
  ASSERT_EQ(n.tiers.size(), 3u);
  EXPECT_EQ(n.tiers[0].devices, 8);
  EXPECT_EQ(n.tiers[1].name, "rails");
  EXPECT_EQ(n.tiers[1].devices, 3072);
  EXPECT_NEAR(gb(n.tiers[2].per_device), 50.0 / 7, 1e-12);
}

TEST(Network, ReadsAnUnstatedTopologyFromTheRates) {
  const Network n = network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 448,
      "p2p_gb_per_s_per_direction": 64, "domain": 8})");
  EXPECT_EQ(n.topology, Topology::mesh);
  EXPECT_NE(n.assumptions[0].find("topology is not stated"), std::string::npos);
}

TEST(Network, NamesTheFieldThatAMachineLacks) {
  const Machine no_domain = machine(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 9})");
  const auto failed = make_network(no_domain);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("scale_up.domain"), std::string::npos);
  const auto given = make_network(no_domain, {.domain = 4});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->domain, 4);
  const auto no_rate = make_network(machine(R"("scale_up": {"name": "l", "domain": 4})"));
  ASSERT_FALSE(no_rate);
  EXPECT_NE(no_rate.error().message().find("gb_per_s_per_direction"), std::string::npos);
  EXPECT_FALSE(make_network(no_domain, {.domain = 0}));
}

TEST(Network, OfEveryCatalogueMachineIsMadeOrNamesWhatIsMissing) {
  int made = 0;
  for (const Machine& m : machine_catalogue()) {
    const auto n = make_network(m);
    if (n)
      ++made;
    else
      EXPECT_NE(n.error().message().find("does not say"), std::string::npos) << m.name;
  }
  EXPECT_GE(made, 18);
}

TEST(Place, PutsTheFirstDimensionInsideADomain) {
  const auto tp = place(8, 1, eight_per_switch());
  ASSERT_TRUE(tp);
  EXPECT_EQ(tp->domains, 1);
  EXPECT_EQ(tp->members, 8);
  EXPECT_EQ(gb(tp->within), 400);
  EXPECT_EQ(gb(tp->across), 0);
}

TEST(Place, GivesAStridedGroupOneMemberADomain) {
  const auto dp = place(16, 8, eight_per_switch());
  ASSERT_TRUE(dp);
  EXPECT_EQ(dp->domains, 16);
  EXPECT_EQ(dp->members, 1);
  EXPECT_EQ(gb(dp->across), 25);
  EXPECT_EQ(gb(dp->within), 0);
}

TEST(Place, AddsThePortsOfTheMembersOfADomain) {
  const auto dp = place(16, 2, eight_per_switch());
  ASSERT_TRUE(dp);
  EXPECT_EQ(dp->members, 4);
  EXPECT_EQ(dp->domains, 4);
  EXPECT_EQ(gb(dp->across), 100);
}

TEST(Place, IsHeldUpByTheDomainWithFewestMembers) {
  const auto group = place(12, 1, eight_per_switch());
  ASSERT_TRUE(group);
  EXPECT_EQ(group->domains, 2);
  EXPECT_EQ(group->members, 4);
  EXPECT_EQ(gb(group->across), 100);
}

TEST(Place, RefusesToLeaveADomainWithoutANetwork) {
  const Network n =
      network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400, "domain": 8})");
  EXPECT_TRUE(place(8, 1, n));
  EXPECT_FALSE(place(16, 1, n));
  EXPECT_FALSE(place(2, 8, n));
  EXPECT_FALSE(place_in_domains(2, 8, n));
  EXPECT_FALSE(place_in_domains(1, 16, n));
}

TEST(Place, GivesTwoDevicesOfAMeshTheirOwnLinksOnly) {
  EXPECT_EQ(gb(place(2, 1, four_in_a_mesh())->within), 100);
  EXPECT_EQ(gb(place(4, 1, four_in_a_mesh())->within), 300);
}

TEST(Place, CountsTheLinksOfAHybridMeshPlaceByPlace) {
  const auto v100 = make_network(*find_machine("Tesla V100-SXM2-32GB"));
  ASSERT_TRUE(v100);
  EXPECT_EQ(gb(place(2, 1, *v100)->within), 25);
  EXPECT_EQ(gb(place(2, 4, *v100)->within), 50) << "two links to the fourth";
  EXPECT_EQ(gb(place(4, 1, *v100)->within), 100);
  EXPECT_EQ(gb(place(8, 1, *v100)->within), 150);
}

TEST(Place, DividesTheRateWhereAGroupLeavesItsPod) {
  const Network n = network(R"("scale_up": {"name": "l", "gb_per_s_per_direction": 400,
      "domain": 8, "topology": "switch"}, "scale_out": {"gb_per_s_per_direction": 49,
      "pod_devices": 32, "oversubscription": 7})");
  EXPECT_EQ(gb(place(4, 8, n)->across), 49);
  EXPECT_NEAR(gb(place(8, 8, n)->across), 7, 1e-12);
}

TEST(Place, TheSlowestTierOfAGroupHasTheRateOfOneDevice) {
  const Network n = eight_per_switch();
  EXPECT_EQ(gb(slowest_rate(*place(8, 1, n))), 400);
  EXPECT_EQ(gb(slowest_rate(*place(16, 1, n))), 25);
  EXPECT_EQ(gb(slowest_rate(*place(4, 8, n))), 25);  // one device of each domain
  EXPECT_EQ(gb(slowest_rate(*place(2, 1, four_in_a_mesh()))), 100);
  EXPECT_EQ(gb(slowest_rate(*place(4, 1, four_in_a_mesh()))), 300);
}

}  // namespace
}  // namespace stepscope
