// SPDX-License-Identifier: Apache-2.0
// One walk over each host thread with a stack of open operators. A call is recorded when it closes.
#include "stepscope/analysis/work/operators.h"

#include <algorithm>
#include <tuple>

#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/base/key_index.h"

namespace stepscope {
namespace {

struct OperatorKey {
  StringId name, dims, types;
  bool operator==(const OperatorKey&) const = default;
};
struct OperatorKeyHash {
  std::size_t operator()(const OperatorKey& k) const {
    std::size_t hash = index(k.name);
    for (const StringId id : {k.dims, k.types})
      hash = (hash ^ (hash >> 31)) * 0x9E3779B97F4A7C15ULL + index(id);
    return hash;
  }
};

struct Sums {
  std::uint64_t with_flops = 0;
  std::uint64_t with_bytes = 0;
  Ns product_time{};
  Ns byte_time{};
  double flops = 0;
  double bytes = 0;
};

// The device side of one call.
struct CallWork {
  std::size_t operations = 0;
  Ns first = Ns::max();
  Ns time{};
  Ns product_time{};  // of the operations that share the call's flops
  Ns byte_time{};
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
  }
  return call;
}

class Table {
 public:
  Table(const Trace& trace, bool cpu_only, std::span<const Step> steps, const OpWork& work)
      : trace_(trace), cpu_only_(cpu_only), steps_(steps), work_(work) {}

  // The device work of one call. Calls must be requested in the order of their ids.
  std::span<const DeviceWork> next_group(SliceId op) {
    const std::vector<DeviceWork>& device = work_.device;
    while (next_ < device.size() && index(device[next_].owner) < index(op)) ++next_;
    const std::size_t first = next_;
    while (next_ < device.size() && device[next_].owner == op) ++next_;
    return std::span(device).subspan(first, next_ - first);
  }

  void book(SliceId op, Ns self, std::span<const DeviceWork> group) {
    CallWork call = device_work(trace_, group);
    const bool inside = call.operations > 0
                            ? step_at(steps_, call.first).has_value()
                            : step_of_host(steps_, trace_.slices.start[index(op)]).has_value();
    if (!inside) return;
    if (cpu_only_) call = {1, trace_.slices.start[index(op)], self, self, self};
    const std::size_t at = place_of(op);
    OperatorRow& row = rows_[at];
    ++row.calls;
    row.host_self += self;
    if (call.operations == 0) return;
    row.min = row.device_calls == 0 ? call.time : std::min(row.min, call.time);
    row.max = std::max(row.max, call.time);
    ++row.device_calls;
    row.device += call.time;
    add_work(op, call, sums_[at]);
  }

  std::vector<OperatorRow> take() {
    Ns all{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      finish(rows_[i], sums_[i]);
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
  std::size_t place_of(SliceId op) {
    const std::uint32_t i = index(op);
    const std::uint32_t detail = trace_.slices.detail[i];
    OperatorKey key{trace_.slices.name[i], empty_string, empty_string};
    if (detail < trace_.ops.size()) {
      key.dims = trace_.ops.input_dims[detail];
      key.types = trace_.ops.input_types[detail];
    }
    const auto [place, fresh] = places_.insert(key);
    if (fresh) {
      OperatorRow row;
      row.name = key.name;
      row.dims = key.dims;
      row.types = key.types;
      row.kind = trace_.slices.kind[i];
      if (const OpCost* cost = work_.cost_of(trace_, op)) row.precision = cost->precision;
      rows_.push_back(row);
      sums_.emplace_back();
    }
    return place;
  }

  void add_work(SliceId op, const CallWork& call, Sums& sums) const {
    const OpCost* cost = work_.cost_of(trace_, op);
    if (cost == nullptr) return;
    if (cost->flops && work_.counts[index(op)]) {
      ++sums.with_flops;
      sums.flops += cost->flops->value;
      sums.product_time += call.product_time;
    }
    if (cost->bytes && call.byte_time > Ns{}) {
      ++sums.with_bytes;
      sums.bytes += static_cast<double>(cost->bytes->value);
      sums.byte_time += call.byte_time;
    }
  }

  static void finish(OperatorRow& row, const Sums& sums) {
    if (row.device_calls == 0) return;
    if (sums.with_flops == row.device_calls) row.flops = Flops{sums.flops};
    if (sums.product_time > Ns{}) row.rate = Flops{sums.flops} / seconds(sums.product_time);
    if (sums.with_bytes == row.device_calls)
      row.bytes = Bytes{static_cast<std::int64_t>(sums.bytes)};
    if (sums.byte_time > Ns{})
      row.bandwidth = ByteRate{sums.bytes / seconds(sums.byte_time).count()};
  }

  const Trace& trace_;
  bool cpu_only_;
  std::span<const Step> steps_;
  const OpWork& work_;
  std::size_t next_ = 0;  // in work_.device
  KeyIndex<OperatorKey, OperatorKeyHash> places_;
  std::vector<OperatorRow> rows_;
  std::vector<Sums> sums_;
};

struct Open {
  SliceId op = no_slice;
  Ns end{};
  Ns covered_until{};  // by the operators seen inside so far
  Ns inside{};         // their time, as a union
  std::span<const DeviceWork> group;
};

void book_thread(const Trace& trace, const Track& track, Table& table) {
  const Slices& s = trace.slices;
  std::vector<Open> open;
  const auto close_until = [&](Ns now) {
    while (!open.empty() && open.back().end <= now) {
      const Open& call = open.back();
      table.book(call.op, s.dur[index(call.op)] - call.inside, call.group);
      open.pop_back();
    }
  };
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (s.category[i] != Category::cpu_op) continue;
    close_until(s.start[i]);
    const Ns end = s.end(SliceId{i});
    if (!open.empty()) {
      Open& parent = open.back();
      const Ns from = std::max(s.start[i], parent.covered_until);
      const Ns to = std::min(end, parent.end);
      parent.inside += std::max(to - from, Ns{});
      parent.covered_until = std::max(parent.covered_until, to);
    }
    open.push_back({SliceId{i}, end, s.start[i], Ns{}, table.next_group(SliceId{i})});
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

}  // namespace stepscope
