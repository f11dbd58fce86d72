// SPDX-License-Identifier: Apache-2.0
// Trace collections that are not part of this repository: the folder that STEPSCOPE_SHARED names,
// else ../shared beside the checkout. A test that needs them derives from SharedData and is
// skipped, saying so, where there are none.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope::shared {

// One line of data/runs.tsv: the files that belong to one run.
struct TracedRun {
  std::string name;
  std::vector<std::filesystem::path> files;
};

[[nodiscard]] std::filesystem::path folder();

// Of folder/data/runs.tsv; the files' paths are complete.
[[nodiscard]] std::vector<TracedRun> runs(const std::filesystem::path& folder);

class SharedData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(root / "data")) {
      GTEST_SKIP() << "no trace collections at " << root.string()
                   << "; STEPSCOPE_SHARED names another folder";
    }
  }

  const std::filesystem::path root = folder();
};

}  // namespace stepscope::shared
