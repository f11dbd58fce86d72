// SPDX-License-Identifier: Apache-2.0
// labelled.tsv: names of kernels, the class of each from what the kernel does, its maker, whether
// the rules were right when they first met it, and the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

struct Labelled {
  std::string name, label, maker, first_look;
};

std::vector<Labelled> labelled() {
  std::ifstream file(STEPSCOPE_SOURCE_DIR "/tests/kernels/labelled.tsv");
  std::vector<Labelled> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    Labelled row;
    std::getline(fields, row.name, '\t');
    std::getline(fields, row.label, '\t');
    std::getline(fields, row.maker, '\t');
    std::getline(fields, row.first_look, '\t');
    rows.push_back(row);
  }
  return rows;
}

std::string found(const Labelled& row) {
  return std::string(name_class_names[static_cast<std::size_t>(classify_kernel(row.name))]);
}

struct Score {
  int right = 0;
  int all = 0;

  void add(bool is_right) {
    right += is_right ? 1 : 0;
    ++all;
  }
  [[nodiscard]] double share() const { return static_cast<double>(right) / std::max(all, 1); }
};

TEST(labelled_kernels, have_the_class_of_what_they_do) {
  std::map<std::string, Score> makers;
  Score all;
  Score first_look;
  for (const Labelled& row : labelled()) {
    const std::string kind = found(row);
    const bool right = kind == row.label;
    all.add(right);
    makers[row.maker].add(right);
    if (row.first_look != "-") first_look.add(row.first_look == "right");
    if (!right)
      std::printf("%s, not %s: %s: %.150s\n", row.label.c_str(), kind.c_str(), row.maker.c_str(),
                  row.name.c_str());
  }
  for (const auto& [maker, score] : makers)
    std::printf("%-24s %3d of %3d\n", maker.c_str(), score.right, score.all);
  std::printf("all        %3d of %3d (%.1f %%)\nfirst look %3d of %3d (%.1f %%)\n", all.right,
              all.all, 100 * all.share(), first_look.right, first_look.all,
              100 * first_look.share());
  EXPECT_GE(all.all, 400);
  EXPECT_GE(makers.size(), 10U);
  EXPECT_GE(all.share(), 0.95);
  for (const auto& [maker, score] : makers)
    EXPECT_GE(score.share(), score.all < 10 ? 0.0 : 0.85) << maker;
}

// A kernel taken for communication or for waiting is missing from compute, and one of those taken
// for compute is missing from them.
TEST(labelled_kernels, are_never_taken_for_communication_or_waiting) {
  for (const Labelled& row : labelled()) {
    for (const std::string_view kind : {"communication", "wait"})
      EXPECT_EQ(found(row) == kind, row.label == kind) << row.name;
  }
}

}  // namespace
}  // namespace stepscope
