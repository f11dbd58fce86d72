// SPDX-License-Identifier: Apache-2.0
#include "training_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/cost/time/memory_footprint.h"
#include "stepscope/stats/nonlinear_fit.h"

namespace stepscope::bench {
namespace {

struct Twin {
  std::string_view machine;
  std::string_view curve;
};
constexpr std::array<Twin, 9> twins = {
    {{"A100-40GB SXM", "A100-80GB SXM"},
     {"A100-80GB SXM, NVLink 4 in the node, OmniPath (Jean Zay)", "A100-80GB SXM"},
     {"A100-40GB SXM, 4 in a mesh (Perlmutter)", "A100-80GB SXM"},
     {"V100-16GB SXM2", "V100-32GB SXM2"},
     {"H200 SXM", "H100-80GB SXM"},
     {"GH200 (H100 96GB)", "H100-80GB SXM"},
     {"GH200 (H100 141GB)", "H100-80GB SXM"},
     {"B200 SXM (HGX/DGX)", "GB200 (per GPU, NVL72)"},
     {"B300 SXM", "GB300 (per GPU, NVL72)"}}};

struct SharedPrior {
  ComputeParameter parameter;
  double prior, low, high, spread;
};
// Parameters that no vendor states and that all machines share. Elementwise kernels in real traces
// reach 0.8 of the memory's rate and more. The fit may not set a lower rate to compensate for work
// that the model lacks.
constexpr std::array<SharedPrior, 12> shared_priors = {
    {{ComputeParameter::memory_efficiency, 0.85, 0.8, 0.95, 0.1},
     {ComputeParameter::tail, 0.7, 0.2, 1.0, 0.3},
     {ComputeParameter::fill, 100, 10, 1000, 0.7},
     {ComputeParameter::launch_us, 4, 2, 12, 0.4},
     {ComputeParameter::matmul_launch_us, 4, 2, 12, 0.4},
     {ComputeParameter::matmul_memory_share, 0.5, 0.05, 1.0, 0.7},
     {ComputeParameter::contention, 0.3, 0.05, 2.0, 0.5},
     {ComputeParameter::jitter, 0.01, 0.001, 0.05, 0.7},
     {ComputeParameter::pass_us, 100, 10, 1000, 0.7},
     {ComputeParameter::host_head_layers, 1.0, 0.2, 5.0, 0.5},
     {ComputeParameter::misaligned, 2.5, 1.0, 6.0, 0.3},
     {ComputeParameter::cast, 1.5, 0.3, 8.0, 0.5}}};

constexpr double outlier_scale = 0.06;  // of an error's logarithm
// Steps reach less than a single matmul: clocks fall under sustained load, and kernels share
// caches.
constexpr double share_of_measured_matmul = 0.9;

double matmul_prior(const Machine& machine, Dtype format) {
  const std::size_t f = index(format);
  if (machine.matmul_max[f] && machine.peak_rates[f]) {
    return share_of_measured_matmul * machine.matmul_max[f]->value / machine.peak_rates[f]->value;
  }
  return 0.65;
}

// Chips are combined with the processors of their years.
void add_hosts(const TrainingRows& data, std::vector<FitParameter>& to) {
  std::set<std::string> seen;
  for (const TrainingRow& row : data.rows) {
    const std::string curve(curve_of(data.systems[row.system].catalogue->name));
    if (!seen.insert(curve).second) continue;
    to.push_back({.name = "host " + curve,
                  .parameter = ComputeParameter::host_layer_us,
                  .curve = curve,
                  .prior = 1000,
                  .low = 300,
                  .high = 2000,
                  .spread = 0.3});
  }
}

void add_shares(const TrainingRows& data, std::vector<FitParameter>& to) {
  std::set<std::pair<std::string, Dtype>> seen;
  for (const TrainingRow& row : data.rows) {
    const Machine& machine = *data.systems[row.system].catalogue;
    const Dtype format =
        row.plan.precision.matmul == Dtype::fp16 ? Dtype::bf16 : row.plan.precision.matmul;
    const std::string curve(curve_of(machine.name));
    if (!seen.insert({curve, format}).second) continue;
    const std::string of = curve + ' ' + std::string(name(format));
    to.push_back({.name = "matmul " + of,
                  .curve = curve,
                  .format = format,
                  .prior = matmul_prior(machine, format),
                  // Rows that a format's head alone reaches do not make it slower than this.
                  .low = below_16_bits(format) ? 0.4 : 0.5,
                  .high = 0.95,
                  .spread = machine.matmul_max[index(format)] ? 0.06 : 0.12});
  }
  std::set<std::pair<std::string, bool>> kernels;
  for (const TrainingRow& row : data.rows) {
    const std::string curve(curve_of(data.systems[row.system].catalogue->name));
    const bool vendor = row.plan.kernels.vendor_attention;
    if (!row.plan.kernels.fused_attention || !kernels.insert({curve, vendor}).second) continue;
    to.push_back({.name = (vendor ? "vendor attention " : "attention ") + curve,
                  .curve = curve,
                  .attention = true,
                  .vendor = vendor,
                  .prior = vendor ? 0.5 : 0.33,
                  .low = 0.2,
                  .high = 0.8,
                  .spread = 0.1});
  }
}

bool same_model(const Transformer& a, const Transformer& b) {
  const auto sizes = [](const Transformer& m) {
    return std::array<std::int64_t, 10>{m.layers,
                                        m.hidden,
                                        m.heads,
                                        m.kv_heads,
                                        m.feed_forward,
                                        m.vocabulary,
                                        m.max_positions,
                                        static_cast<std::int64_t>(m.norm) * 2 + (m.gated ? 1 : 0),
                                        m.experts ? m.experts->count : 0,
                                        m.experts ? m.experts->top_k : 0};
  };
  const auto parts = [](const Transformer& m) {
    const Experts e = m.experts.value_or(Experts{});
    return std::tuple{e.feed_forward,
                      e.shared_feed_forward,
                      e.latent,
                      e.capacity_factor,
                      m.pattern,
                      m.latent ? m.latent->kv_rank : 0,
                      m.prediction ? m.prediction->modules : 0};
  };
  return sizes(a) == sizes(b) && parts(a) == parts(b) && a.dropout == b.dropout &&
         a.qkv_bias == b.qkv_bias && a.causal == b.causal;
}

std::optional<Prediction> evaluated(CostContext& context, const Plan& plan) {
  const Result<StepCost> cost = evaluate(context, plan);
  if (!cost) return std::nullopt;
  Prediction p{.step = cost->step().count(),
               .memory = cost->memory.total(),
               .memory_terms = cost->memory.bytes};
  for (std::size_t t = 0; t < step_term_count; ++t) {
    p.terms[t] = (*cost)[static_cast<StepTerm>(t)];
  }
  return p;
}

}  // namespace

std::string_view curve_of(std::string_view machine) {
  const auto* at = std::ranges::find(twins, machine, &Twin::machine);
  return at == twins.end() ? machine : at->curve;
}

// What all machines share are properties of GPUs' kernels and launches; XLA's programs on TPUs have
// no such properties.
bool concerns(const FitParameter& parameter, std::string_view machine) {
  if (parameter.curve.empty()) return !machine.starts_with("TPU");
  return parameter.curve == curve_of(machine);
}

std::vector<FitParameter> fit_parameters(const TrainingRows& data) {
  std::vector<FitParameter> all;
  for (const SharedPrior& s : shared_priors) {
    all.push_back(
        {.name = std::string(compute_parameters[static_cast<std::size_t>(s.parameter)].name),
         .parameter = s.parameter,
         .prior = s.prior,
         .low = s.low,
         .high = s.high,
         .spread = s.spread});
  }
  add_hosts(data, all);
  add_shares(data, all);
  return all;
}

void apply(std::span<const FitParameter> parameters, std::span<const double> values,
           Machine& machine) {
  if (!machine.compute) machine.compute.emplace();
  ComputeCurves& curves = *machine.compute;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const FitParameter& p = parameters[i];
    if (!concerns(p, machine.name)) continue;
    if (p.parameter) {
      curves.values[static_cast<std::size_t>(*p.parameter)] = values[i];
      continue;
    }
    auto& shares = p.vendor      ? curves.vendor_attention_efficiency
                   : p.attention ? curves.attention_efficiency
                                 : curves.matmul_efficiency;
    shares[index(p.format)] = values[i];
    if (p.format == Dtype::bf16) shares[index(Dtype::fp16)] = values[i];
  }
}

TrainingModel::TrainingModel(const TrainingRows& data) : data_(data) {
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const TrainingRow& row = data.rows[i];
    const auto at = std::ranges::find_if(groups_, [&](const Group& g) {
      const TrainingRow& first = data.rows[g.first];
      return first.system == row.system && same_shape(first.plan, row.plan) &&
             same_model(first.model, row.model);
    });
    if (at == groups_.end()) {
      groups_.push_back({i, {i}});
    } else {
      at->rows.push_back(i);
    }
  }
}

std::vector<Prediction> TrainingModel::predict(const std::vector<Machine>& machines,
                                               const std::vector<bool>& wanted,
                                               const std::vector<bool>& stale,
                                               std::vector<Prediction> into) const {
  into.resize(data_.rows.size());
  for (const Group& group : groups_) {
    const TrainingRow& first = data_.rows[group.first];
    const bool any = std::ranges::any_of(group.rows, [&](std::size_t i) { return wanted[i]; });
    if (!any || !stale[group.first]) continue;
    Result<CostContext> context = make_cost_context(
        first.model, machines[first.system], data_.systems[first.system].network, first.plan);
    if (!context) continue;
    for (const std::size_t i : group.rows) {
      if (!wanted[i]) continue;
      into[i] = evaluated(*context, data_.rows[i].plan).value_or(Prediction{});
    }
  }
  return into;
}

std::vector<Prediction> TrainingModel::predict() const {
  std::vector<Machine> machines;
  for (const TrainingSystem& s : data_.systems) machines.push_back(s.machine);
  const std::vector<bool> all(data_.rows.size(), true);
  return predict(machines, all, all, {});
}

std::vector<Prediction> TrainingModel::predict(std::span<const FitParameter> parameters,
                                               std::span<const double> values,
                                               const std::vector<bool>& wanted) const {
  std::vector<Machine> machines;
  for (const TrainingSystem& s : data_.systems) {
    machines.push_back(s.machine);
    apply(parameters, values, machines.back());
  }
  return predict(machines, wanted, std::vector<bool>(data_.rows.size(), true), {});
}

std::vector<double> fit(const TrainingModel& model, std::span<const FitParameter> parameters,
                        const std::vector<bool>& used, std::span<const double> start,
                        int iterations) {
  const TrainingRows& data = model.data_;
  const std::size_t rows = data.rows.size();
  const std::size_t n = parameters.size();
  std::map<std::string, double> in_source;
  for (std::size_t i = 0; i < rows; ++i) {
    if (used[i]) ++in_source[data.rows[i].source + (data.rows[i].several_nodes ? "+" : "")];
  }
  std::vector<double> weights(rows + n, 1.0);
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const TrainingRow& row = data.rows[i];
    weights[i] =
        used[i] ? 1 / std::sqrt(in_source[row.source + (row.several_nodes ? "+" : "")]) : 0;
    sum += weights[i];
    count += used[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < rows; ++i) weights[i] *= count / sum;
  std::vector<double> x(n);
  std::vector<double> low(n);
  std::vector<double> high(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::log(start[i]);
    low[i] = std::log(parameters[i].low);
    high[i] = std::log(parameters[i].high);
  }
  // Each system's latest inputs. A derivative by one machine's parameter does not change the
  // predictions of other machines.
  std::vector<std::vector<double>> known(data.systems.size());
  std::vector<Prediction> predicted(rows);
  const Residuals residuals = [&](std::span<const double> at, std::span<double> out) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = std::exp(at[i]);
    std::vector<Machine> machines;
    std::vector<bool> changed(data.systems.size());
    for (std::size_t s = 0; s < data.systems.size(); ++s) {
      machines.push_back(data.systems[s].machine);
      apply(parameters, values, machines.back());
      std::vector<double> concerning;
      for (std::size_t i = 0; i < n; ++i) {
        if (concerns(parameters[i], machines[s].name)) concerning.push_back(values[i]);
      }
      changed[s] = concerning != known[s];
      known[s] = std::move(concerning);
    }
    std::vector<bool> stale(rows);
    for (std::size_t i = 0; i < rows; ++i) stale[i] = changed[data.rows[i].system];
    predicted = model.predict(machines, used, stale, std::move(predicted));
    for (std::size_t i = 0; i < rows; ++i) {
      const bool counts = used[i] && predicted[i].step > 0;
      out[i] = counts ? std::log(predicted[i].step / data.rows[i].step) : 0;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const FitParameter& p = parameters[i];
      out[rows + i] = outlier_scale * (at[i] - std::log(p.prior)) / p.spread;
    }
  };
  const NonlinearFit found = fit_nonlinear(
      residuals, weights, x, low, high,
      {.outlier_scale = outlier_scale, .iterations = iterations, .tolerance = 1e-4, .step = 1e-3});
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = std::exp(found.x[i]);
  return values;
}

namespace {

constexpr double runtime_bytes = 2e9;  // for the driver, NCCL and the allocator's waste

bool fits(const TrainingSystem& system, const Prediction& prediction) {
  return !system.machine.memory ||
         prediction.memory + runtime_bytes < static_cast<double>(system.machine.memory->value);
}

std::optional<Prediction> predicted(const TrainingSystem& system, const Transformer& model,
                                    const Plan& plan) {
  auto context = make_cost_context(model, system.machine, system.network, plan);
  return context ? evaluated(*context, plan) : std::nullopt;
}

bool ran_alike(const TrainingRow& a, const TrainingRow& b) {
  return a.recompute_in_doubt && b.recompute_in_doubt && a.source == b.source &&
         a.plan.devices == b.plan.devices && same_model(a.model, b.model);
}

}  // namespace

void decide_recompute(TrainingRows& data) {
  std::vector<bool> decided(data.rows.size());
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    if (!data.rows[i].recompute_in_doubt || decided[i]) continue;
    std::vector<std::size_t> alike;
    bool all_fit = true;
    for (std::size_t j = i; j < data.rows.size(); ++j) {
      const TrainingRow& row = data.rows[j];
      if (!ran_alike(data.rows[i], row)) continue;
      alike.push_back(j);
      Plan plan = row.plan;
      plan.memory.recompute = Recompute::none;
      const auto& system = data.systems[row.system];
      const auto without = all_fit ? predicted(system, row.model, plan) : std::nullopt;
      all_fit = without && fits(system, *without);
    }
    for (const std::size_t j : alike) {
      decided[j] = true;
      if (all_fit) data.rows[j].plan.memory.recompute = Recompute::none;
    }
  }
}

void search_micro_batches(TrainingRows& data) {
  std::vector<TrainingRow> kept;
  for (TrainingRow& row : data.rows) {
    if (!row.searches_micro_batch) {
      kept.push_back(std::move(row));
      continue;
    }
    const TrainingSystem& system = data.systems[row.system];
    std::optional<double> best;
    Plan chosen = row.plan;
    for (std::int64_t micro = 1; micro <= row.plan.batch.global / row.plan.dp; micro *= 2) {
      Plan plan = row.plan;
      plan.batch.micro = micro;
      if (!check_plan(row.model, plan)) continue;
      const auto cost = predicted(system, row.model, plan);
      if (!cost || !fits(system, *cost) || (best && *best <= cost->step)) continue;
      best = cost->step;
      chosen = plan;
    }
    if (!best) {
      ++data.left_out[row.source + ": micro-batch is not published, and none fits in memory"];
      continue;
    }
    row.plan = chosen;
    kept.push_back(std::move(row));
  }
  data.rows = std::move(kept);
}

}  // namespace stepscope::bench
