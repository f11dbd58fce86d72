// SPDX-License-Identifier: Apache-2.0
// The encoder of images (Tower): patches are projected, positions added, its layers run over each
// image by itself, and the merger makes the tokens that stand for the image. Each rank of cp
// encodes all images of its sequences; tp divides the layers and the merger without sequence
// parallelism.
#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/operation_parts.h"
#include "stepscope/cost/model/tower.h"

namespace stepscope {
namespace {

// Images are the tower's sequences. Without images the plan is of one token's patches.
Plan tower_plan(const Transformer& model, const Plan& plan) {
  const std::int64_t least = model.tower->merge * model.tower->merge;
  Plan p = plan;
  p.batch.sequence = plan.batch.images > 0 ? plan.batch.image_patches : least;
  p.batch.micro = plan.batch.micro * std::max<std::int64_t>(1, plan.batch.images);
  p.cp = p.ep = 1;
  p.experts.tp = 0;
  p.tensor.sequence_parallel = false;
  p.tensor.sequence_degree = 0;
  p.memory.recompute_modules = {};
  p.trained = {};
  if (tower_training(plan.trained) == LayerTraining::weights) return p;
  for (const ModelPart part : {ModelPart::embedding, ModelPart::layers, ModelPart::head}) {
    p.trained.frozen.add(part);
  }
  return p;
}

void finish(const Plan& plan, const DeviceShare& share, std::vector<Operation>& ops) {
  if (tower_training(plan.trained) == LayerTraining::weights) return;
  finish_frozen(share, {}, LayerTraining::forward_only, ops);
}

}  // namespace

std::vector<Operation> tower_layer_operations(const Transformer& model, const Plan& plan,
                                              const Counting& counting) {
  return layer_operations(tower_layers(model), tower_plan(model, plan), 0, counting);
}

std::vector<Operation> tower_end_operations(const Transformer& model, const Plan& plan,
                                            const Counting& counting) {
  const Tower& t = *model.tower;
  const Transformer layers = tower_layers(model);
  const Plan p = tower_plan(model, plan);
  DeviceShare share = device_share(layers, p, counting);
  share.trained = tower_training(plan.trained) == LayerTraining::weights;
  std::vector<Operation> ops;
  ops.push_back(
      linear(share, {.name = "tower_patches",
                     .shape = {share.tokens, t.patch * t.patch * t.channels * t.frames, t.hidden},
                     .replicated = true,
                     .bias = true,
                     .input_gradient = false}));
  if (t.positions > 0) {
    ops.push_back(pointwise(share, {.name = "tower_positions",
                                    .count = counting.residual,
                                    .elements = share.stream(),
                                    .second_reads = 1,
                                    .gradient_writes = 0}));
    ops.back().parameters = number(t.positions * t.hidden);
    ops.back().weights = 1;
    ops.back().backward.weight_bytes = ops.back().parameters * p.precision.gradient_bytes;
  }
  ops.push_back(stream_norm(share, "merger_norm", true));
  const std::int64_t group = t.merge * t.merge;
  const std::int64_t tokens = share.tokens / group;
  const std::int64_t wide = group * t.hidden;
  ops.push_back(linear(share, {.name = "merger_fc1", .shape = {tokens, wide, wide}, .bias = true}));
  ops.push_back(activation(share, "merger_activation",
                           number(tokens) * number(wide) / number(share.split.features), false));
  ops.push_back(linear(share, {.name = "merger_fc2",
                               .shape = {tokens, wide, model.hidden},
                               .place = LinearPlace::second,
                               .bias = true}));
  finish(plan, share, ops);
  return ops;
}

}  // namespace stepscope
