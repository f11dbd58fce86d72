// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/json_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

using Kind = JsonValue::Kind;
constexpr std::size_t deepest = 64;

// "line 3, column 7", both counted from 1.
std::string place_of(std::string_view json, std::size_t byte) {
  const std::string_view before = json.substr(0, std::min(byte, json.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(before.size() - start + 1);
}

// The parser holds a text whole. None in a list of measurements is longer.
constexpr std::size_t longest_text = std::size_t{4} << 20;

// The bytes that the parser takes: of a text, or of a source window by window. The events of
// nlohmann's parser do not say where they are.
struct JsonBytes {
  std::string_view window;
  ByteSource* source = nullptr;
  std::string buffer{};
  std::size_t at = 0;            // in the window
  std::uint64_t before = 0;      // bytes before the window
  std::uint64_t lines = 0;       // ends of lines there
  std::uint64_t line_begin = 0;  // where the line begins in which the window begins
  std::optional<Error> error{};
  bool in_text = false;  // at the end of the window
  bool escaped = false;
  std::size_t text_bytes = 0;  // of the text so far

  [[nodiscard]] std::uint64_t taken() const { return before + at; }
  [[nodiscard]] bool over() { return at == window.size() && !fill(); }
  [[nodiscard]] std::string place(std::uint64_t byte) const {
    const std::size_t in = byte > before ? byte - before : 0;
    const std::string_view seen = window.substr(0, std::min<std::size_t>(in, window.size()));
    const std::size_t end = seen.rfind('\n');
    const std::uint64_t begin = end == std::string_view::npos ? line_begin : before + end + 1;
    const auto line = lines + static_cast<std::uint64_t>(std::ranges::count(seen, '\n')) + 1;
    return "line " + std::to_string(line) + ", column " +
           std::to_string(before + seen.size() - begin + 1);
  }

 private:
  bool fill() {
    if (source == nullptr) return false;
    lines += static_cast<std::uint64_t>(std::ranges::count(window, '\n'));
    if (const std::size_t end = window.rfind('\n'); end != std::string_view::npos)
      line_begin = before + end + 1;
    before += at;
    at = 0;
    buffer.resize(std::size_t{1} << 16U);
    const auto got = source->read(buffer);
    if (!got) error = got.error();
    window = std::string_view(buffer).substr(0, got ? *got : 0);
    follow_texts();
    if (text_bytes > longest_text) {
      error = Error{.what = "a text of more than 4 MiB",
                    .byte = before + window.size(),
                    .hint = "give the file as its program wrote it"};
      window = {};
    }
    return !window.empty();
  }
  void follow_texts() {
    for (const char c : window) {
      if (escaped) {
        escaped = false;
      } else if (c == '"') {
        in_text = !in_text;
        text_bytes = 0;
      } else if (in_text) {
        escaped = c == '\\';
        ++text_bytes;
      }
    }
  }
};

struct JsonByte {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonBytes* bytes = nullptr;  // null: the end

  reference operator*() const { return bytes->window[bytes->at]; }
  JsonByte& operator++() {
    ++bytes->at;
    return *this;
  }
  JsonByte operator++(int) {
    JsonByte old = *this;
    ++*this;
    return old;
  }
  // Only a position and the end are compared.
  bool operator==(const JsonByte& other) const {
    return (bytes != nullptr ? bytes : other.bytes)->over();
  }
  bool operator!=(const JsonByte& other) const { return !(*this == other); }
};

// Builds the tree from the parser's events. With `take`, items are given away one by one.
class Builder {
 public:
  Builder(const JsonBytes& bytes, std::size_t most, const TakeJsonItem* take = nullptr,
          const JsonStream& stream = {})
      : bytes_(bytes), first_(bytes.taken()), most_(most), take_(take), stream_(stream) {}

  bool null() { return add({.kind = Kind::null}); }
  bool boolean(bool v) { return add({.kind = Kind::boolean, .boolean = v}); }
  bool number_integer(std::int64_t v) {
    return add({.kind = Kind::integer, .integer = v, .number = static_cast<double>(v)});
  }
  bool number_unsigned(std::uint64_t v) {
    if (v <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return number_integer(static_cast<std::int64_t>(v));
    }
    return add({.kind = Kind::number, .number = static_cast<double>(v)});
  }
  bool number_float(double v, const std::string&) {
    return add({.kind = Kind::number, .number = v});
  }
  bool string(std::string& v) { return add({.kind = Kind::text, .text = std::move(v)}); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(Kind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Kind::list); }
  bool end_array() { return close(); }
  bool key(std::string& k) {
    if (unwanted_ && open_.size() > 1) return true;
    JsonValue& object = open_.back();
    if (!keys_.back().insert(k).second) {
      problem_ = "field \"" + k + "\" is given twice";
      problem_byte_ = here();
      return false;
    }
    key_byte_.back() = here() - std::min(here(), k.size() + 2);
    if (take_ != nullptr && open_.size() == 1) {
      key_ = std::move(k);
      unwanted_ = !stream_.keys.empty() &&
                  std::ranges::find(stream_.keys, std::string_view(key_)) == stream_.keys.end();
      return keys_.back().size() <= most_ || too_many();
    }
    object.keys.push_back(std::move(k));
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& e) {
    constexpr int number_out_of_range = 406;
    problem_ = e.id == number_out_of_range ? "a number beyond any range" : "not JSON";
    problem_byte_ = first_ + (byte > 0 ? byte - 1 : 0);
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t problem_byte() const { return problem_byte_; }
  [[nodiscard]] const std::optional<Error>& refused() const { return refused_; }
  [[nodiscard]] JsonValue root() { return std::move(root_); }

 private:
  [[nodiscard]] std::size_t here() const { return bytes_.taken(); }
  bool too_many() {
    problem_ = "more than " + std::to_string(most_) + " values";
    problem_byte_ = here();
    return false;
  }
  bool give(const JsonValue* value) {
    if (unwanted_) return true;
    values_ = 0;
    const std::size_t byte = value != nullptr       ? value->byte
                             : key_byte_.back() > 0 ? key_byte_.back()
                                                    : here() - 1;
    const auto taken = (*take_)(
        {.key = key_, .inner = value != nullptr && given_ > 1, .byte = byte, .value = value});
    if (!taken) refused_ = taken.error();
    return taken.has_value();
  }
  static bool is_list(const JsonValue& value) { return value.kind == Kind::list; }
  // The number of open containers whose items are given away, after this one is opened.
  [[nodiscard]] std::size_t given_with(Kind kind) const {
    if (take_ == nullptr) return 0;
    if (open_.empty()) return 1;
    const bool inner = open_.size() == 1 && kind == Kind::list &&
                       (stream_.lists_of_lists || !is_list(open_.front()));
    return inner ? 2 : given_;
  }

  bool add(JsonValue value) {
    if (unwanted_) return true;
    if (++values_ > most_) return too_many();
    if (open_.empty()) {
      value.byte = 0;
      if (take_ != nullptr) return give(&value);
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back();
    value.byte = parent.kind == Kind::object ? key_byte_.back() : here() - (here() > 0 ? 1 : 0);
    if (open_.size() == given_) return give(&value);
    parent.items.push_back(std::move(value));
    return true;
  }
  bool open(Kind kind) {
    if (open_.size() >= deepest) {
      problem_ = "nested deeper than " + std::to_string(deepest);
      problem_byte_ = here();
      return false;
    }
    const std::size_t given = given_with(kind);
    const bool begins = given == 2 && given_ == 1;
    given_ = given;
    if (begins && !give(nullptr)) return false;
    open_.push_back({.kind = kind});
    key_byte_.push_back(0);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    key_byte_.pop_back();
    keys_.pop_back();
    if (open_.size() < given_) {
      --given_;
      return true;
    }
    return add(std::move(value));
  }

  const JsonBytes& bytes_;
  std::size_t first_;  // byte where the parser began
  std::size_t most_;
  std::size_t values_ = 0;  // of the tree, or of the item
  const TakeJsonItem* take_;
  JsonStream stream_;
  bool unwanted_ = false;  // in a member of the root that nobody wants
  std::size_t given_ = 0;  // open containers whose items are given away: the first ones
  std::string key_;        // of the root's member
  std::optional<Error> refused_;
  std::vector<JsonValue> open_;
  std::vector<std::size_t> key_byte_;                  // of the last key of each open object
  std::vector<std::unordered_set<std::string>> keys_;  // of each open object
  JsonValue root_;
  std::string problem_;
  std::size_t problem_byte_ = 0;
};

// The member of an object whose key is the longest that begins `rest`. Keys may contain dots.
const JsonValue* step_into(const JsonValue& value, std::string_view& rest) {
  std::size_t longest = 0;
  const JsonValue* found = nullptr;
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const std::string_view key = value.keys[i];
    const bool whole =
        rest.size() == key.size() ||
        (rest.size() > key.size() && (rest[key.size()] == '.' || rest[key.size()] == '['));
    if (!rest.starts_with(key) || !whole || key.size() < longest) continue;
    longest = key.size();
    found = &value.items[i];
  }
  rest.remove_prefix(longest);
  return found;
}

// The item of a list that "[2]..." names.
const JsonValue* step_to_item(const JsonValue& value, std::string_view& rest) {
  std::string_view after = rest.substr(1);
  const auto n = take_number<std::size_t>(after);
  if (!n || !after.starts_with(']') || *n >= value.items.size()) return nullptr;
  rest = after.substr(1);
  return &value.items[*n];
}

}  // namespace

std::string json_place(const JsonValue& root, std::string_view json, std::string_view field) {
  const JsonValue* at = &root;
  while (!field.empty()) {
    if (field.front() == '.') field.remove_prefix(1);
    const bool item = field.starts_with('[') && at->kind == Kind::list;
    const JsonValue* next = item ? step_to_item(*at, field) : step_into(*at, field);
    if (next == nullptr) break;
    at = next;
  }
  return place_of(json, at->byte);
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto it = std::ranges::find(keys, key);
  return it == keys.end() ? nullptr : &items[static_cast<std::size_t>(it - keys.begin())];
}

namespace {

Error empty_file(std::string_view path) {
  return {.what = "the file is empty",
          .file = std::string(path),
          .hint = "check the path, or write the file again"};
}

Error not_parsed(const JsonBytes& bytes, const Builder& builder, std::string_view path) {
  return {.what = bytes.place(builder.problem_byte()) + ": " + builder.problem(),
          .file = std::string(path),
          .hint = "correct this place, or write the file again"};
}

}  // namespace

Result<JsonValue> parse_json(std::string_view json, std::string_view path, std::size_t most) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return empty_file(path);
  JsonBytes bytes{.window = json};
  Builder builder(bytes, most);
  if (nlohmann::json::sax_parse(JsonByte{&bytes}, JsonByte{}, &builder)) return builder.root();
  return not_parsed(bytes, builder, path);
}

Result<std::uint64_t> for_json_items(ByteSource& source, std::string_view path,
                                     const TakeJsonItem& take, const JsonStream& stream) {
  JsonBytes bytes{.window = {}, .source = &source};
  while (!bytes.over() && is_space(bytes.window[bytes.at])) ++bytes.at;
  if (bytes.error) return *bytes.error;
  if (bytes.over()) return empty_file(path);
  Builder builder(bytes, most_written_values, &take, stream);
  const bool read = nlohmann::json::sax_parse(JsonByte{&bytes}, JsonByte{}, &builder);
  if (bytes.error) {
    if (bytes.error->file.empty()) bytes.error->file = path;
    return *bytes.error;
  }
  if (builder.refused()) return *builder.refused();
  if (read) return bytes.taken();
  return not_parsed(bytes, builder, path);
}

void JsonProblems::fail(const JsonValue& at, const std::string& what, std::string hint) {
  if (error_) return;
  error_ = Error{.what = place_of(json_, at.byte) + ": " + what,
                 .file = std::string(path_),
                 .hint = std::move(hint)};
}

JsonFields::JsonFields(const JsonValue& object, std::string prefix, JsonProblems& problems,
                       bool null_is_absent)
    : object_(object),
      prefix_(std::move(prefix)),
      problems_(problems),
      null_is_absent_(null_is_absent) {
  if (object.kind == Kind::object) return;
  std::string name = "the file";
  if (!prefix_.empty()) name = "field \"" + prefix_.substr(0, prefix_.size() - 1) + "\"";
  problems_.fail(object, name + " must be an object: {...}", {});
}

const JsonValue* JsonFields::find(std::string_view key) {
  known_.emplace(key);
  const JsonValue* value = object_.find(key);
  return value != nullptr && value->kind == Kind::null && null_is_absent_ ? nullptr : value;
}

const JsonValue& JsonFields::place(std::string_view key) const {
  const JsonValue* value = object_.find(key);
  return value == nullptr ? object_ : *value;
}

void JsonFields::fail(std::string_view key, const std::string& why, std::string hint) {
  problems_.fail(place(key), "field \"" + prefix_ + std::string(key) + "\" " + why,
                 std::move(hint));
}

std::optional<std::int64_t> JsonFields::optional_integer(std::string_view key, IntegerRange range) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  // 4.0 counts as the integer 4: some writers know only floats.
  std::int64_t n = value->integer;
  bool whole = value->kind == Kind::integer;
  if (value->kind == Kind::number && std::abs(value->number) < 1e15 &&
      value->number == std::floor(value->number)) {
    n = static_cast<std::int64_t>(value->number);
    whole = true;
  }
  if (whole && n >= range.least && n <= range.most) return n;
  std::string bounds = " of " + std::to_string(range.least) + " or more";
  if (range.most != std::numeric_limits<std::int64_t>::max()) {
    bounds = " from " + std::to_string(range.least) + " to " + std::to_string(range.most);
  }
  fail(key, "must be a whole number" + bounds, {});
  return std::nullopt;
}

std::int64_t JsonFields::integer(std::string_view key, IntegerRange range,
                                 std::optional<std::int64_t> otherwise) {
  if (find(key) == nullptr && !otherwise) fail(key, "is missing", "add it");
  return optional_integer(key, range).value_or(otherwise.value_or(range.least));
}

double JsonFields::number(std::string_view key, double least, double most, double otherwise) {
  const JsonValue* value = find(key);
  if (value == nullptr) return otherwise;
  const bool numeric = value->kind == Kind::integer || value->kind == Kind::number;
  if (numeric && value->number >= least && value->number <= most) return value->number;
  nlohmann::json bounds = {least, most};
  fail(key, "must be a number from " + bounds[0].dump() + " to " + bounds[1].dump(), {});
  return otherwise;
}

bool JsonFields::flag(std::string_view key, bool otherwise) {
  const JsonValue* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->kind != Kind::boolean) fail(key, "must be true or false", {});
  return value->boolean;
}

std::string JsonFields::text(std::string_view key, const std::optional<std::string>& otherwise) {
  const JsonValue* value = find(key);
  if (value == nullptr && !otherwise) fail(key, "is missing", "add it");
  if (value == nullptr) return otherwise.value_or("");
  if (value->kind != Kind::text || value->text.empty()) {
    fail(key, "must be a text that is not empty", {});
  }
  return value->text;
}

std::size_t JsonFields::choice(std::string_view key, std::span<const std::string_view> names,
                               std::optional<std::size_t> otherwise) {
  const JsonValue* value = find(key);
  if (value == nullptr && !otherwise) fail(key, "is missing", "add it");
  if (value == nullptr) return otherwise.value_or(0);
  const auto it = std::ranges::find(names, std::string_view(value->text));
  if (value->kind == Kind::text && it != names.end()) {
    return static_cast<std::size_t>(it - names.begin());
  }
  std::string list;
  for (const std::string_view name : names) {
    if (!list.empty()) list += ", ";
    list.append(name);
  }
  fail(key, "must be one of " + list, {});
  return otherwise.value_or(0);
}

std::vector<std::int64_t> JsonFields::integers(std::string_view key, IntegerRange range) {
  std::vector<std::int64_t> out;
  const JsonValue* value = find(key);
  if (value == nullptr) return out;
  for (const JsonValue& item : value->items) {
    if (item.kind != Kind::integer || item.integer < range.least || item.integer > range.most) {
      problems_.fail(item, "field \"" + prefix_ + std::string(key) + "\" must hold whole numbers",
                     {});
    }
    out.push_back(item.integer);
  }
  if (value->kind != Kind::list) fail(key, "must be a list: [...]", {});
  return out;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
  std::vector<std::string> out;
  const JsonValue* value = find(key);
  if (value == nullptr) return out;
  for (const JsonValue& item : value->items) {
    if (item.kind != Kind::text) {
      problems_.fail(item, "field \"" + prefix_ + std::string(key) + "\" must hold texts", {});
    }
    out.push_back(item.text);
  }
  if (value->kind != Kind::list) fail(key, "must be a list: [...]", {});
  return out;
}

JsonFields JsonFields::inner(std::string_view key, const JsonValue& part) {
  return {part, prefix_ + std::string(key) + ".", problems_, null_is_absent_};
}

void JsonFields::ignore(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) known_.emplace(key);
}

void JsonFields::finish(const std::string& why, const std::string& hint) {
  for (const std::string& key : object_.keys) {
    if (!known_.contains(key)) fail(key, why, hint);
  }
}

}  // namespace stepscope
