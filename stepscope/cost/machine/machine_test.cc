// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <set>

namespace stepscope {
namespace {

constexpr std::string_view whole = R"({
  "name": "Box 1", "vendor": "Box",
  "aliases": ["Box One", {"name": "Box", "memory_must_match": true}],
  "peak_tflops": {"bf16": 100, "fp8": 200.5},
  "matmul_max_tflops": {"bf16": 80},
  "vector_tflops": {"fp16": 25},
  "memory_gb": 80, "memory_gb_per_s": 2000,
  "scale_up": {"name": "boxlink", "gb_per_s_per_direction": 400,
               "p2p_gb_per_s_per_direction": 100, "domain": 8, "topology": "mesh"},
  "scale_out": {"name": "net", "gb_per_s_per_direction": 25},
  "sources": ["its maker"], "notes": {"memory_gb": "or 79"}
})";

Machine box() {
  Result<Machine> machine = parse_machine(whole, "box.json");
  EXPECT_TRUE(machine.has_value()) << machine.error().message();
  return *machine;
}

std::string machine_complaint(std::string_view json) {
  const Result<Machine> machine = parse_machine(json, "m.json");
  return machine ? "" : machine.error().message();
}

TEST(MachineFile, GivesEveryFigureItsUnit) {
  const Machine m = box();
  EXPECT_EQ(m.name, "Box 1");
  EXPECT_EQ(peak(m, Dtype::bf16)->value, 100e12);
  EXPECT_EQ(peak(m, Dtype::fp8)->value, 200.5e12);
  EXPECT_EQ(m.matmul_max[index(Dtype::bf16)]->value, 80e12);
  EXPECT_EQ(m.vector_rates[index(Dtype::fp16)]->value, 25e12);
  EXPECT_FALSE(m.vector_rates[index(Dtype::bf16)]);
  EXPECT_EQ(m.memory->value, 80'000'000'000);
  EXPECT_EQ(m.memory_rate->value, 2000e9);
  EXPECT_EQ(m.scale_up->per_direction->value, 400e9);
  EXPECT_EQ(m.scale_up->peer_to_peer->value, 100e9);
  EXPECT_EQ(m.scale_up->domain, 8);
  EXPECT_EQ(m.scale_out->per_direction->value, 25e9);
  EXPECT_EQ(m.notes.at("memory_gb"), "or 79");
}

TEST(MachineFile, LeavesUnknownFiguresAbsent) {
  const auto m = parse_machine(R"({"name": "x", "peak_tflops": {}, "sources": ["s"]})", "x");
  ASSERT_TRUE(m);
  EXPECT_FALSE(peak(*m, Dtype::bf16));
  EXPECT_FALSE(m->memory);
  EXPECT_FALSE(m->memory_rate);
  EXPECT_FALSE(m->scale_up);
  EXPECT_FALSE(m->scale_out);
}

TEST(MachineFile, NamesAllThatIsWrongAtOnce) {
  const std::string said = machine_complaint(
      R"({"name": "x", "peak_tflops": {}, "scale_up": {"timing": {"hop_us": 20}}})");
  EXPECT_NE(said.find("field \"scale_up.name\" is missing; field \"scale_up.timing.source\" is "
                      "missing; field \"scale_up.timing.hop_us\" is not a timing of these links"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("; field \"sources\" must be a list"), std::string::npos) << said;
}

TEST(MachineFile, NamesTheFieldThatIsWrong) {
  const auto with = [](std::string field) {
    return R"({"name": "x", "sources": ["s"], )" + field + "}";
  };
  EXPECT_EQ(machine_complaint(with(R"("peak_tflops": {"bf16": -1})")),
            "m.json: line 1, column 49: field \"peak_tflops.bf16\" must be a number from 1e-6 to "
            "1e9; data/machines shows machine files, which leave out what is not known");
  EXPECT_NE(
      machine_complaint(with(R"("peak_tflops": {}, "memory_gb": 1e300)")).find("\"memory_gb\""),
      std::string::npos);
  EXPECT_NE(machine_complaint(with(R"("peak_tflops": {"int8": 1})")).find("\"peak_tflops.int8\""),
            std::string::npos);
  EXPECT_NE(machine_complaint(with(R"("peak_tflops": {}, "memory": 3)"))
                .find("\"memory\" is not a field"),
            std::string::npos);
  EXPECT_NE(
      machine_complaint(with(R"("peak_tflops": {}, "memory_gb": "80")")).find("\"memory_gb\""),
      std::string::npos);
  EXPECT_NE(machine_complaint(with(R"("peak_tflops": {}, "scale_up": {"domain": 8})"))
                .find("\"scale_up.name\" is missing"),
            std::string::npos);
  EXPECT_NE(
      machine_complaint(with(R"("peak_tflops": {}, "scale_up": {"name": "l", "domain": 1.5})"))
          .find("\"scale_up.domain\""),
      std::string::npos);
  EXPECT_NE(
      machine_complaint(with(R"("peak_tflops": {}, "aliases": ["a", 3])")).find("\"aliases[1]\""),
      std::string::npos);
  EXPECT_NE(machine_complaint(with(R"("peak_tflops": {}, "notes": {"memry_gb": "?"})"))
                .find("\"notes.memry_gb\""),
            std::string::npos);
  EXPECT_NE(
      machine_complaint(R"({"name": "x", "sources": ["s"]})").find("\"peak_tflops\" is missing"),
      std::string::npos);
  EXPECT_NE(machine_complaint(R"({"name": "x", "peak_tflops": {}})").find("\"sources\""),
            std::string::npos);
  EXPECT_NE(
      machine_complaint(R"({"peak_tflops": {}, "sources": ["s"]})").find("\"name\" is missing"),
      std::string::npos);
}

TEST(MachineFile, NamesTheLineAndColumnOfASyntaxError) {
  const Result<Machine> m = parse_machine(R"({"name": })", "m.json");
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().file, "m.json");
  EXPECT_NE(m.error().message().find("line 1, column 10: not JSON; data/machines"),
            std::string::npos);
  EXPECT_NE(machine_complaint(R"({"name": 1e30017})").find("beyond any range"), std::string::npos);
  EXPECT_NE(machine_complaint("").find("the file is empty"), std::string::npos);
  EXPECT_NE(machine_complaint("[1]").find("one JSON object"), std::string::npos);
}

TEST(MachineFile, IsReadFromDisk) {
  const std::string path = ::testing::TempDir() + "machine_test.json";
  std::ofstream(path) << whole;
  const Result<Machine> m = read_machine(path);
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->name, "Box 1");
  std::remove(path.c_str());
  const Result<Machine> gone = read_machine(path);
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message().find("No such file"), std::string::npos);
  EXPECT_FALSE(read_machine(::testing::TempDir()));
}

TEST(Catalogue, HoldsEveryMachineOnce) {
  std::set<std::string> names;
  for (const Machine& m : machine_catalogue()) {
    EXPECT_FALSE(m.sources.empty()) << m.name;
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    for (const MachineAlias& a : m.aliases) {
      EXPECT_TRUE(a.name == m.name || names.insert(a.name).second) << a.name;
    }
  }
  EXPECT_GE(machine_catalogue().size(), 25u);
}

struct Known {
  std::string_view gpu;
  std::int64_t memory;  // as in its trace
  Dtype dtype;
  double peak_tflops;
};
class Device : public ::testing::TestWithParam<Known> {};

TEST_P(Device, IsFoundByTheNameInATrace) {
  const Known& k = GetParam();
  const Machine* by_name = find_machine(k.gpu);
  ASSERT_NE(by_name, nullptr) << k.gpu;
  EXPECT_EQ(find_machine(k.gpu, Bytes{k.memory}), by_name);
  ASSERT_TRUE(peak(*by_name, k.dtype));
  EXPECT_EQ(peak(*by_name, k.dtype)->value, k.peak_tflops * 1e12);
}
INSTANTIATE_TEST_SUITE_P(
    Catalogue, Device,
    ::testing::Values(Known{"NVIDIA H100 80GB HBM3", 85'028'634'624, Dtype::bf16, 989},
                      Known{"Tesla V100-SXM2-16GB", 16'945'709'056, Dtype::fp16, 125},
                      Known{"Tesla V100-SXM2-32GB", 34'079'899'648, Dtype::fp16, 125},
                      Known{"Tesla V100-PCIE-32GB", 34'079'899'648, Dtype::fp16, 112},
                      Known{"NVIDIA A100-SXM4-40GB", 42'314'694'656, Dtype::bf16, 312},
                      Known{"AMD Instinct MI300X", 206'141'652'992, Dtype::bf16, 1307},
                      Known{"NVIDIA H200", 150'111'027'200, Dtype::fp8, 1979},
                      Known{"AMD Instinct MI250X", 68'702'699'520, Dtype::fp16, 191.5}));

TEST(Catalogue, DoesNotTakeOneProductForAnother) {
  EXPECT_EQ(find_machine("Tesla V100S-PCIE-32GB"), nullptr);
  EXPECT_EQ(find_machine("NVIDIA A100-PCIE-40GB"), nullptr);
  EXPECT_EQ(find_machine("NVIDIA H100 NVL"), nullptr);
  EXPECT_EQ(find_machine("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), nullptr);
  EXPECT_EQ(find_machine("AMD Radeon Graphics"), nullptr);
  EXPECT_EQ(find_machine(""), nullptr);
}

TEST(Catalogue, RefusesADeviceWhoseMemoryIsAnothers) {
  EXPECT_EQ(find_machine("NVIDIA H100 80GB HBM3", Bytes{20'000'000'000}), nullptr);
}

TEST(Catalogue, TakesABareNameOnlyWithTheMemoryToProveIt) {
  EXPECT_EQ(find_machine("NVIDIA H100"), nullptr);
  EXPECT_EQ(find_machine("NVIDIA H100", Bytes{85'028'634'624}), nullptr);
  EXPECT_EQ(find_machine("AMD Instinct MI300X VF"), nullptr);
  EXPECT_NE(find_machine("AMD Instinct MI300X VF", Bytes{206'141'652'992}), nullptr);
  const Machine* grand_teton = find_machine("NVIDIA H100", Bytes{102'085'492'736});
  ASSERT_NE(grand_teton, nullptr);
  EXPECT_FALSE(peak(*grand_teton, Dtype::bf16)) << "989 is not the peak of the 500 W part";
}

TEST(Catalogue, KnowsNoBf16PeakOfAPartWithoutBf16) {
  EXPECT_FALSE(peak(*find_machine("Tesla V100-SXM2-32GB"), Dtype::bf16));
}

TEST(UnknownPeak, AsksForOne) {
  const std::string message = unknown_peak("Tesla V100-PCIE-32GB").message();
  EXPECT_NE(message.find("\"Tesla V100-PCIE-32GB\""), std::string::npos);
  EXPECT_NE(message.find("--peak-tflops"), std::string::npos);
  EXPECT_NE(unknown_peak("cpu").message().find("for a CPU"), std::string::npos);
  EXPECT_NE(unknown_peak("").message().find("does not name"), std::string::npos);
}

double gb(std::optional<ByteRate> rate) { return rate ? rate->value / 1e9 : -1; }
std::vector<int> every(int stride, int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks[static_cast<std::size_t>(i)] = i * stride;
  return ranks;
}

TEST(LinkRate, InOneDomainIsTheScaleUpRate) { EXPECT_EQ(gb(link_rate(box(), every(1, 8))), 400); }

TEST(LinkRate, OnAMeshIsWhatTheLinksToThePeersGive) {
  EXPECT_EQ(gb(link_rate(box(), every(1, 2))), 100);
  EXPECT_EQ(gb(link_rate(box(), every(1, 4))), 300);
  EXPECT_EQ(gb(link_rate(box(), every(3, 2))), 100);
}

TEST(LinkRate, AcrossDomainsAddsTheNetworkPortsOfTheMembers) {
  EXPECT_EQ(gb(link_rate(box(), every(1, 16))), 200);
  EXPECT_EQ(gb(link_rate(box(), every(8, 4))), 25) << "one member a server";
  EXPECT_EQ(gb(link_rate(box(), std::vector{0, 1, 2, 8, 9})), 50) << "two in the second server";
  EXPECT_EQ(gb(link_rate(box(), every(1, 12))), 100) << "four in the second server";
}

TEST(LinkRate, OfADeviceAloneIsNone) { EXPECT_FALSE(link_rate(box(), every(1, 1))); }

TEST(LinkRate, IsUnknownForAMachineThatDoesNotSay) {
  Machine m = box();
  m.scale_out.reset();
  EXPECT_FALSE(link_rate(m, every(1, 16)));
  m.scale_up->domain.reset();
  EXPECT_FALSE(link_rate(m, every(1, 8)));
  m.scale_up.reset();
  EXPECT_FALSE(link_rate(m, every(1, 8)));
}

TEST(MachineNamed, IsFoundByFileNameNameAndAlias) {
  for (const char* name :
       {"h100_sxm_80gb", "H100_SXM_80GB", "H100-80GB SXM", "NVIDIA H100 80GB HBM3"}) {
    const auto machine = machine_named(name);
    ASSERT_TRUE(machine) << name;
    EXPECT_EQ(machine->name, "H100-80GB SXM");
  }
}

TEST(MachineNamed, EveryMachineByTheStemOfItsFile) {
  const auto mi300x = machine_named("mi300x");
  ASSERT_TRUE(mi300x);
  EXPECT_EQ(mi300x->vendor, "AMD");
}

TEST(MachineNamed, AnUnknownNameSuggestsTheNearest) {
  const auto machine = machine_named("h10_sxm");
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().message().find("h100_sxm_80gb"), std::string::npos)
      << machine.error().message();
}

TEST(MachineNamed, AProductStandsForItsOnlyMachine) {
  const auto only = machine_named("H200");
  ASSERT_TRUE(only) << only.error().message();
  EXPECT_EQ(only->name, "H200 SXM");
  // The 96 GB H100 has no known peak, so nothing can be predicted of it.
  const auto sxm = machine_named("h100_sxm");
  ASSERT_TRUE(sxm) << sxm.error().message();
  EXPECT_EQ(sxm->name, "H100-80GB SXM");
  const auto several = machine_named("h100");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().hint, "did you mean h100_pcie_80gb or h100_sxm_80gb?");
  EXPECT_FALSE(machine_named("h1")) << "not a whole word of a name";
  EXPECT_FALSE(machine_named(""));
}

TEST(MachineNamed, AFileThatIsNotThereIsNamed) {
  const auto machine = machine_named("./none.json");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().file, "./none.json");
}

}  // namespace
}  // namespace stepscope
