// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/counted_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_rows = 1 << 20;

// Position of ' " ` or a typographic quote in UTF-8.
std::size_t quote_at(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '\'' || text[0] == '"' || text[0] == '`') return 1;
  constexpr std::array<std::string_view, 4> curly = {"\u2018", "\u2019", "\u201C", "\u201D"};
  for (const std::string_view q : curly)
    if (text.starts_with(q)) return q.size();
  return 0;
}

bool drop_last_quote(std::string_view& text) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{3}})
    if (text.size() >= n && quote_at(text.substr(text.size() - n)) == n) {
      text.remove_suffix(n);
      return true;
    }
  return false;
}

// The digit that an optical reader misread.
char digit_of(char c) {
  if (c == 'l' || c == 'I' || c == '|') return '1';
  return c == 'O' || c == 'o' ? '0' : c;
}

// "(1245)" at the end.
std::optional<std::uint64_t> take_count(std::string_view& text, bool& repaired) {
  if (!text.ends_with(')')) return std::nullopt;
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view written = text.substr(open + 1, text.size() - open - 2);
  std::string digits;
  for (const char c : written)
    if (c != ',') digits += digit_of(c);
  const auto count = number_of<std::uint64_t>(digits);
  if (!count || digits.size() > 15 || std::ranges::none_of(written, is_digit)) return std::nullopt;
  repaired = repaired || std::ranges::any_of(written, [](char c) { return digit_of(c) != c; });
  text = trimmed(text.substr(0, open));
  return count;
}

// "Ox1ac", "lac": a hexadecimal number with or without its prefix; empty if it is not one.
std::string hexadecimal(std::string_view text) {
  if (text.size() > 2 && (text[0] == '0' || text[0] == 'O' || text[0] == 'o') && text[1] == 'x')
    text.remove_prefix(2);
  std::string out;
  for (const char c : text) out += digit_of(c);
  const bool good = !out.empty() && out.size() <= 8 &&
                    out.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  return good ? out : std::string();
}

// " [0x1ac] [1ac]" at the end, as "0x1ac"; empty without it.
std::string take_instruction(std::string_view& name) {
  std::string_view rest = name;
  std::array<std::string, 2> found;
  std::size_t n = 0;
  bool prefixed = false;
  while (n < 2 && rest.ends_with(']')) {
    const std::size_t open = rest.rfind('[');
    if (open == std::string_view::npos || open == 0) break;
    const std::string_view inside = rest.substr(open + 1, rest.size() - open - 2);
    found[n] = hexadecimal(inside);
    if (found[n].empty()) break;
    prefixed = inside.find('x') != std::string_view::npos;
    rest = trimmed(rest.substr(0, open));
    ++n;
    if (prefixed) break;
  }
  if (!prefixed || (n == 2 && found[0] != found[1])) return {};
  name = rest;
  return std::string("0x").append(found[n - 1]);
}

// Replaces blanks in a name by underscores.
std::string with_underscores(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, ' ', '_');
  return out;
}

// "libstdc++.50.6" is a misread "libstdc++.so.6".
void mend_library(std::string& library) {
  const std::size_t at = library.find(".50");
  if (library.starts_with("lib") && at != std::string::npos &&
      (at + 3 == library.size() || library[at + 3] == '.'))
    library.replace(at, 3, ".so");
}

std::string mended_name(std::string_view name) {
  constexpr std::string_view in = "[unknown] in ";
  if (name.starts_with(in)) {
    std::string library = with_underscores(name.substr(in.size()));
    mend_library(library);
    return std::string(in) + library;
  }
  if (name.starts_with('[') || name.find('(') != std::string_view::npos ||
      name.find("::") != std::string_view::npos)
    return std::string(name);
  return with_underscores(name);
}

struct Node {
  std::string name;
  std::uint64_t count = 0;
  std::size_t parent = 0;
  std::vector<std::size_t> children{};
  bool cut = false;  // a row below it is cut off
};

class TreeReader {
 public:
  explicit TreeReader(ProfileBuilder& into) : into_(into), nodes_(1) { chain_.push_back(0); }

  void line(std::string_view text) {
    if (trimmed(text).empty()) return;
    auto row = parse_counted_row(text);
    if (!row) {
      ++prose_;
      return;
    }
    ++rows_;
    if (row->repaired) ++repaired_;
    if (row->name.empty() || row->name == "[unknown] in") {
      cut_below(1);
      return;
    }
    if (nodes_.size() + pending_.size() > most_rows) {
      ++beyond_;
      return;
    }
    if (!row->count) {
      pending_.push_back(std::move(row->name));
      return;
    }
    place(row->name, *row->count);
  }

  void finish() {
    cut_below(pending_.size());
    into_.note("rows_cut_off", cut_);
    into_.note("rows_without_a_count_that_take_the_next_row's", inherited_);
    into_.note("rows_repaired", repaired_);
    into_.note("lines_of_prose", prose_);
    into_.note("rows_beyond_the_limit", beyond_);
    into_.note("rows_that_begin_another_branch", branches_);
    std::uint64_t wrong = 0;
    std::vector<std::uint32_t> made(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      std::uint64_t below = 0;
      for (const std::size_t c : node.children) below += nodes_[c].count;
      if (n != 0)
        made[n] = node.name == "total"
                      ? TreeBuilder::root
                      : into_.tree.child(made[node.parent], into_.strings.intern(node.name));
      if (n == 0) continue;
      if (below > node.count) ++wrong;
      if (below >= node.count) continue;
      std::uint32_t at = made[n];
      if (at == TreeBuilder::root) at = into_.thread("", "not in the excerpt");
      if (!node.children.empty() || made[n] == TreeBuilder::root)
        at = into_.tree.child(at, into_.strings.intern(hidden_frame));
      else if (node.cut)
        at = into_.tree.child(at, into_.strings.intern(cut_frame));
      into_.tree.add(at, static_cast<double>(node.count - below));
    }
    into_.note("rows_whose_parts_exceed_them", wrong);
    into_.input.stacks = nodes_.size() - 1;
  }

 private:
  void place(const std::string& name, std::uint64_t count) {
    if (name == "total") {
      cut_below(pending_.size());
      pending_.clear();
      chain_.assign(1, 0);
    }
    if (chain_.size() > 1 && nodes_[chain_.back()].count < count) {
      ++branches_;
      while (chain_.size() > 1 && nodes_[chain_.back()].count < count) chain_.pop_back();
    }
    for (std::string& waiting : pending_) {
      ++inherited_;
      enter(waiting, count);
    }
    pending_.clear();
    enter(name, count);
  }

  // The rows belong to the previous row or to a caller of it: nothing shows which.
  void cut_below(std::uint64_t rows) {
    cut_ += rows;
    if (rows > 0) nodes_[chain_.back()].cut = true;
  }

  void enter(const std::string& name, std::uint64_t count) {
    const auto [found, fresh] =
        known_.try_emplace(std::tuple(chain_.back(), count, name), nodes_.size());
    if (fresh) {
      nodes_[chain_.back()].children.push_back(nodes_.size());
      nodes_.push_back({name, count, chain_.back()});
    }
    chain_.push_back(found->second);
  }

  ProfileBuilder& into_;
  std::vector<Node> nodes_;  // 0: root above all trees
  std::map<std::tuple<std::size_t, std::uint64_t, std::string>, std::size_t> known_;
  std::vector<std::size_t> chain_;    // the previous row and its callers
  std::vector<std::string> pending_;  // rows without a count
  std::uint64_t rows_ = 0;
  std::uint64_t prose_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t repaired_ = 0;
  std::uint64_t inherited_ = 0;
  std::uint64_t branches_ = 0;
  std::uint64_t beyond_ = 0;
};

}  // namespace

std::optional<CountedRow> parse_counted_row(std::string_view line) {
  std::string_view rest = trimmed(line);
  CountedRow row;
  // "(6) ", or "1(6) " if a line of the picture was misread as a digit.
  if (rest.size() > 1 && rest[1] == '(' && digit_of(rest[0]) == '1') {
    rest.remove_prefix(1);
    row.repaired = true;
  }
  if (rest.starts_with('(')) {
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos || close < 2 || close > 12) return std::nullopt;
    rest = trimmed(rest.substr(close + 1));
  }
  const std::size_t quote = quote_at(rest);
  if (quote == 0) return std::nullopt;
  row.repaired = row.repaired || quote > 1;
  rest.remove_prefix(quote);
  rest = trimmed(rest);
  const std::string_view whole = rest;
  row.count = take_count(rest, row.repaired);
  if (!row.count) rest = whole;
  bool quoted = false;
  while (drop_last_quote(rest)) {
    row.repaired = row.repaired || quoted;
    quoted = true;
    rest = trimmed(rest);
  }
  if (row.count && !quoted) return std::nullopt;
  const std::string before(rest);
  const std::string instruction = take_instruction(rest);
  row.name = mended_name(rest);
  if (!instruction.empty()) {
    row.name.append(" [").append(instruction).append("]");
    row.repaired = row.repaired || before.find(instruction + "]") == std::string::npos;
  }
  row.repaired = row.repaired || row.name.find(rest) == std::string::npos;
  return row;
}

bool is_counted_tree(std::string_view head) {
  int rows = 0;
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    const auto row = parse_counted_row(line);
    if (row && row->count && (row->name == "total" || ++rows == 2)) return true;
  }
  return false;
}

Result<Done> read_counted_tree(ByteSource& source, ProfileBuilder& into) {
  return read_lines<TreeReader>(source, into);
}

}  // namespace stepscope
