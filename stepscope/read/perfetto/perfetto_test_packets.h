// SPDX-License-Identifier: Apache-2.0
// For tests: writes packets of Perfetto traces field by field.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/proto_wire.h"
#include "stepscope/read/kineto/kineto_test_source.h"
#include "stepscope/read/perfetto/perfetto.h"

namespace stepscope::test {

inline std::string number(std::uint32_t field, std::uint64_t value) {
  std::string out;
  append_number(out, field, value);
  return out;
}
inline std::string bytes(std::uint32_t field, std::string_view value) {
  std::string out;
  append_bytes(out, field, value);
  return out;
}
inline std::string real(std::uint32_t field, double value) {
  std::string out;
  append_real(out, field, value);
  return out;
}
inline std::string fixed64(std::uint32_t field, std::uint64_t value) {
  std::string out;
  append_fixed64(out, field, value);
  return out;
}
// A length-delimited field made of pieces.
inline std::string message(std::uint32_t field, std::initializer_list<std::string_view> pieces) {
  return bytes(field, joined(pieces));
}

// A packet of a sequence with the state flag and a time stamp.
inline std::string packet(std::string_view body, std::uint64_t time = 0) {
  return message(1, {number(8, time), number(10, 1), body});
}
inline std::string cleared() { return message(1, {number(10, 1), number(13, 1)}); }

inline std::string process(std::uint64_t uuid, std::uint64_t pid, std::string_view name) {
  return message(1, {message(60, {number(1, uuid), message(3, {number(1, pid), bytes(6, name)})})});
}
inline std::string thread(std::uint64_t uuid, std::uint64_t pid, std::uint64_t tid,
                          std::string_view name = "", std::uint64_t parent = 0) {
  return message(1, {message(60, {number(1, uuid), number(5, parent),
                                  message(4, {number(1, pid), number(2, tid), bytes(5, name)})})});
}
inline std::string row(std::uint64_t uuid, std::uint64_t parent, std::string_view name,
                       std::string_view more = "") {
  return message(1, {message(60, {number(1, uuid), number(5, parent), bytes(2, name), more})});
}

// Debug annotations.
inline std::string argument(std::string_view name, std::uint64_t value) {
  return message(4, {bytes(10, name), number(4, value)});
}
inline std::string argument(std::string_view name, std::string_view value) {
  return message(4, {bytes(10, name), bytes(6, value)});
}

inline std::string begin(std::uint64_t track, std::uint64_t time, std::string_view name,
                         std::string_view category = "cpu_op", std::string_view more = "") {
  return packet(message(11, {number(9, 1), number(11, track), bytes(23, name),
                             category.empty() ? std::string() : bytes(22, category), more}),
                time);
}
inline std::string end(std::uint64_t track, std::uint64_t time) {
  return packet(message(11, {number(9, 2), number(11, track)}), time);
}

inline Result<std::vector<Trace>> read_packets(std::string_view text,
                                               const ReadControl& control = {}) {
  TextSource source(text);
  return read_perfetto_from(source, "text", control);
}
// The traces of a file, sealed. A test fails without traces or if an invariant is broken.
inline std::vector<Trace> perfetto_traces(std::string_view text) {
  auto traces = read_packets(text);
  EXPECT_TRUE(traces.has_value()) << traces.error().message();
  if (!traces) return std::vector<Trace>(1);
  for (Trace& trace : *traces) {
    seal(trace);
    EXPECT_EQ(broken_rule(trace), "");
  }
  return std::move(*traces);
}
inline Trace perfetto_trace(std::initializer_list<std::string_view> pieces) {
  auto traces = perfetto_traces(joined(pieces));
  EXPECT_EQ(traces.size(), 1U);
  return std::move(traces[0]);
}

}  // namespace stepscope::test
