// SPDX-License-Identifier: Apache-2.0
// The builder that every profile reader fills.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

class LineReader;

struct ProfileBuilder {
  StringPool strings;
  TreeBuilder tree;
  WeightUnit unit = WeightUnit::samples;
  ProfileInput input;
  bool keep_samples = false;
  std::vector<TimedSample> samples{};  // of nodes of `tree`

  // The node of a thread below the root. Threads with one label share a node.
  std::uint32_t thread(std::string_view process, std::string_view name);
  void note(std::string_view reason, std::uint64_t count = 1);
  // Call after the last line: records the number of bytes, and lines that were cut.
  [[nodiscard]] Result<Done> close(const LineReader& lines);

  // Threads named in the first frames of stacks (py-spy, Austin, stackcollapse) are distinguished.
  // The other stacks become "all threads". Addresses without a symbol become one frame of their
  // library.
  [[nodiscard]] Profile seal();

 private:
  struct Labelled {
    std::uint32_t node;
    std::string process;
    std::string name;
  };
  std::vector<Labelled> labelled_{};
};

// Merges profiles; each thread keeps its input. Error: different units.
[[nodiscard]] Result<Profile> merged(std::vector<Profile> profiles);

}  // namespace stepscope
