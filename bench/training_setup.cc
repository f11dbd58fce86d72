// SPDX-License-Identifier: Apache-2.0
#include "training_setup.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace stepscope::bench {
namespace {

// Megatron-LM before Megatron-Core, and its DeepSpeed fork: scores in memory, dropout 0.1, one
// reduction after the last backward. Megatron-Core, NeMo: fused kernels, user-buffer overlap,
// gradients reduced in fp32. Megatron-Bridge (its perf_recipes and training/mixed_precision.py):
// gradients summed and reduced in 16 bits, weights held in fp8, Transformer Engine's loss, 16-bit
// states of AdamW for some models. Adapters: NeMo 24.07's tuning configuration has rank 32 at
// queries, keys and values; AutoModel's has rank 8 at all linear layers. torchtitan: its models'
// files set selective recomputation by operation. FSDP: every unit is gathered and reduced
// separately, in fp32 unless the row says pure 16 bits.
constexpr std::int64_t one_call = std::int64_t{1} << 40;
constexpr std::array<FrameworkHabits, 16> habits = {{
    {.word = "torchtitan",
     .torch_buffers = true,
     .memory_in_gib = true,
     .fused_pointwise = false,
     .sequence_parallel = true,
     .zero = 3,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .recompute = Recompute::operations,
     .whole_in_pipeline = true,
     .micro_batch_default = 1},
    {.word = "llm-foundry",
     .fused_pointwise = false,
     .fused_loss = true,
     .zero = 3,
     .gradient_bytes = 4,
     .accumulated_bytes = 4},
    {.word = "automodel",
     .vendor_attention = true,
     .zero = 3,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .lora_rank = 8},
    {.word = "meta",
     .vendor_attention = true,
     .fused_loss = true,
     .sequence_parallel = true,
     .zero = 3,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .whole_in_pipeline = true,
     .interleaves = true},
    {.word = "fsdp", .fused_pointwise = false, .zero = 3, .whole_in_pipeline = true},
    {.word = "internevo", .fused_pointwise = false, .zero = 1},
    {.word = "megatron-bridge",
     .vendor_attention = true,
     .fused_loss = true,
     .loss_in_place = true,
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .overlap_tensor = true,
     .zero = 1,
     .gradient_bytes = 2,
     .accumulated_bytes = 2,
     .half_moments = {"moonlight", "deepseek"},
     .narrow_parameters = true,
     .megatron_buckets = true,
     .forwards_tokens = true,
     .whole_experts = true,
     .grouped_experts = false,
     .predicts_as_checkpoint = true},
    // primus/configs/modules/megatron/trainer_base.yaml and models/megatron/deepseek_v4_base.yaml
    // at fd1eeabb.
    {.word = "primus",
     .vendor_attention = true,
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .overlap_data = false,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .megatron_buckets = true,
     .format = Dtype::bf16},
    {.word = "nemo",
     .vendor_attention = true,
     .fused_loss = true,
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .overlap_tensor = true,
     .zero = 1,
     .accumulated_bytes = 4,
     .megatron_buckets = true,
     .grouped_experts = false,
     .lora_rank = 32,
     .lora_on_qkv = true},
    {.word = "megatron-core",
     .vendor_attention = true,
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .overlap_tensor = true,
     .zero = 1,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .megatron_buckets = true,
     .grouped_experts = false},
    {.word = "megatron-deepspeed",
     .flash = false,
     .dropout = 0.1,
     .overlap_data = false,
     .bucket_bytes = one_call},
    {.word = "megascale",
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .overlap_tensor = true,
     .zero = 1},
    {.word = "megatron",
     .flash = false,
     .dropout = 0.1,
     .overlap_data = false,
     .bucket_bytes = one_call},
    // The stage 3 of 2021 (deepspeed/runtime/zero/partition_parameters.py) waits for the device
    // before each gather of one weight.
    {.word = "deepspeed", .flash = false, .dropout = 0.1, .gather_singly = true},
    {.word = "maxtext",
     .fused_loss = true,
     .zero = 3,
     .accumulated_bytes = 4,
     .batch_of_a_device = true,
     .compiles_step = true},
    // Any other framework: the defaults of today's frameworks.
    {.word = "",
     .vendor_attention = true,
     .fused_loss = true,
     .fused_gradient_sum = true,
     .sequence_parallel = true,
     .zero = 1,
     .gradient_bytes = 4,
     .accumulated_bytes = 4,
     .megatron_buckets = true,
     .whole_in_pipeline = true,
     .interleaves = true,
     .forwards_tokens = true,
     .whole_experts = true,
     .grouped_experts = false},
}};

struct GpuWord {
  std::string_view word;  // at the start of the GPU's name; more specific ones first
  std::string_view machine;
};
constexpr std::array<GpuWord, 26> gpu_words = {{
    {"gb300", "GB300 (per GPU, NVL72)"},
    {"gb200", "GB200 (per GPU, NVL72)"},
    {"b300", "B300 SXM"},
    {"b200", "B200 SXM (HGX/DGX)"},
    {"h200", "H200 SXM"},
    {"h100-96", "H100-96GB SXM HBM2e (Meta Grand Teton)"},
    {"h100-pcie", "H100-80GB PCIe"},
    {"h100", "H100-80GB SXM"},
    {"a100-40gb-pcie", ""},
    {"a100-pcie", "A100-80GB PCIe"},
    {"a100-80gb-pcie", "A100-80GB PCIe"},
    {"a100-40", "A100-40GB SXM"},
    {"a100", "A100-80GB SXM"},
    {"v100-16", "V100-16GB SXM2"},
    {"v100", "V100-32GB SXM2"},
    {"mi355x", "MI355X"},
    {"mi350x", "MI350X"},
    {"mi210", "MI210"},
    {"mi325x", "MI325X"},
    {"mi300x", "MI300X"},
    {"mi250x", "MI250X (one GCD of two)"},
    {"tpu v7", "TPU v7x (Ironwood)"},
    {"tpu v6e", "TPU v6e (Trillium)"},
    {"tpu v5p", "TPU v5p"},
    {"tpu v5e", "TPU v5e"},
    {"tpu v4", "TPU v4"},
}};

// Ports by their usual name, in gigabits per second.
struct PortWord {
  std::string_view word;
  double gigabits;
};
constexpr std::array<PortWord, 5> port_words = {
    {{"ndr", 400}, {"hdr", 200}, {"edr", 100}, {"omnipath", 100}, {"omni-path", 100}}};

struct Number {
  double value = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::optional<Number> number_from(std::string_view text, std::size_t from) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (from < text.size() && !digit(text[from])) ++from;
  if (from == text.size()) return std::nullopt;
  Number n{.begin = from};
  const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), n.value);
  if (error != std::errc{}) return std::nullopt;
  n.end = static_cast<std::size_t>(end - text.data());
  return n;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

bool begins(std::string_view text, std::string_view word) {
  return trimmed(text).starts_with(word);
}

bool is_gigabits(std::string_view rest) {
  return begins(rest, "gb") && !begins(rest, "gb/s per dir") && !begins(rest, "gb with");
}

// "4x100 Gb", "8 x 200 Gbps", "1600 Gbps": bytes per second of all ports together.
std::optional<double> rate_in(std::string_view text, double* per_what) {
  for (auto n = number_from(text, 0); n; n = number_from(text, n->end)) {
    double ports = 1;
    Number rate = *n;
    if (begins(text.substr(n->end), "x")) {
      const auto second = number_from(text, n->end);
      if (!second) continue;
      ports = n->value;
      rate = *second;
    }
    const std::string_view rest = text.substr(rate.end);
    const bool bits = begins(rest, "gbps") || begins(rest, "gb/s") || begins(rest, "gbit") ||
                      (is_gigabits(rest) && ports > 1);
    if (!bits || rate.value <= 0 || rate.value > 1e5) continue;
    *per_what = static_cast<double>(rate.end);
    return ports * rate.value * 1e9 / 8;
  }
  return std::nullopt;
}

// "4 OmniPath links", "8x HDR".
std::optional<double> named_ports(std::string_view text) {
  for (const PortWord& port : port_words) {
    const std::size_t at = text.find(port.word);
    if (at == text.npos) continue;
    double count = 0;
    for (auto n = number_from(text, 0); n && n->end <= at; n = number_from(text, n->end)) {
      count = n->value;
    }
    if (count >= 1 && count <= 64) return count * port.gigabits * 1e9 / 8;
  }
  return std::nullopt;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return out;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

const FrameworkHabits& framework_habits(std::string_view framework) {
  const std::string name = lower_case(framework);
  return *std::ranges::find_if(habits, [&](const FrameworkHabits& h) { return has(name, h.word); });
}

std::string_view machine_name(std::string_view gpu, std::string_view interconnect) {
  const std::string name = lower_case(gpu);
  const std::string links = lower_case(interconnect);
  if (has(name, "perlmutter") || has(links, "perlmutter")) {
    return "A100-40GB SXM, 4 in a mesh (Perlmutter)";
  }
  if (has(name, "a100-80") && has(links, "omnipath")) {
    return "A100-80GB SXM, NVLink 4 in the node, OmniPath (Jean Zay)";
  }
  const auto* at = std::ranges::find_if(
      gpu_words, [&](const GpuWord& w) { return std::string_view(name).starts_with(w.word); });
  return at == gpu_words.end() ? std::string_view{} : at->machine;
}

std::optional<double> stated_network(std::string_view interconnect, double devices_per_node) {
  const std::string text = lower_case(interconnect);
  double end = 0;
  if (const auto rate = rate_in(text, &end)) {
    const std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(end));
    const bool each = has(rest, "per gpu") || has(rest, "/gpu");
    return each ? *rate : *rate / devices_per_node;
  }
  if (const auto rate = named_ports(text)) return *rate / devices_per_node;
  return std::nullopt;
}

std::optional<Dtype> stated_format(std::string_view precision) {
  const std::string text = lower_case(precision);
  constexpr std::array<std::pair<std::string_view, Dtype>, 6> words = {{{"fp4", Dtype::fp4},
                                                                        {"fp8", Dtype::fp8},
                                                                        {"bf16", Dtype::bf16},
                                                                        {"fp16", Dtype::fp16},
                                                                        {"tf32", Dtype::tf32},
                                                                        {"fp32", Dtype::fp32}}};
  for (const auto& [word, format] : words) {
    if (has(text, word)) return format;
  }
  return std::nullopt;
}

Sharding stated_sharding(std::string_view zero_or_fsdp, std::int64_t devices_per_node) {
  const std::string text = lower_case(zero_or_fsdp);
  Sharding s;
  for (int stage = 0; stage <= 3; ++stage) {
    if (has(text, "zero-" + std::to_string(stage)) || has(text, "zero" + std::to_string(stage))) {
      s.zero = stage;
    }
  }
  if (has(text, "shard_grad_op")) s.zero = 2;
  if (has(text, "full_shard") || has(text, "fsdp2")) s.zero = 3;
  if (has(text, "dist.optimizer") || has(text, "distributed optimizer")) s.zero = 1;
  if (has(text, "no_shard") || text == "ddp") s.zero = 0;
  if (text == "fsdp" || has(text, "pytorch fsdp")) s.zero = 3;
  if (has(text, "hsdp")) {
    s.zero = 3;
    s.group = devices_per_node;
  }
  if (const std::size_t at = text.find("groups of"); at != text.npos) {
    if (const auto n = number_from(text, at)) s.group = static_cast<std::int64_t>(n->value);
  }
  // "FSDP=64": over 64 ranks. "FSDP=0": the framework's default without FSDP.
  if (const std::size_t at = text.find("fsdp="); at != text.npos && !has(text, "ici_fsdp")) {
    const auto n = number_from(text, at);
    if (n && n->value > 0) s.zero = 3;
    if (n && n->value > 1) s.group = static_cast<std::int64_t>(n->value);
  }
  return s;
}

}  // namespace stepscope::bench
