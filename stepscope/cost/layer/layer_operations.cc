// SPDX-License-Identifier: Apache-2.0
// A layer is attention followed by a feed-forward part or experts. Their costs are in
// attention_operations.cc, feed_forward_operations.cc and expert_operations.cc.
#include "stepscope/cost/layer/layer_operations.h"

#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {

std::vector<Operation> layer_operations(const Transformer& model, const Plan& plan,
                                        std::int64_t layer, const Counting& counting) {
  const DeviceShare share = device_share(model, plan, counting);
  std::vector<Operation> ops;
  add_attention(share, layer, ops);
  if (has_experts(model, layer)) {
    add_experts(share, ops);
  } else {
    add_feed_forward(share, ops);
  }
  return ops;
}

double layer_input_bytes(const Transformer& model, const Plan& plan) {
  const Counting counting;
  const DeviceShare share = device_share(model, plan, counting);
  return share.stream() * share.element;
}

}  // namespace stepscope
