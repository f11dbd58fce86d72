// SPDX-License-Identifier: Apache-2.0
// For tests: a text as a byte source, the traces of a text, and events in writers' spelling.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/files/text_source.h"
#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/kineto/kineto.h"

namespace stepscope::test {

inline Result<std::vector<Trace>> read_text(std::string_view text,
                                            const ReadControl& control = {}) {
  const auto open = [&]() -> Result<std::unique_ptr<ByteSource>> {
    return inflated(std::make_unique<TextSource>(text), text.substr(0, 4));
  };
  return read_kineto_from(open, "text", control);
}

// The traces of a text, sealed. A test fails without traces or if an invariant is broken.
inline std::vector<Trace> traces_of(std::string_view text, const ReadControl& control = {}) {
  auto traces = read_text(text, control);
  EXPECT_TRUE(traces.has_value()) << traces.error().message() << '\n' << text.substr(0, 2000);
  if (!traces) return std::vector<Trace>(1);
  for (Trace& trace : *traces) {
    seal(trace);
    EXPECT_EQ(broken_rule(trace), "") << text.substr(0, 2000);
  }
  return std::move(*traces);
}
inline Trace trace_of(std::string_view text, const ReadControl& control = {}) {
  auto traces = traces_of(text, control);
  EXPECT_EQ(traces.size(), 1U);
  return std::move(traces[0]);
}

inline std::string all_text(std::vector<Trace> traces) {
  std::string text;
  for (const Trace& trace : traces) text += text_of(trace);
  return text;
}

// Concatenates pieces (std::string's + warns without cause in g++ 12).
inline std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

// "name start dur, ..." of every slice, in ns.
inline std::string slices_of(const Trace& t) {
  std::string text;
  for (std::uint32_t i = 0; i < t.slices.size(); ++i)
    text += joined({i == 0 ? "" : ", ", t.name(SliceId{i}), " ",
                    std::to_string(t.slices.start[i].count()), " ",
                    std::to_string(t.slices.dur[i].count())});
  return text;
}

inline std::string document(std::string_view events) {
  return joined({"{\"schemaVersion\": 1, \"traceEvents\": [", events, "]}"});
}
// A complete cpu_op on pid 1, tid 2.
inline std::string op(std::string_view name, std::string_view ts = "0", std::string_view dur = "1",
                      std::string_view more = "") {
  return joined({"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"", name,
                 "\", \"pid\": 1, \"tid\": 2, \"ts\": ", ts, ", \"dur\": ", dur, more, "}"});
}
inline std::uint64_t noted(const Trace& trace, const std::string& reason) {
  const auto at = trace.notes.counts.find(reason);
  return at == trace.notes.counts.end() ? 0 : at->second;
}

}  // namespace stepscope::test
