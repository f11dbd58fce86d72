// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/compute_fit.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/stats/nonlinear_fit.h"

namespace stepscope {
namespace {

constexpr std::size_t index_of(ComputeParameter p) { return static_cast<std::size_t>(p); }

// One unit computes a whole product and launches it itself.
ComputeCurves core_curves() {
  ComputeCurves curves;
  curves.units = 1;
  const auto set = [&](ComputeParameter p, double value) { curves.values[index_of(p)] = value; };
  using enum ComputeParameter;
  set(tail, 0);
  set(fill, 0);
  set(misaligned, 1);
  set(roofline_power, 1);
  set(contention, 0);
  set(host_layer_us, 0);
  set(host_head_layers, 0);
  set(optimizer_us, 0);
  set(pass_us, 0);
  return curves;
}

// An efficiency and a longer launch can explain the same time. Only numbers that the timings
// determine are free.
std::vector<FreeNumber> free_numbers(std::span<const OperationTiming> timings) {
  std::vector<FreeNumber> free;
  std::array<bool, dtype_count> products{};
  std::array<bool, dtype_count> attentions{};
  bool others = false;
  bool backward = false;
  for (const OperationTiming& t : timings) {
    if (t.operation.kind == OperationClass::matmul) {
      products[index(t.dtype)] = true;
    } else if (t.operation.kind == OperationClass::attention) {
      attentions[index(t.dtype)] = true;
      backward = backward || t.direction == Direction::backward;
    } else {
      others = true;
    }
  }
  const auto parameter = [&](ComputeParameter p, double start, double low, double high) {
    free.push_back({FreeNumber::What::parameter, index_of(p), start, low, high});
  };
  bool any_product = false;
  bool any_attention = false;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (products[d]) free.push_back({FreeNumber::What::matmul, d, 0.8, 0.02, 1});
    if (attentions[d]) free.push_back({FreeNumber::What::attention, d, 0.4, 0.005, 1});
    any_product = any_product || products[d];
    any_attention = any_attention || attentions[d];
  }
  using enum ComputeParameter;
  if (any_product) {
    parameter(matmul_launch_us, 1, 0.01, 1000);
    parameter(matmul_memory_share, 0.3, 0.001, 1);
  }
  if (others) {
    parameter(memory_efficiency, 0.7, 0.02, 1);
    parameter(launch_us, 1, 0.01, 1000);
  }
  if (any_attention && backward) parameter(attention_backward, 0.7, 0.05, 2);
  return free;
}

void set(ComputeCurves& curves, const FreeNumber& number, double value) {
  switch (number.what) {
    case FreeNumber::What::matmul:
      curves.matmul_efficiency[number.at] = value;
      break;
    case FreeNumber::What::attention:
      curves.attention_efficiency[number.at] = value;
      break;
    case FreeNumber::What::parameter:
      curves.values[number.at] = value;
      break;
  }
}

using ModelsByFormat = std::array<std::optional<ComputeModel>, dtype_count>;

// The models of the timings' formats, where the machine has what a model needs.
ModelsByFormat models(const Machine& machine, std::span<const OperationTiming> timings) {
  ModelsByFormat all;
  for (const OperationTiming& t : timings) {
    auto& model = all[index(t.dtype)];
    if (model) continue;
    if (auto made = make_compute_model(machine, t.dtype)) model = std::move(*made);
  }
  return all;
}

double log_error(const ModelsByFormat& models, const OperationTiming& timing) {
  const auto& model = models[index(timing.dtype)];
  check(model.has_value(), "a machine to be fitted has its peaks and its memory's rate");
  const Seconds modelled = operation_time(*model, timing.operation, timing.direction);
  return std::log(modelled.count() / timing.time.count());
}

}  // namespace

std::vector<std::optional<Seconds>> modelled_times(const Machine& machine,
                                                   std::span<const OperationTiming> timings) {
  const ModelsByFormat by_format = models(machine, timings);
  std::vector<std::optional<Seconds>> times;
  for (const OperationTiming& t : timings) {
    const auto& model = by_format[index(t.dtype)];
    times.push_back(model ? std::optional(operation_time(*model, t.operation, t.direction))
                          : std::nullopt);
  }
  return times;
}

double fit_numbers(Machine& machine, std::span<const FreeNumber> free,
                   std::span<const OperationTiming> timings) {
  check(machine.compute.has_value(), "curves are there to be fitted");
  std::vector<double> start;
  std::vector<double> low;
  std::vector<double> high;
  for (const FreeNumber& number : free) {
    start.push_back(std::log(number.start));
    low.push_back(std::log(number.low));
    high.push_back(std::log(number.high));
  }
  const auto set_all = [&](std::span<const double> x) {
    for (std::size_t i = 0; i < free.size(); ++i) set(*machine.compute, free[i], std::exp(x[i]));
  };
  const auto residuals = [&](std::span<const double> x, std::span<double> out) {
    set_all(x);
    const auto by_format = models(machine, timings);
    for (std::size_t i = 0; i < timings.size(); ++i) out[i] = log_error(by_format, timings[i]);
  };
  const std::vector<double> weights(timings.size(), 1);
  const NonlinearFit found = fit_nonlinear(residuals, weights, start, low, high);
  set_all(found.x);
  return found.cost;
}

ComputeFit fit_core(const Machine& machine, std::span<const OperationTiming> timings) {
  Machine tried = machine;
  tried.compute = core_curves();
  const std::vector<FreeNumber> free = free_numbers(timings);
  if (!free.empty()) fit_numbers(tried, free, timings);
  ComputeFit fit{.curves = *tried.compute};
  const auto modelled = modelled_times(tried, timings);
  for (std::size_t i = 0; i < timings.size(); ++i)
    fit.mean_error += std::abs(*modelled[i] / timings[i].time - 1);
  if (!timings.empty()) fit.mean_error /= static_cast<double>(timings.size());
  return fit;
}

}  // namespace stepscope
