// SPDX-License-Identifier: Apache-2.0
#include "tests/tree/type_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace stepscope::tree {
namespace {

struct Token {
  std::string text;  // a word, "::" or one character; literals are ""
  std::size_t line = 0;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Splits into words and punctuation, without comments and preprocessor lines.
class Lexer {
 public:
  explicit Lexer(const SourceFile& file) : lines_(file.lines) {}

  std::vector<Token> tokens() {
    for (line_ = 0; line_ < lines_.size(); ++line_) {
      text_ = lines_[line_];
      if (inside_comment_) end_comment();
      if (continued_ || starts_directive()) {
        continued_ = text_.ends_with('\\');
        continue;
      }
      while (!text_.empty()) take();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool starts_directive() const {
    const std::size_t first = text_.find_first_not_of(" \t");
    return !inside_comment_ && first != std::string_view::npos && text_[first] == '#';
  }
  void skip(std::size_t count) { text_.remove_prefix(std::min(count, text_.size())); }
  void put(std::string text) { out_.push_back({std::move(text), line_ + 1}); }

  void end_comment() {
    const std::size_t end = text_.find("*/");
    inside_comment_ = end == std::string_view::npos;
    skip(inside_comment_ ? text_.size() : end + 2);
  }

  void take() {
    const char c = text_.front();
    if (text_.starts_with("//")) return skip(text_.size());
    if (text_.starts_with("/*")) {
      skip(2);
      return end_comment();
    }
    if (text_.starts_with("R\"")) return take_raw_string();
    if (c == '"' || c == '\'') return take_literal(c);
    if (is_word(c)) return take_word();
    if (text_.starts_with("::")) {
      put("::");
      return skip(2);
    }
    if (c != ' ' && c != '\t') put(std::string(1, c));
    skip(1);
  }

  void take_word() {
    const auto end = std::ranges::find_if_not(text_, is_word);
    const auto length = static_cast<std::size_t>(end - text_.begin());
    const bool number = std::isdigit(static_cast<unsigned char>(text_.front())) != 0;
    put(std::string(text_.substr(0, length)));
    skip(length);
    // 1'000'000: the quotes are part of the number.
    while (number && text_.size() > 1 && text_[0] == '\'' && is_word(text_[1])) skip(2);
  }

  void take_literal(char quote) {
    std::size_t at = 1;
    while (at < text_.size() && text_[at] != quote) at += text_[at] == '\\' ? 2U : 1U;
    put("");
    skip(at + 1);
  }

  void take_raw_string() {
    const std::size_t open = text_.find('(');
    std::string close(1, ')');
    close.append(text_.substr(2, open - 2)).push_back('"');
    put("");
    skip(open);
    while (text_.find(close) == std::string_view::npos && line_ + 1 < lines_.size()) {
      text_ = lines_[++line_];
    }
    const std::size_t end = text_.find(close);
    skip(end == std::string_view::npos ? text_.size() : end + close.size());
  }

  const std::vector<std::string>& lines_;
  std::vector<Token> out_;
  std::string_view text_;
  std::size_t line_ = 0;
  bool inside_comment_ = false;
  bool continued_ = false;
};

// Follows the braces and records definitions while only named namespaces are open.
class Reader {
 public:
  explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<TypeName> types() {
    while (at_ < tokens_.size()) {
      const std::string& word = tokens_[at_].text;
      if (word == "namespace") {
        open_namespace();
      } else if (word == "template") {
        ++at_;
        if (text(at_) == "<") skip_pair("<", ">");
      } else if (word == "enum" || word == "struct" || word == "class" || word == "union") {
        take_type();
      } else if (word == "using") {
        take_alias();
      } else if (word == "{") {
        skip_pair("{", "}");  // of a function or an initial value
      } else {
        if (word == "}" && !namespaces_.empty()) namespaces_.pop_back();
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view text(std::size_t at) const {
    return at < tokens_.size() ? std::string_view(tokens_[at].text) : std::string_view{};
  }

  // Skips from an opening token to behind the one that closes it.
  void skip_pair(std::string_view open, std::string_view close) {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      depth += text(at_) == open ? 1 : 0;
      depth -= text(at_) == close ? 1 : 0;
      if (depth == 0) break;
    }
    ++at_;
  }

  void open_namespace() {
    std::string name;
    for (++at_; at_ < tokens_.size() && text(at_) != "{"; ++at_) {
      if (text(at_) == ";") return;  // a namespace alias
      name += text(at_);
    }
    if (name.empty()) return skip_pair("{", "}");  // local to one file
    ++at_;
    namespaces_.push_back(name);
  }

  [[nodiscard]] std::string qualified(const std::string& name) const {
    std::string out;
    for (const std::string& space : namespaces_) out += space + "::";
    return out + name;
  }

  // Attributes and alignas(...) may precede a name.
  void skip_attributes() {
    while (text(at_) == "[" || text(at_) == "alignas") {
      if (text(at_) == "alignas") ++at_;
      text(at_) == "[" ? skip_pair("[", "]") : skip_pair("(", ")");
    }
  }

  // A name, with the arguments of a specialization: "Engine::Progress", "hash<Ns>".
  std::string take_name() {
    std::string name;
    for (; at_ < tokens_.size(); ++at_) {
      const std::string_view token = text(at_);
      if (token == "<") {
        const std::size_t first = at_;
        skip_pair("<", ">");
        for (std::size_t i = first; i < at_; ++i) name += text(i);
        --at_;
      } else if (token == "final" || (token != "::" && (token.empty() || !is_word(token[0])))) {
        break;
      } else {
        name += token;
      }
    }
    return name;
  }

  void take_type() {
    while (text(at_) == "enum" || text(at_) == "struct" || text(at_) == "class" ||
           text(at_) == "union") {
      ++at_;
    }
    skip_attributes();
    const std::size_t line = at_ < tokens_.size() ? tokens_[at_].line : 0;
    const std::string name = take_name();
    if (text(at_) == "final") ++at_;
    if (text(at_) == ":") {  // bases, or the underlying type of an enumeration
      while (at_ < tokens_.size() && text(at_) != "{" && text(at_) != ";") ++at_;
    }
    if (text(at_) != "{") return;
    if (!name.empty()) out_.push_back({qualified(name), line});
    skip_pair("{", "}");
  }

  void take_alias() {
    const std::size_t line = tokens_[at_].line;
    const bool alias = text(at_ + 2) == "=";
    if (alias) out_.push_back({qualified(tokens_[at_ + 1].text), line});
    while (at_ < tokens_.size() && text(at_) != ";") ++at_;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::vector<std::string> namespaces_;
  std::vector<TypeName> out_;
};

}  // namespace

std::vector<TypeName> defined_types(const SourceFile& file) {
  return Reader(Lexer(file).tokens()).types();
}

std::vector<std::string> types_defined_twice(std::span<const SourceFile> files) {
  struct Place {
    const SourceFile* file = nullptr;
    std::size_t line = 0;
  };
  std::map<std::string, Place> first;
  std::vector<std::string> faults;
  for (const SourceFile& file : files) {
    for (const TypeName& type : defined_types(file)) {
      const auto [it, fresh] = first.try_emplace(type.name, Place{&file, type.line});
      if (fresh || it->second.file == &file) continue;
      faults.push_back(file.path + ":" + std::to_string(type.line) + ": " + type.name +
                       " is another type in " + it->second.file->path + ":" +
                       std::to_string(it->second.line));
    }
  }
  return faults;
}

}  // namespace stepscope::tree
