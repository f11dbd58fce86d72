// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/deepspeed_config.h"

#include <algorithm>
#include <array>
#include <optional>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/plan/deepspeed_keys.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using namespace deepspeed_keys;

constexpr IntegerRange positive{1, Int{1} << 40};
constexpr IntegerRange any{0, Int{1} << 62};

constexpr std::string_view unknown = "is not understood and may change the cost";
constexpr std::string_view take_out =
    "take it out if it costs nothing, or write a plan file (docs/reference/plans.md)";

bool says_auto(JsonFields& in, std::string_view key) {
  const JsonValue* value = in.find(key);
  return value != nullptr && value->text == "auto";
}

// Where no trainer is known to replace it.
bool is_auto(JsonFields& in, std::string_view key) {
  if (!says_auto(in, key)) return false;
  in.fail(key, "is \"auto\"", "write the value that the trainer puts there");
  return true;
}

Int integer(JsonFields& in, std::string_view key, IntegerRange range, Int otherwise) {
  return is_auto(in, key) ? otherwise : in.integer(key, range, otherwise);
}

std::optional<Int> optional_integer(JsonFields& in, std::string_view key) {
  if (is_auto(in, key)) return std::nullopt;
  return in.optional_integer(key, positive);
}

bool flag(JsonFields& in, std::string_view key, bool otherwise) {
  return is_auto(in, key) ? otherwise : in.flag(key, otherwise);
}

// Requires the only modelled value of a flag.
void must_be(JsonFields& in, std::string_view key, bool value) {
  if (flag(in, key, value) == value) return;
  in.fail(key, value ? "is false, which is not modelled" : "is true, which is not modelled");
}

bool enabled(JsonFields& in, std::string_view key) {
  const JsonValue* part = in.find(key);
  if (part == nullptr) return false;
  JsonFields inner = in.inner(key, *part);
  return flag(inner, "enabled", false);
}

bool enabled_by_trainer(JsonFields& in, std::string_view key) {
  const JsonValue* part = in.find(key);
  if (part == nullptr) return false;
  JsonFields inner = in.inner(key, *part);
  return says_auto(inner, "enabled");
}

class Reading {
 public:
  Reading(JsonFields& in, const DeepSpeedRun& run, const Transformer& model)
      : in_(in), run_(run), model_(model) {}

  DeepSpeedPlan read() {
    read_degrees();
    read_batch();
    read_precision();
    read_optimizer();
    read_zero();
    read_other();
    in_.ignore(costless);
    in_.finish(std::string(unknown), std::string(take_out));
    return std::move(out_);
  }

 private:
  Plan& plan() { return out_.plan; }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  void read_degrees() {
    plan().devices = run_.devices;
    plan().tp = run_.tp;
    plan().pp = run_.pp;
    plan().ep = run_.ep;
    plan().batch.sequence = run_.sequence;
    plan().memory.recompute = run_.recompute;
    if (const JsonValue* part = in_.find("tensor_parallel")) {
      JsonFields inner = in_.inner("tensor_parallel", *part);
      const Int tp = integer(inner, "autotp_size", any, 0);
      plan().overlap.tensor = flag(inner, "tp_overlap_comm", false);
      if (tp > 0 && run_.tp > 1 && tp != run_.tp) {
        inner.fail("autotp_size", "is " + std::to_string(tp) + ", but tp = " +
                                      std::to_string(run_.tp) + " is given with the file");
      }
      if (tp > 0) plan().tp = tp;
    }
    plan().cp = integer(in_, "sequence_parallel_size", positive, 1);
    plan().context_exchange = ContextExchange::all_to_all;
    // No product: each factor is at most 2^40 until check_plan has checked it.
    plan().dp = plan().devices;
    for (const Int degree : {plan().tp, plan().pp, plan().cp}) {
      if (degree < 1 || plan().dp % degree != 0) {
        in_.fail("sequence_parallel_size", "and tp, pp: " + std::to_string(plan().tp) + " * " +
                                               std::to_string(plan().pp) + " * " +
                                               std::to_string(plan().cp) + " do not divide the " +
                                               std::to_string(plan().devices) + " devices");
        plan().dp = 1;
        return;
      }
      plan().dp /= degree;
    }
  }

  // Two of the three determine the third, as in DeepSpeed's _set_batch_related_parameters.
  void read_batch() {
    const Int dp = std::max(plan().dp, Int{1});
    auto batch = batch_part("train_batch_size", run_.global_batch);
    auto micro = batch_part("train_micro_batch_size_per_gpu", run_.micro_batch);
    const auto steps = batch_part("gradient_accumulation_steps", {});
    const bool by_trainer = says_auto(in_, "train_batch_size") ||
                            says_auto(in_, "train_micro_batch_size_per_gpu") ||
                            says_auto(in_, "gradient_accumulation_steps");
    // The Trainer's arguments are the sequences of a pass and the passes of a step.
    if (by_trainer && !micro && !(batch && steps)) {
      micro = 1;
      note(
          "train_micro_batch_size_per_gpu is \"auto\": one sequence a pass is assumed "
          "(micro_batch)");
    }
    if (by_trainer && !batch && !steps)
      note("the batch is \"auto\": one pass a step is assumed (global_batch)");
    if (!batch && !micro) {
      in_.fail("train_batch_size", "and train_micro_batch_size_per_gpu are both missing",
               "give one of them");
      return;
    }
    const Int passes = steps.value_or(batch && micro ? *batch / *micro / dp : 1);
    plan().batch.micro = micro ? *micro : *batch / dp / passes;
    if (!batch && (*micro > positive.most / dp || *micro * dp > positive.most / passes)) {
      in_.fail("train_micro_batch_size_per_gpu", "is too large");
      return;
    }
    plan().batch.global = batch ? *batch : *micro * passes * dp;
    const bool fits = plan().batch.micro > 0 && passes > 0 && plan().batch.global % dp == 0 &&
                      plan().batch.global / dp % plan().batch.micro == 0 &&
                      plan().batch.global / dp / plan().batch.micro == passes;
    if (fits) return;
    in_.fail("train_batch_size",
             "= " + std::to_string(plan().batch.global) +
                 " is not micro batch * accumulation * dp = " + std::to_string(plan().batch.micro) +
                 " * " + std::to_string(passes) + " * " + std::to_string(dp),
             "change one of them; DeepSpeed refuses it, too");
  }

  // A number of the file, or what was given for "auto".
  std::optional<Int> batch_part(std::string_view key, std::optional<Int> given) {
    return says_auto(in_, key) ? given : optional_integer(in_, key);
  }

  std::optional<Dtype> dtype(std::string_view key, JsonFields& in) {
    if (is_auto(in, key)) return std::nullopt;
    const std::string name = in.text(key, "");
    if (name.empty()) return std::nullopt;
    if (name == "fp16") return Dtype::fp16;
    if (name == "bf16" || name == "bfp16") return Dtype::bf16;
    if (name == "fp32") return Dtype::fp32;
    in.fail(key, "is \"" + name + "\"", "fp16, bf16 and fp32 are known");
    return std::nullopt;
  }

  static int bytes_of(Dtype d) { return d == Dtype::fp32 ? 4 : 2; }

  void read_low_precision(std::string_view key, bool& states_16_bit) {
    const JsonValue* part = in_.find(key);
    if (part == nullptr) return;
    JsonFields inner = in_.inner(key, *part);
    if (flag(inner, std::string(key) + "_master_weights_and_grads", false)) {
      plan().precision.master_bytes = 2;
    }
    if (key == "bf16" && flag(inner, "bf16_optimizer_states", false)) states_16_bit = true;
    must_be(inner, "auto_cast", false);
    constexpr std::array<std::string_view, 9> harmless = {
        "enabled",    "immediate_grad_update", "check_grad_overflow",
        "loss_scale", "initial_scale_power",   "loss_scale_window",
        "hysteresis", "min_loss_scale",        "consecutive_hysteresis"};
    inner.ignore(harmless);
    inner.finish(std::string(unknown), std::string(take_out));
  }

  bool says_enabled(std::string_view key) {
    return !enabled_by_trainer(in_, key) && enabled(in_, key);
  }

  void read_precision() {
    bool bf16 = says_enabled("bf16") || says_enabled("bfloat16");
    bool fp16 = says_enabled("fp16");
    const bool may_bf16 = enabled_by_trainer(in_, "bf16") || enabled_by_trainer(in_, "bfloat16");
    const bool may_fp16 = enabled_by_trainer(in_, "fp16");
    if (!bf16 && !fp16 && (may_bf16 || may_fp16)) {
      const Dtype wanted = run_.dtype.value_or(may_bf16 ? Dtype::bf16 : Dtype::fp16);
      bf16 = may_bf16 && wanted == Dtype::bf16;
      fp16 = may_fp16 && wanted == Dtype::fp16;
      if (!run_.dtype)
        note(std::string(bf16 ? "bf16" : "fp16") + ".enabled is \"auto\" and assumed (dtype)");
    }
    if (bf16 && fp16) in_.fail("fp16", "and bf16 are both enabled");
    Precision& p = plan().precision;
    p.matmul = bf16 ? Dtype::bf16 : fp16 ? Dtype::fp16 : Dtype::fp32;
    const int bytes = bytes_of(p.matmul);
    p.parameter_bytes = p.gradient_bytes = p.accumulated_gradient_bytes = p.activation_bytes =
        bytes;
    p.master_bytes = bytes == 4 ? 0 : 4;
    if (bytes == 2) read_low_precision(bf16 ? "bf16" : "fp16", states_16_bit_);
    if (const auto sent = dtype("communication_data_type", in_)) p.gradient_bytes = bytes_of(*sent);
    if (const JsonValue* part = in_.find("data_types")) {
      JsonFields inner = in_.inner("data_types", *part);
      if (const auto kept = dtype("grad_accum_dtype", inner)) {
        p.accumulated_gradient_bytes = bytes_of(*kept);
      }
      constexpr std::array<std::string_view, 2> harmless = {"param_dtype", "buffer_dtype"};
      inner.ignore(harmless);
      inner.finish(std::string(unknown), std::string(take_out));
    }
  }

  void read_optimizer() {
    struct Known {
      std::string_view type;
      int states;
    };
    constexpr std::array known = {Known{"adam", 2},    Known{"adamw", 2},     Known{"fusedadam", 2},
                                  Known{"lamb", 2},    Known{"fusedlamb", 2}, Known{"lion", 1},
                                  Known{"adagrad", 1}, Known{"cpuadam", 2}};
    const int size = states_16_bit_ ? 2 : 4;
    plan().precision.optimizer_state_bytes = 2 * size;
    const JsonValue* part = in_.find("optimizer");
    if (part == nullptr) {
      note("the file names no optimizer: AdamW, two states a parameter, is assumed");
      return;
    }
    JsonFields inner = in_.inner("optimizer", *part);
    const std::string type = inner.text("type");
    std::string low = type;
    for (char& c : low) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const auto it = std::ranges::find(known, std::string_view(low), &Known::type);
    if (it == known.end()) {
      inner.fail("type", "is \"" + type + "\", an optimizer whose states are not known",
                 "use Adam, AdamW, Lamb, Lion or Adagrad");
      return;
    }
    plan().precision.optimizer_state_bytes = it->states * size;
  }

  Residence residence(JsonFields& zero, std::string_view key) {
    const JsonValue* part = zero.find(key);
    if (part == nullptr) return Residence::device;
    constexpr std::array<std::string_view, 3> names = {"none", "cpu", "nvme"};
    JsonFields inner = zero.inner(key, *part);
    const auto where = static_cast<Residence>(inner.choice("device", names, 0));
    if (inner.number("ratio", 0, 1, 1) != 1) {
      inner.fail("ratio", "is not 1, which is not modelled", "offload all or nothing");
    }
    must_be(inner, "super_offload", false);
    constexpr std::array<std::string_view, 9> harmless = {
        "nvme_path",     "buffer_count",   "buffer_size", "max_in_cpu",        "pin_memory",
        "pipeline_read", "pipeline_write", "fast_init",   "cpuadam_cores_perc"};
    inner.ignore(harmless);
    inner.finish(std::string(unknown), std::string(take_out));
    return where;
  }

  void read_zero() {
    const JsonValue* part = in_.find("zero_optimization");
    static const JsonValue nothing{.kind = JsonValue::Kind::object};
    JsonFields zero = in_.inner("zero_optimization", part == nullptr ? nothing : *part);
    plan().zero = static_cast<int>(integer(zero, "stage", {0, 3}, 0));
    if (plan().pp > 1 && plan().zero > 1) {
      zero.fail("stage",
                "is " + std::to_string(plan().zero) + " with pp = " + std::to_string(plan().pp) +
                    ", which DeepSpeed's pipeline engine refuses",
                "take stage 0 or 1");
    }
    read_offload(zero);
    read_overlap(zero);
    const Int mics = mics_size(zero);
    if (mics > 0) plan().shard_group = mics;
    if (const Int hpz = integer(zero, "zero_hpz_partition_size", any, 1); hpz > 1)
      plan().secondary_group = hpz;
    must_be(zero, "zero_quantized_weights", false);
    must_be(zero, "zero_quantized_gradients", false);
    must_be(zero, "stage3_use_all_reduce_for_fetch_params", false);
    must_be(zero, "stage3_allgather_sequential", false);
    must_be(zero, "reduce_scatter", true);
    must_be(zero, "allgather_partitions", true);
    if (zero.find("zenflow") != nullptr) zero.fail("zenflow", "is not modelled");
    if (zero.find("zeropp_loco_param") != nullptr)
      zero.fail("zeropp_loco_param", "is not modelled");
    zero.ignore(zero_costless);
    zero.finish(std::string(unknown), std::string(take_out));
  }

  // -1 means no, like its default.
  static Int mics_size(JsonFields& zero) {
    const JsonValue* value = zero.find("mics_shard_size");
    if (value != nullptr && value->integer == -1) return 0;
    return integer(zero, "mics_shard_size", any, 0);
  }

  void read_offload(JsonFields& zero) {
    plan().memory.optimizer_at = residence(zero, "offload_optimizer");
    plan().memory.parameters_at = residence(zero, "offload_param");
    if (flag(zero, "cpu_offload", false)) plan().memory.optimizer_at = Residence::host;
    if (flag(zero, "cpu_offload_param", false)) plan().memory.parameters_at = Residence::host;
    if (plan().zero == 0 && plan().memory.optimizer_at != Residence::device) {
      zero.fail("offload_optimizer", "needs stage 1, 2 or 3");
    }
    if (plan().zero != 3 && plan().memory.parameters_at != Residence::device) {
      zero.fail("offload_param", "needs stage 3");
    }
    // Gradients go to the place of the optimizer's update: the host, even with states on NVMe.
    if (plan().memory.optimizer_at != Residence::device)
      plan().memory.gradients_at = Residence::host;
  }

  void read_overlap(JsonFields& zero) {
    const bool stage3 = plan().zero == 3;
    plan().overlap.gradient_reduce = flag(zero, "overlap_comm", stage3);
    plan().batch.reduce_each_micro = plan().zero >= 2;
    // The Trainer's values, in elements: hidden^2, and 0.9 of it.
    const Int square = model_.hidden * model_.hidden;
    const Int elements = says_auto(zero, "reduce_bucket_size")
                             ? std::max(square, Int{1})
                             : integer(zero, "reduce_bucket_size", {1, Int{1} << 50}, 500'000'000);
    plan().overlap.bucket =
        Bytes{std::min(elements, Int{1} << 46) * plan().precision.gradient_bytes};
    const Int prefetch = says_auto(zero, "stage3_prefetch_bucket_size")
                             ? square / 10 * 9
                             : integer(zero, "stage3_prefetch_bucket_size", any, 50'000'000);
    const Int layer =
        layer_parameters(model_, model_.layers - 1).total() / std::max(plan().tp, Int{1});
    plan().overlap.parameter_gather = stage3 && prefetch > 0;
    plan().overlap.prefetch = 0;
    if (plan().overlap.parameter_gather) {
      plan().overlap.prefetch =
          std::clamp(prefetch / std::max(layer, Int{1}), Int{1}, model_.layers);
    }
    for (const std::string_view key : {"stage3_max_live_parameters", "stage3_max_reuse_distance"}) {
      if (zero.find(key) == nullptr) continue;
      note(std::string(key) +
           " is not modelled: a layer is gathered for its forward and again "
           "for its backward");
    }
  }

  void read_other() {
    for (const std::string_view key : features) {
      if (enabled(in_, key)) in_.fail(key, "is enabled, which is not modelled");
    }
    for (const std::string_view key : blocks) {
      if (in_.find(key) != nullptr) in_.fail(key, "is not modelled");
    }
    must_be(in_, "sparse_gradients", false);
    must_be(in_, "disable_allgather", false);
    if (const JsonValue* part = in_.find("activation_checkpointing")) {
      JsonFields inner = in_.inner("activation_checkpointing", *part);
      must_be(inner, "partition_activations", false);
      must_be(inner, "cpu_checkpointing", false);
      constexpr std::array<std::string_view, 4> harmless = {
          "contiguous_memory_optimization", "number_checkpoints", "synchronize_checkpoint_boundary",
          "profile"};
      inner.ignore(harmless);
      inner.finish(std::string(unknown), std::string(take_out));
      note(
          "activation_checkpointing configures what the model's code turns on: say recompute "
          "with the file");
    }
    if (const JsonValue* part = in_.find("pipeline")) {
      JsonFields inner = in_.inner("pipeline", *part);
      if (integer(inner, "activation_checkpoint_interval", any, 0) > 0) {
        plan().memory.recompute = Recompute::full;
      }
      constexpr std::array<std::string_view, 5> harmless = {"stages", "partition", "seed_layers",
                                                            "pipe_partitioned", "grad_partitioned"};
      inner.ignore(harmless);
      inner.finish(std::string(unknown), std::string(take_out));
    }
  }

  JsonFields& in_;
  const DeepSpeedRun& run_;
  const Transformer& model_;
  DeepSpeedPlan out_;
  bool states_16_bit_ = false;
};

}  // namespace

Result<DeepSpeedPlan> parse_deepspeed(std::string_view json, std::string_view path,
                                      const DeepSpeedRun& run, const Transformer& model) {
  const Result<JsonValue> root = parse_json(json, path);
  if (!root) return root.error();
  JsonProblems problems(json, path);
  JsonFields in(*root, "", problems, true);
  DeepSpeedPlan plan = Reading(in, run, model).read();
  if (problems.error()) return *problems.error();
  if (const Result<Done> checked = check_plan(model, plan.plan); !checked) {
    Error error = checked.error();
    error.file = path;
    return error;
  }
  return plan;
}

Result<DeepSpeedPlan> read_deepspeed(const std::string& path, const DeepSpeedRun& run,
                                     const Transformer& model) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  return parse_deepspeed(*text, path, run, model);
}

}  // namespace stepscope
