// SPDX-License-Identifier: Apache-2.0
// A host profile: the stacks of threads, merged into one call tree. The children of the root are
// the threads, so that no figure ever mixes two of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stack/call_tree.h"

namespace stepscope {

// The frame of samples that an excerpt counts without showing where they are.
constexpr std::string_view hidden_frame = "[not in the excerpt]";

// What a weight counts.
enum class WeightUnit : std::uint8_t { samples, nanoseconds, bytes, other };
constexpr std::array<std::string_view, 4> weight_unit_names = {"samples", "nanoseconds", "bytes",
                                                               "other"};

struct ProfileThread {
  std::string name;  // "pt_autograd_0"; "all threads" where the profile does not tell them apart
  std::string process{};    // "python train.py", or empty
  std::uint32_t node = 0;   // its root in the tree
  std::uint32_t input = 0;  // of Profile::inputs
};

// A stack at an instant, or for a while, where the profile says when. Without a duration it stands
// for one sample.
struct TimedSample {
  Ns start{};
  Ns duration{};
  std::uint32_t node = 0;
};

// Whether a profile says when its stacks were taken.
enum class SampleTimes : std::uint8_t {
  none,
  // The samples of a thread stand one behind the other, but those in which it idled may be missing
  // (py-spy): instants only where none is.
  gapless,
  known
};

struct ProfileInput {
  std::string path;
  std::string format;
  std::uint64_t bytes = 0;   // of text, inflated
  std::uint64_t stacks = 0;  // counted into the tree
  bool truncated = false;    // the file ends too early
  // Of Profile::samples, so both only where these were asked for.
  SampleTimes times = SampleTimes::none;
  bool unix_clock = false;  // instants count from the UNIX epoch, else from some other origin
  std::map<std::string, std::uint64_t> notes{};  // what was skipped or repaired, by reason
};

struct Profile {
  StringPool strings;  // texts of frames
  CallTree tree;
  WeightUnit unit = WeightUnit::samples;
  std::vector<ProfileThread> threads;  // in descending order of weight
  std::vector<ProfileInput> inputs;
  std::vector<TimedSample> samples{};  // by start; only where asked for and known
};

}  // namespace stepscope
