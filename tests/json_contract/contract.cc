// SPDX-License-Identifier: Apache-2.0
#include "tests/json_contract/contract.h"

#include <optional>
#include <sstream>
#include <stdexcept>

namespace stepscope::contract {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

class ShapeParser {
 public:
  explicit ShapeParser(std::string_view text) : text_(text) {}

  Shape parse() {
    Shape shape = object();
    if (at_ != text_.size()) fail("text behind a shape: " + std::string(text_.substr(at_)));
    return shape;
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string word() {
    if (take("*")) return "*";
    space();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin)
      fail("a key was expected in " + std::string(text_) + " at " + std::to_string(at_));
    return std::string(text_.substr(begin, at_ - begin));
  }

  Shape object() {
    if (!take("{")) fail("no shape: " + std::string(text_));
    Shape shape;
    do {
      std::string key = word();
      shape.members[std::move(key)] = member();
    } while (take(","));
    if (!take("}")) fail("a shape is not closed: " + std::string(text_));
    return shape;
  }

  Member member() {
    Member m;
    m.list = take("[]");
    if (take("{}")) {
      m.object = true;
      return m;
    }
    space();
    const std::string_view rest = text_.substr(at_);
    if (m.list && rest.starts_with("[")) {  // rows of values by position
      at_ += rest.find(']') + 1;
    } else if (rest.starts_with("{")) {
      m.object = !m.list;
      if (const auto close = rest.find('}'); rest.substr(0, close).find(':') != rest.npos)
        at_ += close + 1;  // {reason: count}
      else
        m.shape = std::make_shared<Shape>(object());
    }
    return m;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The code spans of a text.
std::vector<std::string> spans(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t open = text.find('`'); open != text.npos; open = text.find('`', open)) {
    const std::size_t close = text.find('`', open + 1);
    if (close == text.npos) break;
    found.emplace_back(text.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  return found;
}

std::shared_ptr<Shape> shape_in(std::string_view text) {
  for (const std::string& span : spans(text))
    if (span.starts_with("{")) return std::make_shared<Shape>(parse_shape(span));
  return nullptr;
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
  return cells;
}

void add_row(const std::string& line, Shape& shape) {
  const std::vector<std::string> cells = cells_of(line);
  if (cells.size() < 3 || cells[0].find('`') == std::string::npos) return;
  for (const std::string& key : spans(cells[0])) {
    Member m;
    m.type = cells[1].substr(1, cells[1].find_last_not_of(' '));
    m.shape = shape_in(cells[2]);
    shape.members[key] = std::move(m);
  }
}

struct Section {
  std::string name;  // key that it describes; empty for the top level
  Shape table;
  std::string text;
};

std::vector<Section> sections_of(const std::string& markdown) {
  std::vector<Section> sections;
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      Section section;
      if (const auto names = spans(line); !names.empty())
        section.name = names[0].substr(0, names[0].find('['));
      sections.push_back(std::move(section));
    } else if (!sections.empty() && line.starts_with("|")) {
      add_row(line, sections.back().table);
    } else if (!sections.empty()) {
      sections.back().text += line + '\n';
    }
  }
  return sections;
}

class Comparer {
 public:
  explicit Comparer(Comparison& result) : result_(result) {}

  void object(const std::string& path, const Shape& shape, const Json& value) {
    if (!value.is_object()) return problem(path, "is no object");
    if (const auto any = shape.members.find("*"); any != shape.members.end()) {
      for (const auto& [key, inner] : value.items()) member(path + '*', key, any->second, inner);
      return;
    }
    for (const auto& [key, m] : shape.members) {
      if (!value.contains(key))
        problem(path + key, "is missing");
      else
        member(path + key, key, m, value[key]);
    }
    for (const auto& [key, inner] : value.items())
      if (!shape.members.contains(key)) problem(path + key, "is not documented");
  }

 private:
  void problem(const std::string& path, const std::string& what) {
    if (result_.problems.size() < 40) result_.problems.push_back(path + ' ' + what);
  }

  void member(const std::string& path, const std::string& key, const Member& m, const Json& value) {
    if (!kind_fits(key, m, value)) problem(path, "is " + value.dump().substr(0, 60));
    if (value.is_null()) return;
    result_.seen.insert(path);
    if (!m.shape) return;
    if (value.is_object()) object(path + '.', *m.shape, value);
    if (value.is_array())
      for (const Json& element : value) object(path + '.', *m.shape, element);
  }

  static bool kind_fits(const std::string& key, const Member& m, const Json& value) {
    if (!m.type.empty()) return type_fits(m.type, value);
    if (m.list) return value.is_array() || value.is_null();
    if (m.object || m.shape) return value.is_object() || value.is_null();
    if (value.is_array() || value.is_object()) return false;
    const bool number = key.ends_with("_ns") || key.ends_with("_bytes") ||
                        key.ends_with("_flops") || key.ends_with("_per_s");
    return !number || value.is_number() || value.is_null();
  }

  // "int or null", "object, array or null", "array of strings"
  static bool type_fits(const std::string& type, const Json& value) {
    const auto says = [&](std::string_view word) { return type.find(word) != std::string::npos; };
    if (value.is_null()) return says("null");
    if (value.is_array()) return says("array") && (!says("strings") || all_strings(value));
    if (value.is_object()) return says("object");
    if (value.is_boolean()) return says("bool");
    if (value.is_number_integer()) return says("int") || says("number");
    if (value.is_number()) return says("number");
    return says("string") && !says("strings");
  }
  static bool all_strings(const Json& list) {
    for (const Json& element : list)
      if (!element.is_string()) return false;
    return true;
  }

  Comparison& result_;
};

void add_paths(const std::string& prefix, const Shape& shape, std::set<std::string>& out) {
  for (const auto& [key, m] : shape.members) {
    out.insert(prefix + key);
    if (m.shape) add_paths(prefix + key + '.', *m.shape, out);
  }
}

}  // namespace

Shape parse_shape(std::string_view text) { return ShapeParser(text).parse(); }

std::string part_of(const std::string& markdown, const std::string& command) {
  std::string part;
  bool inside = false;
  bool found = false;
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) {
      inside = line.find('`' + command + '`') != std::string::npos;
      found = found || inside;
    }
    if (inside) part += line + '\n';
  }
  if (!found) fail("no part for " + command);
  return part;
}

Shape read_contract(const std::string& part) {
  std::optional<Shape> top;
  std::map<std::string, Shape> below;
  for (Section& section : sections_of(part)) {
    if (section.name.empty()) {
      top = std::move(section.table);
    } else if (!section.table.members.empty()) {
      below[section.name] = std::move(section.table);
    } else if (const auto shape = shape_in(section.text)) {
      below[section.name] = *shape;
    } else {
      fail("no table and no shape under " + section.name);
    }
  }
  if (!top) fail("no table of the top level");
  // "stats.throughput" stands behind "stats".
  for (auto& [name, shape] : below) {
    Shape* outer = &*top;
    std::string_view path = name;
    for (auto dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
      const auto member = outer->members.find(std::string(path.substr(0, dot)));
      if (member == outer->members.end() || !member->second.shape)
        fail("a section for no key: " + name);
      outer = member->second.shape.get();
      path.remove_prefix(dot + 1);
    }
    const auto member = outer->members.find(std::string(path));
    if (member == outer->members.end()) fail("a section for no key: " + name);
    member->second.shape = std::make_shared<Shape>(std::move(shape));
  }
  return *top;
}

void compare(const Shape& shape, const Json& value, Comparison& comparison) {
  Comparer(comparison).object("", shape, value);
}

std::set<std::string> paths(const Shape& shape) {
  std::set<std::string> out;
  add_paths("", shape, out);
  return out;
}

}  // namespace stepscope::contract
