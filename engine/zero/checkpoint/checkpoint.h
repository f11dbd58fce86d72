// SPDX-License-Identifier: Apache-2.0
// Checkpoints: one directory per step, written by all ranks. Any number of ranks can load it at any
// ZeRO stage. docs/dev/file-formats.md has the format.
//
//   DIR/step-00000120.partial/   while it is written
//   DIR/step-00000120/           after its commit
//     rank-00000.state …         one a rank (zero/checkpoint/rank_file.h)
//     manifest.json              what the ranks' files hold, with their sizes and checksums
//     COMMIT                     written last; names the manifest's checksum
//
// To save, each rank calls write_checkpoint_part. Then all agree that it succeeded, by a reduction
// that is also the barrier. Rank 0 then calls commit_checkpoint, or abandon_checkpoint if a rank
// failed. A directory counts only with a COMMIT that fits its manifest, so a crash at any moment
// leaves earlier checkpoints intact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/zero/checkpoint/manifest.h"
#include "engine/zero/checkpoint/rank_file.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// "step-00000120".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
// Writes this rank's file and creates the directories. After an error there is no file of that
// name.
[[nodiscard]] Result<Done> write_checkpoint_part(const std::string& dir, const CheckpointInfo& info,
                                                 int rank, std::span<const StateExtent> extents);
// Rank 0 calls it when all ranks' files are complete. It checks that together they hold each
// element of each unit once, writes manifest and COMMIT, and gives the directory its name. Returns
// its path.
[[nodiscard]] Result<std::string> commit_checkpoint(const std::string& dir,
                                                    const CheckpointInfo& info);
// Removes the files of an uncommitted checkpoint; never a committed one.
void abandon_checkpoint(const std::string& dir, std::int64_t step);
// The path of the committed checkpoint of the highest step, if there is one.
[[nodiscard]] std::optional<std::string> latest_checkpoint(const std::string& dir);
// Paths of all committed checkpoints, steps ascending.
[[nodiscard]] std::vector<std::string> committed_checkpoints(const std::string& dir);
// Paths of checkpoints whose COMMIT is missing or damaged, steps ascending. Checkpoints that a run
// is writing, or was writing when it ended, are not among them.
[[nodiscard]] std::vector<std::string> damaged_checkpoints(const std::string& dir);
// Gives a checkpoint that cannot be read the name PATH.damaged, so that it counts no more.
void set_aside_checkpoint(const std::string& path);
// Removes all committed checkpoints except the `count` (>= 1) of the highest steps. Also removes
// unfinished ones of earlier runs, of steps up to the highest. Rank 0 calls it after a commit.
[[nodiscard]] Result<Done> keep_last_checkpoints(const std::string& dir, std::size_t count);

class Checkpoint {
 public:
  // Opens a committed checkpoint by its directory. Errors: the checkpoint is not committed; the
  // manifest or a rank's file is missing, truncated, damaged, or not the committed one.
  [[nodiscard]] static Result<Checkpoint> open(const std::string& path);

  [[nodiscard]] const CheckpointInfo& info() const { return info_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Error: the checkpoint is of another model; it names the first difference.
  [[nodiscard]] Result<Done> check_model(const CheckpointModel& model) const;
  // Fills the extents; any number of ranks may have written them. Reads only the blocks that hold
  // them.
  [[nodiscard]] Result<Done> load(std::span<const StateExtent> extents) const;
  // Reads elements [first, first + into.size()) of a unit.
  [[nodiscard]] Result<Done> read(std::size_t unit, StatePart part, std::int64_t first,
                                  std::span<float> into) const;
  // Compares every byte with its checksum.
  [[nodiscard]] Result<Done> verify() const;

 private:
  struct Place {  // of consecutive elements
    std::uint64_t unit = 0;
    std::uint64_t first = 0;
    std::size_t file = 0;
    RankFile::Extent extent{};
  };
  Checkpoint(std::string path, CheckpointInfo info)
      : path_(std::move(path)), info_(std::move(info)) {}
  [[nodiscard]] Result<Done> open_files(std::span<const RankFileSummary> expected);

  std::string path_;
  CheckpointInfo info_;
  std::vector<RankFile> files_;
  std::vector<Place> places_;  // by unit and first element
  friend Result<std::string> commit_checkpoint(const std::string&, const CheckpointInfo&);
};

}  // namespace stepscope::zero
