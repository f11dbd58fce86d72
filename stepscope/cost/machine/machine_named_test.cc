// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_named.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

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
  const auto machine = machine_named("h100_sxm");
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().message().find("h100_sxm_80gb"), std::string::npos)
      << machine.error().message();
}

TEST(MachineNamed, AFileThatIsNotThereIsNamed) {
  const auto machine = machine_named("./none.json");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().file, "./none.json");
}

}  // namespace
}  // namespace stepscope
