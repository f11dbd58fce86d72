// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON files that people write. Every error names the line, the column and the
// field. The text becomes a tree whose values know their position. An object is read field by
// field, and a field that nobody asked for is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;  // if a whole number that fits was written without point or exponent
  double number = 0;         // also set for integers
  std::string text{};
  std::vector<std::string> keys{};  // of an object, in the file's order, each once
  std::vector<JsonValue> items{};   // items of a list, or the values of `keys`
  std::size_t byte = 0;             // where the value ends; for a member, where its key ends

  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

// No file that people write has more values. One takes about 150 bytes of memory.
inline constexpr std::size_t most_written_values = 1 << 16;

// No limit, for the texts that programs write.
inline constexpr std::size_t any_values = std::numeric_limits<std::size_t>::max();

// Parses a text into a tree. Errors: a syntax error, a duplicate key, nesting beyond 64, more than
// `most` values; with line and column. `path` appears only in messages.
[[nodiscard]] Result<JsonValue> parse_json(std::string_view json, std::string_view path,
                                           std::size_t most = most_written_values);

// A part of a text that is read as a stream.
struct JsonItem {
  std::string_view key{};            // of the root's member; empty in a root that is a list
  bool inner = false;                // an item of a list in the root, not of the root itself
  std::size_t byte = 0;              // as of a value
  const JsonValue* value = nullptr;  // null where a list in the root begins
};
using TakeJsonItem = std::function<Result<Done>(const JsonItem& item)>;

struct JsonStream {
  bool lists_of_lists = false;               // lists in a root that is a list are taken apart, too
  std::span<const std::string_view> keys{};  // the members that are wanted; empty: all
};

// Reads a list, an object, or an object of lists item by item. No more than one item is held, of at
// most most_written_values values. Any other text is one item. Returns the number of bytes. Errors:
// as parse_json(), of the source and of take().
[[nodiscard]] Result<std::uint64_t> for_json_items(ByteSource& source, std::string_view path,
                                                   const TakeJsonItem& take,
                                                   const JsonStream& stream = {});

// "line 3, column 7" of the field with this path, written as in messages ("experts.count",
// "list[2].name"). If the field is missing, the place of the nearest object around it.
[[nodiscard]] std::string json_place(const JsonValue& root, std::string_view json,
                                     std::string_view field);

// What helps against a wrong value. A message that says what a value must be needs no more.
inline constexpr std::string_view usual_remedy = "change or remove it";

// Keeps the first problem of a text. Stores views of its arguments, which must outlive it.
class JsonProblems {
 public:
  JsonProblems(std::string_view json, std::string_view path) : json_(json), path_(path) {}

  void fail(const JsonValue& at, const std::string& what,
            std::string hint = std::string(usual_remedy));
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view json_;
  std::string_view path_;
  std::optional<Error> error_;
};

// Bounds of a whole number, both inclusive.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// Reads the fields of one object. A wrong field is reported, and its default is returned.
class JsonFields {
 public:
  // `prefix` precedes keys in messages ("experts."). With `null_is_absent` a null field counts as
  // missing.
  JsonFields(const JsonValue& object, std::string prefix, JsonProblems& problems,
             bool null_is_absent = false);

  // Null if the field is missing. This and all following functions count the key as known.
  const JsonValue* find(std::string_view key);
  // The field is required if `otherwise` is absent.
  std::int64_t integer(std::string_view key, IntegerRange range,
                       std::optional<std::int64_t> otherwise = std::nullopt);
  std::optional<std::int64_t> optional_integer(std::string_view key, IntegerRange range);
  double number(std::string_view key, double least, double most, double otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::string text(std::string_view key,
                   const std::optional<std::string>& otherwise = std::nullopt);
  // The index of the value in `names`. The field is required if `otherwise` is absent.
  std::size_t choice(std::string_view key, std::span<const std::string_view> names,
                     std::optional<std::size_t> otherwise = std::nullopt);
  std::vector<std::int64_t> integers(std::string_view key, IntegerRange range);
  std::vector<std::string> texts(std::string_view key);

  void fail(std::string_view key, const std::string& why,
            std::string hint = std::string(usual_remedy));
  // A reader for the object `part` under `key`; it reports problems to the same place.
  [[nodiscard]] JsonFields inner(std::string_view key, const JsonValue& part);
  // Allows these keys without reading them.
  void ignore(std::span<const std::string_view> keys);
  // Reports every key that is still unknown as an error: `field "x" ` + why; hint.
  void finish(const std::string& why, const std::string& hint = std::string(usual_remedy));

 private:
  [[nodiscard]] const JsonValue& place(std::string_view key) const;

  const JsonValue& object_;
  std::string prefix_;
  JsonProblems& problems_;
  bool null_is_absent_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace stepscope
