// SPDX-License-Identifier: Apache-2.0
// The collection is what its list of runs says.
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

using Runs = SharedData;

TEST_F(Runs, EveryFileOfTheListIsThere) {
  const auto listed = runs(root);
  ASSERT_FALSE(listed.empty());
  for (const TracedRun& run : listed) {
    EXPECT_FALSE(run.files.empty()) << run.name;
    for (const auto& file : run.files) {
      EXPECT_TRUE(std::filesystem::is_regular_file(file)) << run.name << ": " << file;
    }
  }
}

}  // namespace
}  // namespace stepscope::shared
