// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_arguments.h"

#include <charconv>
#include <cmath>

#include "stepscope/base/proto_wire.h"
#include "stepscope/read/rows/event_mend.h"
#include "stepscope/read/rows/field_table.h"
#include "stepscope/read/rows/number.h"

namespace stepscope {
namespace {

// No writer nests deeper or writes longer lists. The limits are needed because interned texts can
// expand a short message.
constexpr int deepest_argument = 16;
constexpr std::size_t longest_value = 1 << 20;

// An empty list in this format is an annotation without a value.
constexpr std::string_view no_value = "[]";

// Fields of DebugAnnotation.
struct Annotation {
  static constexpr std::uint32_t name_iid = 1;
  static constexpr std::uint32_t bool_value = 2;
  static constexpr std::uint32_t uint_value = 3;
  static constexpr std::uint32_t int_value = 4;
  static constexpr std::uint32_t double_value = 5;
  static constexpr std::uint32_t string_value = 6;
  static constexpr std::uint32_t pointer_value = 7;
  static constexpr std::uint32_t json_value = 9;
  static constexpr std::uint32_t name = 10;
  static constexpr std::uint32_t dict_entries = 11;
  static constexpr std::uint32_t array_values = 12;
  static constexpr std::uint32_t string_value_iid = 17;
};

template <class Number>
void append_chars(std::string& out, Number value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end);
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

struct PerfettoArguments::Value {
  enum class Kind : std::uint8_t { none, boolean, integer, natural, real, text, json, nested };
  Kind kind = Kind::none;
  std::string_view name;
  std::uint64_t number = 0;
  double real = 0;
  std::string_view text;  // the whole annotation if nested
};

void PerfettoArguments::clear(std::uint64_t byte) {
  event.seen = 0;
  hints = {};
  numbers.clear();
  rank_metadata = {};
  byte_ = byte;
}

PerfettoArguments::Value PerfettoArguments::value_of(std::string_view annotation,
                                                     const PacketSequence& sequence) const {
  using Kind = Value::Kind;
  Value v;
  const auto number = [&](Kind kind, std::uint64_t bits) {
    v.kind = kind;
    v.number = bits;
  };
  const auto text = [&](Kind kind, std::string_view bytes) {
    v.kind = kind;
    v.text = bytes;
  };
  for (ProtoFields f(annotation); f.next();) switch (f.field()) {
      case Annotation::name_iid:
        v.name = texts_.text(sequence.argument_names.find(f.number()));
        break;
      case Annotation::name:
        v.name = f.bytes();
        break;
      case Annotation::bool_value:
        number(Kind::boolean, f.number());
        break;
      case Annotation::uint_value:
      case Annotation::pointer_value:
        number(Kind::natural, f.number());
        break;
      case Annotation::int_value:
        number(Kind::integer, f.number());
        break;
      case Annotation::double_value:
        v.kind = Kind::real;
        v.real = f.real();
        break;
      case Annotation::string_value:
        text(Kind::text, f.bytes());
        break;
      case Annotation::string_value_iid:
        text(Kind::text, texts_.text(sequence.argument_texts.find(f.number())));
        break;
      case Annotation::json_value:
        text(Kind::json, f.bytes());
        break;
      case Annotation::dict_entries:
      case Annotation::array_values:
        text(Kind::nested, annotation);
        break;
      default:
        break;
    }
  return v;
}

// Appends the value as JSON; false if it is too deep or too long.
bool PerfettoArguments::render(std::string_view annotation, const PacketSequence& sequence,
                               int depth, std::string& out) const {
  using Kind = Value::Kind;
  if (depth > deepest_argument || out.size() > longest_value) return false;
  const Value v = value_of(annotation, sequence);
  switch (v.kind) {
    case Kind::none:
      out += no_value;
      break;
    case Kind::boolean:
      out += v.number != 0 ? "true" : "false";
      break;
    case Kind::integer:
      append_chars(out, static_cast<std::int64_t>(v.number));
      break;
    case Kind::natural:
      append_chars(out, v.number);
      break;
    case Kind::real:
      if (std::isfinite(v.real))
        append_chars(out, v.real);
      else
        out += "null";
      break;
    case Kind::text:
      append_quoted(out, v.text);
      break;
    case Kind::json:
      out += v.text;
      break;
    case Kind::nested:
      return render_list(annotation, sequence, depth, out);
  }
  return out.size() <= longest_value;
}

bool PerfettoArguments::render_list(std::string_view annotation, const PacketSequence& sequence,
                                    int depth, std::string& out) const {
  bool any = false;
  bool dictionary = false;
  for (ProtoFields f(annotation); f.next();) {
    const bool member = f.field() == Annotation::dict_entries;
    if (!member && f.field() != Annotation::array_values) continue;
    if (!any) {
      dictionary = member;
      out += dictionary ? '{' : '[';
    } else {
      out += ", ";
    }
    any = true;
    if (member != dictionary) return false;
    if (member) {
      append_quoted(out, value_of(f.bytes(), sequence).name);
      out += ": ";
    }
    if (!render(f.bytes(), sequence, depth + 1, out)) return false;
  }
  out += dictionary ? '}' : ']';
  return true;
}

void PerfettoArguments::set(Field field, const Value& value) {
  using Kind = Value::Kind;
  std::string& owned = owned_[static_cast<std::size_t>(field)];
  owned.clear();
  ValueKind kind = ValueKind::scalar;
  std::string_view text;
  switch (value.kind) {
    case Kind::boolean:
      text = value.number != 0 ? "true" : "false";
      break;
    case Kind::integer:
      append_chars(owned, static_cast<std::int64_t>(value.number));
      text = owned;
      break;
    case Kind::natural:
      append_chars(owned, value.number);
      text = owned;
      break;
    case Kind::real:
      append_chars(owned, value.real);
      text = owned;
      break;
    case Kind::text:
      text = value.text;
      kind = ValueKind::literal;
      break;
    case Kind::json:
    case Kind::nested:
      text = value.text;
      kind = ValueKind::composite;
      break;
    case Kind::none:
      text = no_value;
      kind = ValueKind::composite;
      break;
  }
  event.set(field, text, kind);
}

void PerfettoArguments::keep(std::string_view name, const Value& value) {
  using Kind = Value::Kind;
  if (const int field = arg_fields.find(name); field != unknown_field) {
    set(static_cast<Field>(field), value);
  } else if (name == "corr_id") {  // from here rocprofv3's names
    set(Field::correlation, value);
  } else if (name == "copy_bytes") {
    set(Field::bytes, value);
  } else if (name == "agent" || name == "dst_agent") {
    set(Field::device, value);
  } else if (name == "cbid" || name == "cid") {
    hints.call = true;
  } else if (name == "cuda_sync_kind") {
    hints.sync = true;
  } else if (name == "Python id" || name == "Python parent id") {
    hints.python = true;
  } else if (name == "Record function id") {
    hints.function_id = true;
  } else if (name == "Ev Idx") {
    hints.event_id = true;
  } else if (name == "stepscopeRanks") {
    rank_metadata = value.text;
  }
  if (!wants_numbers) return;
  if (value.kind == Kind::real && std::isfinite(value.real))
    numbers.emplace_back(name, value.real);
  else if (value.kind == Kind::integer)
    numbers.emplace_back(name, static_cast<double>(static_cast<std::int64_t>(value.number)));
  else if (value.kind == Kind::natural)
    numbers.emplace_back(name, static_cast<double>(value.number));
}

void PerfettoArguments::add(std::string_view annotation, const PacketSequence& sequence) {
  Value value = value_of(annotation, sequence);
  std::string nested;
  if (value.kind == Value::Kind::nested) {
    const int field = arg_fields.find(value.name);
    if (field == unknown_field) return;
    if (!render_list(annotation, sequence, 0, nested) || nested.size() > longest_value)
      return notes_.add("oversized_argument", byte_);
    std::string& owned = owned_[static_cast<std::size_t>(field)];
    owned = std::move(nested);
    event.set(static_cast<Field>(field), owned, ValueKind::composite);
    return;
  }
  keep(value.name, value);
}

void PerfettoArguments::add_text(std::string_view name, std::string_view text) {
  if (!text.starts_with('{')) {
    Value value;
    value.kind = Value::Kind::text;
    value.text = text;
    return keep(name, value);
  }
  walk_members(text, [&](std::string_view key, const RawValue& member) {
    const int field = arg_fields.find(key);
    if (field != unknown_field) event.set(static_cast<Field>(field), member);
  });
}

void PerfettoArguments::add_number(Field field, std::int64_t value) {
  Value v;
  v.kind = Value::Kind::integer;
  v.number = static_cast<std::uint64_t>(value);
  set(field, v);
}

}  // namespace stepscope
