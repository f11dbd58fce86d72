// SPDX-License-Identifier: Apache-2.0
// What every reader of a profile fills.
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

  // The node below the root under which a thread's stacks belong: threads of one label are one.
  std::uint32_t thread(std::string_view process, std::string_view name);
  void note(std::string_view reason, std::uint64_t count = 1);
  // After the last line: how many bytes there were, and what the lines lost.
  [[nodiscard]] Result<Done> close(const LineReader& lines);

  // Threads named by the first frames of stacks (py-spy, Austin, stackcollapse) are told apart, the
  // other stacks become "all threads".
  [[nodiscard]] Profile seal();

 private:
  struct Labelled {
    std::uint32_t node;
    std::string process;
    std::string name;
  };
  std::vector<Labelled> labelled_{};
};

// One profile whose threads are those of all, each of its own input. Errors: units that differ.
[[nodiscard]] Result<Profile> merged(std::vector<Profile> profiles);

}  // namespace stepscope
