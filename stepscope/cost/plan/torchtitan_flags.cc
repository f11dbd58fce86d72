// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_flags.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

std::string decimal_text(std::int64_t n) { return std::to_string(n); }

class Toml {
 public:
  void section(const std::string& name) {
    if (!out_.text.empty()) out_.text += '\n';
    out_.text += "[" + name + "]\n";
  }
  void add(const std::string& key, std::int64_t n) { line(key, decimal_text(n)); }
  void add(const std::string& key, const std::string& s) { line(key, "\"" + s + "\""); }
  void on(const std::string& key) { line(key, "true"); }
  void line(const std::string& key, const std::string& value) {
    out_.text += key + " = " + value + "\n";
  }
  void lacks(std::string what) { out_.not_expressed.push_back(std::move(what)); }
  FrameworkFlags take() { return std::move(out_); }

 private:
  FrameworkFlags out_{.framework = "torchtitan", .text = {}, .not_expressed = {}};
};

void training(const Plan& p, Toml& out) {
  out.section("training");
  // A pipeline divides the local batch into its micro-batches. Without a pipeline the rest is
  // accumulated.
  out.add("local_batch_size", p.pp > 1 ? p.batch.micro * micro_batches(p) : p.batch.micro);
  out.add("global_batch_size", p.batch.global);
  out.add("seq_len", p.batch.sequence);
  const Precision& b = p.precision;
  const bool pure = b.master_bytes == 0 && b.parameter_bytes == 2;
  out.add("dtype", std::string(pure ? "bfloat16" : "float32"));
  out.add("mixed_precision_param", std::string(b.parameter_bytes == 4 ? "float32" : "bfloat16"));
  if (b.matmul == Dtype::fp16) out.lacks("matmul in fp16: bfloat16 and float32 are known");
  if (b.matmul == Dtype::fp8)
    out.lacks(p.kernels.fp8_rowwise
                  ? "matmul in fp8 with a scale for each row: a converter of the model "
                    "(model.converters) with recipe_name rowwise"
                  : "matmul in fp8: a converter of the model (model.converters)");
  if (b.gradient_bytes != 4) {
    out.lacks("gradient_bytes " + decimal_text(b.gradient_bytes) +
              ": gradients are reduced in float32");
  }
  const MemoryPlan& m = p.memory;
  const auto at = [&m](Residence place) {
    return m.optimizer_at == place && m.gradients_at == place && m.parameters_at == place;
  };
  if (at(Residence::host) && p.zero > 1) {
    out.on("enable_cpu_offload");
  } else if (!at(Residence::device)) {
    out.lacks("offload: parameters, gradients and optimizer go to the host together, with FSDP");
  }
}

// FSDP shards over data_parallel_shard_degree * context_parallel_degree ranks.
void data(const Plan& p, Toml& out) {
  const std::int64_t group = p.shard_group == 0 ? p.dp * p.cp : p.shard_group;
  std::int64_t shard = p.zero == 0 ? 1 : group / p.cp;
  if (p.zero == 1) {
    out.lacks("zero 1: FSDP shards gradients too (printed as ZeRO-2)");
  }
  if (p.zero > 0 && group % p.cp != 0) {
    out.lacks("shard_group " + decimal_text(group) + ": it must hold whole context groups of " +
              decimal_text(p.cp));
    shard = p.dp;
  }
  if (p.secondary_group > 0) out.lacks("secondary_group: FSDP keeps no second copy");
  out.add("data_parallel_replicate_degree", p.dp / shard);
  out.add("data_parallel_shard_degree", shard);
  if (p.zero > 0) {
    out.add("fsdp_reshard_after_forward", std::string(p.zero == 3 ? "always" : "never"));
  }
  if (!p.overlap.gradient_reduce) out.lacks("overlap_gradient_reduce false: it always overlaps");
}

// The modules of each stage, by their names in torchtitan's models.
std::string modules(const std::vector<std::int64_t>& stages) {
  std::string out = "[";
  std::int64_t layer = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    std::string stage;
    const auto add = [&stage](const std::string& name) {
      stage += (stage.empty() ? "\"" : ", \"") + name + "\"";
    };
    if (i == 0) add("tok_embeddings");
    for (std::int64_t n = 0; n < stages[i]; ++n) add("layers." + decimal_text(layer++));
    if (i + 1 == stages.size()) {
      add("norm");
      add("output");
    }
    out += (i == 0 ? "[" : ", [") + stage + "]";
  }
  return out + "]";
}

void pipeline(const Transformer& m, const Plan& p, Toml& out) {
  out.add("pipeline_parallel_degree", p.pp);
  if (p.pp == 1) return;
  constexpr std::array<std::string_view, schedule_names.size()> names = {
      "GPipe", "1F1B", "Interleaved1F1B", "1F1B", "1F1B", "DualPipeV"};
  if (p.pipeline.schedule == Schedule::dualpipe)
    out.lacks("schedule dualpipe: DualPipeV, with one copy of the weights, comes nearest");
  out.add("pipeline_parallel_schedule",
          std::string(names[static_cast<std::size_t>(p.pipeline.schedule)]));
  if (p.pipeline.schedule == Schedule::zero_bubble_h1 ||
      p.pipeline.schedule == Schedule::zero_bubble_h2) {
    out.lacks("schedule " +
              std::string(schedule_names[static_cast<std::size_t>(p.pipeline.schedule)]) +
              ": InterleavedZeroBubble and ZBVZeroBubble, with two stages a rank, come nearest");
  }
  out.add("pipeline_parallel_microbatch_size", p.batch.micro);
  if (!p.pipeline.stage_layers.empty()) {
    out.line("module_fqns_per_model_part", modules(p.pipeline.stage_layers));
    return;
  }
  out.add("pipeline_parallel_layers_per_stage", m.layers / (p.pp * p.pipeline.virtual_stages));
  out.add("pipeline_parallel_first_stage_less_layers", 0);
  out.add("pipeline_parallel_last_stage_less_layers", 0);
}

void tensor_context_and_experts(const Plan& p, Toml& out) {
  out.add("tensor_parallel_degree", p.tp);
  if (p.tp > 1 && p.overlap.tensor) out.on("enable_async_tensor_parallel");
  const std::int64_t parts = sequence_parts(p);
  if (parts > 1 && parts != p.tp) {
    out.lacks("sequence_degree = " + std::to_string(parts) +
              ": the sequence is split over the tensor-parallel ranks");
  }
  if (p.tp > 1 && parts == 1 && p.tensor.layout == TensorLayout::one_d) {
    out.lacks("sequence_parallel false: norms are always split over the sequence");
  }
  if (p.tensor.layout != TensorLayout::one_d) out.lacks("tensor_layout: matmuls are split in 1d");
  out.add("context_parallel_degree", p.cp);
  if (p.cp > 1) {
    const bool ring = p.context_exchange == ContextExchange::ring;
    out.add("context_parallel_rotate_method", std::string(ring ? "alltoall" : "allgather"));
    if (p.context_exchange == ContextExchange::all_to_all) {
      out.lacks("context_exchange all_to_all: keys and values are exchanged, not heads");
    }
  }
  if (p.ep > 1) {
    out.add("expert_parallel_degree", p.ep);
    out.add("expert_tensor_parallel_degree", p.experts.tp > 0 ? p.experts.tp : p.tp);
  }
}

void recomputation(const Plan& p, Toml& out) {
  out.section("activation_checkpoint");
  const bool half = p.memory.recompute == Recompute::every_k && p.memory.recompute_every == 2;
  if (half) {
    out.add("mode", std::string("selective"));
    return out.add("selective_ac_option", std::string("2"));
  }
  if (p.memory.recompute == Recompute::operations) {
    out.add("mode", std::string("selective"));
    return out.add("selective_ac_option", std::string("op"));
  }
  out.add("mode", std::string(p.memory.recompute == Recompute::full ? "full" : "none"));
  if (p.memory.recompute == Recompute::selective && !p.kernels.fused_attention) {
    out.lacks("recompute selective: its selective modes keep other things");
  }
  if (p.memory.recompute == Recompute::every_k) {
    out.lacks("recompute every_k: only every second layer (recompute_every 2)");
  }
  if (!p.kernels.fused_attention) out.lacks("fused_attention false: attention is always fused");
}

}  // namespace

FrameworkFlags torchtitan_flags(const Transformer& model, const Plan& plan) {
  Toml out;
  training(plan, out);
  out.section("parallelism");
  data(plan, out);
  tensor_context_and_experts(plan, out);
  pipeline(model, plan, out);
  recomputation(plan, out);
  if (!trains_all(plan.trained)) out.lacks(trained_in_script(plan.trained));
  return out.take();
}

}  // namespace stepscope
