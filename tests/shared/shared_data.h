// SPDX-License-Identifier: Apache-2.0
// Trace collections outside this repository: in the folder STEPSCOPE_SHARED, else in ../shared next
// to the checkout. Tests that need them derive from SharedData. Without them the tests are skipped
// with a message.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope::shared {

// One line of data/runs.tsv: the files of one run.
struct TracedRun {
  std::string name;
  std::vector<std::filesystem::path> files;
};

[[nodiscard]] std::filesystem::path folder();

// The lines of folder/data/runs.tsv, with full paths.
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
