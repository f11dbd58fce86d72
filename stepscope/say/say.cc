// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/say.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "stepscope/base/number_text.h"
#include "stepscope/base/result.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/wording.h"

namespace stepscope {
namespace {

struct Row {
  std::size_t places;
  bool sentence;
  std::string_view text;
};

constexpr auto rows = std::to_array<Row>({
    {0, false, ""},
#define SENTENCE(kind, places, text) {places, true, text},
#define PART(kind, places, text) {places, false, text},
#include "stepscope/say/catalogue.inc"
#undef SENTENCE
#undef PART
});

const Row& row_of(MessageKind kind) { return rows[static_cast<std::size_t>(kind)]; }

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 16 does not deduce aggregates

bool is_there(const Value& value) {
  return std::visit(Overloaded{[](std::monostate) { return false; }, [](bool yes) { return yes; },
                               [](const auto& v) {
                                 if constexpr (requires { v.empty(); }) return !v.empty();
                                 return true;
                               }},
                    value.kinds());
}

bool is_one(const Value& value) {
  return std::visit(Overloaded{[](std::int64_t n) { return n == 1; },
                               [](const Digits& n) { return n.value == 1; },
                               [](const auto& v) {
                                 if constexpr (requires { v.size(); }) return v.size() == 1;
                                 return false;
                               }},
                    value.kinds());
}

std::string joined_messages(const Messages& list, std::string_view how) {
  if (how == "processes" && list.size() > 3) return say(msg::processes(list.size()));
  const std::string_view between = how.empty() || how == "listed" ? ", "
                                   : how == "processes"           ? " and "
                                                                  : how;
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!text.empty()) text += how == "listed" && i + 1 == list.size() ? " and " : between;
    text += say(list[i]);
  }
  return text;
}

std::string written(const Value& value, std::string_view how) {
  if (how == "^") return capitalised(written(value, {}));
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(); }, [](bool) { return std::string(); },
                 [](std::int64_t n) { return std::to_string(n); },
                 [](Nanoseconds time) { return format_time(time.count()); },
                 [](Percent p) { return format_percent(p.share); },
                 [&](Digits n) {
                   return how.empty()
                              ? format_digits(n.value)
                              : fmt::format(fmt::runtime(fmt::format("{{:{}}}", how)), n.value);
                 },
                 [](ByteSize size) { return format_bytes(size.bytes); },
                 [&](const std::vector<int>& ranks) {
                   return how == "listed" ? listed_ranks(ranks) : ranks_in_words(ranks);
                 },
                 [](const std::vector<std::int64_t>& all) {
                   return fmt::format("{}", fmt::join(all, ", "));
                 },
                 [](const std::string& name) { return name; },
                 [&](const Messages& list) { return joined_messages(list, how); }},
      value.kinds());
}

// From a brace to the one that closes it, both of them left out.
std::string_view in_braces(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return text.substr(1, i - 1);
  }
  check(false, "the braces of a message are closed");
  return {};
}

// Both sides of the first bar outside braces. Without a bar the second is empty.
std::pair<std::string_view, std::string_view> choices(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    if (text[i] == '|' && depth == 0) return {text.substr(0, i), text.substr(i + 1)};
  }
  return {text, {}};
}

std::string filled(std::string_view text, const std::vector<Value>& values) {
  std::string out;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    out += text.substr(0, open);
    const std::string_view place = in_braces(text.substr(open));
    text.remove_prefix(open + place.size() + 2);
    std::string_view after = place;
    const auto number = take_number<std::size_t>(after);
    check(number && *number < values.size(), "a message has a value for each place");
    const Value& value = values[*number];
    if (after.empty()) {
      out += written(value, {});
      continue;
    }
    const char how = after.front();
    const std::string_view rest = after.substr(1);
    const auto [first, second] = choices(rest);
    if (how == '?') out += filled(is_there(value) ? first : second, values);
    if (how == '|') out += filled(is_one(value) ? first : second, values);
    if (how == ':') out += written(value, rest);
  }
  return out.append(text);
}

}  // namespace

std::string_view text_of(MessageKind kind) { return row_of(kind).text; }

std::string say(const Message& message) {
  const Row& row = row_of(message.kind);
  std::string text = filled(worded(row.text), message.values);
  // What an error says is ours, too.
  if (message.kind == MessageKind::plain) text = worded(text);
  return row.sentence ? capitalised(std::move(text)) : text;
}

std::string say_stopped(const Message& message) {
  std::string text = message.empty() ? std::string() : say(message);
  return text.empty() || text.ends_with("…") ? text : text + '.';
}

std::vector<std::string> say_all(const Messages& messages) {
  std::vector<std::string> out;
  for (const Message& m : messages) out.push_back(say(m));
  return out;
}

bool says_time(const Message& message, Ns time) {
  for (const Value& value : message.values) {
    if (const auto* own = std::get_if<Nanoseconds>(&value.kinds()))
      if (format_time(own->count()) == format_time(time)) return true;
    if (const auto* list = std::get_if<Messages>(&value.kinds()))
      for (const Message& m : *list)
        if (says_time(m, time)) return true;
  }
  return false;
}

}  // namespace stepscope
