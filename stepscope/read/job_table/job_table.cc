// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_table.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/parquet.h"
#include "stepscope/read/job_table/job_csv.h"
#include "stepscope/read/job_table/job_meta.h"
#include "stepscope/read/job_table/job_parquet.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> endings = {".csv", ".csv.gz", ".csv.zst", ".parquet"};
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t most_meta_bytes = std::size_t{1} << 16;

bool ends_like_table(const std::string& path) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return path.ends_with(e); });
}

// Avoids opening many trace files twice.
bool ends_like_trace(const std::string& path) {
  return std::ranges::any_of(std::array{".json", ".json.gz", ".json.zst"},
                             [&](std::string_view e) { return path.ends_with(e); });
}

// The first `bytes` bytes of the file's inflated text.
Result<std::string> text_of(const std::string& path, std::size_t bytes) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::string text(bytes, '\0');
  const auto got = (*source)->read(text);
  if (!got) return got.error();
  text.resize(*got);
  return text;
}

bool is_job_table(const std::string& path) {
  const auto head = text_of(path, head_bytes);
  return head && (is_parquet(*head) || is_job_csv(*head));
}

// "AR" from trace-AR.csv.gz.
std::string job_name(const fs::path& path) {
  std::string name = path.filename().string();
  if (!name.starts_with("trace-")) return {};
  name.erase(0, std::string_view("trace-").size());
  return name.substr(0, name.find('.'));
}

// Empty if there is none.
std::string find_meta(const std::string& table) {
  const fs::path folder = fs::path(table).parent_path();
  const std::string job = job_name(table);
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("meta-") || !(name.ends_with(".yaml") || name.ends_with(".yml")))
      continue;
    const std::string path = (folder / name).string();
    if (!job.empty() && at->path().stem() == "meta-" + job) return path;
    found.push_back(path);
  }
  if (found.size() == 1 && job.empty()) return found.front();
  return {};
}

void read_meta(JobTable& table) {
  const std::string path = find_meta(table.path);
  if (path.empty()) {
    const std::string job = job_name(table.path);
    table.warnings.push_back("no meta file (meta-" + (job.empty() ? "NAME" : job) +
                             ".yaml) beside the table: sizes are taken from its rows");
    return;
  }
  const auto text = text_of(path, most_meta_bytes);
  if (!text) {
    table.errors.push_back(text.error());
    return;
  }
  auto meta = parse_job_meta(*text, path);
  if (!meta) {
    table.errors.push_back(meta.error());
    return;
  }
  table.meta = std::move(*meta);
  table.meta_path = path;
}

Result<JobOperations> read_csv_table(JobTable& table) {
  auto source = open_source(table.path);
  if (!source) return source.error();
  auto operations = read_job_csv(**source, table.path);
  if (const std::string damage = (*source)->damage(); operations && !damage.empty())
    table.errors.push_back({.what = damage, .file = table.path, .hint = "copy the file again"});
  return operations;
}

Result<JobOperations> read_parquet_table(const JobTable& table) {
  const auto file = text_of(table.path, table.file_bytes);
  if (!file) return file.error();
  return read_job_parquet(*file, table.path);
}

}  // namespace

std::vector<std::string> find_job_tables(std::span<const std::string> inputs) {
  std::vector<std::string> found;
  const auto try_file = [&](const std::string& path) {
    if (is_job_table(path)) found.push_back(path);
  };
  for (const std::string& input : inputs) {
    std::error_code code;
    if (!fs::is_directory(input, code)) {
      if (!ends_like_trace(input) && may_be_file(input)) try_file(input);
      continue;
    }
    std::vector<std::string> files;
    for (fs::directory_iterator at(input, code), end; !code && at != end; at.increment(code))
      if (ends_like_table(at->path().string())) files.push_back(at->path().string());
    std::ranges::sort(files);
    for (const std::string& file : files) try_file(file);
  }
  return found;
}

Result<JobTable> read_job_table(const std::string& path) {
  JobTable table;
  table.path = path;
  const auto bytes = file_size(path);
  if (!bytes) return bytes.error();
  table.file_bytes = *bytes;
  const auto head = text_of(path, head_bytes);
  if (!head) return head.error();
  const bool parquet = is_parquet(*head);
  table.format = parquet ? "job_parquet" : "job_csv";
  auto operations = parquet ? read_parquet_table(table) : read_csv_table(table);
  if (!operations) return operations.error();
  table.operations = std::move(*operations);
  read_meta(table);
  return table;
}

}  // namespace stepscope
