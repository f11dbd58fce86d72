// SPDX-License-Identifier: Apache-2.0
// pprof's protocol buffer (perftools.profiles.Profile, proto/profile.proto of
// github.com/google/pprof), usually compressed with gzip. Go, parca, pyroscope, gperftools and
// OpenTelemetry write it. The default sample type is counted, else the last one, as in pprof.
// Inlined functions become separate frames. A location without a function is shown as its mapping's
// file.
//
// Messages may be in any order, so tables are read first and samples last.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "stepscope/base/proto_wire.h"
#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 32;
constexpr std::size_t deepest_stack = 1 << 16;

struct Function {
  std::uint64_t name = 0;
  std::uint64_t file = 0;
};

struct Line {
  std::uint64_t function = 0;
  std::int64_t line = 0;
};

struct Location {
  std::uint64_t mapping = 0;
  std::vector<Line> lines{};  // innermost inlined function first
};

struct ValueType {
  std::uint64_t type = 0;
  std::uint64_t unit = 0;
};

// Accepts both encodings of a repeated number: packed and one by one.
void append_numbers(const ProtoFields& f, std::vector<std::uint64_t>& out) {
  if (!f.is_bytes()) return out.push_back(f.number());
  std::string_view bytes = f.bytes();
  for (std::uint64_t v = 0; take_varint(bytes, v);) out.push_back(v);
}

class PprofReader {
 public:
  explicit PprofReader(ProfileBuilder& into) : into_(into) {}

  void read(std::string_view bytes) {
    tables(bytes);
    choose_value();
    ProtoFields f(bytes);
    while (f.next())
      if (f.field() == 2 && f.is_bytes()) sample(f.bytes());
    if (f.damaged()) {
      into_.input.truncated = true;
      into_.note("message damaged or cut off");
    }
    into_.note("samples_without_a_value", unvalued_);
    into_.note("locations_that_are_not_there", no_location_);
    into_.note("frames_without_a_name", unnamed_);
    into_.note("weights_below_zero", negative_);
    into_.note("stacks_too_deep", too_deep_);
  }

 private:
  void tables(std::string_view bytes) {
    ProtoFields f(bytes);
    while (f.next()) {
      if (!f.is_bytes()) {
        if (f.field() == 14) default_type_ = f.number();
        continue;
      }
      if (f.field() == 1) types_.push_back(value_type(f.bytes()));
      if (f.field() == 3) mapping(f.bytes());
      if (f.field() == 4) location(f.bytes());
      if (f.field() == 5) function(f.bytes());
      if (f.field() == 6) strings_.push_back(f.bytes());
    }
  }
  static ValueType value_type(std::string_view bytes) {
    ValueType v;
    take_fields(bytes, ProtoInto(1, v.type), ProtoInto(2, v.unit));
    return v;
  }
  void mapping(std::string_view bytes) {
    std::uint64_t id = 0;
    std::uint64_t file = 0;
    take_fields(bytes, ProtoInto(1, id), ProtoInto(5, file));
    mappings_[id] = file;
  }
  void location(std::string_view bytes) {
    std::uint64_t id = 0;
    Location l;
    for (ProtoFields f(bytes); f.next();) {
      if (f.field() == 1) id = f.number();
      if (f.field() == 2) l.mapping = f.number();
      if (f.field() != 4 || !f.is_bytes()) continue;
      Line& line = l.lines.emplace_back();
      take_fields(f.bytes(), ProtoInto(1, line.function), ProtoInto(2, line.line));
    }
    locations_[id] = std::move(l);
  }
  void function(std::string_view bytes) {
    std::uint64_t id = 0;
    Function fn;
    std::uint64_t system_name = 0;
    take_fields(bytes, ProtoInto(1, id), ProtoInto(2, fn.name), ProtoInto(3, system_name),
                ProtoInto(4, fn.file));
    if (fn.name == 0) fn.name = system_name;
    functions_[id] = fn;
  }
  [[nodiscard]] std::string_view text(std::uint64_t number) const {
    return number < strings_.size() ? strings_[number] : std::string_view();
  }

  void choose_value() {
    if (types_.empty()) return;
    value_ = types_.size() - 1;
    for (std::size_t i = 0; i < types_.size(); ++i)
      if (default_type_ != 0 && types_[i].type == default_type_) value_ = i;
    const std::string_view unit = text(types_[value_].unit);
    if (unit == "count")
      into_.unit = WeightUnit::samples;
    else if (unit == "bytes")
      into_.unit = WeightUnit::bytes;
    else
      into_.unit = WeightUnit::other;
    const auto time = [&](std::string_view name, double ns) {
      if (unit != name) return;
      into_.unit = WeightUnit::nanoseconds;
      factor_ = ns;
    };
    time("nanoseconds", 1);
    time("microseconds", 1e3);
    time("milliseconds", 1e6);
    time("seconds", 1e9);
    if (types_.size() > 1)
      into_.note(std::string("kinds of values, of which ")
                     .append(text(types_[value_].type))
                     .append(" is counted"),
                 types_.size());
  }

  void sample(std::string_view bytes) {
    places_.clear();
    values_.clear();
    std::string thread;
    for (ProtoFields f(bytes); f.next();) {
      if (f.field() == 1) append_numbers(f, places_);
      if (f.field() == 2) append_numbers(f, values_);
      if (f.field() == 3 && f.is_bytes()) label(f.bytes(), thread);
    }
    const std::size_t value = values_.size() == types_.size() ? value_ : 0;
    if (values_.empty()) {
      ++unvalued_;
      return;
    }
    const auto weight = static_cast<double>(static_cast<std::int64_t>(values_[value])) * factor_;
    if (weight < 0) {
      ++negative_;
      return;
    }
    std::uint32_t node = into_.thread("", thread.empty() ? "all threads" : thread);
    std::size_t deep = 0;
    for (std::size_t i = places_.size(); i-- > 0;) {
      const auto found = locations_.find(places_[i]);
      if (found == locations_.end()) {
        ++no_location_;
        continue;
      }
      const std::vector<StringId>& frames = frames_of(places_[i], found->second);
      for (std::size_t k = frames.size(); k-- > 0;) {
        if (++deep > deepest_stack) break;
        node = into_.tree.child(node, frames[k]);
      }
    }
    if (deep > deepest_stack) ++too_deep_;
    into_.tree.add(node, weight);
    ++into_.input.stacks;
  }

  void label(std::string_view bytes, std::string& thread) const {
    std::uint64_t key = 0;
    std::uint64_t string = 0;
    std::uint64_t number = 0;
    take_fields(bytes, ProtoInto(1, key), ProtoInto(2, string), ProtoInto(3, number));
    const std::string_view name = text(key);
    if (name != "thread" && name != "thread_name" && name != "thread_id" && name != "tid" &&
        name != "thread.name" && name != "comm")
      return;
    if (!thread.empty()) thread += ' ';
    if (string != 0)
      thread += text(string);
    else
      thread += std::to_string(number);
  }

  // Innermost first.
  const std::vector<StringId>& frames_of(std::uint64_t id, const Location& l) {
    const auto [found, fresh] = known_.try_emplace(id);
    if (!fresh) return found->second;
    for (const Line& line : l.lines) {
      const auto fn = functions_.find(line.function);
      const std::string_view name =
          fn == functions_.end() ? std::string_view() : text(fn->second.name);
      if (name.empty()) {
        ++unnamed_;
        continue;
      }
      std::string frame(name);
      if (const std::string_view file = text(fn->second.file); !file.empty()) {
        frame += " (";
        frame += file;
        if (line.line > 0) frame.append(":").append(std::to_string(line.line));
        frame += ")";
      }
      found->second.push_back(into_.strings.intern(frame));
    }
    if (found->second.empty()) {
      const auto mapping = mappings_.find(l.mapping);
      std::string_view file =
          mapping == mappings_.end() ? std::string_view() : text(mapping->second);
      file = file.substr(file.rfind('/') + 1);
      if (l.lines.empty()) ++unnamed_;
      std::string frame = "[unknown]";
      if (!file.empty()) frame.append(" (").append(file).append(")");
      found->second.push_back(into_.strings.intern(frame));
    }
    return found->second;
  }

  ProfileBuilder& into_;
  std::vector<std::string_view> strings_;
  std::vector<ValueType> types_;
  std::unordered_map<std::uint64_t, std::uint64_t> mappings_;
  std::unordered_map<std::uint64_t, Location> locations_;
  std::unordered_map<std::uint64_t, Function> functions_;
  std::unordered_map<std::uint64_t, std::vector<StringId>> known_;
  std::vector<std::uint64_t> places_;
  std::vector<std::uint64_t> values_;
  std::uint64_t default_type_ = 0;
  std::size_t value_ = 0;
  double factor_ = 1;
  std::uint64_t unvalued_ = 0;
  std::uint64_t no_location_ = 0;
  std::uint64_t unnamed_ = 0;
  std::uint64_t negative_ = 0;
  std::uint64_t too_deep_ = 0;
};

Result<std::string> whole(ByteSource& source) {
  std::string all;
  for (;;) {
    const std::size_t before = all.size();
    all.resize(before + std::max<std::size_t>(1 << 16, before));
    const auto got = source.read(std::span(all).subspan(before));
    if (!got) return got.error();
    const std::size_t asked = all.size() - before;
    all.resize(before + *got);
    if (*got < asked) return all;
    if (all.size() > largest_file)
      return Error{.what = "larger than 4 GiB, which no pprof tool reads",
                   .hint = "record a shorter time"};
  }
}

}  // namespace

// The head consists of whole fields of a Profile, the first of them a table.
bool is_pprof(std::string_view head) {
  ProtoFields f(head);
  int fields = 0;
  bool binary = false;
  while (fields < 64 && f.next()) {
    if (f.field() > 15) return false;
    const bool message = f.field() <= 6 || f.field() == 11;
    if (message != f.is_bytes() && f.field() != 13) return false;
    for (const char c : f.bytes().substr(0, 16)) binary = binary || (c >= 0 && c < 8);
    ++fields;
  }
  return fields >= 2 && binary;
}

Result<Done> read_pprof(ByteSource& source, ProfileBuilder& into) {
  const auto bytes = whole(source);
  if (!bytes) return bytes.error();
  into.input.bytes = bytes->size();
  PprofReader(into).read(*bytes);
  return Done{};
}

}  // namespace stepscope
