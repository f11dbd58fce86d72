// SPDX-License-Identifier: Apache-2.0
// A quote ends a string only if the next text can follow a string: a closing bracket, or a comma
// and then a key or a value. It is tried with backslash escapes first, then without (names that end
// in a backslash).
#include "stepscope/read/rows/event_mend.h"

#include <bit>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/base/utf8.h"
#include "stepscope/read/rows/field_table.h"

namespace stepscope {
namespace {

constexpr int max_depth = 64;
constexpr std::size_t max_key = 256;

class Mender {
 public:
  using Member = std::function<void(int depth, std::string_view key, const RawValue& value)>;

  Mender(std::string_view text, bool escapes, const Member& member)
      : text_(text), escapes_(escapes), member_(member) {}

  // Reads the object at the cursor and moves the cursor behind it.
  Scan object(int depth) {
    if (depth > max_depth) return Scan::malformed;
    ++at_;
    for (;;) {
      skip([](char c) { return is_space(c) || c == ','; });
      if (done()) return Scan::incomplete;
      if (text_[at_] == '}') {
        ++at_;
        return Scan::complete;
      }
      std::string_view key;
      if (const Scan s = read_key(key); s != Scan::complete) return s;
      RawValue value;
      if (const Scan s = read_value(depth, value); s != Scan::complete) return s;
      member_(depth, key, value);
    }
  }
  [[nodiscard]] std::size_t consumed() const { return at_; }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  template <class Skippable>
  void skip(Skippable skippable) {
    while (!done() && skippable(text_[at_])) ++at_;
  }
  [[nodiscard]] std::size_t after_space(std::size_t p) const {
    while (p < text_.size() && is_space(text_[p])) ++p;
    return p;
  }

  Scan read_key(std::string_view& key) {
    if (text_[at_] != '"') return Scan::malformed;
    const std::size_t close = text_.find('"', at_ + 1);
    if (close == std::string_view::npos)
      return text_.size() - at_ > max_key ? Scan::malformed : Scan::incomplete;
    key = text_.substr(at_ + 1, close - at_ - 1);
    at_ = after_space(close + 1);
    if (done()) return Scan::incomplete;
    if (text_[at_] != ':') return Scan::malformed;
    at_ = after_space(at_ + 1);
    return done() ? Scan::incomplete : Scan::complete;
  }

  Scan read_value(int depth, RawValue& value) {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '"') return read_string(true, value);
    if (c == '{' || c == '[') {
      const Scan s = c == '{' ? object(depth + 1) : array(depth + 1);
      value = {text_.data() + begin, static_cast<std::uint32_t>(at_ - begin), ValueKind::composite};
      return s;
    }
    skip([](char d) {
      return d != ',' && d != '}' && d != ']' && d != '"' && d != '{' && d != '[';
    });
    if (done()) return Scan::incomplete;
    if (at_ == begin) return Scan::malformed;
    value = {text_.data() + begin, static_cast<std::uint32_t>(at_ - begin), ValueKind::scalar};
    return Scan::complete;
  }

  Scan array(int depth) {
    if (depth > max_depth) return Scan::malformed;
    ++at_;
    for (;;) {
      skip([](char c) { return c != ']' && c != '"' && c != '[' && c != '{' && c != '}'; });
      if (done()) return Scan::incomplete;
      const char c = text_[at_];
      if (c == '}') return Scan::malformed;
      if (c == ']') {
        ++at_;
        return Scan::complete;
      }
      RawValue ignored;
      const Scan s = c == '"'   ? read_string(false, ignored)
                     : c == '[' ? array(depth + 1)
                                : object(depth + 1);
      if (s != Scan::complete) return s;
    }
  }

  // Reads the string at the cursor, up to the first quote that can end it.
  Scan read_string(bool in_object, RawValue& value) {
    const std::size_t open = at_;
    for (std::size_t p = open + 1; p < text_.size(); ++p) {
      if (escapes_ && text_[p] == '\\') {
        ++p;
        continue;
      }
      if (text_[p] != '"') continue;
      const Scan ends = may_end_string(p + 1, in_object);
      if (ends == Scan::incomplete) return ends;
      if (ends == Scan::malformed && opens_next_event(p)) return ends;
      if (ends == Scan::malformed) continue;
      value = {text_.data() + open + 1, static_cast<std::uint32_t>(p - open - 1),
               ValueKind::string};
      at_ = p + 1;
      return Scan::complete;
    }
    return Scan::incomplete;
  }

  // Whether the quote at p opens the first key of another event. Then the string has no end.
  [[nodiscard]] bool opens_next_event(std::size_t p) const {
    for (const char expected : {'{', ',', '}'}) {
      while (p > 0 && is_space(text_[p - 1])) --p;
      if (p == 0 || text_[p - 1] != expected) return false;
      --p;
    }
    const std::size_t open = text_.find('"', p);
    const std::size_t close = text_.find('"', open + 1);
    return close != std::string_view::npos && close - open < max_key &&
           event_fields.find(text_.substr(open + 1, close - open - 1)) != unknown_field;
  }

  // Whether the text at p can follow a string: complete = yes, malformed = no.
  [[nodiscard]] Scan may_end_string(std::size_t p, bool in_object) const {
    p = after_space(p);
    if (p >= text_.size()) return Scan::incomplete;
    if (text_[p] == (in_object ? '}' : ']')) return Scan::complete;
    if (text_[p] != ',') return Scan::malformed;
    p = after_space(p + 1);
    if (p >= text_.size()) return Scan::incomplete;
    if (!in_object) return Scan::complete;
    if (text_[p] == '}') return Scan::complete;
    if (text_[p] != '"') return Scan::malformed;
    const std::size_t close = text_.find('"', p + 1);
    if (close == std::string_view::npos)
      return text_.size() - p > max_key ? Scan::malformed : Scan::incomplete;
    const std::size_t colon = after_space(close + 1);
    if (colon >= text_.size()) return Scan::incomplete;
    return text_[colon] == ':' && close - p < max_key ? Scan::complete : Scan::malformed;
  }

  std::string_view text_;
  bool escapes_;
  const Member& member_;
  std::size_t at_ = 0;
};

Scan mend(std::string_view text, bool escapes, std::size_t& consumed, RawEvent& event) {
  event.seen = 0;
  const Mender::Member keep = [&](int depth, std::string_view key, const RawValue& value) {
    const int field = depth == 0   ? event_fields.find(key)
                      : depth == 1 ? arg_fields.find(key)
                                   : unknown_field;
    if (field != unknown_field) event.set(static_cast<Field>(field), value);
  };
  Mender mender(text, escapes, keep);
  const Scan s = mender.object(0);
  consumed = mender.consumed();
  return s;
}

// The number of an event's own fields that were found.
int own_fields(const RawEvent& event) {
  constexpr std::uint64_t own = (1ULL << (static_cast<unsigned>(Field::args) + 1)) - 1;
  return std::popcount(event.seen & own);
}

// Whether an event may begin at this '{'.
bool is_event_start(std::string_view text, std::size_t brace) {
  std::size_t before = brace;
  while (before > 0 && is_space(text[before - 1])) --before;
  if (before == 0 || (text[before - 1] != ',' && text[before - 1] != '[')) return false;
  std::size_t p = brace + 1;
  while (p < text.size() && is_space(text[p])) ++p;
  if (p >= text.size() || text[p] != '"') return false;
  const std::size_t close = text.find('"', p + 1);
  if (close == std::string_view::npos || close - p > max_key) return false;
  return event_fields.find(text.substr(p + 1, close - p - 1)) != unknown_field;
}

// The value of the four hex digits at p, or -1.
int hex4(std::string_view text, std::size_t p) {
  if (p + 4 > text.size()) return -1;
  int value = 0;
  for (std::size_t i = p; i < p + 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Decodes \uXXXX at p (on the 'u'), a surrogate pair as one character. Returns the number of bytes
// used, 0 if it is invalid.
std::size_t unescape_unicode(std::string_view raw, std::size_t p, std::string& out) {
  const int high = hex4(raw, p + 1);
  if (high < 0) return 0;
  if (high >= 0xD800 && high < 0xDC00 && raw.substr(p + 5).starts_with("\\u")) {
    const int low = hex4(raw, p + 7);
    if (low >= 0xDC00 && low < 0xE000) {
      append_utf8(out,
                  static_cast<std::uint32_t>(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
      return 11;
    }
  }
  append_utf8(out, static_cast<std::uint32_t>(high));
  return 5;
}

}  // namespace

// Reads with backslashes as escapes and without (names that end in a backslash). The reading that
// finds more event fields wins. If both find the same, the one that ends first wins, because the
// other has swallowed part of the next event.
Scan mend_event(std::string_view text, bool more, std::size_t& consumed, RawEvent& event) {
  const Scan honoured = mend(text, true, consumed, event);
  const bool usable = honoured == Scan::complete && event.has(Field::ph);
  if (usable && text.substr(0, consumed).find('\\') == std::string_view::npos) return honoured;
  RawEvent other;
  std::size_t length = 0;
  const Scan literal = mend(text, false, length, other);
  if (more && (honoured == Scan::incomplete || literal == Scan::incomplete))
    return Scan::incomplete;  // the choice must not depend on where the text was cut
  if (literal == Scan::complete && other.has(Field::ph)) {
    const int gain = own_fields(other) - (usable ? own_fields(event) : -1);
    if (gain > 0 || (gain == 0 && length < consumed)) {
      event = other;
      consumed = length;
    }
    return literal;
  }
  if (usable) return honoured;
  return honoured == Scan::incomplete || literal == Scan::incomplete ? Scan::incomplete
                                                                     : Scan::malformed;
}

bool walk_members(std::string_view object,
                  const std::function<void(std::string_view, const RawValue&)>& member) {
  if (object.empty() || object[0] != '{') return false;
  const Mender::Member top = [&](int depth, std::string_view key, const RawValue& value) {
    if (depth == 0) member(key, value);
  };
  return Mender(object, true, top).object(0) == Scan::complete;
}

std::size_t find_event_start(std::string_view text, std::size_t from) {
  for (std::size_t p = text.find('{', from); p != std::string_view::npos; p = text.find('{', p + 1))
    if (is_event_start(text, p)) return p;
  return not_found;
}

// An object without "ph" nearby is a device or a process group behind the events.
std::size_t find_last_event_start(std::string_view text) {
  constexpr std::size_t near = 4096;
  constexpr std::string_view phase = "\"ph\"";
  std::size_t next = not_found;  // the first phase behind `p`
  std::size_t seen = text.size();
  for (std::size_t p = text.rfind('{'); p != std::string_view::npos;
       p = p == 0 ? std::string_view::npos : text.rfind('{', p - 1)) {
    const std::size_t at = text.substr(p, seen - p + phase.size() - 1).find(phase);
    if (at != std::string_view::npos) next = p + at;
    seen = p;
    if (next != not_found && next + phase.size() <= p + near && is_event_start(text, p)) return p;
  }
  return not_found;
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[i + 1];
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meaning = "\"\\/\b\f\n\r\t";
    if (const std::size_t at = letters.find(c); at != std::string_view::npos) {
      out += meaning[at];
      ++i;
    } else if (const std::size_t used = c == 'u' ? unescape_unicode(raw, i + 1, out) : 0;
               used > 0) {
      i += used;
    } else {
      out += '\\';
    }
  }
  return out;
}

}  // namespace stepscope
