// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/tower.h"

namespace stepscope {
namespace {

double elements(std::int64_t n) { return static_cast<double>(n); }

// Features of the patches that become one token.
std::int64_t merged(const Tower& t) { return t.merge * t.merge * t.hidden; }
std::int64_t pixels(const Tower& t) { return t.patch * t.patch * t.channels * t.frames; }

}  // namespace

Transformer tower_layers(const Transformer& model) {
  const Tower& t = *model.tower;
  return {.name = model.name,
          .layers = t.layers,
          .hidden = t.hidden,
          .heads = t.heads,
          .kv_heads = t.heads,
          .head_size = t.hidden / t.heads,
          .feed_forward = t.feed_forward,
          .positions = Positions::rotary,
          .head = false,
          .causal = false};
}

LayerTraining tower_training(const TrainedParts& trained) {
  return trains(trained, ModelPart::tower) ? LayerTraining::weights : LayerTraining::forward_only;
}

double tower_flops(const Transformer& model, std::int64_t patches) {
  const Tower& t = *model.tower;
  const double p = elements(patches);
  const double h = elements(t.hidden);
  const double wide = elements(merged(t));
  const double layer = 4 * h * h + 2 * h * elements(t.feed_forward) + 2 * p * h;
  const double tokens = p / elements(t.merge * t.merge);
  return 2 * (elements(t.layers) * p * layer + p * elements(pixels(t)) * h +
              tokens * wide * (wide + elements(model.hidden)));
}

double tower_flops(const Transformer& model, const Images& images, const TrainedParts& trained) {
  if (!model.tower || images.count == 0) return 0;
  const double passes = tower_training(trained) == LayerTraining::weights ? 3 : 1;
  return passes * elements(images.count) * tower_flops(model, images.patches);
}

}  // namespace stepscope
