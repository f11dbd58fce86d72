// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_flags.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

class Flags {
 public:
  void add(const std::string& flag) { out_.text += flag + "\n"; }
  void add(const std::string& flag, std::int64_t n) { add(flag + " " + text(n)); }
  void lacks(std::string what) { out_.not_expressed.push_back(std::move(what)); }
  FrameworkFlags take() { return std::move(out_); }

 private:
  FrameworkFlags out_{.framework = "Megatron-LM", .text = {}, .not_expressed = {}};
};

void tensor_and_context(const Plan& p, Flags& out) {
  out.add("--tensor-model-parallel-size", p.tp);
  if (p.tensor.layout != TensorLayout::one_d) {
    out.lacks("tensor_layout " +
              std::string(tensor_layout_names[static_cast<std::size_t>(p.tensor.layout)]) +
              ": Megatron-LM splits matmuls in one dimension only");
  }
  const std::int64_t parts = sequence_parts(p);
  if (parts == p.tp && p.tp > 1) out.add("--sequence-parallel");
  if (parts != p.tp && parts > 1) {
    out.lacks("sequence_degree = " + std::to_string(parts) +
              ": Megatron-LM splits the sequence over the tp ranks");
  }
  if (p.overlap.tensor && p.tp > 1) out.add("--tp-comm-overlap");
  if (p.overlap.experts && p.ep > 1) out.add("--overlap-moe-expert-parallel-comm");
  if (p.cp > 1) {
    constexpr std::array<std::string_view, 3> types = {"allgather", "p2p", "a2a"};
    out.add("--context-parallel-size", p.cp);
    out.add("--cp-comm-type " + std::string(types[static_cast<std::size_t>(p.context_exchange)]));
  }
  if (p.ep > 1) {
    out.add("--expert-model-parallel-size", p.ep);
    out.add("--expert-tensor-parallel-size", p.experts.tp > 0 ? p.experts.tp : p.tp);
  }
}

// "Et*7|t*8|t*8|t*7L": embedding, layers and loss of each stage in model order.
std::string layout(const std::vector<std::int64_t>& stages) {
  std::string out = "E";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) out += '|';
    if (stages[i] > 0) out += "t*" + text(stages[i]);
  }
  return out + ",L";
}

void pipeline(const Plan& p, Flags& out) {
  out.add("--pipeline-model-parallel-size", p.pp);
  if (p.pp == 1) return;
  if (!p.pipeline.stage_layers.empty()) {
    out.add("--pipeline-model-parallel-layout \"" + layout(p.pipeline.stage_layers) + "\"");
  } else if (p.pipeline.virtual_stages > 1) {
    out.add("--num-virtual-stages-per-pipeline-rank", p.pipeline.virtual_stages);
  }
  if (p.pipeline.schedule != Schedule::one_f_one_b &&
      p.pipeline.schedule != Schedule::interleaved) {
    out.lacks("schedule " +
              std::string(schedule_names[static_cast<std::size_t>(p.pipeline.schedule)]) +
              ": Megatron-LM runs 1f1b");
  }
}

void data(const Plan& p, Flags& out) {
  if (p.zero > 0) out.add("--use-distributed-optimizer");
  if (p.zero > 1) {
    out.add("--use-megatron-fsdp");
    out.add(std::string("--data-parallel-sharding-strategy ") +
            (p.zero == 2 ? "optim_grads" : "optim_grads_params"));
  }
  if (p.shard_group > 0 && p.shard_group < p.dp * p.cp) {
    out.add("--num-distributed-optimizer-instances", p.dp * p.cp / p.shard_group);
  }
  if (p.secondary_group > 0) out.lacks("secondary_group: Megatron-FSDP keeps no second copy");
  if (p.overlap.gradient_reduce) out.add("--overlap-grad-reduce");
  if (p.zero > 0 && p.overlap.parameter_gather) {
    if (p.overlap.gradient_reduce) {
      out.add("--overlap-param-gather");
    } else {
      out.lacks("overlap_parameter_gather: it needs --overlap-grad-reduce");
    }
  }
  if (p.zero < 2) {
    out.add("--ddp-bucket-size", p.overlap.bucket.value / p.precision.accumulated_gradient_bytes);
    if (p.batch.reduce_each_micro) {
      out.lacks("reduce_each_micro_batch: gradients are reduced once a step below ZeRO-2");
    }
  } else if (!p.batch.reduce_each_micro && micro_batches(p) > 1) {
    out.lacks("reduce_each_micro_batch false: Megatron-FSDP reduces sharded gradients each time");
  }
  out.add("--micro-batch-size", p.batch.micro);
  out.add("--global-batch-size", p.batch.global);
  out.add("--seq-length", p.batch.sequence);
  out.add("--make-vocab-size-divisible-by", p.kernels.vocabulary_multiple);
}

void precision(const Precision& b, bool sharded, Flags& out) {
  if (b.matmul == Dtype::fp16) {
    out.add("--fp16");
  } else if (b.parameter_bytes <= 2) {
    out.add("--bf16");
  }
  if (b.matmul == Dtype::fp8) {
    out.add("--fp8-format hybrid");
    if (b.parameter_bytes == 1) out.add("--fp8-param-gather");
  }
  if (b.accumulated_gradient_bytes == 2 && b.matmul != Dtype::fp16) {
    out.add("--grad-reduce-in-bf16");
  } else if (b.accumulated_gradient_bytes == 4 && b.parameter_bytes <= 2) {
    out.add("--accumulate-allreduce-grads-in-fp32");
    if (b.gradient_bytes != 4) {
      out.lacks("gradient_bytes " + text(b.gradient_bytes) +
                ": gradients are sent in the type they are summed in, 4 bytes");
    }
  }
  const bool lean = b.optimizer_state_bytes == 4 || b.master_bytes == 2;
  if (lean && sharded) {
    out.add("--use-precision-aware-optimizer");
    if (b.master_bytes == 2) out.add("--main-params-dtype fp16");
    if (b.optimizer_state_bytes == 4) out.add("--exp-avg-dtype bf16\n--exp-avg-sq-dtype bf16");
  } else if (lean || (b.optimizer_state_bytes != 8 && b.optimizer_state_bytes != 4)) {
    out.lacks("optimizer_state_bytes " + text(b.optimizer_state_bytes) + " and master_bytes " +
              text(b.master_bytes) + ": Adam keeps 8 and 4, or less with a distributed optimizer");
  }
}

void recomputation(const Transformer& m, const Plan& p, Flags& out) {
  switch (p.memory.recompute) {
    case Recompute::none:
      return;
    case Recompute::selective:
      return out.add("--recompute-granularity selective");
    case Recompute::operations:
      return out.lacks("recompute operations: selective recomputes attention's core");
    case Recompute::full:
      out.add("--recompute-granularity full\n--recompute-method uniform");
      return out.add("--recompute-num-layers", 1);
    case Recompute::every_k: {
      if (!p.pipeline.stage_layers.empty()) {
        return out.lacks(
            "recompute every_k with uneven stages: the block method recomputes the "
            "same number of layers in each");
      }
      const std::int64_t layers = m.layers / (p.pp * p.pipeline.virtual_stages);
      const std::int64_t kept = (layers + p.memory.recompute_every - 1) / p.memory.recompute_every;
      if (kept == layers) return;
      out.add("--recompute-granularity full\n--recompute-method block");
      out.add("--recompute-num-layers", layers - kept);
    }
  }
}

void kernels_and_offload(const Plan& p, Flags& out) {
  out.add(std::string("--attention-backend ") + (p.kernels.fused_attention ? "flash" : "unfused"));
  if (p.kernels.fused_loss) out.add("--cross-entropy-loss-fusion");
  if (p.kernels.fused_loss && p.kernels.loss_in_place) out.add("--cross-entropy-fusion-impl te");
  if (!p.kernels.fused_gradient_sum) out.add("--no-gradient-accumulation-fusion");
  if (!p.kernels.fused_pointwise) {
    out.add(
        "--no-bias-gelu-fusion\n--no-bias-swiglu-fusion\n--no-bias-dropout-fusion\n"
        "--no-masked-softmax-fusion");
  }
  if (p.memory.optimizer_at == Residence::host) out.add("--optimizer-cpu-offload");
  if (p.memory.optimizer_at == Residence::nvme)
    out.lacks("optimizer_at nvme: the host is the farthest");
  if (p.memory.parameters_at != Residence::device)
    out.lacks("parameters_at: parameters stay on the device");
  if (p.memory.gradients_at != Residence::device && p.memory.optimizer_at != Residence::host) {
    out.lacks("gradients_at: gradients leave the device with the optimizer only");
  }
}

}  // namespace

FrameworkFlags megatron_flags(const Transformer& model, const Plan& plan) {
  Flags out;
  tensor_and_context(plan, out);
  pipeline(plan, out);
  data(plan, out);
  precision(plan.precision, plan.zero > 0, out);
  recomputation(model, plan, out);
  kernels_and_offload(plan, out);
  if (!trains_all(plan.trained)) out.lacks(trained_in_script(plan.trained));
  return out.take();
}

}  // namespace stepscope
