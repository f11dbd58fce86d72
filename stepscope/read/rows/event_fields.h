// SPDX-License-Identifier: Apache-2.0
// The keys of a trace event and of its args that readers use; all others are skipped. A scanned
// event is a set of raw values that point into the text. Numbers and strings are decoded where they
// are used.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope {

enum class Field : std::uint8_t {
  // of the event
  ph,
  cat,
  name,
  pid,
  tid,
  ts,
  dur,
  id,
  args,
  // of args
  external_id,
  correlation,
  device,
  stream,
  context,
  bytes,
  input_dims,
  input_types,
  concrete_inputs,
  sequence,
  forward_thread,
  address,
  total_allocated,
  total_reserved,
  device_id,
  device_type,
  collective_name,
  dtype,
  in_elements,
  out_elements,
  in_split,
  out_split,
  group_name,
  group_description,
  group_ranks,
  group_size,
  rank_start,
  rank_stride,
  seq,
  src_rank,
  dst_rank,
  is_async,
  wait_on_stream,
  wait_on_record,
  arg_name,
  labels,
  size,
  rank,
};
inline constexpr std::size_t field_count = static_cast<std::size_t>(Field::rank) + 1;
static_assert(field_count < 64, "RawEvent::seen is a 64-bit mask");

enum class ValueKind : std::uint8_t { scalar, string, composite, literal };

// A value as it is in the text: a string without its quotes, a scalar from its first character to
// the next token, an array or object with its brackets. A literal is a string of a binary format,
// without escapes.
struct RawValue {
  const char* at = nullptr;
  std::uint32_t size = 0;
  ValueKind kind = ValueKind::scalar;

  [[nodiscard]] std::string_view text() const { return {at, size}; }
};
[[nodiscard]] inline RawValue raw_value(std::string_view text, ValueKind kind) {
  return {text.data(), static_cast<std::uint32_t>(text.size()), kind};
}

struct RawEvent {
  std::uint64_t seen = 0;
  std::array<RawValue, field_count + 1> values;  // valid if seen; the last is of unknown fields

  [[nodiscard]] bool has(Field f) const { return (seen >> static_cast<unsigned>(f) & 1U) != 0; }
  [[nodiscard]] const RawValue& operator[](Field f) const {
    return values[static_cast<std::size_t>(f)];
  }
  void set(Field f, RawValue value) { add(static_cast<int>(f)) = value; }
  void set(Field f, std::string_view text, ValueKind kind = ValueKind::literal) {
    set(f, raw_value(text, kind));
  }
  // Where the value of a Field, or of unknown_field, goes.
  [[nodiscard]] RawValue& add(int field) {
    seen |= 1ULL << static_cast<unsigned>(field);
    return values[static_cast<std::size_t>(field)];
  }
};

inline constexpr int unknown_field = static_cast<int>(field_count);  // not a Field
}  // namespace stepscope
