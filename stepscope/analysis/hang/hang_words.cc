// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/hang_words.h"

namespace stepscope {
namespace {

// "a", or "a → b" where they differ and both are there.
std::string joined(std::string_view in, std::string_view out) {
  if (in.empty() || in == out || in == "[]") return std::string(out.empty() ? in : out);
  if (out.empty() || out == "[]") return std::string(in);
  return std::string(in) + " → " + std::string(out);
}

}  // namespace

HangCall spelled(const CommRecords& records, const CommCall& call) {
  const StringPool& s = records.strings;
  HangCall out{.name = std::string(s[call.name]),
               .sizes = joined(s[call.in_sizes], s[call.out_sizes]),
               .types = joined(s[call.in_types], s[call.out_types]),
               .sequence = call.sequence,
               .state = call.state};
  if (out.sizes.empty() && call.in_elements >= 0)
    out.sizes =
        std::to_string(call.in_elements) + (call.in_elements == 1 ? " element" : " elements");
  if (call.arguments != empty_string) out.name += " (" + std::string(s[call.arguments]) + ")";
  if (call.stack < records.stacks.size())
    for (const StackFrame& f : records.stacks[call.stack])
      out.stack.push_back(std::string(s[f.function]) + " at " + std::string(s[f.file]) + ":" +
                          std::to_string(f.line));
  return out;
}

}  // namespace stepscope
