// SPDX-License-Identifier: Apache-2.0
// Patterns of frames, as rule files write them, and matching of frames.
//
//   fetch_sub_module                  the function contains these words, delimited by characters
//                                     that are not letters, digits or underscores; runs of
//                                     underscores count as one
//   _multi_tensor_*, *Backward0       * at an end: the word may continue there
//   synchronize @ torch/cuda          this text is in the file or library; "@ FILE": any function
//   fetch_sub_module [0x366-0x36a]    the CPython instruction is in this range
//   fetch_sub_module :326-334         the source line is in this range
//   _PyEval_EvalFrameDefault $        it is the innermost frame
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/stack/frame.h"

namespace stepscope {

struct FramePattern {
  std::string words{};  // runs of underscores collapsed; empty: any function
  bool open_begin = false;
  bool open_end = false;
  std::string file{};
  std::optional<std::uint32_t> first_instruction{};
  std::uint32_t last_instruction = 0;
  int first_line = 0;  // 0: any
  int last_line = 0;
  bool innermost = false;

  bool operator==(const FramePattern&) const = default;
};

// Errors describe the text; they do not name a file.
[[nodiscard]] Result<FramePattern> parse_frame_pattern(std::string_view text);

// Checks all but `innermost`, which is not a property of the frame. `line` is the frame's own, or
// that of its instruction in the table.
[[nodiscard]] bool matches(const FramePattern& pattern, const Frame& frame, int line);

// Numbers patterns, and finds those that match a frame by an index of words.
class FramePatterns {
 public:
  // The number of the pattern; equal patterns have the same number.
  std::uint32_t add(const FramePattern& pattern);
  void match(const Frame& frame, int line, std::vector<std::uint32_t>& numbers) const;
  [[nodiscard]] const FramePattern& operator[](std::uint32_t n) const { return patterns_[n]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(patterns_.size()); }

 private:
  std::vector<FramePattern> patterns_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_word_;  // by the first whole word
  std::vector<std::uint32_t> others_;
};

}  // namespace stepscope
