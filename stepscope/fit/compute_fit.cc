// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/compute_fit.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/stats/nonlinear_fit.h"

namespace stepscope {
namespace {

// A free number of the curves: its position, and the start and end of its search.
struct Free {
  enum class What { matmul, attention, parameter } what;
  std::size_t at = 0;  // format or parameter
  double start = 0, low = 0, high = 0;
};

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
std::vector<Free> free_numbers(std::span<const OperationTiming> timings) {
  std::vector<Free> free;
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
    free.push_back({Free::What::parameter, index_of(p), start, low, high});
  };
  bool any_product = false;
  bool any_attention = false;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (products[d]) free.push_back({Free::What::matmul, d, 0.8, 0.02, 1});
    if (attentions[d]) free.push_back({Free::What::attention, d, 0.4, 0.005, 1});
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

void set(ComputeCurves& curves, const Free& number, double value) {
  switch (number.what) {
    case Free::What::matmul:
      curves.matmul_efficiency[number.at] = value;
      break;
    case Free::What::attention:
      curves.attention_efficiency[number.at] = value;
      break;
    case Free::What::parameter:
      curves.values[number.at] = value;
      break;
  }
}

using ModelsByFormat = std::array<std::optional<ComputeModel>, dtype_count>;

// Of the timings' formats, where the machine has what a model needs.
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

ComputeFit fit_core(const Machine& machine, std::span<const OperationTiming> timings) {
  const std::vector<Free> free = free_numbers(timings);
  std::vector<double> start;
  std::vector<double> low;
  std::vector<double> high;
  for (const Free& number : free) {
    start.push_back(std::log(number.start));
    low.push_back(std::log(number.low));
    high.push_back(std::log(number.high));
  }
  Machine tried = machine;
  tried.compute = core_curves();
  const auto residuals = [&](std::span<const double> x, std::span<double> out) {
    for (std::size_t i = 0; i < free.size(); ++i) set(*tried.compute, free[i], std::exp(x[i]));
    const auto by_format = models(tried, timings);
    for (std::size_t i = 0; i < timings.size(); ++i) out[i] = log_error(by_format, timings[i]);
  };
  const std::vector<double> weights(timings.size(), 1);
  ComputeFit fit;
  std::vector<double> errors(timings.size());
  if (!free.empty()) {
    const NonlinearFit found = fit_nonlinear(residuals, weights, start, low, high);
    residuals(found.x, errors);
  }
  fit.curves = *tried.compute;
  for (const double e : errors) fit.mean_error += std::abs(std::exp(e) - 1);
  if (!timings.empty()) fit.mean_error /= static_cast<double>(timings.size());
  return fit;
}

}  // namespace stepscope
