// SPDX-License-Identifier: Apache-2.0
#include "training_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "stepscope/cost/model/model_flops.h"
#include "training_notes.h"
#include "training_recipes.h"
#include "training_setup.h"

namespace stepscope::bench {
namespace {

using Int = std::int64_t;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// One row by column names. Invalid and non-positive numbers read as absent.
class Fields {
 public:
  Fields(const CsvTable& table, std::size_t row) : table_(table), row_(table.rows[row]) {}

  [[nodiscard]] std::string_view text(std::string_view name) const {
    const auto at = std::ranges::find(table_.columns, name);
    if (at == table_.columns.end()) return {};
    return row_[static_cast<std::size_t>(at - table_.columns.begin())];
  }
  [[nodiscard]] std::optional<double> positive(std::string_view name) const {
    const auto value = number(text(name));
    return value && *value > 0 ? value : std::nullopt;
  }
  [[nodiscard]] std::optional<Int> count(std::string_view name) const {
    const auto value = positive(name);
    if (!value || *value > 1e15 || *value != std::floor(*value)) return std::nullopt;
    return static_cast<Int>(*value);
  }

 private:
  const CsvTable& table_;
  const std::vector<std::string>& row_;
};

// A row during its conversion to a model and a plan. `reason` says why the conversion is
// impossible.
struct Draft {
  TrainingRow row;
  const FrameworkHabits* habits = nullptr;
  Int devices_per_node = 8;
  StatedSettings settings;
  const MaxTextModel* maxtext = nullptr;  // of the script behind a row without sizes
  std::string reason;

  bool fail(std::string why) {
    if (reason.empty()) reason = std::move(why);
    return false;
  }
};

struct Family {
  std::string_view word;
  bool llama = false;  // rotary, RMS norm, no biases, gated, its own head
  bool biases = true;  // of the others
};
constexpr std::array<Family, 12> families = {{{"gpt"},
                                              {"bloom"},
                                              {"mpt", false, false},
                                              {"nemotron", false, false},
                                              {"llama", true},
                                              {"mistral", true},
                                              {"mixtral", true},
                                              {"qwen", true},
                                              {"gemma", true},
                                              {"internlm", true},
                                              {"bert"},
                                              {"moe", true}}};

bool read_experts(const Fields& f, Draft& d) {
  const auto experts = f.count("moe_experts");
  if (!experts || *experts < 2) return true;
  const auto top_k = f.count("moe_topk");
  if (!top_k) return d.fail("experts a token uses are not published");
  Transformer& m = d.row.model;
  m.experts = Experts{.count = *experts, .top_k = *top_k, .feed_forward = m.feed_forward};
  return true;
}

void apply_family(const Family& family, Transformer& m) {
  m.max_positions = 0;
  if (family.llama) {
    m.gated = true;
    m.activation = Activation::silu;
    m.norm = Norm::rms_norm;
    m.positions = Positions::rotary;
  }
  if (family.llama || !family.biases) {
    m.norm_bias = m.qkv_bias = m.attention_output_bias = m.feed_forward_bias = false;
  }
  m.tied_embeddings = !family.llama;
  m.causal = family.word != "bert";
}

// A gated feed-forward of two thirds of 4 h, rounded up to 256 like Llama's.
Int usual_feed_forward(const Transformer& m) {
  if (!m.gated) return 4 * m.hidden;
  return (8 * m.hidden / 3 + 255) / 256 * 256;
}

// A model of the catalogue, with the row's vocabulary.
void take_architecture(const Fields& f, const Transformer& known, Draft& d) {
  Transformer& m = d.row.model;
  m = known;
  m.name = f.text("model");
  if (const auto rows = f.count("vocab")) m.vocabulary = *rows;
  m.dropout = m.latent || m.experts ? 0 : d.habits->dropout;
  if (m.experts && d.settings.drops_tokens) m.experts->capacity_factor = 1.0;
  const bool predicts = d.settings.predicts || (m.compressed && d.habits->predicts_as_checkpoint);
  // DeepSeek-V4's module attends to the window alone.
  if (predicts && !m.prediction)
    m.prediction = TokenPrediction{.modules = 1, .layers = m.compressed ? "W" : ""};
}

// MaxText's decoder is Llama's.
bool read_maxtext_model(const Fields& f, const MaxTextModel& known, Draft& d) {
  constexpr Int base_vocabulary = 32000;
  constexpr Int base_sequence = 2048;
  constexpr Int base_head_size = 128;
  Transformer& m = d.row.model;
  m.name = f.text("model");
  m.layers = known.layers;
  m.hidden = known.hidden;
  apply_family({"llama", true}, m);
  m.heads = m.kv_heads = known.heads;
  m.head_size = base_head_size;
  m.feed_forward = known.feed_forward;
  m.vocabulary = base_vocabulary;
  d.row.plan.batch.sequence = base_sequence;
  return known.offloads ? d.fail("offload: what of it, and over which link, is not published")
                        : true;
}

bool read_model(const Fields& f, Draft& d) {
  if (d.maxtext != nullptr) return read_maxtext_model(f, *d.maxtext, d);
  const auto layers = f.count("layers");
  const auto hidden = f.count("hidden");
  const auto sequence = f.count("seq_len");
  if (has(lower_case(f.text("model")), "lora")) {
    d.row.plan.trained.lora_rank = d.habits->lora_rank;
    if (d.habits->lora_on_qkv) d.row.plan.trained.lora_targets.add(LoraTarget::linear_qkv);
  }
  const Transformer* known =
      published_architecture(f.text("model"), layers.value_or(0), hidden.value_or(0));
  const auto cut = cut_architecture(lower_case(f.text("model")), layers.value_or(0),
                                    hidden.value_or(0), lower_case(f.text("notes")));
  if (known == nullptr && cut) known = &*cut;
  if (known != nullptr) {
    if (!sequence) return d.fail("sequence length is not published");
    d.row.plan.batch.sequence = *sequence;
    take_architecture(f, *known, d);
    return true;
  }
  if (!layers || !hidden) return d.fail("sizes of the model are not published");
  if (!sequence) return d.fail("sequence length is not published");
  const std::string family = lower_case(f.text("family"));
  const auto* kind =
      std::ranges::find_if(families, [&](const Family& k) { return has(family, k.word); });
  if (kind == families.end()) {
    return d.fail(family.empty() ? "family of the model is not published"
                                 : "family \"" + family + "\" is not mapped");
  }
  Transformer& m = d.row.model;
  m.name = f.text("model");
  m.layers = *layers;
  m.hidden = *hidden;
  apply_family(*kind, m);
  // Heads have the usual size of 128 if their number is not published.
  m.heads = f.count("heads").value_or(std::max<Int>(1, m.hidden / 128));
  m.kv_heads = f.count("kv_heads").value_or(m.heads);
  if (m.hidden % m.heads != 0) return d.fail("heads do not divide the hidden size");
  m.head_size = m.hidden / m.heads;
  m.feed_forward = f.count("ffn").value_or(usual_feed_forward(m));
  constexpr Int gpt2_vocabulary = 51200;  // as Megatron pads it
  m.vocabulary = f.count("vocab").value_or(gpt2_vocabulary);
  if (m.positions == Positions::learned) m.max_positions = *sequence;
  m.dropout = d.habits->dropout;
  d.row.plan.batch.sequence = *sequence;
  return read_experts(f, d);
}

bool read_recompute(const Fields& f, Draft& d) {
  const std::string text = lower_case(f.text("recompute"));
  Plan& p = d.row.plan;
  if (d.maxtext != nullptr) p.memory.recompute = d.maxtext->recompute;
  const std::string notes = lower_case(f.text("notes"));
  d.row.recompute_in_doubt = has(notes, "use_checkpoint") && has(notes, "shipped config");
  if (text.empty() && d.maxtext == nullptr) p.memory.recompute = d.habits->recompute;
  if (text.empty() || text == "none" || has(text, "none")) return true;
  if (text.starts_with("full")) {
    p.memory.recompute = Recompute::full;
  } else if (has(text, "selective (op") || has(text, "selective (per op")) {
    p.memory.recompute = Recompute::operations;
  } else if (const auto modules = stated_modules(text)) {
    p.memory.recompute_modules = *modules;
  } else if (has(text, "selective")) {
    p.memory.recompute = Recompute::selective;
  } else {
    return d.fail("recomputation \"" + text + "\" is not modelled");
  }
  return true;
}

// Transformer Engine holds a weight in fp8 with one scale once, on Hopper also transposed, because
// its products need that; with MXFP8's scales of 32 elements by rows and by columns.
bool narrow_parameters(const Draft& d, Dtype format, std::string_view precision,
                       std::string_view gpu) {
  if (format != Dtype::fp8 || has(precision, "mx") || has(gpu, "h100") || has(gpu, "h200"))
    return false;
  return d.settings.narrow_parameters || d.habits->narrow_parameters;
}

void read_precision(Dtype format, const Fields& f, Draft& d) {
  Precision& p = d.row.plan.precision;
  const std::string text = lower_case(f.text("precision"));
  p.matmul = format;
  p.gradient_bytes = d.habits->gradient_bytes;
  p.accumulated_gradient_bytes = d.habits->accumulated_bytes;
  if (d.settings.half_gradients)
    p.gradient_bytes = p.accumulated_gradient_bytes = *d.settings.half_gradients ? 2 : 4;
  const std::string model = lower_case(f.text("model"));
  const bool usual = std::ranges::any_of(d.habits->half_moments, [&](std::string_view word) {
    return !word.empty() && has(model, word);
  });
  if (d.settings.half_moments.value_or(usual)) p.optimizer_state_bytes = 4;
  if (narrow_parameters(d, format, text, lower_case(f.text("gpu")))) p.parameter_bytes = 1;
  if (format == Dtype::fp32 || format == Dtype::tf32) {
    p = {.matmul = format,
         .parameter_bytes = 4,
         .gradient_bytes = 4,
         .accumulated_gradient_bytes = 4,
         .master_bytes = 0,
         .activation_bytes = 4};
  }
  if (has(text, "pure")) p.gradient_bytes = p.accumulated_gradient_bytes = 2;
  if (has(text, "fp32 grad")) p.gradient_bytes = p.accumulated_gradient_bytes = 4;
}

void apply_habits(const Fields& f, Draft& d) {
  Plan& p = d.row.plan;
  const FrameworkHabits& h = *d.habits;
  const std::string notes = lower_case(f.text("notes")) + ' ' + lower_case(f.text("framework"));
  p.kernels.fused_attention = h.flash || has(notes, "flash attention");
  p.kernels.compiled = has(notes, "compile");
  p.kernels.vendor_attention = h.vendor_attention;
  p.memory.torch_buffers = h.torch_buffers;
  p.kernels.fused_pointwise = h.fused_pointwise || p.kernels.compiled;
  p.kernels.fused_loss = h.fused_loss || p.kernels.compiled;
  p.kernels.grouped_experts = h.grouped_experts || d.settings.grouped_experts;
  p.kernels.loss_in_place = h.loss_in_place;
  p.kernels.fused_gradient_sum = h.fused_gradient_sum;
  p.overlap.gradient_reduce = d.settings.overlap_gradients.value_or(h.overlap_data);
  p.overlap.parameter_gather = d.settings.overlap_parameters.value_or(h.overlap_data);
  p.overlap.tensor =
      p.tp > 1 && (d.settings.overlap_tensor.value_or(h.overlap_tensor) || has(notes, "asynctp"));
  const std::string sp = lower_case(f.text("sp"));
  const bool stated = sp == "true" || sp == "1" || sp == "1.0" || sp == "yes" || sp == "sp";
  p.tensor.sequence_parallel =
      p.tp > 1 && (stated || (sp.empty() && h.sequence_parallel) || whole_experts(p));
  const ExpertDispatch usual =
      h.forwards_tokens ? ExpertDispatch::forwarded : ExpertDispatch::all_to_all;
  if (d.row.model.experts) p.experts.dispatch = d.settings.dispatch.value_or(usual);
  p.kernels.narrow_attention = d.settings.narrow_attention;
  p.kernels.narrow_head = d.settings.narrow_head;
  p.kernels.fp8_rowwise =
      p.precision.matmul == Dtype::fp8 && has(lower_case(f.text("precision")), "rowwise");
  p.kernels.cuda_graphs =
      d.settings.cuda_graphs.value_or(h.compiles_step ? CudaGraphs::step : CudaGraphs::none);
  const auto recipe = recipe_settings({lower_case(f.text("framework")), lower_case(f.text("model")),
                                       lower_case(f.text("gpu")), lower_case(f.text("precision"))},
                                      p);
  if (recipe && !d.settings.cuda_graphs) p.kernels.cuda_graphs = recipe->cuda_graphs;
  // Megatron-Bridge's recipes with a graph of the step multiply experts by Transformer Engine's op
  // fuser (src/megatron/bridge/perf_recipes/{deepseek,gpt_oss,qwen}/common.py at v0.6.0).
  const bool fuses = d.settings.grouped_experts || (recipe && recipe->grouped_experts) ||
                     (has(lower_case(f.text("framework")), "megatron-bridge") &&
                      p.kernels.cuda_graphs == CudaGraphs::step);
  if (d.row.model.experts && below_16_bits(p.precision.matmul) && fuses)
    p.kernels.grouped_experts = p.kernels.fused_experts = true;
  if (recipe && f.text("recompute").empty()) p.memory.recompute_modules = recipe->recompute;
  p.overlap.experts = d.settings.overlap_expert.value_or(false) && p.ep > 1;
  // The vocabulary is published as it ran. It is padded further only if it must be divided.
  if (p.tp == 1) p.kernels.vocabulary_multiple = 1;
  if (h.bucket_bytes > 0) p.overlap.bucket = Bytes{h.bucket_bytes};
  if (h.megatron_buckets) {
    // Megatron-Core: elements of a bucket, unless given.
    const Int elements =
        d.settings.bucket.value_or(std::max<Int>(40'000'000, 1'000'000 * p.dp * p.cp));
    p.overlap.bucket = Bytes{elements * p.precision.gradient_bytes};
  }
  const Sharding sharding = stated_sharding(f.text("zero_or_fsdp"), d.devices_per_node);
  p.zero = sharding.zero.value_or(h.zero);
  p.overlap.gather_singly = h.gather_singly;
  if (p.zero >= 2 && p.pp > 1 && h.whole_in_pipeline) p.zero = 1;
  const Int ranks = p.dp * p.cp;
  if (p.zero > 0 && sharding.group > 0 && sharding.group < ranks) p.shard_group = sharding.group;
}

bool read_degrees(const Fields& f, Draft& d) {
  Plan& p = d.row.plan;
  const auto devices = f.count("n_gpus");
  if (!devices) return d.fail("number of devices is not published");
  p.devices = *devices;
  p.tp = f.count("tp").value_or(d.maxtext != nullptr ? d.maxtext->tp : 1);
  p.pp = f.count("pp").value_or(1);
  p.cp = f.count("cp").value_or(1);
  p.ep = f.count("ep").value_or(1);
  const Int model_ranks = p.tp * p.pp * p.cp;
  if (model_ranks <= 0 || model_ranks > p.devices || p.devices % model_ranks != 0) {
    return d.fail("degrees do not multiply to the devices");
  }
  p.dp = f.count("dp").value_or(p.devices / model_ranks);
  // MaxText's sharding of -1 takes all remaining devices.
  if (p.dp * model_ranks != p.devices) return d.fail("degrees do not multiply to the devices");
  if (!d.row.model.experts) p.ep = 1;
  const bool whole = d.settings.expert_tp ? *d.settings.expert_tp == 1 : d.habits->whole_experts;
  if (d.row.model.experts && p.tp > 1 && whole) p.experts.tp = 1;
  const Int chunks = f.count("vpp").value_or(1);
  if (p.pp > 1 && chunks > 1) {
    p.pipeline.virtual_stages = chunks;
    p.pipeline.schedule = Schedule::interleaved;
  }
  return true;
}

bool read_batch(const Fields& f, Draft& d) {
  Plan& p = d.row.plan;
  auto micro = f.count("micro_batch");
  const auto accumulation = f.count("grad_accum");
  auto global = f.count("global_batch");
  if (d.habits->batch_of_a_device && !accumulation && !global) {
    // per_device_batch_size: tp chips share the sequences of each.
    const auto each = d.maxtext != nullptr ? std::optional(d.maxtext->sequences) : micro;
    if (each) global = *each * p.devices;
    if (each) micro = *each * p.tp * p.cp;
  }
  if (micro && accumulation && !global) global = *micro * *accumulation * p.dp;
  if (!global) return d.fail("batch is not published");
  p.batch.global = *global;
  if (micro) {
    p.batch.micro = *micro;
  } else if (p.pp > 1 && d.habits->micro_batch_default) {
    p.batch.micro = *d.habits->micro_batch_default;
  } else if (accumulation && p.batch.global % (*accumulation * p.dp) == 0) {
    p.batch.micro = p.batch.global / (*accumulation * p.dp);
  } else {
    d.row.searches_micro_batch = true;
  }
  return true;
}

// The largest number that divides layers and micro-batches: it has the smallest bubble.
void interleave(const Fields& f, Draft& d) {
  Plan& p = d.row.plan;
  const bool open = d.habits->interleaves && !f.count("vpp") && !d.row.searches_micro_batch;
  if (!open || p.pp < 2 || micro_batches(p) % p.pp != 0) return;
  const Int layers = d.row.model.layers;
  for (Int chunks = layers / p.pp + 1; chunks > 1; --chunks) {
    const Int stages = p.pp * chunks;
    if (layers % stages != 0 && (layers + 2) % stages != 0) continue;
    p.pipeline.virtual_stages = chunks;
    p.pipeline.schedule = Schedule::interleaved;
    return;
  }
}

// Embedding and loss count as one layer each if that divides evenly; otherwise the end stages have
// fewer layers.
void split_stages(Draft& d) {
  Plan& p = d.row.plan;
  const Int stages = p.pp * p.pipeline.virtual_stages;
  const Int layers = d.row.model.layers;
  if (layers % stages == 0) return;
  if ((layers + 2) % stages == 0 && stages > 1) {
    p.pipeline.stage_layers.assign(static_cast<std::size_t>(stages), (layers + 2) / stages);
    --p.pipeline.stage_layers.front();
    --p.pipeline.stage_layers.back();
    return;
  }
  if (stages <= layers) p.pipeline.stage_layers = even_stages(layers, stages);
}

// FLOPs of a step as the row's own rate counts them.
double counted_flops(const Fields& f, const TrainingRow& row, bool row_counts_all_pairs) {
  const std::string convention = lower_case(f.text("flops_convention"));
  const Int tokens = row.plan.batch.global * row.plan.batch.sequence;
  const auto in = [&](FlopsConvention c) {
    return model_flops(row.model, tokens, row.plan.batch.sequence, c).per_step.value;
  };
  const bool recomputes = row.plan.memory.recompute == Recompute::full;
  if (has(convention, "sc21")) {
    const auto h = static_cast<double>(row.model.hidden);
    const auto l = static_cast<double>(row.model.layers);
    const auto s = static_cast<double>(row.plan.batch.sequence);
    const auto v = static_cast<double>(row.model.vocabulary);
    const double passes = recomputes && has(convention, "incl") ? 96 : 72;
    return passes * static_cast<double>(tokens) * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  }
  const double again = has(convention, "hfu") && recomputes ? 4.0 / 3 : 1;
  const bool whole = has(convention, "not causal-halved") || row_counts_all_pairs;
  if (has(convention, "6n") || has(convention, "palm") || whole)
    return again * in(FlopsConvention::palm);
  return in(FlopsConvention::causal_halved);
}

std::optional<double> measured_step(const Fields& f, const Draft& d, double peak) {
  const TrainingRow& row = d.row;
  if (const auto step = f.positive("step_time_s")) return step;
  const auto sequences = static_cast<double>(row.plan.batch.global);
  const double tokens = sequences * static_cast<double>(row.plan.batch.sequence);
  const auto devices = static_cast<double>(row.plan.devices);
  if (const auto rate = f.positive("tokens_per_s_per_gpu")) return tokens / (*rate * devices);
  if (const auto rate = f.positive("samples_per_s")) return sequences / *rate;
  const double flops = counted_flops(f, row, d.maxtext != nullptr);
  for (const std::string_view name : {"model_tflops_per_gpu", "hw_tflops_per_gpu"}) {
    if (const auto rate = f.positive(name)) return flops / (*rate * 1e12 * devices);
  }
  const auto share = f.positive("mfu_pct");
  if (share && *share < 100) {
    const double tera = f.positive("peak_tflops_used").value_or(peak * 1e-12);
    return flops / (*share / 100 * tera * 1e12 * devices);
  }
  return std::nullopt;
}

// A part of a chip without a stated peak uses the chip's peak. The fitted share then includes its
// lower clocks.
void borrow_peaks(Machine& machine) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> chips = {
      {{"H100-96GB SXM HBM2e (Meta Grand Teton)", "H100-80GB SXM"},
       {"GH200 96GB", "H100-80GB SXM"}}};
  const auto* at =
      std::ranges::find(chips, machine.name, &std::pair<std::string_view, std::string_view>::first);
  const Machine* chip = at == chips.end() ? nullptr : find_machine(at->second);
  if (chip == nullptr) return;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (!machine.peak_rates[i]) machine.peak_rates[i] = chip->peak_rates[i];
  }
}

bool read_system(const Fields& f, Draft& d, TrainingRows& into) {
  const std::string_view name = machine_name(f.text("gpu"), f.text("interconnect"));
  const Machine* machine = name.empty() ? nullptr : find_machine(name);
  if (machine == nullptr) return d.fail("no machine for \"" + std::string(f.text("gpu")) + '"');
  d.devices_per_node = f.count("gpus_per_node").value_or(8);
  TrainingSystem system{machine, *machine, {}};
  borrow_peaks(system.machine);
  const auto rate = stated_network(f.text("interconnect"), static_cast<double>(d.devices_per_node));
  if (rate) {
    if (!system.machine.scale_out) system.machine.scale_out.emplace();
    system.machine.scale_out->per_direction = ByteRate{*rate};
  }
  NetworkOptions options;
  const auto& up = machine->scale_up;
  constexpr int largest_server = 16;  // beyond, domains join servers
  if (up && up->domain.value_or(0) <= largest_server && f.count("gpus_per_node")) {
    const Int domain =
        up->domain ? std::min<Int>(*up->domain, d.devices_per_node) : d.devices_per_node;
    options.domain = static_cast<int>(domain);
  }
  if (const auto chips = slice_chips(lower_case(f.text("interconnect")))) {
    options.domain = static_cast<int>(*chips);
    d.devices_per_node = *chips;
    if (*chips < d.row.plan.devices) d.row.plan.shard_group = *chips / d.row.plan.tp;
  }
  const Result<Network> network = make_network(system.machine, options);
  if (!network) return d.fail(network.error().what);
  system.network = *network;
  d.row.several_nodes = d.row.plan.devices > d.devices_per_node;
  const auto same = [&](const TrainingSystem& s) {
    return s.catalogue == machine && s.network.domain == system.network.domain &&
           s.network.out.value_or(ByteRate{}).value ==
               system.network.out.value_or(ByteRate{}).value;
  };
  const auto at = std::ranges::find_if(into.systems, same);
  d.row.system = static_cast<std::size_t>(at - into.systems.begin());
  if (at == into.systems.end()) into.systems.push_back(std::move(system));
  return true;
}

bool published_twice_or_in_doubt(const Fields& f, Draft& d) {
  const std::string notes = lower_case(f.text("notes"));
  const std::string unknowns = lower_case(f.text("unknowns"));
  if (has(notes, "duplicate of")) return d.fail("another row repeats it");
  if (has(unknowns, "warning") || has(notes, "warning")) {
    return d.fail("the source contradicts itself (its warning)");
  }
  if (has(unknowns, "too close to oom") || has(notes, "too close to oom")) {
    return d.fail("memory nearly full, by its own note");
  }
  const std::string offload = lower_case(f.text("offload"));
  if ((!offload.empty() && offload != "none" && offload != "0" && offload != "no") ||
      has(lower_case(f.text("zero_or_fsdp")), "offload")) {
    return d.fail("offload: what of it, and over which link, is not published");
  }
  return true;
}

// MXFP8 and FP8 with one scale per tensor are two formats with the same peak.
void name_groups(const Fields& f, Draft& d) {
  TrainingRow& row = d.row;
  const Plan& p = row.plan;
  const auto text = [](Int n) { return std::to_string(n) + '/'; };
  const Transformer& m = row.model;
  const std::string sizes = text(m.hidden) + text(m.feed_forward) + text(p.batch.sequence) +
                            text(static_cast<Int>(p.precision.matmul));
  row.group = text(static_cast<Int>(row.system)) + text(m.layers) + sizes + text(p.devices) +
              text(p.batch.global) + lower_case(f.text("precision"));
  row.shape = text(static_cast<Int>(row.system)) + sizes + text(p.tp) + text(p.batch.micro);
}

Draft read_row(const CsvTable& table, std::size_t index, TrainingRows& into) {
  const Fields f(table, index);
  Draft d;
  d.row.line = table.lines[index];
  d.row.id = f.text("id");
  d.row.source = f.text("source");
  const std::string kind = lower_case(f.text("kind"));
  d.row.tuned = !has(kind, "not tuned") && !has(kind, "doubtful");
  d.habits = &framework_habits(f.text("framework"));
  d.settings = stated_settings(lower_case(f.text("notes")) + ' ' + lower_case(f.text("model")));
  if (d.habits->batch_of_a_device && !f.count("layers")) {
    d.maxtext = maxtext_model(lower_case(f.text("model")), lower_case(f.text("gpu")));
  }
  auto format = stated_format(f.text("precision"));
  if (f.text("precision").empty()) format = d.habits->format;
  const bool ok = published_twice_or_in_doubt(f, d) && read_model(f, d) && read_degrees(f, d) &&
                  read_batch(f, d) && read_recompute(f, d) && read_system(f, d, into);
  if (!ok) return d;
  if (!format) {
    d.fail("number format is not published");
    return d;
  }
  const Machine& machine = into.systems[d.row.system].machine;
  const auto rate = peak(machine, *format);
  if (!rate || !machine.memory_rate) {
    d.fail("the machine's peak in " + std::string(name(*format)) + " is unknown");
    return d;
  }
  read_precision(*format, f, d);
  apply_habits(f, d);
  interleave(f, d);
  split_stages(d);
  const Result<Done> model = check_model(d.row.model);
  const Result<Done> plan = model ? check_plan(d.row.model, d.row.plan) : model;
  if (!plan) {
    d.fail(plan.error().what);
    return d;
  }
  const auto step = measured_step(f, d, rate->value);
  if (!step) d.fail("neither step time nor a rate is published");
  d.row.step = step.value_or(0);
  const bool gib = d.habits->memory_in_gib || d.settings.memory_in_gib;
  const double unit = gib ? 1024.0 * 1024 * 1024 : 1e9;
  if (const auto gb = f.positive("peak_mem_GB")) d.row.peak_memory = *gb * unit;
  name_groups(f, d);
  return d;
}

}  // namespace

namespace {

Result<Done> add_rows(const CsvTable& table, TrainingRows& all) {
  const Result<std::size_t> source = column(table, "source");
  if (!source) return source.error();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Draft d = read_row(table, i, all);
    if (d.reason.empty()) {
      all.rows.push_back(std::move(d.row));
    } else {
      ++all.left_out[d.row.source + ": " + d.reason];
    }
  }
  return Done{};
}

}  // namespace

Result<TrainingRows> training_rows(const CsvTable& table) {
  TrainingRows all;
  if (const Result<Done> added = add_rows(table, all); !added) return added.error();
  return all;
}

Result<TrainingRows> read_training_rows(const std::vector<std::string>& paths) {
  TrainingRows all;
  for (const std::string& path : paths) {
    const Result<CsvTable> table = read_csv(path);
    if (!table) return table.error();
    if (const Result<Done> added = add_rows(*table, all); !added) return added.error();
  }
  return all;
}

}  // namespace stepscope::bench
