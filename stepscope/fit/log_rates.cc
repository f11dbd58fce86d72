// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/log_rates.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/base/number_text.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

bool counts_eight_n(const JobLog& log) {
  const auto field = log.settings.find("rate_field");
  return field != log.settings.end() && field->second == effective_rate;
}

// A tool's FLOPs per token, and its name for this convention.
struct Counting {
  std::string convention;
  double flops = 0;
};

double by(const LogModel& m, FlopsConvention convention) {
  return model_flops(*m.model, *m.sequence, *m.sequence, convention).per_step.value /
         real(*m.sequence);
}

Counting half_of_attention(const LogModel& m) {
  return {"causal attention halved (current versions)", by(m, FlopsConvention::causal_halved)};
}

Counting all_of_attention(const LogModel& m) {
  const double s = real(*m.sequence);
  double missing = 0;  // pairs that the mask excludes
  for (std::int64_t layer = 0; layer < m.model->layers; ++layer) {
    const LayerKind kind = layer_kind(*m.model, layer);
    if (!has_softmax(kind.mixer)) continue;
    missing += (s * s - attention_pairs(*m.model, kind, *m.sequence)) *
               real(heads_of(*m.model, kind)) / real(m.model->heads);
  }
  return {"all of attention counted (older versions)",
          by(m, FlopsConvention::causal_halved) + missing / s * pair_flops(*m.model)};
}

Counting megatron_deepspeed(const LogModel& m) {
  const double s = real(*m.sequence);
  const double h = real(m.model->hidden);
  const double layers = real(m.model->layers);
  const double passes = m.recompute ? 96 : 72;
  return {
      m.recompute ? "what the hardware does, recompute in it (96 B s L h^2 ...)"
                  : "Korthikanti's formula (72 B s L h^2 ...), all of attention",
      passes * layers * h * h * (1 + s / (6 * h) + real(m.model->vocabulary) / (16 * layers * h))};
}

constexpr std::string_view eight_n_counts = "8 N a token, recompute in it";
constexpr std::string_view llm_c_counts = "llm.c: 6 N + 6 L C T";
constexpr std::string_view nanogpt_counts = "nanoGPT: 6 (N - positions) + 12 L H Q T";

// Half of attention, as the mask leaves it. All parameters, including padding and positions.
Counting llm_c(const LogModel& m, const JobLog& log) {
  const double six_n = by(m, FlopsConvention::six_n);
  const auto printed = setting_of(log, "num_parameters");
  return {std::string(llm_c_counts),
          (printed ? 6 * *printed : six_n) + (by(m, FlopsConvention::palm) - six_n) / 2};
}

Counting nanogpt(const LogModel& m) {
  const ParameterCount n = parameter_count(*m.model);
  return {std::string(nanogpt_counts),
          by(m, FlopsConvention::palm) - 6 * real(n.embedding - n.tokens)};
}

bool known(const LogModel& m) { return m.model && m.sequence && *m.sequence > 0; }

// FLOPs of a token per second and device, from the step time alone.
std::optional<double> token_rate(const LogModel& m, const LogAccount& a) {
  if (!m.batch || !m.sequence || !m.devices || a.median_ns <= 0) return std::nullopt;
  return real(*m.batch) * real(*m.sequence) / (a.median_ns / 1e9) / *m.devices;
}

// The convention that gives the printed value within 3 %.
const Counting& told_by_numbers(const std::vector<Counting>& ways, double printed,
                                std::optional<double> tokens, std::string& remark) {
  if (!tokens) return ways.front();
  const auto off = [&](const Counting& c) {
    return std::fabs(std::log(printed / (c.flops * *tokens)));
  };
  const Counting& nearest = *std::ranges::min_element(ways, {}, off);
  if (off(nearest) <= 0.03) {
    remark = "its numbers show it";
    return nearest;
  }
  remark = "does not follow from step time, batch and devices by any way of counting";
  return ways.front();
}

std::vector<Counting> ways_of(FlopCounting counting, const JobLog& log, const LogModel& m) {
  switch (counting) {
    case FlopCounting::megatron:
      if (counts_eight_n(log))
        return {{std::string(eight_n_counts), 8.0 / 6 * by(m, FlopsConvention::six_n)}};
      if (log.settings.contains("rate_field")) return {megatron_deepspeed(m)};
      return {half_of_attention(m), all_of_attention(m)};
    case FlopCounting::half_or_all:
      return {half_of_attention(m), all_of_attention(m)};
    case FlopCounting::torchtitan:
      return {{"torchtitan: 6 (N - token table) + 12 L h s", by(m, FlopsConvention::torchtitan)}};
    case FlopCounting::causal_halved:
      return {{"causal attention halved", by(m, FlopsConvention::causal_halved)}};
    case FlopCounting::llm_c:
      return {llm_c(m, log)};
    case FlopCounting::nanogpt:
      return {nanogpt(m)};
    case FlopCounting::none:
      break;
  }
  return {};
}

std::string_view convention_without_model(FlopCounting counting, const JobLog& log) {
  switch (counting) {
    case FlopCounting::megatron:
      if (counts_eight_n(log)) return eight_n_counts;
      return log.settings.contains("rate_field")
                 ? "Megatron-DeepSpeed: 72 (with recompute 96) B s L h^2 (1 + s / 6h + V / 16 L h)"
                 : "causal attention halved in current versions, all of it in older ones";
    case FlopCounting::half_or_all:
      return "causal attention halved in current versions, all of it in older ones";
    case FlopCounting::torchtitan:
      return "torchtitan: 6 (N - token table) + 12 L h s";
    case FlopCounting::causal_halved:
      return "causal attention halved";
    case FlopCounting::llm_c:
      return llm_c_counts;
    case FlopCounting::nanogpt:
      return nanogpt_counts;
    case FlopCounting::none:
      break;
  }
  return {};
}

void convert(LogRate& rate, const std::vector<Counting>& ways, const LogModel& m,
             const LogAccount& a, std::optional<double> peak_ratio) {
  const auto tokens = token_rate(m, a);
  const Counting& way = rate.is_mfu || ways.size() == 1
                            ? ways.front()
                            : told_by_numbers(ways, *rate.printed, tokens, rate.remark);
  rate.convention = way.convention;
  rate.factor = by(m, FlopsConvention::causal_halved) / way.flops * peak_ratio.value_or(1);
  rate.ours = *rate.printed * *rate.factor;
}

void add_printed(const JobLog& log, const LogSteps& steps, const LogAccount& a, const LogModel& m,
                 std::optional<FlopRate> peak, LogRates& out) {
  const auto add = [&](OptionalReal LogRecord::* figure, std::string_view name, bool is_mfu) {
    const auto printed = typical(log, steps, a.settled, figure);
    if (!printed || !(*printed > 0)) return;
    LogRate rate{
        .tool = steps.tool, .name = std::string(name), .is_mfu = is_mfu, .printed = printed};
    rate.convention = convention_without_model(steps.tool->counting, log);
    std::optional<double> ratio;
    if (is_mfu && peak && peak->value > 0) {
      const auto used = log.settings.find("mfu_peak");
      if (used != log.settings.end())
        ratio = leading_number<double>(used->second).value_or(0) / peak->value;
    }
    if (steps.tool->counting == FlopCounting::causal_halved) {
      rate.factor = 1;
      rate.ours = printed;
    } else if (known(m)) {
      if (const auto ways = ways_of(steps.tool->counting, log, m); !ways.empty())
        convert(rate, ways, m, a, ratio);
    } else {
      rate.remark = m.why_not;
    }
    if (rate.ours)
      rate.mfu = is_mfu ? rate.ours : peak ? std::optional(*rate.ours / peak->value) : std::nullopt;
    out.rates.push_back(std::move(rate));
  };
  add(&LogRecord::flops_per_s, steps.tool->rate_name, false);
  add(&LogRecord::mfu, "mfu", true);
}

// Adds the FLOPs that the Trainer counts over the whole run.
void add_total_flos(const JobLog& log, const LogModel& m, std::optional<FlopRate> peak,
                    LogRates& out) {
  if (!log.run_flops || !log.run_s || !m.devices) return;
  LogRate rate{.tool = log.run_tool,
               .name = "total_flos / train_runtime",
               .printed = *log.run_flops / *log.run_s / *m.devices,
               .convention = "6 (N - embeddings) a token"};
  if (known(m)) {
    const ParameterCount n = parameter_count(*m.model);
    rate.factor = by(m, FlopsConvention::causal_halved) / (6 * real(n.active - n.embedding));
    rate.ours = *rate.printed * *rate.factor;
    if (peak) rate.mfu = *rate.ours / peak->value;
  } else {
    rate.remark = m.why_not;
  }
  out.rates.push_back(std::move(rate));
}

// The largest rate of matrix products of any device of the catalogue.
double fastest_device() {
  double fastest = 0;
  for (const Machine& machine : machine_catalogue())
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp8})
      if (const auto rate = stepscope::peak(machine, dtype))
        fastest = std::max(fastest, rate->value);
  return fastest;
}

// Why a device's rate cannot follow from the step time, the batch and the number of devices. Empty:
// nothing contradicts it. A rate above a given peak is refused with the MFU.
Message contradiction_of(double rate, const std::vector<LogRate>& printed,
                         std::optional<FlopRate> peak) {
  constexpr double far = 1.5;
  if (!peak && rate > fastest_device()) return msg::rate_of_no_device(Digits{rate / tera});
  for (const LogRate& r : printed)
    if (!r.is_mfu && r.ours && std::fabs(std::log(rate / *r.ours)) > std::log(far))
      return msg::rate_unlike_printed(Digits{rate / tera}, Digits{*r.ours / tera});
  return {};
}

bool is_on(const JobLog& log, std::string_view name) {
  const auto found = log.settings.find(name);
  return found != log.settings.end() && found->second != "False" && found->second != "None";
}

}  // namespace

LogModel model_of_log(const JobLog& log, const LogAccount& account) {
  LogModel m;
  const auto whole = [](std::optional<double> v) {
    return v ? std::optional(static_cast<std::int64_t>(*v)) : std::nullopt;
  };
  m.batch = whole(account.batch);
  m.sequence = whole(account.sequence);
  m.devices = account.devices;
  m.recompute = is_on(log, "checkpoint_activations") || is_on(log, "recompute_granularity");
  const auto number = [&](const char* name) { return whole(setting_of(log, name)); };
  const auto layers = number("num_layers");
  const auto hidden = number("hidden_size");
  const auto heads = number("num_attention_heads");
  const auto vocabulary =
      number("padded_vocab_size") ? number("padded_vocab_size") : number("vocab_size");
  if (!layers || !hidden || !heads || !vocabulary) {
    m.why_not = "the log does not say what is trained: give --model NAME --global-batch N --seq N";
    return m;
  }
  if (number("num_experts") || is_on(log, "multi_latent_attention")) {
    m.why_not = "experts and latent attention are not in the log: give --model FILE";
    return m;
  }
  Transformer t;
  t.name = "the log's model";
  t.layers = *layers;
  t.hidden = *hidden;
  t.heads = *heads;
  t.head_size = number("kv_channels").value_or(*hidden / *heads);
  t.kv_heads =
      is_on(log, "group_query_attention") ? number("num_query_groups").value_or(*heads) : *heads;
  t.gated = is_on(log, "swiglu");
  t.feed_forward = number("ffn_hidden_size").value_or(4 * *hidden);
  t.vocabulary = *vocabulary;
  t.tied_embeddings = !is_on(log, "untie_embeddings_and_output_weights");
  t.positions = Positions::none;
  if (const auto checked = check_model(t); !checked) {
    m.why_not = "what the log says of the model does not fit together: " + checked.error().what;
    return m;
  }
  m.model = std::move(t);
  m.source = "the log";
  return m;
}

LogRates log_rates(const JobLog& log, const LogSteps& steps, const LogAccount& account,
                   const LogModel& model, std::optional<FlopRate> peak) {
  LogRates out;
  add_printed(log, steps, account, model, peak, out);
  add_total_flos(log, model, peak, out);
  LogRate rate{.tool = steps.tool, .name = "from the step time"};
  if (model.flops_per_step && model.devices && account.median_ns > 0) {
    rate.ours = model.flops_per_step->value / (account.median_ns / 1e9) / *model.devices;
    rate.convention = flops_as_given;
  } else if (const auto tokens = token_rate(model, account); tokens && known(model)) {
    rate.ours = *tokens * by(model, FlopsConvention::causal_halved);
    rate.convention = convention_name(*model.model, FlopsConvention::causal_halved);
  }
  if (rate.ours) {
    out.contradiction = contradiction_of(*rate.ours, out.rates, peak);
    if (out.contradiction.empty()) {
      if (peak) rate.mfu = *rate.ours / peak->value;
      out.rates.push_back(std::move(rate));
    }
  }
  for (const LogRate& r : out.rates) {
    if (!r.mfu) continue;
    out.mfu = r.mfu;
    out.mfu_convention = r.convention == flops_as_given ? flops_as_given
                         : model.model
                             ? convention_name(*model.model, FlopsConvention::causal_halved)
                             : flops_convention_names.front();
  }
  return out;
}

}  // namespace stepscope
