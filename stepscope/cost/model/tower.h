// SPDX-License-Identifier: Apache-2.0
// The encoder of images before a model (Tower): its layers as a model of their own, and its
// FLOPs. Letters: p patches of an image, h hidden, f feed-forward, g = merge^2.
#pragma once

#include <cstdint>

#include "stepscope/cost/model/trained_parts.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// Images of one sequence, all of `patches` patches before merging.
struct Images {
  std::int64_t count = 0;
  std::int64_t patches = 0;
};

// The tower's layers, without its ends. REQUIRES for all: model.tower.
[[nodiscard]] Transformer tower_layers(const Transformer& model);

[[nodiscard]] LayerTraining tower_training(const TrainedParts& trained);

// Forward FLOPs of one image: 2 p (4 h^2 + 2 h f + 2 p h) a layer, the projection of its patches,
// and the merger's 2 p (g h)(g h + out) / g (Megatron-Bridge's vit_flops, which leaves the
// projection out).
[[nodiscard]] double tower_flops(const Transformer& model, std::int64_t patches);
// Forward and backward of the images of one sequence; 0 without a tower.
[[nodiscard]] double tower_flops(const Transformer& model, const Images& images,
                                 const TrainedParts& trained);

}  // namespace stepscope
