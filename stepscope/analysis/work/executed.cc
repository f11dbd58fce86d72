// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/executed.h"

#include <algorithm>
#include <cmath>

#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/analysis/steps/step_cursor.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

enum Layer : std::size_t { product_layer, other_layer, unclassed_layer };
using Sweep = IntervalSweep<3>;

// The precision that a kernel's name suggests, for calls without shapes.
OperandFormat precision_of_kernel(std::string_view name, NameClass kind) {
  const auto has = [&](std::string_view word) { return contains(name, word); };
  if (has("bf16") || has("bfloat16") || has("BFloat16") || has("_BBS_")) return OperandFormat::bf16;
  if (has("e4m3") || has("e5m2") || has("fp8")) return OperandFormat::fp8;
  if (has("tf32") || has("s1688")) return OperandFormat::tf32;
  if (has("fp16") || has("f16_") || has("half") || has("h884") || has("_HHS_"))
    return OperandFormat::fp16;
  if (has("dgemm")) return OperandFormat::fp64;
  if (has("sgemm") || has("scudnn") || has("_ffma") || has("_f32f32_f32f32_") || has("_SB_") ||
      (kind == NameClass::matmul && has("<float")))
    return OperandFormat::fp32;
  return OperandFormat::other;
}

class Accountant {
 public:
  Accountant(const Trace& trace, std::span<const Step> steps, const OpWork& work, Executed& result)
      : trace_(trace),
        steps_(steps),
        work_(work),
        result_(result),
        tensor_(trace.strings.size(), unseen),
        named_(2 * trace.strings.size(), unseen) {}

  void add(const DeviceWork& device) {
    const std::uint32_t i = index(device.op);
    if (!trace_.is_compute(device.op)) return;
    const auto place = step_at(steps_, trace_.slices.start[i]);
    if (!place) return;
    const NameClass kind = trace_.slices.kind[i];
    const bool by_name = kind == NameClass::matmul || kind == NameClass::attention;
    ExecutedStep& step = result_.steps[*place];
    if (device.flops_share > 0) {
      add_known(device, step);
    } else if (by_name) {
      ExecutedProducts& products = step.products[static_cast<std::size_t>(precision(device, kind))];
      products.unknown_time += trace_.slices.dur[i];
      ++products.unknown_kernels;
    } else {
      add_other(device, step);
    }
  }

  [[nodiscard]] Layer layer_of(const DeviceWork& device) const {
    const NameClass kind = trace_.slices.kind[index(device.op)];
    const bool product =
        device.flops_share > 0 || kind == NameClass::matmul || kind == NameClass::attention;
    return product ? product_layer : kind == NameClass::other ? unclassed_layer : other_layer;
  }

 private:
  enum : std::int8_t { unseen = -1, off = 0, on = 1 };

  bool on_tensor_cores(StringId name) {
    std::int8_t& known = tensor_[index(name)];
    if (known == unseen) known = uses_tensor_cores(trace_.strings[name]).value_or(false) ? on : off;
    return known == on;
  }

  OperandFormat named_precision(StringId name, NameClass kind) {
    const std::size_t of_matmul = kind == NameClass::matmul ? 1 : 0;
    std::int8_t& known = named_[2 * std::size_t{index(name)} + of_matmul];
    if (known == unseen)
      known = static_cast<std::int8_t>(precision_of_kernel(trace_.strings[name], kind));
    return static_cast<OperandFormat>(known);
  }

  OperandFormat precision(const DeviceWork& device, NameClass kind) {
    const StringId name = trace_.slices.name[index(device.op)];
    const OpCost* cost = device.owner == no_slice ? nullptr : work_.cost_of(trace_, device.owner);
    if (cost == nullptr || cost->precision == OperandFormat::other) {
      return named_precision(name, kind);
    }
    const bool tf32 = cost->precision == OperandFormat::fp32 && on_tensor_cores(name);
    return tf32 ? OperandFormat::tf32 : cost->precision;
  }

  void add_known(const DeviceWork& device, ExecutedStep& step) {
    const OpCost& cost = *work_.cost_of(trace_, device.owner);
    ExecutedProducts& products =
        step.products[static_cast<std::size_t>(precision(device, NameClass::matmul))];
    const Ns dur = trace_.slices.dur[index(device.op)];
    const Flops flops = cost.flops.value_or(Flops{}) * static_cast<double>(device.flops_share);
    const Flops rebuilt = cost.recompute * static_cast<double>(device.flops_share);
    const bool repeated = work_.recompute[index(device.owner)];
    products.flops += flops;
    products.recompute += repeated ? flops : rebuilt;
    products.time += dur;
    if (repeated) products.recompute_time += dur;
    ++products.kernels;
    result_.any_shapes = true;
  }

  void add_other(const DeviceWork& device, ExecutedStep& step) const {
    const Ns dur = trace_.slices.dur[index(device.op)];
    step.other_time += dur;
    const OpCost* cost = device.owner == no_slice ? nullptr : work_.cost_of(trace_, device.owner);
    if (cost == nullptr || !cost->bytes || work_.counts[index(device.owner)]) return;
    const double bytes =
        static_cast<double>(cost->bytes->value) * static_cast<double>(device.bytes_share);
    step.other_bytes += Bytes{std::llround(bytes)};
    step.other_time_with_bytes += dur;
  }

  const Trace& trace_;
  std::span<const Step> steps_;
  const OpWork& work_;
  Executed& result_;
  std::vector<std::int8_t> tensor_;  // by name
  std::vector<std::int8_t> named_;   // OperandFormat by name, as another kernel and as a matmul
};

void add_unions(Sweep& sweep, Ns start, Ns end, std::span<const Step> steps, Executed& result) {
  StepCursor cursor(steps);
  sweep.run(start, end, [&](Ns from, Ns to, const Sweep::Open& open) {
    const auto first = std::ranges::find_if(open, [](auto count) { return count > 0; });
    if (first == open.end()) return;
    constexpr std::array unions{&ExecutedStep::product_union, &ExecutedStep::other_union,
                                &ExecutedStep::unclassed_union};
    const auto field = unions[static_cast<std::size_t>(first - open.begin())];
    cursor.place(from, to,
                 [&](std::size_t place, Ns a, Ns b) { result.steps[place].*field += b - a; });
  });
}

void on_devices(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                const OpWork& work, Executed& result) {
  Accountant accountant(trace, steps, work, result);
  std::vector<Sweep> sweeps(rank.devices.size());
  for (const DeviceWork& device : work.device) {
    accountant.add(device);
    if (!trace.is_compute(device.op)) continue;
    const int gpu = trace.track(trace.slices.track[index(device.op)]).device_index;
    const auto lane =
        std::ranges::find(rank.devices, gpu, &DeviceLane::device) - rank.devices.begin();
    sweeps[static_cast<std::size_t>(lane)].add(accountant.layer_of(device),
                                               trace.slices.start[index(device.op)],
                                               trace.slices.end(device.op));
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    add_unions(sweeps[i], rank.devices[i].start, rank.devices[i].end, steps, result);
  }
}

// The innermost operator with known flops stands for the kernel. Other CPU work is in the time
// budget.
void on_host(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
             const OpWork& work, Executed& result) {
  const Slices& s = trace.slices;
  Sweep sweep;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (!work.counts[i]) continue;
    sweep.add(product_layer, s.start[i], s.end(SliceId{i}));
    const auto place = step_at(steps, s.start[i]);
    if (!place) continue;
    const OpCost& cost = *work.cost_of(trace, SliceId{i});
    ExecutedProducts& products =
        result.steps[*place].products[static_cast<std::size_t>(cost.precision)];
    const Flops flops = cost.flops.value_or(Flops{});
    products.flops += flops;
    products.recompute += work.recompute[i] ? flops : cost.recompute;
    products.time += s.dur[i];
    if (work.recompute[i]) products.recompute_time += s.dur[i];
    ++products.kernels;
    result.any_shapes = true;
  }
  add_unions(sweep, rank.start, rank.end, steps, result);
}

template <class T>
T sum_over(const std::array<ExecutedProducts, precision_count>& products,
           T ExecutedProducts::* field) {
  T sum{};
  for (const ExecutedProducts& p : products) sum += p.*field;
  return sum;
}

}  // namespace

Flops ExecutedStep::flops() const { return sum_over(products, &ExecutedProducts::flops); }
Flops ExecutedStep::recompute() const { return sum_over(products, &ExecutedProducts::recompute); }
Ns ExecutedStep::time() const { return sum_over(products, &ExecutedProducts::time); }
Ns ExecutedStep::unknown_time() const {
  return sum_over(products, &ExecutedProducts::unknown_time);
}

Executed executed_work(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                       const OpWork& work) {
  Executed result;
  for (const Step& step : steps) result.steps.emplace_back().index = step.index;
  if (rank.cpu_only()) {
    on_host(trace, rank, steps, work, result);
  } else {
    on_devices(trace, rank, steps, work, result);
  }
  return result;
}

}  // namespace stepscope
