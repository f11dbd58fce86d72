// SPDX-License-Identifier: Apache-2.0
// Any bytes through a reader of traces. One window and tiny ones must give the same result, the
// invariants of sealed traces hold, and errors have a text.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/files/text_source.h"
#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/kineto/kineto.h"

namespace stepscope::fuzz {

using TraceReader = Result<std::vector<Trace>> (*)(ByteSource& source, const std::string& path,
                                                   const ReadControl& control);

inline std::string text_of_all(TraceReader reader, std::string_view bytes, std::size_t window) {
  TextSource source(bytes);
  auto traces = reader(source, "input", {.chunk_bytes = window});
  if (!traces) {
    if (traces.error().message().empty()) std::abort();
    return "error: " + traces.error().message();
  }
  std::string text;
  for (Trace& trace : *traces) {
    seal(trace);
    if (const std::string broken = test::broken_rule(trace); !broken.empty()) {
      std::fprintf(stderr, "broken: %s\n%s", broken.c_str(), test::text_of(trace).c_str());
      std::abort();
    }
    text += test::text_of(trace);
  }
  return text;
}

inline void run_trace_reader(TraceReader reader, std::string_view bytes) {
  const std::string whole = text_of_all(reader, bytes, bytes.size() + 64);
  const std::string pieces = text_of_all(reader, bytes, 1 + bytes.size() % 61);
  if (whole == pieces) return;
  std::fprintf(stderr, "in one window:\n%s\nin small ones:\n%s\n", whole.c_str(), pieces.c_str());
  std::abort();
}

}  // namespace stepscope::fuzz
