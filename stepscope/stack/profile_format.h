// SPDX-License-Identifier: Apache-2.0
// The profile formats, in the order in which they are tried.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/text_input.h"

namespace stepscope {

// Each format has a file of its own. The order is that in which they are tried.
#define STEPSCOPE_PROFILE_FORMATS(FORMAT) \
  FORMAT(speedscope)                      \
  FORMAT(pprof)                           \
  FORMAT(perf_script)                     \
  FORMAT(counted_tree)                    \
  FORMAT(thread_dump)                     \
  FORMAT(collapsed)

#define STEPSCOPE_DECLARED(format)                       \
  [[nodiscard]] bool is_##format(std::string_view head); \
  [[nodiscard]] Result<Done> read_##format(ByteSource& source, ProfileBuilder& into);
STEPSCOPE_PROFILE_FORMATS(STEPSCOPE_DECLARED)
#undef STEPSCOPE_DECLARED

struct ProfileFormat {
  std::string_view name;
  // `head`: up to 64 KiB from the start of the file.
  bool (*recognises)(std::string_view head);
  Result<Done> (*read)(ByteSource& source, ProfileBuilder& into);
};

[[nodiscard]] std::span<const ProfileFormat> profile_formats();

// Whether the text begins with a brace or a bracket.
[[nodiscard]] bool is_json(std::string_view head);

// Splits a line of collapsed stacks. False if it is not such a line.
[[nodiscard]] bool split_collapsed(std::string_view line, std::string_view& stack, double& count);

// Describes a file that is not a profile in one sentence, with advice at the end. Empty if unknown.
[[nodiscard]] std::string what_it_is(std::string_view head);

// Gives each line to a reader, which counts the stacks when it is finished.
template <class Reader>
[[nodiscard]] Result<Done> read_lines(ByteSource& source, ProfileBuilder& into) {
  LineReader lines(source);
  Reader reader(into);
  for (std::string_view line; lines.next(line);) reader.line(line);
  reader.finish();
  return into.close(lines);
}

}  // namespace stepscope
