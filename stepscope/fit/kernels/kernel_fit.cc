// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/kernels/kernel_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "stepscope/cost/step/offload_time.h"
#include "stepscope/stats/nonlinear_fit.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using What = FreeNumber::What;
using enum ComputeParameter;

constexpr std::size_t index_of(ComputeParameter p) { return static_cast<std::size_t>(p); }
constexpr ComputeParameterInfo info(ComputeParameter p) { return compute_parameters[index_of(p)]; }

double value_of(const Machine& machine, ComputeParameter p) {
  return machine.compute->values[index_of(p)].value_or(info(p).usual);
}

void set_value(Machine& machine, ComputeParameter p, std::optional<double> value) {
  machine.compute->values[index_of(p)] = value;
}

FreeNumber parameter(ComputeParameter p, double start, double low, double high) {
  return {What::parameter, index_of(p), start, low, high};
}

bool misaligned_sides(const MatmulShape& s) { return s.m % 8 != 0 || s.n % 8 != 0 || s.k % 8 != 0; }

// Two numbers of a sum are distinguished by sizes that differ by this factor.
constexpr double apart = 4;

class Fitting {
 public:
  Fitting(const Machine& base, std::span<const KernelTime> kernels, std::optional<int> units)
      : machine_(base), kernels_(kernels), units_(units) {
    if (!machine_.compute) machine_.compute.emplace();
  }

  Machine run() {
    for (KernelTiming& t : kernel_timings(kernels_)) {
      if (!peak(machine_, t.timing.dtype)) continue;
      timings_[static_cast<std::size_t>(t.group)].push_back(std::move(t.timing));
    }
    fit_passes();
    fit_products();
    fit_attention();
    fit_optimizer();
    take_host();
    return machine_;
  }

  [[nodiscard]] const std::set<std::string>& told() const { return told_; }

 private:
  [[nodiscard]] const std::vector<OperationTiming>& of_group(KernelGroup group) const {
    return timings_[static_cast<std::size_t>(group)];
  }

  double fit(std::span<const FreeNumber> free, std::span<const OperationTiming> timings) {
    for (const FreeNumber& f : free) {
      if (f.what == What::parameter) told_.emplace(compute_parameters[f.at].name);
      const std::string key =
          f.what == What::matmul ? "matmul_efficiency." : "attention_efficiency.";
      if (f.what != What::parameter) told_.insert(key + std::string(dtype_names[f.at]));
    }
    return fit_numbers(machine_, free, timings);
  }

  // A small pass gives the launch, a large one the rate.
  void fit_passes() {
    const auto& passes = of_group(KernelGroup::passes);
    if (!passes.empty()) {
      const auto [least, most] = std::ranges::minmax(
          passes, {}, [](const OperationTiming& t) { return t.operation.forward.bytes(); });
      std::vector<FreeNumber> free = {parameter(memory_efficiency, 0.8, 0.02, 1)};
      if (most.operation.forward.bytes() >= apart * least.operation.forward.bytes())
        free.push_back(parameter(launch_us, 3, 0.01, 1000));
      fit(free, passes);
    }
    const auto& across = of_group(KernelGroup::strided);
    if (!across.empty()) fit(std::vector{parameter(strided, 1.5, 1, 100)}, across);
    const auto& casts = of_group(KernelGroup::mixed);
    if (!casts.empty()) fit(std::vector{parameter(mixed, 1.5, 1, 100)}, casts);
  }

  [[nodiscard]] std::vector<FreeNumber> product_numbers(
      std::span<const OperationTiming> products) const {
    std::vector<FreeNumber> free;
    std::set<Dtype> formats;
    std::set<double> misaligned_depths;
    std::set<double> depths;
    for (const OperationTiming& t : products) {
      const MatmulShape& s = t.operation.forward.matmuls.front();
      formats.insert(t.dtype);
      (misaligned_sides(s) ? misaligned_depths : depths).insert(static_cast<double>(s.k));
    }
    for (const Dtype d : formats) free.push_back({What::matmul, index(d), 0.8, 0.02, 1});
    constexpr std::size_t enough = 8;  // times, to find the numbers that all products share
    if (products.size() >= enough && *depths.rbegin() >= apart * *depths.begin()) {
      free.push_back(parameter(matmul_launch_us, 4, 0.01, 1000));
      free.push_back(parameter(matmul_memory_share, 0.5, 0.001, 1));
      if (value_of(machine_, tail) > 0) free.push_back(parameter(fill, 50, 0.01, 1e4));
    }
    if (!misaligned_depths.empty() && !depths.empty()) {
      free.push_back(parameter(misaligned, 3, 1, 100));
      if (*misaligned_depths.rbegin() >= apart * *misaligned_depths.begin())
        free.push_back(parameter(misaligned_fill, 100, 0.01, 1e4));
    }
    return free;
  }

  // One format's operands are cast by a kernel of its own, which no product here contains.
  void fit_products() {
    std::vector<OperationTiming> products = of_group(KernelGroup::products);
    const bool aligned = std::ranges::any_of(products, [](const OperationTiming& t) {
      return !misaligned_sides(t.operation.forward.matmuls.front());
    });
    if (!aligned) return;
    const auto casting = machine_.compute->values[index_of(cast)];
    set_value(machine_, cast, 0);
    const auto& grouped = of_group(KernelGroup::grouped);
    products.insert(products.end(), grouped.begin(), grouped.end());
    const std::vector<FreeNumber> free = product_numbers(products);
    if (units_) machine_.compute->units = units_;
    // Without a count in the files, every even one is tried.
    if (!units_ && value_of(machine_, tail) > 0 && free.size() > 1) {
      const Machine before = machine_;
      double least = fit(free, products);
      Machine best = machine_;
      constexpr int from = 16;
      constexpr int to = 320;
      for (int units = from; units <= to; units += 2) {
        machine_ = before;
        machine_.compute->units = units;
        const double left = fit(free, products);
        if (left >= least) continue;
        least = left;
        best = machine_;
      }
      machine_ = best;
      told_.insert("units");
    } else {
      fit(free, products);
      if (units_) told_.insert("units");
    }
    set_value(machine_, cast, casting);
    share_formats(machine_.compute->matmul_efficiency, "matmul_efficiency.");
  }

  void fit_attention() {
    const auto& timings = of_group(KernelGroup::attention);
    if (timings.empty()) return;
    std::set<std::int64_t> sizes;
    std::set<double> lengths;
    bool backward = false;
    for (const OperationTiming& t : timings) {
      sizes.insert(t.operation.forward.matmuls.front().k);
      lengths.insert(static_cast<double>(t.operation.forward.matmuls.front().n));
      backward = backward || t.direction == Direction::backward;
    }
    set_value(machine_, softmax, std::nullopt);
    set_value(machine_, attention_edge, std::nullopt);
    set_value(machine_, attention_edge_backward, std::nullopt);
    std::vector<FreeNumber> free = {{What::attention, index(Dtype::bf16), 0.5, 0.005, 1}};
    if (backward) free.push_back(parameter(attention_backward, 0.8, 0.05, 2));
    if (sizes.size() > 1) free.push_back(parameter(softmax, 2, 0.01, 100));
    if (*lengths.rbegin() >= apart * *lengths.begin()) {
      free.push_back(parameter(attention_edge, 100, 0.1, 1e4));
      if (backward) free.push_back(parameter(attention_edge_backward, 100, 0.1, 1e4));
    }
    fit(free, timings);
    share_formats(machine_.compute->attention_efficiency, "attention_efficiency.");
    // These are the times of the kernel that PyTorch chooses, the vendor's or not.
    machine_.compute->vendor_attention_efficiency = {};
  }

  // Formats of 16 bits run on the same units.
  void share_formats(std::array<std::optional<double>, dtype_count>& shares,
                     const std::string& key) {
    const auto a = index(Dtype::bf16);
    const auto b = index(Dtype::fp16);
    const auto copy = [&](std::size_t from, std::size_t to) {
      const auto name_of = [&](std::size_t d) { return key + std::string(dtype_names[d]); };
      if (!told_.contains(name_of(from)) || told_.contains(name_of(to))) return;
      if (!machine_.peak_rates[to] || machine_.peak_rates[from] != machine_.peak_rates[to]) return;
      shares[to] = shares[from];
      told_.insert(name_of(to));
    };
    copy(a, b);
    copy(b, a);
  }

  void fit_optimizer() {
    std::vector<const KernelTime*> steps;
    for (const KernelTime& k : kernels_)
      if (k.kind == KernelKind::optimizer) steps.push_back(&k);
    if (steps.empty()) return;
    const auto [least, most] = std::ranges::minmax(steps, {}, &KernelTime::amount);
    const bool both = most->amount >= apart * least->amount;
    std::vector<double> start = {0};
    std::vector<double> low = {std::log(info(optimizer).low)};
    std::vector<double> high = {std::log(info(optimizer).high)};
    if (both) {
      start.push_back(std::log(50.0));
      low.push_back(std::log(0.1));
      high.push_back(std::log(info(optimizer_us).high));
    }
    const auto set_all = [&](std::span<const double> x) {
      set_value(machine_, optimizer, std::exp(x[0]));
      if (both) set_value(machine_, optimizer_us, std::exp(x[1]));
    };
    const auto residuals = [&](std::span<const double> x, std::span<double> out) {
      set_all(x);
      const auto model = make_compute_model(machine_, Dtype::bf16);
      check(model.has_value(), "the base has a peak and a memory rate");
      for (std::size_t i = 0; i < steps.size(); ++i)
        out[i] = std::log(optimizer_time<double>(*model, {}, {}, steps[i]->amount).update /
                          steps[i]->time->count());
    };
    const std::vector<double> weights(steps.size(), 1);
    set_all(fit_nonlinear(residuals, weights, start, low, high).x);
    told_.emplace(info(optimizer).name);
    if (both) told_.emplace(info(optimizer_us).name);
  }

  // The host's rate by the largest copies between pinned memory and the device; the slower
  // direction.
  void take_host() {
    const KernelTime* largest = nullptr;
    for (const KernelTime& k : kernels_)
      if (k.kind == KernelKind::copy && k.from_pinned && k.to_pinned &&
          (largest == nullptr || k.amount > largest->amount))
        largest = &k;
    if (largest == nullptr) return;
    const Seconds slower = std::max(*largest->from_pinned, *largest->to_pinned);
    if (!machine_.host) machine_.host.emplace();
    machine_.host->per_direction = ByteRate{largest->amount / slower.count()};
    told_.insert("host.gb_per_s_per_direction");
  }

  Machine machine_;
  std::span<const KernelTime> kernels_;
  std::optional<int> units_;
  std::array<std::vector<OperationTiming>, 6> timings_;
  std::set<std::string> told_;
};

std::string shape_of(const KernelTime& k) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  switch (k.kind) {
    case KernelKind::product:
      return text(k.m) + " × " + text(k.k) + " × " + text(k.n);
    case KernelKind::grouped:
      return text(k.m) + " × " + text(k.k) + " × " + text(k.n) + ", " + text(k.experts) +
             " experts";
    case KernelKind::attention:
      return text(k.batch) + " × " + text(k.heads) + " heads × " + text(k.length) + " tokens × " +
             text(k.size);
    case KernelKind::optimizer:
      return text(static_cast<std::int64_t>(k.amount)) + " weights";
    default:
      return (k.work.empty() ? "copy" : k.work) + " of " +
             text(static_cast<std::int64_t>(k.amount)) + " bytes";
  }
}

std::string kind_of(const KernelTiming& t, const KernelTime& k) {
  switch (t.group) {
    case KernelGroup::products:
      return "products " + k.format;
    case KernelGroup::grouped:
      return "grouped products";
    case KernelGroup::attention:
      return t.timing.direction == Direction::forward ? "attention forward" : "attention backward";
    case KernelGroup::passes:
      return "passes over memory";
    case KernelGroup::strided:
      return "strided passes";
    case KernelGroup::mixed:
      break;
  }
  return "casting passes";
}

// The products alone, without the cast of their operands.
std::vector<std::optional<Seconds>> times_of(Machine machine,
                                             std::span<const OperationTiming> timings) {
  if (!machine.compute) machine.compute.emplace();
  set_value(machine, cast, 0);
  return modelled_times(machine, timings);
}

std::vector<KernelFitRow> rows_of(const Machine& before, const Machine& after,
                                  std::span<const KernelTime> kernels) {
  const std::vector<KernelTiming> all = kernel_timings(kernels);
  std::vector<OperationTiming> timings;
  timings.reserve(all.size());
  for (const KernelTiming& t : all) timings.push_back(t.timing);
  const auto modelled = times_of(after, timings);
  const auto old = times_of(before, timings);
  std::vector<KernelFitRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KernelTime& kernel = kernels[all[i].kernel];
    rows.push_back({.kind = kind_of(all[i], kernel),
                    .shape = shape_of(kernel),
                    .measured = all[i].timing.time,
                    .modelled = modelled[i],
                    .before = old[i],
                    .operation = all[i].timing});
  }
  for (const KernelTime& k : kernels) {
    if (k.kind != KernelKind::optimizer) continue;
    KernelFitRow row{.kind = "optimizer", .shape = shape_of(k), .measured = *k.time};
    const auto time = [&](const Machine& machine) -> std::optional<Seconds> {
      const auto model = make_compute_model(machine, Dtype::bf16);
      if (!model) return std::nullopt;
      return Seconds{optimizer_time<double>(*model, {}, {}, k.amount).update};
    };
    row.modelled = time(after);
    row.before = time(before);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, &KernelFitRow::kind);
  return rows;
}

double off(const std::optional<Seconds>& modelled, Seconds measured) {
  return std::abs(*modelled / measured - 1);
}

std::vector<KernelKindError> errors_by_kind(std::span<const KernelFitRow> rows) {
  std::vector<KernelKindError> kinds;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    KernelKindError error{.kind = rows[begin].kind};
    std::vector<double> errors;
    std::vector<double> before;
    for (; end < rows.size() && rows[end].kind == error.kind; ++end) {
      if (!rows[end].modelled || !rows[end].before) continue;
      errors.push_back(off(rows[end].modelled, rows[end].measured));
      before.push_back(off(rows[end].before, rows[end].measured));
      if (errors.back() >= error.worst) error.worst_shape = rows[end].shape;
      error.worst = std::max(error.worst, errors.back());
      error.worst_before = std::max(error.worst_before, before.back());
    }
    error.rows = errors.size();
    error.median = median(errors).value_or(0);
    error.median_before = median(before).value_or(0);
    if (error.rows > 0) kinds.push_back(std::move(error));
    begin = end;
  }
  return kinds;
}

// The number of a machine with this name, if the machine says it.
std::optional<double> number_of(const Machine& machine, const std::string& name) {
  if (name == "host.gb_per_s_per_direction")
    return machine.host && machine.host->per_direction
               ? std::optional(machine.host->per_direction->value / giga)
               : std::nullopt;
  if (!machine.compute) return std::nullopt;
  const ComputeCurves& curves = *machine.compute;
  if (name == "units") return curves.units ? std::optional<double>(*curves.units) : std::nullopt;
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    const auto& shares =
        name.starts_with("matmul") ? curves.matmul_efficiency : curves.attention_efficiency;
    const auto dtype = parse_dtype(name.substr(dot + 1));
    return dtype ? shares[index(*dtype)] : std::nullopt;
  }
  const auto* p = std::ranges::find(compute_parameters, name, &ComputeParameterInfo::name);
  return curves.values[static_cast<std::size_t>(p - compute_parameters.begin())];
}

// Four digits are more than a measurement has.
double rounded(double value) {
  if (value <= 0) return value;
  const double scale = std::pow(10, 3 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

void round_numbers(Machine& machine) {
  for (auto* shares : {&machine.compute->matmul_efficiency, &machine.compute->attention_efficiency})
    for (auto& share : *shares)
      if (share) share = rounded(*share);
  for (auto& value : machine.compute->values)
    if (value) value = rounded(*value);
}

void take_largest_products(std::span<const KernelTime> kernels, Machine& machine) {
  std::array<double, dtype_count> most{};
  for (const KernelTime& k : kernels) {
    const auto dtype = k.kind == KernelKind::product ? parse_dtype(k.format) : std::nullopt;
    if (!dtype) continue;
    const double flops =
        2 * static_cast<double>(k.m) * static_cast<double>(k.k) * static_cast<double>(k.n);
    most[index(*dtype)] = std::max(most[index(*dtype)], flops / k.time->count());
  }
  for (std::size_t d = 0; d < dtype_count; ++d)
    if (most[d] > 0) machine.matmul_max[d] = FlopRate{rounded(most[d] / tera) * tera};
}

}  // namespace

Result<KernelFit> fit_kernels(const Machine& base, std::span<const KernelTimes> files,
                              const std::string& source) {
  if (const auto model = make_compute_model(base, Dtype::bf16); !model) return model.error();
  std::vector<KernelTime> kernels;
  std::optional<int> units;
  for (const KernelTimes& f : files) {
    kernels.insert(kernels.end(), f.kernels.begin(), f.kernels.end());
    if (f.units) units = f.units;
  }
  Fitting fitting(base, kernels, units);
  KernelFit fit{.machine = fitting.run()};
  Machine& machine = fit.machine;
  round_numbers(machine);
  take_largest_products(kernels, machine);
  fit.rows = rows_of(base, machine, kernels);
  fit.kinds = errors_by_kind(fit.rows);
  if (fitting.told().empty() || fit.kinds.empty())
    return Error{.what = "no kernel's time tells a number of the machine",
                 .hint = "give the whole output of python -m stepscope.torch.kernels"};
  for (const std::string& name : fitting.told())
    fit.numbers.push_back({name, number_of(base, name), *number_of(machine, name)});
  for (const ComputeParameterInfo& p : compute_parameters)
    if (!fitting.told().contains(std::string(p.name))) fit.kept.emplace_back(p.name);
  for (const std::string part : {"products", "attention", "passes over memory", "optimizer"})
    if (std::ranges::none_of(fit.kinds, [&](const auto& k) { return k.kind.starts_with(part); }))
      fit.unmeasured.push_back(part);
  std::vector<double> errors;
  std::vector<double> before;
  for (const KernelFitRow& row : fit.rows) {
    if (!row.modelled || !row.before) continue;
    errors.push_back(off(row.modelled, row.measured));
    before.push_back(off(row.before, row.measured));
  }
  fit.median_error = *median(errors);
  fit.median_before = *median(before);
  auto& of_curves = machine.compute->source;
  of_curves = of_curves.empty() ? source : of_curves + "; " + source;
  machine.sources.push_back(source);
  return fit;
}

}  // namespace stepscope
