// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/digest/digest.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/remote_file.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/output_file.h"
#include "stepscope/digest/digest_file.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/files/read_digest.h"
#include "stepscope/read/files/read_trace.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view digest_ending = ".digest";

// The file's place below the directory that was given, else its name.
fs::path place_below(const std::string& named, const std::vector<std::string>& inputs) {
  const std::string file = shown_name(named);
  std::error_code failed;
  for (const std::string& input : inputs) {
    if (input == named || (!is_s3(input) && !fs::is_directory(input, failed))) continue;
    const fs::path relative =
        fs::path(file).lexically_normal().lexically_relative(fs::path(input).lexically_normal());
    if (!relative.empty() && *relative.begin() != "..") return relative;
  }
  return fs::path(file).filename();
}

Result<DigestSource> source_of(const std::string& path) {
  if (is_url(path)) {
    const auto file = remote_file(path);
    if (!file) return file.error();
    return DigestSource{.path = shown_name(path),
                        .bytes = (*file)->size,
                        .modified_ns = modified_ns(**file),
                        .program = std::string(version())};
  }
  struct stat is{};
  if (::stat(path.c_str(), &is) != 0)
    return Error{.what = "cannot be read", .file = path, .hint = "check the path"};
  constexpr std::int64_t ns_in_s = 1'000'000'000;
  return DigestSource{.path = path,
                      .bytes = static_cast<std::uint64_t>(is.st_size),
                      .modified_ns = is.st_mtim.tv_sec * ns_in_s + is.st_mtim.tv_nsec,
                      .program = std::string(version())};
}

std::string whole_path(const std::string& path) {
  if (is_url(path)) return path;
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  return (failed ? fs::path(path) : absolute).lexically_normal().string();
}

struct Work {
  DigestSource source{};
  DigestRow row{};
  std::optional<Error> error{};
};

void describe(const DigestSource& source, const Metadata& metadata, DigestRow& row) {
  row.text_bytes = source.text_bytes;
  if (metadata.rank) row.ranks.push_back(*metadata.rank);
  if (metadata.world_size)
    row.world_size = std::max(row.world_size.value_or(0), *metadata.world_size);
}

// Whether the digest that is there is of the file as it is now, and made by this version. One that
// cannot be read is made again. Error: it is of another file.
Result<bool> keep(Work& work, const Progress& progress) {
  std::error_code failed;
  if (!fs::exists(work.row.output, failed)) return false;
  const auto old = read_digest_header(work.row.output, {.stop = progress.stop});
  if (!old) return false;
  const DigestSource& now = work.source;
  const bool same = old->source.bytes == now.bytes && old->source.modified_ns == now.modified_ns;
  if (!same && whole_path(old->source.path) != whole_path(now.path))
    return Error{.what = "is the digest of " + old->source.path +
                         " and would be replaced by that of " + now.path,
                 .file = work.row.output,
                 .hint = "give another --out, or remove it"};
  // A server that does not give the time of the last change leaves open whether there was one.
  if (!same || now.modified_ns == 0 || old->source.program != now.program) return false;
  for (const StoredTrace& trace : old->traces) describe(old->source, trace.metadata, work.row);
  work.row.bytes = file_size(work.row.output) ? *file_size(work.row.output) : 0;
  work.row.kept = true;
  return true;
}

std::optional<Error> make(Work& work, unsigned threads, const Progress& progress) {
  const auto kept = keep(work, progress);
  if (!kept) return kept.error();
  if (*kept) return std::nullopt;
  const auto traces = read_file_sealed(work.row.input, {.threads = threads, .stop = progress.stop});
  if (!traces) return with_readers(traces.error());
  for (const Trace& trace : *traces)
    work.source.text_bytes = std::max(work.source.text_bytes, trace.metadata.text_bytes);
  const auto bytes = encode_digest(work.source, *traces, threads, progress.stop);
  if (!bytes) return bytes.error();
  std::error_code failed;
  fs::create_directories(fs::path(work.row.output).parent_path(), failed);
  if (const auto written = write_file(work.row.output, *bytes); !written) return written.error();
  for (const Trace& trace : *traces) describe(work.source, trace.metadata, work.row);
  work.row.bytes = bytes->size();
  return std::nullopt;
}

// One for each file. A file whose digest would have the name of another one's has an error.
std::vector<Work> plan_of(const DigestRequest& request, const std::vector<std::string>& files) {
  std::vector<Work> works(files.size());
  std::map<std::string, std::string> taken;
  for (std::size_t i = 0; i < files.size(); ++i) {
    Work& work = works[i];
    const fs::path place = place_below(files[i], request.inputs);
    work.row.input = files[i];
    work.row.output = (fs::path(request.folder) / place).string() + std::string(digest_ending);
    const auto [at, fresh] = taken.try_emplace(work.row.output, files[i]);
    auto source = source_of(files[i]);
    if (!fresh)
      work.error = Error{.what = "its digest would have the place of that of " + at->second,
                         .file = files[i],
                         .hint = "give the folder that holds both, or two --out"};
    else if (!source)
      work.error = source.error();
    else
      work.source = *std::move(source);
  }
  return works;
}

// Ranks of the world that no digest is of. Empty where a digest does not name its rank.
std::vector<int> missing_ranks(const std::vector<DigestRow>& rows) {
  std::set<int> have;
  int world = 0;
  for (const DigestRow& row : rows) {
    if (row.ranks.empty()) return {};
    have.insert(row.ranks.begin(), row.ranks.end());
    world = std::max(world, row.world_size.value_or(0));
  }
  std::vector<int> missing;
  for (int rank = 0; rank < world; ++rank)
    if (!have.contains(rank)) missing.push_back(rank);
  return missing;
}

// Files side by side, each with one thread; where they are fewer than the threads, one after the
// other with all threads.
void make_all(std::vector<Work>& works, unsigned threads, const Progress& progress) {
  const bool side_by_side = works.size() >= threads;
  std::atomic<std::uint64_t> done{0};
  std::uint64_t total = 0;
  for (const Work& work : works) total += work.source.bytes;
  std::mutex guard;
  parallel_for(works.size(), side_by_side ? threads : 1, [&](std::size_t i) {
    if (works[i].error || progress.stopped()) return;
    works[i].error = make(works[i], side_by_side ? 1 : threads, progress);
    done += works[i].source.bytes;
    const std::lock_guard lock(guard);
    if (progress.show) progress.show(reading, done, total);
  });
}

}  // namespace

Result<DigestResult> digest(const DigestRequest& request, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  DigestResult result{.version = std::string(version()), .folder = request.folder};
  InputFiles files = find_input_files(request.inputs);
  for (const Error& e : files.errors) fail(progress, result.failures, e);
  // A folder may hold traces and the digests of an earlier run.
  std::erase_if(files.files, [&](const std::string& file) {
    return is_digest_name(file) && std::ranges::find(request.inputs, file) == request.inputs.end();
  });
  std::vector<Work> works = plan_of(request, files.files);
  make_all(
      works,
      request.threads > 0 ? request.threads : std::max(1U, std::thread::hardware_concurrency()),
      progress);
  if (progress.stopped()) return interrupted();
  for (Work& work : works) {
    if (work.error)
      fail(progress, result.failures, *work.error);
    else
      result.digests.push_back(std::move(work.row));
  }
  if (result.digests.empty())
    return result.failures.empty() ? Error{.what = "no trace is named", .hint = "name one"}
                                   : result.failures.front();
  if (works.size() > 1) result.missing = missing_ranks(result.digests);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace stepscope
