// SPDX-License-Identifier: Apache-2.0
// Patterns of frames, as rule files write them, and the frames that they match.
//
//   fetch_sub_module                  these words in the function: what stands beside them is no
//                                     letter, digit or underscore; runs of underscores count as one
//   _multi_tensor_*, *Backward0       * at an end: the word goes on
//   synchronize @ torch/cuda          and this text in the file or library; "@ FILE" alone: any
//   fetch_sub_module [0x366-0x36a]    and its CPython instruction lies there
//   fetch_sub_module :326-334         and its source line does
//   _PyEval_EvalFrameDefault $        and it is the innermost frame
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
  std::string words{};  // underscores in runs made one; empty: any function
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

// Errors say what is wrong with the text; they name no file.
[[nodiscard]] Result<FramePattern> parse_frame_pattern(std::string_view text);

// All but `innermost`, which is no matter of the frame. `line` is that of the frame or, where a
// table told it, of its instruction.
[[nodiscard]] bool matches(const FramePattern& pattern, const Frame& frame, int line);

// Numbers patterns, and finds those that match a frame by its words rather than one by one.
class FramePatterns {
 public:
  // The number of the pattern, the same for equal ones.
  std::uint32_t add(const FramePattern& pattern);
  void match(const Frame& frame, int line, std::vector<std::uint32_t>& numbers) const;
  [[nodiscard]] const FramePattern& operator[](std::uint32_t n) const { return patterns_[n]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(patterns_.size()); }

 private:
  std::vector<FramePattern> patterns_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_word_;  // its first whole word
  std::vector<std::uint32_t> others_;
};

}  // namespace stepscope
