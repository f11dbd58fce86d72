// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/gpu_log/read_gpu_log.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <tuple>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"

namespace stepscope {

std::span<const GpuLogFormat> gpu_log_formats() {
  static constexpr std::array<GpuLogFormat, 4> all = {{
      {"nvidia-smi", is_smi_query, make_smi_query},
      {"nvidia-smi dmon", is_smi_dmon, make_smi_dmon},
      {"dcgmi dmon", is_dcgmi_dmon, make_dcgmi_dmon},
      {"dcgm-exporter", is_dcgm_exposition, make_dcgm_exposition},
  }};
  return all;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t gpu_log_head = 4096;

const GpuLogFormat* gpu_log_format_of(std::string_view head) {
  for (const GpuLogFormat& format : gpu_log_formats())
    if (format.matches(head)) return &format;
  return nullptr;
}

bool ends_in_one_of(std::string_view path, std::span<const std::string_view> endings) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  return std::ranges::any_of(endings, [&](std::string_view end) { return path.ends_with(end); });
}

bool may_be_gpu_log(std::string_view path) {
  static constexpr std::array<std::string_view, 4> endings = {".csv", ".log", ".txt", ".prom"};
  return ends_in_one_of(path, endings);
}

bool ends_as_traces_do(std::string_view path) {
  static constexpr std::array<std::string_view, 7> endings = {
      ".json", ".pftrace", ".perfetto-trace", ".sqlite", ".pb", ".nsys-rep", ".qdrep"};
  return ends_in_one_of(path, endings);
}

bool is_gpu_log_file(const std::string& path) {
  if (!may_be_file(path)) return false;
  auto source = open_source(path);
  if (!source) return false;
  std::string head(gpu_log_head, '\0');
  const auto got = (*source)->read(head);
  return got && is_gpu_log(std::string_view(head).substr(0, *got));
}

// The number behind the last "rank" of a file's name: "gpu_rank3.csv", "rank-12.smi.csv".
std::optional<int> rank_in_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t word = name.rfind("rank");
  if (word == std::string_view::npos) return std::nullopt;
  std::string_view rest = name.substr(word + 4);
  if (!rest.empty() && std::string_view("-_=").find(rest.front()) != std::string_view::npos)
    rest.remove_prefix(1);
  const auto rank = leading_number<int>(rest);
  return rank && *rank >= 0 ? rank : std::nullopt;
}

// Reads the lines of the file with the dialect of its head, which the first block holds.
class GpuLogLines {
 public:
  explicit GpuLogLines(GpuLog& log) : rows_(log) {}

  void feed(std::string_view block) {
    if (at_ == 0) {
      const GpuLogFormat* format = gpu_log_format_of(block.substr(0, gpu_log_head));
      if (format != nullptr) {
        rows_.log().format = format->name;
        dialect_ = format->make();
        if (block.starts_with("\xef\xbb\xbf")) {
          block.remove_prefix(3);
          at_ += 3;
        }
      }
    }
    while (!block.empty()) {
      const std::size_t end = std::min(block.find('\n'), block.size());
      const std::string_view line = trimmed(block.substr(0, end));
      if (dialect_ && !line.empty()) dialect_->take(line, at_, rows_);
      const std::size_t used = std::min(end + 1, block.size());
      block.remove_prefix(used);
      at_ += used;
    }
  }
  Result<Done> finish() {
    if (!dialect_) return Error{.what = "no log of GPUs", .hint = "docs/reference/inputs.md"};
    return dialect_->finish(rows_);
  }

 private:
  GpuRows rows_;
  std::unique_ptr<GpuLogDialect> dialect_;
  std::uint64_t at_ = 0;
};

std::string reasons_in_words(const ImportNotes& notes) {
  std::string words;
  for (const auto& [reason, count] : notes.counts)
    words += (words.empty() ? " (" : ", ") + std::to_string(count) + " " + reason;
  return words.empty() ? words : words + ")";
}

}  // namespace

bool is_gpu_log(std::string_view head) { return gpu_log_format_of(head) != nullptr; }

std::vector<std::string> find_gpu_logs(std::span<const std::string> inputs) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  const auto try_file = [&](const std::string& path) {
    std::error_code code;
    const std::string real = is_url(path) ? path : fs::canonical(path, code).string();
    if (code || seen.contains(real) || !is_gpu_log_file(path)) return;
    seen.insert(real);
    found.push_back(path);
  };
  const auto try_input = [&](const std::string& path) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      if (!ends_as_traces_do(path)) try_file(path);
      return;
    }
    std::vector<std::string> files;
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, code);
    for (; !code && at != fs::recursive_directory_iterator(); at.increment(code))
      if (may_be_gpu_log(at->path().string())) files.push_back(at->path().string());
    std::ranges::sort(files);
    for (const std::string& file : files) try_file(file);
  };
  for (const std::string& input : inputs) {
    std::error_code code;
    if (is_url(input) || fs::exists(input, code) ||
        input.find_first_of("*?[") == std::string::npos) {
      try_input(input);
      continue;
    }
    glob_t matches{};
    if (::glob(input.c_str(), 0, nullptr, &matches) == 0)
      for (std::size_t i = 0; i < matches.gl_pathc; ++i) try_input(matches.gl_pathv[i]);
    ::globfree(&matches);
  }
  return found;
}

Result<GpuLog> read_gpu_log(ByteSource& source, const std::string& path, const StopFlag* stop) {
  GpuLog log;
  log.path = path;
  log.named_rank = rank_in_name(path);
  GpuLogLines lines(log);
  const auto take = [&](std::string_view block) -> Result<Done> {
    lines.feed(block);
    return Done{};
  };
  const auto bytes = for_line_blocks(source, "\n", take, stop);
  if (!bytes) return bytes.error();
  log.text_bytes = *bytes;
  if (!source.damage().empty()) {
    log.notes.truncated = true;
    log.notes.add("damaged_compression", log.text_bytes);
  }
  if (const auto done = lines.finish(); !done) {
    Error error = done.error();
    error.file = path;
    return error;
  }
  if (log.readings.empty())
    return Error{.what = "a log of GPUs without a reading" + reasons_in_words(log.notes),
                 .file = path,
                 .hint = "docs/reference/inputs.md shows how to record one"};
  std::ranges::stable_sort(log.readings, {},
                           [](const GpuReading& r) { return std::tuple(r.gpu, r.time); });
  return log;
}

Result<GpuLog> read_gpu_log(const std::string& path, const StopFlag* stop) {
  const auto bytes = file_size(path);
  if (!bytes) return bytes.error();
  auto source = open_source(path);
  if (!source) return source.error();
  auto log = read_gpu_log(**source, path, stop);
  if (log) log->file_bytes = *bytes;
  return log;
}

}  // namespace stepscope
