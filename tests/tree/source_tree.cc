// SPDX-License-Identifier: Apache-2.0
#include "tests/tree/source_tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace stepscope::tree {
namespace {

constexpr std::array<std::string_view, 2> trees = {"stepscope", "engine"};

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The path of `#include "path"` with any spacing; empty for every other line.
std::string_view included_path(std::string_view line) {
  line = without_leading_blanks(line);
  if (!line.starts_with('#')) return {};
  line = without_leading_blanks(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = without_leading_blanks(line.substr(7));
  if (!line.starts_with('"')) return {};
  line.remove_prefix(1);
  return line.substr(0, line.find('"'));
}

// "event/trace.h" for "stepscope/event/trace.h"; empty for a path outside of the trees.
std::string_view within_tree(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (std::ranges::find(trees, path.substr(0, slash)) == trees.end()) return {};
  return path.substr(std::min(path.size(), slash + 1));
}

}  // namespace

SourceFile parse_source(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}, {}};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    file.lines.emplace_back(line);
    if (const auto included = included_path(line); !included.empty()) {
      file.includes.push_back({std::string(included), file.lines.size()});
    }
  }
  return file;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<SourceFile> read_source_tree(const std::filesystem::path& root) {
  std::vector<SourceFile> files;
  for (const std::string_view tree : trees) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / tree)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
      files.push_back(
          parse_source(entry.path().lexically_relative(root).generic_string(), read_text(entry)));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::string_view folder_of(std::string_view path) {
  path = within_tree(path);
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string_view room_of(std::string_view path) {
  path = within_tree(path);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::size_t columns(std::string_view line) {
  const auto continues_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
  };
  return line.size() - static_cast<std::size_t>(std::ranges::count_if(line, continues_character));
}

}  // namespace stepscope::tree
