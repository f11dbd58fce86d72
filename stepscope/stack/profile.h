// SPDX-License-Identifier: Apache-2.0
// A host profile: the stacks of threads, merged into one call tree. The children of the root are
// the threads, so that no figure mixes two of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stack/call_tree.h"

namespace stepscope {

// The frame of samples whose stacks an excerpt does not show.
constexpr std::string_view hidden_frame = "[not in the excerpt]";

// The frame of samples in a row of an excerpt and in the callees below it, whose rows are cut off.
constexpr std::string_view cut_frame = "[callees cut off]";

// The unit of weights.
enum class WeightUnit : std::uint8_t { samples, nanoseconds, bytes, other };
constexpr auto weight_unit_names = enum_names<WeightUnit::other>;

struct ProfileThread {
  std::string name;         // "pt_autograd_0"; "all threads" if threads are not distinguished
  std::string process{};    // "python train.py", or empty
  std::uint32_t node = 0;   // its node below the root
  std::uint32_t input = 0;  // index in Profile::inputs
};

// A stack at an instant, or over a duration, if the profile has times. Without a duration it counts
// as one sample.
struct TimedSample {
  Ns start{};
  Ns duration{};
  std::uint32_t node = 0;
};

// Whether a profile has the times of its stacks.
enum class SampleTimes : std::uint8_t {
  none,
  // Samples of a thread are consecutive, but idle ones may be missing (py-spy). Instants are only
  // valid if no sample is missing.
  gapless,
  known
};

struct ProfileInput {
  std::string path;
  std::string format;
  std::uint64_t bytes = 0;   // inflated text
  std::uint64_t stacks = 0;  // number counted into the tree
  bool truncated = false;    // the file ends too early
  // The times of Profile::samples. `times` and `unix_clock` are set only if samples were requested.
  SampleTimes times = SampleTimes::none;
  bool unix_clock = false;  // instants count from the UNIX epoch, else from another origin
  std::map<std::string, std::uint64_t> notes{};  // skipped or repaired parts, by reason
};

struct Profile {
  StringPool strings;  // texts of frames
  CallTree tree;
  WeightUnit unit = WeightUnit::samples;
  std::vector<ProfileThread> threads;  // in descending order of weight
  std::vector<ProfileInput> inputs;
  std::vector<TimedSample> samples{};  // by start; only if requested and known
};

}  // namespace stepscope
