// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/input_files.h"

#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/remote_file.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/read/files/formats.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// Natural order: runs of digits compare as numbers.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [](const std::string& s, std::size_t& p) {
      while (p < s.size() && s[p] == '0') ++p;
      const std::size_t begin = p;
      while (p < s.size() && is_digit(s[p])) ++p;
      return std::string_view(s).substr(begin, p - begin);
    };
    const std::string_view x = number(a, i);
    const std::string_view y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

bool has_known_ending(const std::string& path) {
  return std::ranges::any_of(formats(), [&](const Format& f) {
    return std::ranges::any_of(f.endings,
                               [&](std::string_view end) { return path.ends_with(end); });
  });
}

// XLA writes HOST.trace.json.gz next to HOST.xplane.pb: the same rows for a viewer, without their
// kinds.
void leave_out_copies(std::vector<std::string>& files) {
  constexpr std::string_view copy = ".trace.json.gz";
  const std::set<std::string> all(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    return file.ends_with(copy) &&
           all.contains(file.substr(0, file.size() - copy.size()) + ".xplane.pb");
  });
}

std::vector<std::string> in_directory(const std::string& root, std::vector<Error>& errors) {
  std::vector<std::string> found;
  std::vector<std::string> databases;  // their reader says whose they are
  std::error_code code;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const std::string name = at->path().string();
    if (has_known_ending(name)) found.push_back(name);
    if (name.ends_with(".db")) databases.push_back(name);
  }
  if (found.empty()) found = std::move(databases);
  leave_out_copies(found);
  if (code)
    errors.push_back({.what = "cannot list the directory: " + code.message(),
                      .file = root,
                      .hint = "check its permissions"});
  else if (found.empty())
    errors.push_back(
        {.what = "no traces in this directory",
         .file = root,
         .hint = "name one with traces: .json, .json.gz, .json.zst, .pftrace or .sqlite"});
  std::ranges::sort(found, natural_less);
  return found;
}

// Objects of S3 by a pattern, or all below a name that end as traces do.
std::vector<std::string> in_bucket(const std::string& name, std::vector<Error>& errors) {
  const std::size_t wild = name.find_first_of("*?[");
  const bool pattern = wild != std::string::npos;
  const auto listed =
      objects_below(pattern ? name.substr(0, wild) : name + (name.ends_with('/') ? "" : "/"));
  if (!listed) {
    errors.push_back(listed.error());
    return {};
  }
  std::vector<std::string> found;
  for (const std::string& object : *listed)
    if (pattern ? ::fnmatch(name.c_str(), object.c_str(), FNM_PATHNAME) == 0
                : has_known_ending(object))
      found.push_back(object);
  std::ranges::sort(found, natural_less);
  if (found.empty())
    errors.push_back({.what = pattern ? "no object matches this pattern"
                                      : "no traces below this name, which is no object either",
                      .file = name,
                      .hint = "check bucket and key"});
  return found;
}

// The files that a URL means.
std::vector<std::string> at_url(const std::string& url, std::vector<Error>& errors) {
  const bool folder = url.ends_with('/');
  if (!is_s3(url) && folder) {
    errors.push_back({.what = "is a folder of a web server, which has no list of its files",
                      .file = shown_name(url),
                      .hint = "name the files; of s3://BUCKET/FOLDER/ all traces are read"});
    return {};
  }
  const bool object = !is_s3(url) || has_known_ending(url);
  const bool pattern = is_s3(url) && url.find_first_of("*?[") != std::string::npos;
  if (!folder && !pattern && (object || remote_file(url))) return {url};
  return in_bucket(url, errors);
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t matches{};
  std::vector<std::string> found;
  if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) found.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  std::ranges::sort(found, natural_less);
  return found;
}

}  // namespace

InputFiles find_input_files(std::span<const std::string> inputs) {
  InputFiles result;
  std::set<std::string> seen;
  const auto add = [&](const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      std::error_code code;
      const fs::path real = fs::canonical(file, code);
      if (seen.insert(code ? file : real.string()).second) result.files.push_back(file);
    }
  };
  for (const std::string& input : inputs) {
    std::error_code code;
    if (is_url(input)) {
      add(at_url(input, result.errors));
      continue;
    }
    const fs::file_status status = fs::status(input, code);
    if (fs::is_directory(status)) {
      add(in_directory(input, result.errors));
    } else if (fs::exists(status)) {
      add({input});
    } else if (input.find_first_of("*?[") != std::string::npos) {
      const auto files = matching(input);
      if (files.empty())
        result.errors.push_back(
            {.what = "no file matches this pattern", .file = input, .hint = "check the path"});
      for (const std::string& file : files)
        add(fs::is_directory(file, code) ? in_directory(file, result.errors) : std::vector{file});
    } else if (input.empty()) {
      result.errors.push_back({.what = "\"\" is an empty name", .hint = "name a file or a folder"});
    } else {
      result.errors.push_back({.what = code && code != std::errc::no_such_file_or_directory
                                           ? "cannot open: " + code.message()
                                           : "no such file or directory",
                               .file = input,
                               .hint = "check the path"});
    }
  }
  return result;
}

}  // namespace stepscope
