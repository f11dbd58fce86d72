// SPDX-License-Identifier: Apache-2.0
// Any text as a file of rules, a pattern of frames, a table of instructions and a frame.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/stack/instruction_table.h"
#include "stepscope/stack/phase_rules.h"
#include "tests/fuzz/profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Frame frame = frame_of(text);
  fuzz::expect(frame.line >= 0 && frame.function.size() <= text.size(),
               "a frame is a part of its text");
  (void)place_of_frame(frame);
  if (const auto pattern = parse_frame_pattern(text)) {
    FramePatterns all;
    const std::uint32_t number = all.add(*pattern);
    std::vector<std::uint32_t> found;
    all.match(frame, frame.line, found);
    fuzz::expect(
        matches(*pattern, frame, frame.line) == (found == std::vector<std::uint32_t>{number}),
        "the index finds what matches");
  } else {
    fuzz::expect(!pattern.error().message().empty(), "an error says something");
  }
  if (const auto table = InstructionTable::parse(text, "input"))
    fuzz::expect(table->rows() > 0, "a table has rows");
  if (size > 0 && text.front() == '{') {
    const RuleFile file{"input", text};
    const auto rules = make_phase_rules(std::span(&file, 1));
    if (!rules) fuzz::expect(!rules.error().message().empty(), "an error says something");
  }
  return 0;
}
