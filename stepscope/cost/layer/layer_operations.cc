// SPDX-License-Identifier: Apache-2.0
// A layer is attention, linear attention or Mamba-2, followed by a feed-forward part or experts.
// Either part may be missing. Their costs are in attention_operations.cc, state_operations.cc,
// feed_forward_operations.cc and expert_operations.cc.
#include "stepscope/cost/layer/layer_operations.h"

#include "stepscope/cost/layer/operation_parts.h"
#include "stepscope/cost/layer/recompute.h"

namespace stepscope {

void add_kind(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to) {
  if (has_softmax(kind.mixer)) {
    add_attention(share, kind, to);
  } else if (kind.mixer != Mixer::none) {
    add_state_mixer(share, kind, to);
  }
  if (kind.channel == Channel::experts) add_experts(share, kind, to);
  if (kind.channel == Channel::dense) add_feed_forward(share, to);
}

std::vector<Operation> layer_operations(const Transformer& model, const Plan& plan,
                                        std::int64_t layer, const Counting& counting) {
  DeviceShare share = device_share(model, plan, counting);
  const LayerTraining training = layer_training(plan.trained, layer);
  share.trained = training == LayerTraining::weights;
  const LayerKind kind = layer_kind(model, layer);
  share.heads = heads_of(model, kind) / share.split.features;
  std::vector<Operation> ops;
  add_kind(share, kind, ops);
  if (!share.trained) finish_frozen(share, kind, training, ops);
  repeat_modules(plan, ops);
  return ops;
}

void finish_frozen(const DeviceShare& share, const LayerKind& kind, LayerTraining training,
                   std::vector<Operation>& operations) {
  for (Operation& op : operations) op.trained = false;
  if (training == LayerTraining::adapters) add_adapters(share, kind, operations);
  if (training == LayerTraining::forward_only) leave_backward_out(operations);
}

double layer_input_bytes(const Transformer& model, const Plan& plan) {
  const Counting counting;
  const DeviceShare share = device_share(model, plan, counting);
  return number(streams(model)) * share.stream() * share.element;
}

}  // namespace stepscope
