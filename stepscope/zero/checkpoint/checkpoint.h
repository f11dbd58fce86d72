// SPDX-License-Identifier: Apache-2.0
// Checkpoints: one directory a step, written by all ranks, loaded by any number of ranks at any
// ZeRO stage. docs/reference/checkpoints.md has the format.
//
//   DIR/step-00000120.partial/   while it is written
//   DIR/step-00000120/           after its commit
//     rank-00000.state …         one a rank (zero/checkpoint/rank_file.h)
//     manifest.json              what the ranks' files hold, with their sizes and checksums
//     COMMIT                     written last; names the manifest's checksum
//
// Saving: each rank calls write_checkpoint_part; all agree that it succeeded (a reduction, which is
// the barrier too); rank 0 calls commit_checkpoint, or abandon_checkpoint where a rank failed. A
// directory counts only with a COMMIT that fits its manifest, so that a death at any moment leaves
// the checkpoints before it as they were.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/zero/checkpoint/manifest.h"
#include "stepscope/zero/checkpoint/rank_file.h"

namespace stepscope::zero {

// A hash of all of it.
[[nodiscard]] std::uint64_t model_identity(const CheckpointModel& model);

// "step-00000120".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
// Writes this rank's file. Creates the directories. An error leaves no file of that name.
[[nodiscard]] Result<Done> write_checkpoint_part(const std::string& dir, const CheckpointInfo& info,
                                                 int rank, std::span<const StateExtent> extents);
// Rank 0, when all ranks' files are there: checks that together they hold each element of each unit
// once, writes manifest and COMMIT, and gives the directory its name. Returns its path.
[[nodiscard]] Result<std::string> commit_checkpoint(const std::string& dir,
                                                    const CheckpointInfo& info);
// Removes what was written of it; nothing that was committed.
void abandon_checkpoint(const std::string& dir, std::int64_t step);
// The path of the committed checkpoint of the highest step; none where there is none.
[[nodiscard]] std::optional<std::string> latest_checkpoint(const std::string& dir);
// Paths of all committed checkpoints, steps ascending.
[[nodiscard]] std::vector<std::string> committed_checkpoints(const std::string& dir);
// Removes all committed checkpoints but the `count` (>= 1) of the highest steps, and what earlier
// runs left unfinished of steps up to the highest. Rank 0, after a commit.
[[nodiscard]] Result<Done> keep_last_checkpoints(const std::string& dir, std::size_t count);

class Checkpoint {
 public:
  // Opens a committed checkpoint by its directory. Errors: not committed, manifest or a rank's file
  // missing, cut, damaged, or not the one that was committed.
  [[nodiscard]] static Result<Checkpoint> open(const std::string& path);

  [[nodiscard]] const CheckpointInfo& info() const { return info_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // An error that names the first difference, unless the checkpoint is of this model.
  [[nodiscard]] Result<Done> check_model(const CheckpointModel& model) const;
  // Fills the extents, whatever number of ranks wrote them. Reads only the blocks that hold them.
  [[nodiscard]] Result<Done> load(std::span<const StateExtent> extents) const;
  // Elements [first, first + into.size()) of a unit.
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
