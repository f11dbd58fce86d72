// SPDX-License-Identifier: Apache-2.0
// JSON files of people: strict, and every complaint names the line, the column and the field. A
// text becomes a tree whose values know where they stand; an object is read field by field, and
// what nobody asked for is an error.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;  // where a whole number that fits was written without point or exponent
  double number = 0;         // of integers too
  std::string text{};
  std::vector<std::string> keys{};  // of an object, in the file's order, each once
  std::vector<JsonValue> items{};   // of a list, or the values of `keys`
  std::size_t byte = 0;             // where it ends, or where the key of a member does

  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

// The tree of a text. Errors: a syntax error, a key given twice, nesting beyond 64; with line and
// column. `path` appears in messages only.
[[nodiscard]] Result<JsonValue> parse_json(std::string_view json, std::string_view path);

// "line 3, column 7" of a field by its path, as messages write it ("experts.count",
// "list[2].name"); of the nearest object around it where it is not there.
[[nodiscard]] std::string json_place(const JsonValue& root, std::string_view json,
                                     std::string_view field);

// The whole file. Errors name it.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

// Remembers the first problem of a text. Keeps the views it is given.
class JsonProblems {
 public:
  JsonProblems(std::string_view json, std::string_view path) : json_(json), path_(path) {}

  void fail(const JsonValue& at, const std::string& what, std::string hint = {});
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view json_;
  std::string_view path_;
  std::optional<Error> error_;
};

// Bounds of a whole number, both allowed.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// Reads the fields of one object. A wrong field is reported and gives its default.
class JsonFields {
 public:
  // `prefix` goes before keys in messages ("experts."). With `null_is_absent` a null field counts
  // as one that is not there.
  JsonFields(const JsonValue& object, std::string prefix, JsonProblems& problems,
             bool null_is_absent = false);

  // Null where it is not there. All that follow count the key as known.
  const JsonValue* find(std::string_view key);
  // Required where `otherwise` is absent.
  std::int64_t integer(std::string_view key, IntegerRange range,
                       std::optional<std::int64_t> otherwise = std::nullopt);
  std::optional<std::int64_t> optional_integer(std::string_view key, IntegerRange range);
  double number(std::string_view key, double least, double most, double otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::string text(std::string_view key,
                   const std::optional<std::string>& otherwise = std::nullopt);
  // The index in `names`; required where `otherwise` is absent.
  std::size_t choice(std::string_view key, std::span<const std::string_view> names,
                     std::optional<std::size_t> otherwise = std::nullopt);
  std::vector<std::int64_t> integers(std::string_view key, IntegerRange range);
  std::vector<std::string> texts(std::string_view key);

  void fail(std::string_view key, const std::string& why, std::string hint = {});
  // The fields of the object `part`, which stands under `key`; problems go to the same place.
  [[nodiscard]] JsonFields inner(std::string_view key, const JsonValue& part);
  // Keys that are allowed and not looked at.
  void ignore(std::span<const std::string_view> keys);
  // Every other key is an error: `field "x" ` + why; hint.
  void finish(const std::string& why, const std::string& hint = {});

 private:
  [[nodiscard]] const JsonValue& place(std::string_view key) const;

  const JsonValue& object_;
  std::string prefix_;
  JsonProblems& problems_;
  bool null_is_absent_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace stepscope
