// SPDX-License-Identifier: Apache-2.0
// manifest.json of a checkpoint: describes the contents of the ranks' files as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/zero/checkpoint/rank_file.h"
#include "engine/zero/engine/state.h"
#include "stepscope/base/element.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// A parameter inside its unit's flat vector.
struct CheckpointTensor {
  std::string name{};
  std::vector<std::int64_t> shape{};
  std::int64_t offset = 0;

  bool operator==(const CheckpointTensor&) const = default;
};
struct CheckpointUnit {
  std::string name{};
  std::int64_t elements = 0;
  std::vector<CheckpointTensor> tensors{};

  bool operator==(const CheckpointUnit&) const = default;
};

// The model of a checkpoint.
struct CheckpointModel {
  std::string config{};  // the network's configuration as text; part of the identity
  std::vector<CheckpointUnit> units{};

  bool operator==(const CheckpointModel&) const = default;
};

// A hash of the whole description.
[[nodiscard]] std::uint64_t model_identity(const CheckpointModel& model);

struct CheckpointInfo {
  CheckpointModel model{};
  TrainingCursor cursor{};
  ElementType parameters = ElementType::f32;  // the kernels' element type; the state is f32
  int stage = 0;                              // that wrote it
  int world_size = 1;                         // that wrote it

  bool operator==(const CheckpointInfo&) const = default;
};

struct Manifest {
  CheckpointInfo info{};
  std::vector<RankFileSummary> files{};  // by rank
};
[[nodiscard]] std::string manifest_text(const Manifest& manifest);
// Strict: an unknown, missing or invalid field is an error with line and column.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, std::string_view path);

}  // namespace stepscope::zero
