// SPDX-License-Identifier: Apache-2.0
// Source lines of CPython instruction indices ("[0x36a]"): a table of tab-separated rows `file
// function_qualname  unit_first  unit_last  source_line`, with hexadecimal units and # for
// comments. It is valid for one version of the sources and of CPython.
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

struct SourceLine {
  std::string_view file;  // valid while the table lives
  int line = 0;
};

class InstructionTable {
 public:
  // Errors name the invalid line.
  [[nodiscard]] static Result<InstructionTable> parse(std::string_view text, std::string_view path);
  // The line of a frame with an instruction in a function of the table. Absent if two files
  // disagree.
  [[nodiscard]] std::optional<SourceLine> find(const Frame& frame) const;
  // Whether the table contains the function.
  [[nodiscard]] bool knows(const Frame& frame) const;
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  struct Row {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t file = 0;
    int line = 0;
  };
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::vector<Row>> functions_;
  std::size_t rows_ = 0;
};

}  // namespace stepscope
