// SPDX-License-Identifier: Apache-2.0
// What is to be said, as data: the kind of a message and the values in it. The catalogue
// (catalogue.inc) has the English of each kind, and say.h makes text of both.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

enum class MessageKind : std::uint16_t {
  nothing,
#define SENTENCE(kind, places, text) kind,
#define PART(kind, places, text) kind,
#include "stepscope/say/catalogue.inc"
#undef SENTENCE
#undef PART
};

using Nanoseconds = std::chrono::duration<double, std::nano>;  // of means

// Numbers whose type says how they are written.
struct Percent {
  double share = 0;  // of one
  bool operator==(const Percent&) const = default;
};
struct Digits {
  double value = 0;
  bool operator==(const Digits&) const = default;
};
struct ByteSize {
  double bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

class Value;
struct Message {
  MessageKind kind = MessageKind::nothing;
  std::vector<Value> values;

  [[nodiscard]] bool empty() const { return kind == MessageKind::nothing; }
  bool operator==(const Message&) const = default;
};

using Messages = std::vector<Message>;
template <class T>
struct Plain;  // base/plain_bytes.h

// A value of a message. It is nothing by default, and so are an absent optional and a message
// without words.
class Value {
 public:
  using Kinds =
      std::variant<std::monostate, bool, std::int64_t, Nanoseconds, Percent, Digits, ByteSize,
                   std::vector<int>, std::vector<std::int64_t>, std::string, Messages>;

  Value() = default;
  Value(std::same_as<bool> auto yes) : kinds_(yes) {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  Value(Integer n) : kinds_(static_cast<std::int64_t>(n)) {}
  template <class Rep, class Period>
  Value(std::chrono::duration<Rep, Period> time) : kinds_(Nanoseconds(time)) {}
  Value(Percent share) : kinds_(share) {}
  Value(Digits number) : kinds_(number) {}
  Value(Bytes size) : kinds_(ByteSize{static_cast<double>(size.value)}) {}
  Value(ByteSize size) : kinds_(size) {}
  Value(std::vector<int> ranks) : kinds_(std::move(ranks)) {}
  Value(std::vector<std::int64_t> numbers) : kinds_(std::move(numbers)) {}
  Value(std::string name) : kinds_(std::move(name)) {}
  Value(std::string_view name) : kinds_(std::string(name)) {}
  Value(const char* name) : kinds_(std::string(name)) {}
  Value(Messages list);
  Value(const std::vector<std::string>& names);  // messages of them
  Value(Message message);
  template <class T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value()) {}

  [[nodiscard]] const Kinds& kinds() const { return kinds_; }
  bool operator==(const Value& other) const;

 private:
  friend struct Plain<Value>;
  Kinds kinds_;
};

// The bytes of a value, for another process.
template <>
struct Plain<Value> {
  static void append(std::string& out, const Value& value);
  [[nodiscard]] static bool take(std::string_view& in, Value& value);
};

// Makes messages of one kind. A wrong number of values does not compile.
template <std::size_t places>
struct MessageMaker {
  MessageKind kind = MessageKind::nothing;

  template <class... Values>
    requires(sizeof...(Values) == places)
  Message operator()(Values&&... values) const {
    return {kind, {Value(std::forward<Values>(values))...}};
  }
};

// One maker a kind: msg::step_takes(false, time).
namespace msg {
#define SENTENCE(kind, places, text) inline constexpr MessageMaker<places> kind{MessageKind::kind};
#define PART(kind, places, text) SENTENCE(kind, places, text)
#include "stepscope/say/catalogue.inc"
#undef SENTENCE
#undef PART
}  // namespace msg

// The value, or nothing.
template <class T>
[[nodiscard]] Value value_if(bool there, T&& value) {
  return there ? Value(std::forward<T>(value)) : Value();
}
[[nodiscard]] inline Value percent_of(const std::optional<double>& share) {
  return share ? Value(Percent{*share}) : Value();
}
[[nodiscard]] inline Value digits_of(const std::optional<double>& number) {
  return number ? Value(Digits{*number}) : Value();
}

// Texts that others wrote, each as a message.
[[nodiscard]] Messages quoted(const std::vector<std::string>& texts);
// Puts the second behind the first.
void append(Messages& list, Messages more);

// The parts that say something, as one message of a kind whose only place is a list. Empty without
// such parts.
[[nodiscard]] Message joined(MessageMaker<1> list, Messages parts);

}  // namespace stepscope
