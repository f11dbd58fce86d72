// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/plan/plan_flags.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

class Config {
 public:
  Config(const Transformer& model, const Plan& plan) : model_(model), plan_(plan) {}

  FrameworkFlags take() {
    root_["train_batch_size"] = plan_.batch.global;
    root_["train_micro_batch_size_per_gpu"] = plan_.batch.micro;
    root_["gradient_accumulation_steps"] = micro_batches(plan_);
    precision();
    degrees();
    zero();
    if (plan_.memory.recompute != Recompute::none) {
      lacks("recompute " +
            std::string(recompute_names[static_cast<std::size_t>(plan_.memory.recompute)]) +
            ": the training script wraps what it recomputes in deepspeed.checkpointing.checkpoint");
    }
    if (!trains_all(plan_.trained)) lacks(trained_in_script(plan_.trained));
    out_.text = root_.dump(2) + "\n";
    return std::move(out_);
  }

 private:
  void lacks(std::string what) { out_.not_expressed.push_back(std::move(what)); }

  void precision() {
    const Precision& b = plan_.precision;
    if (b.matmul == Dtype::fp16) root_["fp16"]["enabled"] = true;
    if (b.matmul == Dtype::bf16) root_["bf16"]["enabled"] = true;
    const int plain = b.matmul == Dtype::fp16 || b.matmul == Dtype::bf16 ? 2 : 4;
    if (plain == 4 && b.matmul != Dtype::fp32) {
      lacks("matmul in " + std::string(name(b.matmul)) + ": the model's own code does that");
    }
    if (b.gradient_bytes != plain) {
      root_["communication_data_type"] = b.gradient_bytes == 4 ? "fp32" : "bf16";
    }
    if (b.accumulated_gradient_bytes != plain) {
      root_["data_types"]["grad_accum_dtype"] = b.accumulated_gradient_bytes == 4 ? "fp32" : "bf16";
    }
    if (b.optimizer_state_bytes != 8 || b.master_bytes != (plain == 2 ? 4 : 0)) {
      lacks("optimizer_state_bytes " + std::to_string(b.optimizer_state_bytes) +
            " and master_bytes " + std::to_string(b.master_bytes) +
            ": they follow from the optimizer that the script gives");
    }
  }

  void degrees() {
    if (plan_.tp > 1) root_["tensor_parallel"]["autotp_size"] = plan_.tp;
    if (plan_.tp > 1 && plan_.overlap.tensor) root_["tensor_parallel"]["tp_overlap_comm"] = true;
    if (sequence_parts(plan_) > 1) {
      lacks("sequence_parallel: DeepSpeed's tensor parallel replicates norms and residuals");
    }
    if (plan_.tensor.layout != TensorLayout::one_d) lacks("tensor_layout: matmuls are split in 1d");
    if (plan_.cp > 1 && plan_.context_exchange == ContextExchange::all_to_all) {
      root_["sequence_parallel_size"] = plan_.cp;
    } else if (plan_.cp > 1) {
      lacks("cp with " +
            std::string(context_exchange_names[static_cast<std::size_t>(plan_.context_exchange)]) +
            ": DeepSpeed (Ulysses) exchanges heads, all_to_all");
    }
    if (plan_.pp > 1) {
      lacks("pp = " + std::to_string(plan_.pp) +
            ": the training script builds PipelineModule(num_stages=" + std::to_string(plan_.pp) +
            "), which runs 1f1b");
      if (plan_.pipeline.schedule != Schedule::one_f_one_b) lacks("schedule: only 1f1b");
      if (plan_.zero > 1) lacks("zero " + std::to_string(plan_.zero) + " with pp: refused");
    }
    if (plan_.ep > 1) {
      lacks("ep = " + std::to_string(plan_.ep) +
            ": the model's code gives deepspeed.moe.layer.MoE "
            "ep_size=" +
            std::to_string(plan_.ep));
    }
  }

  void offload(Json& zero, const char* key, Residence where) {
    if (where == Residence::device) return;
    zero[key]["device"] = where == Residence::host ? "cpu" : "nvme";
    if (where == Residence::nvme) lacks(std::string(key) + ": nvme_path is yours to give");
  }

  void zero() {
    Json& zero = root_["zero_optimization"];
    const std::int64_t bytes = plan_.precision.gradient_bytes;
    zero["stage"] = plan_.zero;
    zero["overlap_comm"] = plan_.overlap.gradient_reduce;
    zero["reduce_bucket_size"] = std::max(plan_.overlap.bucket.value / bytes, std::int64_t{1});
    if (plan_.zero == 3) {
      const std::int64_t layer = layer_parameters(model_, model_.layers - 1).total() / plan_.tp;
      zero["stage3_prefetch_bucket_size"] =
          plan_.overlap.parameter_gather ? plan_.overlap.prefetch * layer : 0;
    } else if (plan_.zero > 0 && plan_.overlap.parameter_gather) {
      lacks("overlap_parameter_gather: below ZeRO-3 parameters are gathered after the update");
    }
    if (plan_.shard_group > 0 && plan_.shard_group < plan_.dp * plan_.cp) {
      if (plan_.zero == 3) {
        zero["mics_shard_size"] = plan_.shard_group;
      } else {
        lacks("shard_group: MiCS shards within a group at ZeRO-3 only");
      }
    }
    if (plan_.secondary_group > 0) zero["zero_hpz_partition_size"] = plan_.secondary_group;
    if (plan_.batch.reduce_each_micro != (plan_.zero >= 2) && micro_batches(plan_) > 1) {
      lacks(plan_.zero >= 2 ? "reduce_each_micro_batch false: ZeRO-2 and 3 reduce after each"
                            : "reduce_each_micro_batch: below ZeRO-2 once a step");
    }
    if (plan_.memory.optimizer_at != Residence::device && plan_.zero == 0) {
      lacks("optimizer_at: offload needs ZeRO-1 or more");
    } else {
      offload(zero, "offload_optimizer", plan_.memory.optimizer_at);
    }
    if (plan_.memory.parameters_at != Residence::device && plan_.zero != 3) {
      lacks("parameters_at: offload needs ZeRO-3");
    } else {
      offload(zero, "offload_param", plan_.memory.parameters_at);
    }
  }

  const Transformer& model_;
  const Plan& plan_;
  Json root_;
  FrameworkFlags out_{.framework = "DeepSpeed", .text = {}, .not_expressed = {}};
};

}  // namespace

FrameworkFlags deepspeed_flags(const Transformer& model, const Plan& plan) {
  return Config(model, plan).take();
}

}  // namespace stepscope
