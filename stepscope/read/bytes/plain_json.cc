// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/plain_json.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "stepscope/base/number_text.h"
#include "stepscope/read/bytes/pickle.h"

namespace stepscope {
namespace {

constexpr std::uint64_t most_json_bytes = 4'000'000'000;

void append_utf8(std::uint32_t c, std::string& into) {
  const auto put = [&](std::uint32_t byte) { into += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0U | c >> 6U);
  } else if (c < 0x10000) {
    put(0xE0U | c >> 12U);
    put(0x80U | (c >> 6U & 0x3FU));
  } else {
    put(0xF0U | c >> 18U);
    put(0x80U | (c >> 12U & 0x3FU));
    put(0x80U | (c >> 6U & 0x3FU));
  }
  put(0x80U | (c & 0x3FU));
}

class JsonMachine {
 public:
  JsonMachine(std::string text, std::string_view path, bool head = false)
      : path_(path), head_(head) {
    tree_.text = std::move(text);
    size_ = tree_.text.size();
    if (!head_) reserve();
  }

  Result<PlainTree> run() {
    if (size_ > most_json_bytes) {
      at_ = most_json_bytes;
      (void)fail("has more than 4 GB");
      return *error_;
    }
    if (text().starts_with("\xEF\xBB\xBF")) at_ = 3;
    std::uint32_t root = 0;
    if (!value(root, 0)) {
      if (!head_) return *error_;
      (void)add({}, root);
    }
    tree_.root = root;
    skip_space();
    tree_.trailing_bytes = size_ - at_;
    return std::move(tree_);
  }

 private:
  [[nodiscard]] std::string_view text() const {
    return std::string_view(tree_.text).substr(0, size_);
  }
  bool fail(std::string what) {
    error_ = Error{.what = std::move(what),
                   .file = std::string(path_),
                   .byte = at_,
                   .hint = "give the file as it was written, or record it again"};
    return false;
  }
  void skip_space() {
    while (at_ < size_ && (tree_.text[at_] == ' ' || tree_.text[at_] == '\n' ||
                           tree_.text[at_] == '\r' || tree_.text[at_] == '\t'))
      ++at_;
  }
  // The next byte that is not white space; 0 at the end.
  char next() {
    skip_space();
    return at_ < size_ ? tree_.text[at_] : '\0';
  }
  bool add(PlainNode node, std::uint32_t& out) {
    tree_.nodes.push_back(node);
    out = static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    return true;
  }
  bool word(std::string_view expected, PlainNode node, std::uint32_t& out) {
    if (!text().substr(at_).starts_with(expected)) return fail("a value that is no JSON");
    at_ += expected.size();
    return add(node, out);
  }
  static PlainNode real(double d) {
    return {.word = std::bit_cast<std::uint64_t>(d), .count = 0, .kind = PlainKind::real};
  }

  bool value(std::uint32_t& out, std::size_t depth) {
    switch (next()) {
      case '{':
      case '[':
        if (depth == deepest_pickle) return fail("nested deeper than " + std::to_string(depth));
        return items(out, depth + 1);
      case '"':
        return string(out);
      case 't':
        return word("true", {.word = 1, .count = 0, .kind = PlainKind::boolean}, out);
      case 'f':
        return word("false", {.word = 0, .count = 0, .kind = PlainKind::boolean}, out);
      case 'n':
        return word("null", {}, out);
      case 'N':
        return word("NaN", real(std::numeric_limits<double>::quiet_NaN()), out);
      case 'I':
        return word("Infinity", real(std::numeric_limits<double>::infinity()), out);
      case '\0':
        return fail(size_ == 0 ? "the file is empty" : "ends in the middle of a value");
      default:
        return number(out);
    }
  }

  bool number(std::uint32_t& out) {
    const std::string_view rest = text().substr(at_);
    if (rest.starts_with("-Infinity"))
      return word("-Infinity", real(-std::numeric_limits<double>::infinity()), out);
    const auto whole = number_at_front<std::int64_t>(rest);
    const char next = whole.rest.empty() ? '\0' : whole.rest.front();
    if (whole.error == std::errc() && next != '.' && next != 'e' && next != 'E') {
      at_ += rest.size() - whole.rest.size();
      const auto word = std::bit_cast<std::uint64_t>(whole.value);
      return add({.word = word, .count = 0, .kind = PlainKind::integer}, out);
    }
    const auto wide = number_at_front<double>(rest);
    const bool begins = rest.front() == '-' || (rest.front() >= '0' && rest.front() <= '9');
    if (!begins || wide.error == std::errc::invalid_argument)
      return fail("a value that is no JSON");
    if (whole.error == std::errc::result_out_of_range) ++tree_.wide_integers;
    at_ += rest.size() - wide.rest.size();
    return add(real(wide.error == std::errc() ? wide.value : HUGE_VAL), out);
  }

  // The text stays in the input unless an escape changes it.
  bool string(std::uint32_t& out) {
    const std::uint64_t begin = ++at_;
    const std::size_t stop = text().find_first_of("\"\\", at_);
    if (stop == std::string_view::npos) {
      at_ = size_;
      return fail("ends in the middle of a text");
    }
    at_ = stop;
    if (tree_.text[at_] == '\\') return escaped(begin, out);
    ++at_;
    return add(
        {.word = begin, .count = static_cast<std::uint32_t>(stop - begin), .kind = PlainKind::text},
        out);
  }
  bool escaped(std::uint64_t begin, std::uint32_t& out) {
    scratch_.assign(tree_.text, begin, at_ - begin);
    for (;;) {
      if (at_ >= size_) return fail("ends in the middle of a text");
      const char c = tree_.text[at_++];
      if (c == '"') break;
      if (c != '\\') {
        scratch_ += c;
        continue;
      }
      if (at_ >= size_) return fail("ends in the middle of a text");
      if (!escape(tree_.text[at_++])) return fail("a text with a broken escape");
    }
    const std::uint64_t word = tree_.text.size();
    tree_.text += scratch_;
    return add({.word = word,
                .count = static_cast<std::uint32_t>(scratch_.size()),
                .kind = PlainKind::text},
               out);
  }
  bool escape(char c) {
    constexpr std::string_view plain = "\"\\/bfnrt";
    constexpr std::string_view meaning = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = plain.find(c); i != std::string_view::npos) {
      scratch_ += meaning[i];
      return true;
    }
    std::uint32_t unit = 0;
    if (c != 'u' || !hex(unit)) return false;
    if (unit >= 0xD800 && unit < 0xDC00 && text().substr(at_).starts_with("\\u")) {
      const std::uint64_t back = at_;
      at_ += 2;
      std::uint32_t low = 0;
      if (!hex(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        append_utf8(0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00), scratch_);
        return true;
      }
      at_ = back;
    }
    append_utf8(unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit, scratch_);
    return true;
  }
  bool hex(std::uint32_t& unit) {
    const std::string_view digits = text().substr(at_, 4);
    if (digits.size() < 4) return false;
    at_ += 4;
    const auto number = number_of<std::uint32_t>(digits, 16);
    if (number) unit = *number;
    return number.has_value();
  }

  // Items of a list or an object. They wait on one stack until their container is complete.
  bool items(std::uint32_t& out, std::size_t depth) {
    const bool object = tree_.text[at_++] == '{';
    const char close = object ? '}' : ']';
    const std::size_t first = waiting_.size();
    if (next() == close) {
      ++at_;
    } else {
      for (;;) {
        const bool taken = item(object, depth);
        const char c = taken ? next() : '\0';
        if (head_ && c != ',' && c != close) break;
        if (!taken) return false;
        if (c != ',' && c != close)
          return fail(c == '\0' ? "ends in the middle of a value" : "a value that is no JSON");
        ++at_;
        if (c == close) break;
      }
    }
    const std::uint64_t begin = tree_.children.size();
    tree_.children.insert(tree_.children.end(),
                          waiting_.begin() + static_cast<std::ptrdiff_t>(first), waiting_.end());
    const auto count = static_cast<std::uint32_t>((waiting_.size() - first) / (object ? 2 : 1));
    waiting_.resize(first);
    return add({.word = begin, .count = count, .kind = object ? PlainKind::dict : PlainKind::list},
               out);
  }
  bool item(bool object, std::size_t depth) {
    std::uint32_t node = 0;
    if (object) {
      if (next() != '"') return fail("an object with a key that is no text");
      if (!string(node)) return false;
      waiting_.push_back(node);
      if (next() != ':') return fail("a value that is no JSON");
      ++at_;
    }
    if (!value(node, depth)) return false;
    waiting_.push_back(node);
    return true;
  }

  // A value stands behind each comma and colon, a container or a text around them. Exact room saves
  // the copies of a tree that grows.
  void reserve() {
    const auto count = [&](char c) {
      return static_cast<std::size_t>(std::ranges::count(tree_.text, c));
    };
    const std::size_t values = count(',') + count(':') + 1;
    tree_.nodes.reserve(values + count('[') + count('{'));
    tree_.children.reserve(values);
  }

  std::string_view path_;
  bool head_;  // the text is the beginning of a file
  PlainTree tree_;
  std::uint64_t size_ = 0;  // of the input; decoded text may follow it in the tree
  std::uint64_t at_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::string scratch_;
  std::optional<Error> error_;
};

}  // namespace

Result<PlainTree> parse_plain_json(std::string text, std::string_view path) {
  return JsonMachine(std::move(text), path).run();
}

Result<PlainTree> parse_plain_json_head(std::string text, std::string_view path) {
  return JsonMachine(std::move(text), path, true).run();
}

}  // namespace stepscope
