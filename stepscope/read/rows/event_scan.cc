// SPDX-License-Identifier: Apache-2.0
// The index holds only quotes and brackets. So a key is two neighbouring entries, a string value is
// the next two, and a scalar value is the text before the next entry. Commas are not checked where
// JSON has no choice. But a comma or a closing bracket must follow a string; that detects unescaped
// quotes inside a name.
#include "stepscope/read/rows/event_scan.h"

#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/read/rows/field_table.h"

namespace stepscope {
namespace {

struct Cursor {
  const char* text;
  const char* end;
  const std::uint32_t* next;  // into the index; its padding points at `end`

  [[nodiscard]] const char* at(std::size_t i) const { return text + next[i]; }
};

inline const char* skip_space(const char* p) {
  while (is_space(*p)) ++p;
  return p;
}

// The change of depth at an index entry: brackets open and close, quotes do not count.
constexpr auto depth_change = [] {
  std::array<std::int8_t, 256> change{};
  change['{'] = change['['] = 1;
  change['}'] = change[']'] = -1;
  return change;
}();

// Member by member: a value that is copied whole is stored in parts and loaded in one, and such a
// load waits until the parts are in the cache.
inline void fill(RawValue& value, const char* begin, const char* end, ValueKind kind) {
  value.at = begin;
  value.size = static_cast<std::uint32_t>(end - begin);
  value.kind = kind;
}

// Skips an array or object; next is on its opening bracket. The depth is summed without branches,
// because its entries have no pattern for a branch predictor.
Scan skip_composite(Cursor& c, RawValue& value) {
  const char* begin = c.at(0);
  const std::uint32_t* next = c.next;
  int depth = 0;
  do {
    const char* p = c.text + *next;
    if (p == c.end) return Scan::incomplete;
    depth += depth_change[static_cast<unsigned char>(*p)];
    ++next;
  } while (depth > 0);
  c.next = next;
  fill(value, begin, c.text + next[-1] + 1, ValueKind::composite);
  return Scan::complete;
}

Scan scan_string(Cursor& c, RawValue& value) {
  const char* open = c.at(0);
  const char* close = c.at(1);
  if (close == c.end) return Scan::incomplete;
  const char* after = skip_space(close + 1);
  if (after >= c.end) return Scan::incomplete;
  if (*after != ',' && *after != '}' && *after != ']') return Scan::malformed;
  fill(value, open + 1, close, ValueKind::string);
  c.next += 2;
  return Scan::complete;
}

// The value that begins at p, behind a colon.
[[gnu::always_inline]] inline Scan scan_value(Cursor& c, const char* p, RawValue& value) {
  if (*p == '"') return scan_string(c, value);
  if (*p == '{' || *p == '[') return skip_composite(c, value);
  const char* stop = c.at(0);
  if (stop == c.end) return Scan::incomplete;
  if (*stop == '{' || *stop == '[') return Scan::malformed;
  fill(value, p, stop, ValueKind::scalar);
  return Scan::complete;
}

// Reads `"key" :` and leaves p on the first character of the value.
[[gnu::always_inline]] inline Scan scan_key(Cursor& c, std::string_view& key, const char*& p) {
  const char* open = c.at(0);
  const char* close = c.at(1);
  if (open == c.end || close == c.end) return Scan::incomplete;
  if (*open != '"') return Scan::malformed;
  key = {open + 1, static_cast<std::size_t>(close - open - 1)};
  p = close + 1;
  if (*p != ':') {
    p = skip_space(p);
    if (p >= c.end) return Scan::incomplete;
    if (*p != ':') return Scan::malformed;
  }
  p = skip_space(p + 1);
  if (p >= c.end) return Scan::incomplete;
  c.next += 2;
  return Scan::complete;
}

// Reads the members of an object; next is on its '{'.
template <class Member>
[[gnu::always_inline]] inline Scan scan_object(Cursor& c, const FieldTable& fields, Member member) {
  ++c.next;
  for (;;) {
    if (*c.at(0) == '}' && c.at(0) != c.end) {
      ++c.next;
      return Scan::complete;
    }
    std::string_view key;
    const char* p = nullptr;
    if (const Scan s = scan_key(c, key, p); s != Scan::complete) return s;
    if (const Scan s = member(fields.find_padded(key), p); s != Scan::complete) return s;
  }
}

// Skips a flow event whose phase is its first member, because only the phase is used. For any other
// event it returns false and moves nothing.
bool skip_flow(Cursor& c, RawEvent& event, Scan& result) {
  // The padding of the index makes five entries readable: '{', the key's quotes, the value's.
  const char* key = c.at(1);
  const char* value = c.at(3);
  if (c.at(4) == c.end || c.at(2) - key != 3 || key[1] != 'p' || key[2] != 'h') return false;
  if (*value != '"' || c.at(4) - value != 2) return false;
  if (value[1] != 's' && value[1] != 'f' && value[1] != 't') return false;
  RawValue whole;
  result = skip_composite(c, whole);
  event.set(Field::ph, {value + 1, 1, ValueKind::string});
  return true;
}

}  // namespace

Scan scan_event(std::string_view text, const JsonIndex& index, std::size_t& cursor,
                RawEvent& event) {
  Cursor c{text.data(), text.data() + text.size(), index.at.data() + cursor};
  event.seen = 0;
  if (Scan skipped = Scan::complete; skip_flow(c, event, skipped)) {
    cursor = static_cast<std::size_t>(c.next - index.at.data());
    return skipped;
  }
  const auto keep = [&](int field, const char* p) { return scan_value(c, p, event.add(field)); };
  const Scan result = scan_object(c, event_fields, [&](int field, const char* p) {
    if (field != static_cast<int>(Field::args) || *p != '{') return keep(field, p);
    const char* begin = p;
    const Scan s = scan_object(c, arg_fields, keep);
    if (s == Scan::complete)
      fill(event.add(field), begin, c.text + c.next[-1] + 1, ValueKind::composite);
    return s;
  });
  event.seen &= ~(1ULL << static_cast<unsigned>(unknown_field));
  cursor = static_cast<std::size_t>(c.next - index.at.data());
  return result;
}

}  // namespace stepscope
