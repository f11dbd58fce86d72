// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/executed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/key_index.h"

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

// `repeated`: by a checkpoint.
void add_product(const OpCost& cost, Ns time, bool repeated, ExecutedProducts& products) {
  const Flops flops = cost.flops.value_or(Flops{});
  products.flops += flops;
  products.recompute += repeated ? flops : cost.recompute;
  products.time += time;
  if (repeated) products.recompute_time += time;
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
    if (device.flops_share > 0)
      add_known(device, step);
    else if (by_name)
      step.products[static_cast<std::size_t>(precision(device, kind))].unknown_time +=
          trace_.slices.dur[i];
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
    if (cost == nullptr || cost->precision == OperandFormat::other)
      return named_precision(name, kind);
    const bool tf32 = cost->precision == OperandFormat::fp32 && on_tensor_cores(name);
    return tf32 ? OperandFormat::tf32 : cost->precision;
  }

  void add_known(const DeviceWork& device, ExecutedStep& step) {
    const OpCost& cost = *work_.cost_of(trace_, device.owner);
    const auto share = static_cast<double>(device.flops_share);
    add_product(
        {.flops = cost.flops.value_or(Flops{}) * share, .recompute = cost.recompute * share},
        trace_.slices.dur[index(device.op)], work_.recompute[index(device.owner)],
        step.products[static_cast<std::size_t>(precision(device, NameClass::matmul))]);
    result_.any_shapes = true;
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
    sweeps[static_cast<std::size_t>(rank.lane(gpu) - rank.devices.data())].add(
        accountant.layer_of(device), trace.slices.start[index(device.op)],
        trace.slices.end(device.op));
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i)
    add_unions(sweeps[i], rank.devices[i].start, rank.devices[i].end, steps, result);
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
    add_product(cost, s.dur[i], work.recompute[i],
                result.steps[*place].products[static_cast<std::size_t>(cost.precision)]);
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
  if (rank.cpu_only())
    on_host(trace, rank, steps, work, result);
  else
    on_devices(trace, rank, steps, work, result);
  return result;
}

// One walk over each host thread with a stack of open operators. A call is recorded when it closes.

namespace {

struct OperatorKey {
  StringId name, dims, types;
  bool over_host = false;
  bool operator==(const OperatorKey&) const = default;
};
struct OperatorKeyHash {
  std::size_t operator()(const OperatorKey& k) const {
    std::size_t hash = 2 * index(k.name) + (k.over_host ? 1 : 0);
    for (const StringId id : {k.dims, k.types})
      hash = (hash ^ (hash >> 31)) * 0x9E3779B97F4A7C15ULL + index(id);
    return hash;
  }
};

// The device side of one call.
struct CallWork {
  std::size_t operations = 0;
  Ns first = Ns::max();
  Ns time{};
  Ns product_time{};  // of the operations that share the call's flops
  Ns byte_time{};
  Ns copy_time{};                         // between host and device
  std::optional<Bytes> copied = Bytes{};  // meanwhile; absent: not recorded

  [[nodiscard]] bool over_host() const { return copy_time > Ns{}; }
};

CallWork device_work(const Trace& trace, std::span<const DeviceWork> group) {
  CallWork call;
  call.operations = group.size();
  for (const DeviceWork& d : group) {
    const Ns dur = trace.slices.dur[index(d.op)];
    call.first = std::min(call.first, trace.slices.start[index(d.op)]);
    call.time += dur;
    if (d.flops_share > 0) call.product_time += dur;
    if (d.bytes_share > 0) call.byte_time += dur;
    if (!crosses_host(trace, d.op)) continue;
    call.copy_time += dur;
    const auto bytes = copied_bytes(trace, d.op);
    call.copied = call.copied && bytes ? std::optional(*call.copied + *bytes) : std::nullopt;
  }
  return call;
}

class Table {
 public:
  Table(const Trace& trace, bool cpu_only, std::span<const Step> steps, const OpWork& work)
      : trace_(trace), cpu_only_(cpu_only), steps_(steps), work_(work) {
    if (cpu_only) operators_ = operator_names(trace.strings);
  }

  // Whether an operator of this name computes with everything that it calls.
  [[nodiscard]] bool computes(SliceId op) const {
    return cpu_only_ && operators_[index(trace_.slices.name[index(op)])];
  }

  // The device work of one call. Calls must be requested in the order of their ids.
  std::span<const DeviceWork> next_group(SliceId op) {
    const std::vector<DeviceWork>& device = work_.device;
    while (next_ < device.size() && index(device[next_].owner) < index(op)) ++next_;
    const std::size_t first = next_;
    while (next_ < device.size() && device[next_].owner == op) ++next_;
    return std::span(device).subspan(first, next_ - first);
  }

  // `works`: without a device, the self time is work, not waiting.
  void book(SliceId op, Ns self, bool works, std::span<const DeviceWork> group) {
    CallWork call = device_work(trace_, group);
    const auto step = call.operations > 0 ? step_at(steps_, call.first)
                                          : step_of_host(steps_, trace_.slices.start[index(op)]);
    if (!step) return;
    if (cpu_only_ && works) call = {1, trace_.slices.start[index(op)], self, self, self, {}, {}};
    const std::size_t at = place_of(op, call.over_host());
    OperatorRow& row = rows_[at];
    ++row.calls;
    row.host_self += self;
    if (call.operations == 0) return;
    row.min = row.device_calls == 0 ? call.time : std::min(row.min, call.time);
    row.max = std::max(row.max, call.time);
    ++row.device_calls;
    row.device += call.time;
    add_work(op, call, known_[at]);
    if (by_step_) {
      by_step_->resize(rows_.size());
      InSteps& steps = (*by_step_)[at];
      steps.calls.resize(steps_.size());
      steps.device.resize(steps_.size());
      ++steps.calls[*step];
      steps.device[*step] += call.time;
    }
  }

  // From now on each row has its calls by step, too.
  void count_by_step() { by_step_.emplace(); }

  // Rows that differ in types, or in copies to the host, are one.
  [[nodiscard]] std::vector<OperatorSteps> take_by_step() {
    std::vector<OperatorSteps> all;
    std::map<std::pair<StringId, StringId>, std::size_t> places;
    for (std::size_t r = 0; r < by_step_->size(); ++r) {
      InSteps& of = (*by_step_)[r];
      if (of.calls.empty()) continue;
      const auto [at, fresh] =
          places.try_emplace(std::pair(rows_[r].name, rows_[r].dims), all.size());
      if (fresh) {
        all.push_back({rows_[r].name, rows_[r].dims, std::move(of.calls), std::move(of.device)});
        continue;
      }
      OperatorSteps& sum = all[at->second];
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        sum.calls[s] += of.calls[s];
        sum.device[s] += of.device[s];
      }
    }
    return all;
  }

  std::vector<OperatorRow> take() {
    Ns all{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].device_calls > 0) known_[i].give(rows_[i].device_calls, rows_[i]);
      all += rows_[i].device;
    }
    for (OperatorRow& row : rows_)
      row.share = all > Ns{} ? seconds(row.device) / seconds(all) : 0.0;
    std::ranges::stable_sort(rows_, std::ranges::greater{}, [](const OperatorRow& r) {
      return std::tuple(r.device, r.host_self);
    });
    return std::move(rows_);
  }

 private:
  std::size_t place_of(SliceId op, bool over_host) {
    const std::uint32_t i = index(op);
    const std::uint32_t detail = trace_.slices.detail[i];
    OperatorKey key{trace_.slices.name[i], empty_string, empty_string, over_host};
    if (detail < trace_.ops.size()) {
      key.dims = trace_.ops.input_dims[detail];
      key.types = trace_.ops.input_types[detail];
    }
    const auto [place, fresh] = places_.insert(key);
    if (fresh) {
      const OpCost* cost = work_.cost_of(trace_, op);
      rows_.push_back({.name = key.name,
                       .dims = key.dims,
                       .types = key.types,
                       .kind = trace_.slices.kind[i],
                       .precision = cost != nullptr ? cost->precision : OperandFormat::other,
                       .over_host = over_host});
      known_.emplace_back();
    }
    return place;
  }

  void add_work(SliceId op, const CallWork& call, KnownWork& known) const {
    if (call.over_host()) {
      if (call.copied) known.add_bytes(*call.copied, 1, call.copy_time);
      return;
    }
    const OpCost* cost = work_.cost_of(trace_, op);
    if (cost == nullptr) return;
    if (cost->flops && work_.counts[index(op)]) known.add_flops(*cost->flops, 1, call.product_time);
    if (cost->bytes && call.byte_time > Ns{}) known.add_bytes(*cost->bytes, 1, call.byte_time);
  }

  const Trace& trace_;
  bool cpu_only_;
  std::vector<bool> operators_;  // operator_names(); empty with a device
  std::span<const Step> steps_;
  const OpWork& work_;
  std::size_t next_ = 0;  // in work_.device
  KeyIndex<OperatorKey, OperatorKeyHash> places_;
  std::vector<OperatorRow> rows_;
  std::vector<KnownWork> known_;
  struct InSteps {
    std::vector<std::uint64_t> calls;  // empty: no call with device work
    std::vector<Ns> device;
  };
  std::optional<std::vector<InSteps>> by_step_;  // by row; may end early
};

struct Open {
  SliceId op = no_slice;
  Ns end{};
  Ns covered_until{};     // by the operators seen inside so far
  Ns inside{};            // their time, as a union
  bool computes = false;  // it or an operator around it computes with everything that it calls
  bool calls = false;     // an operator inside
  std::span<const DeviceWork> group;
};

void book_thread(const Trace& trace, const Track& track, Table& table) {
  const Slices& s = trace.slices;
  std::vector<Open> open;
  const auto close_until = [&](Ns now) {
    while (!open.empty() && open.back().end <= now) {
      const Open& call = open.back();
      table.book(call.op, s.dur[index(call.op)] - call.inside, call.computes || !call.calls,
                 call.group);
      open.pop_back();
    }
  };
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (s.category[i] != Category::cpu_op) continue;
    close_until(s.start[i]);
    const Ns end = s.end(SliceId{i});
    bool computes = table.computes(SliceId{i});
    if (!open.empty()) {
      Open& parent = open.back();
      parent.calls = true;
      computes = computes || parent.computes;
      const Ns from = std::max(s.start[i], parent.covered_until);
      const Ns to = std::min(end, parent.end);
      parent.inside += std::max(to - from, Ns{});
      parent.covered_until = std::max(parent.covered_until, to);
    }
    open.push_back({.op = SliceId{i},
                    .end = end,
                    .covered_until = s.start[i],
                    .computes = computes,
                    .group = table.next_group(SliceId{i})});
  }
  close_until(Ns::max());
}

}  // namespace

std::vector<OperatorRow> operator_table(const Trace& trace, const RankIndex& rank,
                                        std::span<const Step> steps, const OpWork& work) {
  Table table(trace, rank.cpu_only(), steps, work);
  for (const TrackId track : rank.host_tracks) book_thread(trace, trace.track(track), table);
  return table.take();
}

std::vector<OperatorSteps> operator_steps(const Trace& trace, const RankIndex& rank,
                                          std::span<const Step> steps, const OpWork& work) {
  Table table(trace, rank.cpu_only(), steps, work);
  table.count_by_step();
  for (const TrackId track : rank.host_tracks) book_thread(trace, trace.track(track), table);
  return table.take_by_step();
}

}  // namespace stepscope
