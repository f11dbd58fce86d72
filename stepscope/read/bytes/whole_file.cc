// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/whole_file.h"

#include <algorithm>
#include <filesystem>

#include "stepscope/base/files/open_source.h"

namespace stepscope {

Result<std::string> read_whole_file(ByteSource& source, const std::string& path,
                                    const ReadControl& control, const WholeFileLimit& limit) {
  std::string bytes;
  std::uint64_t reported = 0;
  for (;;) {
    if (control.stop != nullptr && control.stop->requested()) return interrupted(path);
    const std::size_t before = bytes.size();
    if (before > limit.bytes)
      return Error{.what = std::string(limit.what),
                   .file = path,
                   .byte = before,
                   .hint = std::string(limit.hint)};
    bytes.resize(before + control.chunk_bytes);
    const auto got = source.read(std::span(bytes).subspan(before));
    if (!got) return got.error();
    bytes.resize(before + *got);
    const std::uint64_t position = source.position();
    if (control.bytes_read != nullptr) control.bytes_read->fetch_add(position - reported);
    reported = position;
    if (*got < control.chunk_bytes) return bytes;
  }
}

Result<std::string> read_text_file(const std::string& path, const StopFlag* stop) {
  auto source = open_source(path);
  if (!source) return source.error();
  auto text = read_whole_file(**source, path, {.stop = stop},
                              {.bytes = 4'000'000'000,
                               .what = "has more than 4 GB of text",
                               .hint = "give a part of the file"});
  if (!text) return text;
  if (const std::string damage = (*source)->damage(); !damage.empty())
    return Error{.what = damage, .file = path, .hint = "copy the file again"};
  return text;
}

namespace {

constexpr int deepest_folder = 3;
constexpr std::size_t most_files_below = 20'000;

std::vector<std::string> files_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code code;
  for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, code);
       !code && at != fs::directory_iterator(); at.increment(code)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) files.push_back(at->path().string());
  }
  return files;
}

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code code;
  constexpr auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, code);
       !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    std::error_code ignored;
    if (at.depth() >= deepest_folder) at.disable_recursion_pending();
    if (at->is_regular_file(ignored)) files.push_back(at->path().string());
    if (files.size() == most_files_below) break;
  }
  return files;
}

}  // namespace

void each_file(std::span<const std::string> inputs, std::string_view hint,
               std::vector<Error>& errors,
               const std::function<void(const std::string& path, bool inside)>& take) {
  namespace fs = std::filesystem;
  for (const std::string& input : inputs) {
    std::error_code code;
    if (!fs::is_directory(input, code)) {
      take(input, false);
      continue;
    }
    std::vector<std::string> files = files_in(input);
    // A program that writes into folders of its own leaves no files next to them.
    if (files.empty()) files = files_below(input);
    std::ranges::sort(files, {}, [](const std::string& p) { return std::pair(p.size(), p); });
    for (const std::string& path : files) take(path, true);
    if (files.empty())
      errors.push_back(
          {.what = "no files in this directory", .file = input, .hint = std::string(hint)});
  }
}

}  // namespace stepscope
