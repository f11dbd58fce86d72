// SPDX-License-Identifier: Apache-2.0
// Source lines of CPython instruction indices ("[0x36a]"): a table of tab-separated rows `file
// function_qualname  unit_first  unit_last  source_line`, with hexadecimal units and # for
// comments. An empty file or function is that of the row above. The table is valid for one version
// of the sources and of CPython; the comments "# sources: deepspeed 0.16.7" and "# interpreter:
// CPython 3.11" name them. tools/make_lasti_table.py writes such tables.
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
  // "deepspeed 0.16.7", and "CPython 3.11". Empty if the table does not name them.
  [[nodiscard]] const std::vector<std::string>& sources() const { return sources_; }
  [[nodiscard]] const std::string& interpreter() const { return interpreter_; }
  // Takes the rows of another table too. A function that both have keeps the rows of both. Error:
  // the tables are of two versions of CPython.
  [[nodiscard]] Result<Done> add(const InstructionTable& other);

 private:
  struct Row {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t file = 0;
    int line = 0;
  };
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::vector<Row>> functions_;
  void read_comment(std::string_view line);

  std::vector<std::string> sources_;
  std::string interpreter_;
  std::size_t rows_ = 0;
};

// The tables of data/instructions, as "deepspeed-0.16.7-cpython3.11".
[[nodiscard]] std::vector<std::string_view> instruction_table_names();
// One of these names, or the path of a file. Errors name the file and say which names there are.
[[nodiscard]] Result<InstructionTable> open_instruction_table(const std::string& name_or_path);

}  // namespace stepscope
