// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/checkpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "engine/zero/checkpoint/crc32c.h"
#include "engine/zero/checkpoint/manifest.h"
#include "engine/zero/checkpoint/stored_weights.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"
#include "stepscope/base/output_file.h"

namespace stepscope::zero {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
constexpr std::string_view partial_suffix = ".partial";
constexpr std::string_view removed_suffix = ".removed";
constexpr std::string_view old_checkpoint = "use an older checkpoint, or copy this one again";

std::string padded(std::uint64_t value, std::size_t digits) {
  const std::string text = std::to_string(value);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}
std::string part_name(std::size_t rank) { return "rank-" + padded(rank, 5) + ".state"; }

// The step of the name "step-00000120"; nothing may follow the number.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const auto step = number_of<std::int64_t>(name);
  return step && *step >= 0 ? step : std::nullopt;
}

// The text that COMMIT must hold for a manifest.
constexpr std::size_t most_manifest_bytes = 64 << 20;
constexpr std::string_view commit_start = "stepscope checkpoint 1: manifest.json has ";
std::string commit_text(std::uint64_t bytes, std::uint32_t checksum) {
  return std::string(commit_start) + std::to_string(bytes) + " bytes, CRC-32C " +
         std::to_string(checksum) + "\n";
}
std::string commit_text(std::string_view manifest) {
  return commit_text(manifest.size(), crc32c(std::as_bytes(std::span(manifest))));
}

// The reason why the manifest does not fit COMMIT.
Result<Done> check_commit(const std::string& commit_path, const std::string& manifest_path,
                          std::string_view manifest) {
  const auto commit = read_text(commit_path);
  if (!commit) {
    return Error{.what = "is missing: the checkpoint was never finished",
                 .file = commit_path,
                 .hint = std::string(old_checkpoint)};
  }
  if (*commit == commit_text(manifest)) return Done{};
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
  const std::string pattern = std::string(commit_start) + "%20lu bytes, CRC-32C %10u";
  if (std::sscanf(commit->c_str(), pattern.c_str(), &bytes, &checksum) != 2 ||
      *commit != commit_text(bytes, checksum)) {
    return Error{
        .what = "is damaged", .file = commit_path, .byte = 0, .hint = std::string(old_checkpoint)};
  }
  return Error{
      .what = "does not fit the COMMIT file, which names " + std::to_string(bytes) + " bytes",
      .file = manifest_path,
      .byte = manifest.size() == bytes ? 0 : std::min<std::uint64_t>(manifest.size(), bytes),
      .hint = std::string(old_checkpoint)};
}

bool is_committed(const std::string& path) {
  const auto manifest = read_text(path + "/manifest.json", most_manifest_bytes);
  if (!manifest) return false;
  const auto commit = read_text(path + "/COMMIT");
  return commit && *commit == commit_text(*manifest);
}

Error directory_error(const std::string& path, const std::string& doing,
                      const std::error_code& code) {
  return file_error(path, doing, code.value());
}

Result<Done> write_durably(const std::string& path, std::string_view text) {
  return write_in_place(
      path, [&](const DiskFile& file) { return file.write(0, std::as_bytes(std::span(text))); });
}

// Rename first: if the process dies during the removal, the rest does not look like a checkpoint.
Result<Done> remove_checkpoint(const std::string& path) {
  const std::string removed = path + std::string(removed_suffix);
  std::error_code failed;
  fs::remove_all(removed, failed);
  fs::rename(path, removed, failed);
  if (failed) return directory_error(path, "cannot remove", failed);
  fs::remove_all(removed, failed);
  if (failed) return directory_error(removed, "cannot remove", failed);
  return Done{};
}

// Gives `partial` its final name. A run that went back may meet a checkpoint of the same step. The
// two are then exchanged in one operation if the file system supports it.
Result<Done> put_in_place(const std::string& partial, const std::string& path) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
    return remove_checkpoint(partial);
  std::error_code failed;
  if (fs::exists(path, failed)) {
    if (auto removed = remove_checkpoint(path); !removed) return removed.error();
  }
  fs::rename(partial, path, failed);
  if (failed) return directory_error(path, "cannot commit", failed);
  return Done{};
}

// The first difference of a unit, or nothing.
std::string difference(const CheckpointUnit& there, const CheckpointUnit& here) {
  if (there.name != here.name)
    return "unit \"" + there.name + "\" there, \"" + here.name + "\" here";
  for (std::size_t i = 0; i < std::min(there.tensors.size(), here.tensors.size()); ++i) {
    const CheckpointTensor& a = there.tensors[i];
    const CheckpointTensor& b = here.tensors[i];
    if (a == b) continue;
    return a.name + " " + shape_text(a.shape) + " there, " + b.name + " " + shape_text(b.shape) +
           " here";
  }
  if (there.elements != here.elements || there.tensors.size() != here.tensors.size()) {
    return "unit \"" + there.name + "\" has " + std::to_string(there.elements) +
           " elements there, " + std::to_string(here.elements) + " here";
  }
  return {};
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return std::string(prefix) + padded(static_cast<std::uint64_t>(step), 8);
}

Result<Done> write_checkpoint_part(const std::string& dir, const CheckpointInfo& info, int rank,
                                   std::span<const StateExtent> extents) {
  check(rank >= 0 && rank < info.world_size, "a rank of the group");
  const std::string partial =
      dir + "/" + checkpoint_name(info.cursor.step) + std::string(partial_suffix);
  std::error_code failed;
  fs::create_directories(partial, failed);
  if (failed) return directory_error(partial, "cannot create", failed);
  const RankFileHeader header{.rank = static_cast<std::uint32_t>(rank),
                              .world_size = static_cast<std::uint32_t>(info.world_size),
                              .step = static_cast<std::uint64_t>(info.cursor.step),
                              .model = model_identity(info.model)};
  const std::string path = partial + "/" + part_name(static_cast<std::size_t>(rank));
  fs::remove(path, failed);  // left by an uncommitted attempt
  const auto written = write_rank_file(path, header, extents);
  if (!written) return written.error();
  return sync_directory(partial);
}

Result<std::string> commit_checkpoint(const std::string& dir, const CheckpointInfo& info) {
  const std::string path = dir + "/" + checkpoint_name(info.cursor.step);
  const std::string partial = path + std::string(partial_suffix);
  Checkpoint written(partial, info);
  if (auto opened = written.open_files({}); !opened) return opened.error();
  Manifest manifest{.info = info};
  for (const RankFile& file : written.files_) manifest.files.push_back(file.summary());
  const std::string text = manifest_text(manifest);
  if (auto done = write_durably(partial + "/manifest.json", text); !done) return done.error();
  if (auto done = write_durably(partial + "/COMMIT", commit_text(text)); !done) return done.error();
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(partial, failed)) {  // left by earlier attempts
    const std::string name = entry.path().filename();
    bool ours = name == "manifest.json" || name == "COMMIT";
    for (std::size_t r = 0; r < written.files_.size() && !ours; ++r) ours = name == part_name(r);
    std::error_code ignored;
    if (!ours) fs::remove(entry.path(), ignored);
  }
  if (auto synced = sync_directory(partial); !synced) return synced.error();
  if (auto done = put_in_place(partial, path); !done) return done.error();
  if (auto synced = sync_directory(dir); !synced) return synced.error();
  return path;
}

void abandon_checkpoint(const std::string& dir, std::int64_t step) {
  std::error_code ignored;
  fs::remove_all(dir + "/" + checkpoint_name(step) + std::string(partial_suffix), ignored);
}

namespace {

// Steps ascending.
std::vector<std::string> checkpoints(const std::string& dir, bool committed) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(dir, failed)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && is_committed(entry.path()) == committed) found.emplace_back(*step, entry.path());
  }
  std::ranges::sort(found);
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

std::vector<std::string> committed_checkpoints(const std::string& dir) {
  return checkpoints(dir, true);
}
std::vector<std::string> damaged_checkpoints(const std::string& dir) {
  return checkpoints(dir, false);
}

std::optional<std::string> latest_checkpoint(const std::string& dir) {
  const auto all = committed_checkpoints(dir);
  if (all.empty()) return std::nullopt;
  return all.back();
}

void set_aside_checkpoint(const std::string& path) {
  std::string name = path + ".damaged";
  std::error_code failed;
  for (int n = 2; fs::exists(name, failed); ++n) name = path + ".damaged-" + std::to_string(n);
  fs::rename(path, name, failed);
}

Result<Done> keep_last_checkpoints(const std::string& dir, std::size_t count) {
  check(count >= 1, "the last checkpoint is kept");
  const auto all = committed_checkpoints(dir);
  if (all.empty()) return Done{};
  for (std::size_t i = 0; i + count < all.size(); ++i) {
    if (auto removed = remove_checkpoint(all[i]); !removed) return removed.error();
  }
  const std::int64_t last = *step_of(fs::path(all.back()).filename().string());
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(dir, failed)) {
    const std::string name = entry.path().filename();
    const std::string stem = entry.path().stem();
    const bool unfinished = name.ends_with(partial_suffix) || name.ends_with(removed_suffix);
    if (!unfinished || step_of(stem).value_or(last + 1) > last) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
  return Done{};
}

Result<Done> Checkpoint::open_files(std::span<const RankFileSummary> expected) {
  const std::uint64_t identity = model_identity(info_.model);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(info_.world_size); ++rank) {
    const std::string file_path = path_ + "/" + part_name(rank);
    auto file = RankFile::open(file_path);
    if (!file) {
      Error error = file.error();
      std::error_code ignored;
      if (!fs::exists(file_path, ignored)) {
        error = {.what = "the file of rank " + std::to_string(rank) + " of " +
                         std::to_string(info_.world_size) + " is missing",
                 .file = file_path,
                 .hint = "do all ranks write to one file system? " + std::string(old_checkpoint)};
      }
      return error;
    }
    const RankFileHeader wanted{.rank = static_cast<std::uint32_t>(rank),
                                .world_size = static_cast<std::uint32_t>(info_.world_size),
                                .step = static_cast<std::uint64_t>(info_.cursor.step),
                                .model = identity};
    if (file->header() != wanted || (!expected.empty() && file->summary() != expected[rank])) {
      return Error{.what = "is not the file that belongs to this checkpoint",
                   .file = file_path,
                   .byte = 0,
                   .hint = std::string(old_checkpoint)};
    }
    for (const RankFile::Extent& extent : file->extents())
      places_.push_back(
          {.unit = extent.unit, .first = extent.first, .file = rank, .extent = extent});
    files_.push_back(*std::move(file));
  }
  std::erase_if(places_, [](const Place& p) { return p.extent.count == 0; });
  std::ranges::sort(places_, {}, [](const Place& p) { return std::pair(p.unit, p.first); });
  // Checks that each element of each unit is stored once.
  std::size_t next = 0;
  for (std::size_t unit = 0; unit < info_.model.units.size(); ++unit) {
    const auto elements = static_cast<std::uint64_t>(info_.model.units[unit].elements);
    std::uint64_t covered = 0;
    while (next < places_.size() && places_[next].unit == unit && places_[next].first == covered)
      covered += places_[next++].extent.count;
    if (covered != elements) {
      return Error{.what = "element " + std::to_string(covered) + " of " +
                           std::to_string(elements) + " of unit \"" + info_.model.units[unit].name +
                           "\" is in no file, or in two",
                   .file = path_,
                   .hint = std::string(old_checkpoint)};
    }
  }
  if (next != places_.size()) {
    return Error{.what = "the files hold units that the manifest does not know",
                 .file = path_,
                 .hint = std::string(old_checkpoint)};
  }
  return Done{};
}

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  const std::string manifest_path = path + "/manifest.json";
  const auto text = read_text(manifest_path, most_manifest_bytes);
  if (!text) {
    Error error = text.error();
    error.hint = "is this the directory of one checkpoint, \"" + checkpoint_name(120) + "\"?";
    return error;
  }
  if (auto committed = check_commit(path + "/COMMIT", manifest_path, *text); !committed)
    return committed.error();
  auto manifest = parse_manifest(*text, manifest_path);
  if (!manifest) return manifest.error();
  Checkpoint checkpoint(path, std::move(manifest->info));
  if (auto opened = checkpoint.open_files(manifest->files); !opened) return opened.error();
  return checkpoint;
}

Result<Done> Checkpoint::check_model(const CheckpointModel& model) const {
  const auto& there = info_.model.units;
  std::string what;
  for (std::size_t i = 0; i < std::min(there.size(), model.units.size()) && what.empty(); ++i)
    what = difference(there[i], model.units[i]);
  if (what.empty() && there.size() != model.units.size()) {
    what = std::to_string(there.size()) + " units there, " + std::to_string(model.units.size()) +
           " here";
  }
  if (what.empty() && info_.model.config != model.config) {
    what = info_.model.config + " there, " + model.config + " here";
  }
  if (what.empty()) return Done{};
  return Error{.what = "the checkpoint is of another model: " + what,
               .file = path_ + "/manifest.json",
               .hint = "choose the model it was written for, or another checkpoint",
               .code = ErrorCode::other_model};
}

Result<Done> Checkpoint::read(std::size_t unit, StatePart part, std::int64_t first,
                              std::span<float> into) const {
  check(unit < info_.model.units.size() && first >= 0 &&
            first + std::ssize(into) <= info_.model.units[unit].elements,
        "the elements are in the unit");
  if (into.empty()) return Done{};
  auto at = static_cast<std::uint64_t>(first);
  const auto after =
      std::ranges::upper_bound(places_, std::pair<std::uint64_t, std::uint64_t>(unit, at), {},
                               [](const Place& p) { return std::pair(p.unit, p.first); });
  for (auto place = std::prev(after); !into.empty(); ++place) {
    const std::uint64_t skip = at - place->first;
    const std::size_t n = std::min<std::size_t>(into.size(), place->extent.count - skip);
    if (auto read = files_[place->file].read(place->extent, part, skip, into.first(n)); !read)
      return read.error();
    into = into.subspan(n);
    at += n;
  }
  return Done{};
}

Result<Done> Checkpoint::load(std::span<const StateExtent> extents) const {
  for (const StateExtent& e : extents) {
    const std::array<std::span<float>, 3> parts = {e.master, e.m, e.v};
    for (std::size_t p = 0; p < parts.size(); ++p) {
      auto loaded = read(e.unit, static_cast<StatePart>(p), e.first, parts[p]);
      if (!loaded) return loaded.error();
    }
  }
  return Done{};
}

Result<Done> Checkpoint::verify() const {
  for (const RankFile& file : files_) {
    if (auto verified = file.verify(); !verified) return verified.error();
  }
  return Done{};
}

}  // namespace stepscope::zero
