// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/op_work.h"

#include <algorithm>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "stepscope/analysis/steps/nesting.h"
#include "stepscope/base/key_index.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

// One distinct call signature.
struct Signature {
  StringId name, dims, types, concrete;
  bool operator==(const Signature&) const = default;
};
struct SignatureHash {
  std::size_t operator()(const Signature& s) const {
    std::size_t hash = 0;
    for (const StringId id : {s.name, s.dims, s.types, s.concrete}) {
      hash = hash * 0x9E3779B97F4A7C15ULL + index(id);
      hash ^= hash >> 29;
    }
    return hash;
  }
};

void price_calls(const Trace& trace, OpWork& work) {
  const Slices& s = trace.slices;
  work.cost.assign(trace.ops.size(), no_row);
  KeyIndex<Signature, SignatureHash> known;
  std::vector<std::uint32_t> cost_of;  // by index in `known`
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    const std::uint32_t row = s.detail[i];
    if (s.category[i] != Category::cpu_op || row >= trace.ops.size()) continue;
    const Signature key{s.name[i], trace.ops.input_dims[row], trace.ops.input_types[row],
                        trace.ops.concrete_inputs[row]};
    if (key.dims == empty_string) continue;
    const auto [number, fresh] = known.insert(key);
    if (fresh) {
      cost_of.push_back(no_row);
      const auto inputs = parse_inputs(trace.strings[key.dims], trace.strings[key.types],
                                       trace.strings[key.concrete]);
      if (inputs) {
        cost_of.back() = static_cast<std::uint32_t>(work.costs.size());
        work.costs.push_back(op_cost(trace.strings[key.name], *inputs));
      }
    }
    work.cost[row] = cost_of[number];
  }
}

bool is_backward_node(const Trace& trace, std::uint32_t row) {
  const std::uint32_t detail = trace.slices.detail[row];
  if (detail < trace.ops.size() && trace.ops.forward_thread[detail] > 0) return true;
  return trace.strings[trace.slices.name[row]].starts_with("autograd::engine::evaluate_function");
}

// Operators have a sequence number only if they record for a backward. An operator with a sequence
// number inside a backward node is a forward repeated by a checkpoint. So are the operators inside
// it, until a node of the inner backward begins.
void find_nesting(const Trace& trace, const RankIndex& rank, OpWork& work) {
  const Slices& s = trace.slices;
  work.parent.assign(s.size(), no_slice);
  work.recompute.assign(s.size(), false);
  std::vector<bool> backward(s.size());
  const auto is_operator = [&](SliceId id) { return s.category[index(id)] == Category::cpu_op; };
  for (const TrackId track : rank.host_tracks) {
    visit_nested(s, trace.track(track), is_operator, [&](SliceId row, SliceId parent) {
      work.parent[index(row)] = parent;
      if (!is_operator(row)) return;
      const std::uint32_t i = index(row);
      if (is_backward_node(trace, i)) {
        backward[i] = true;
        return;
      }
      if (parent == no_slice || !backward[index(parent)]) return;
      backward[i] = true;
      const std::uint32_t detail = s.detail[i];
      const bool records = detail < trace.ops.size() && trace.ops.sequence[detail] >= 0;
      work.recompute[i] = records || work.recompute[index(parent)];
    });
  }
}

// Operators by External id, for device work without an operator around its launch call.
class OperatorsByExternalId {
 public:
  explicit OperatorsByExternalId(const Trace& trace) : slices_(trace.slices) {
    for (std::uint32_t i = 0; i < slices_.size(); ++i) {
      if (slices_.category[i] == Category::cpu_op && slices_.external_id[i] != 0)
        rows_.push_back(SliceId{i});
    }
    run_sort(rows_, [&](SliceId a, SliceId b) { return key(a) < key(b); });
  }
  // The last operator with this id that began no later than `start`.
  [[nodiscard]] SliceId find(std::uint32_t external_id, Ns start) const {
    const auto after = std::ranges::upper_bound(rows_, std::pair(external_id, start), {},
                                                [&](SliceId id) { return key(id); });
    if (after == rows_.begin()) return no_slice;
    const SliceId last = *std::prev(after);
    return slices_.external_id[index(last)] == external_id ? last : no_slice;
  }

 private:
  [[nodiscard]] std::pair<std::uint32_t, Ns> key(SliceId id) const {
    return {slices_.external_id[index(id)], slices_.start[index(id)]};
  }

  const Slices& slices_;
  std::vector<SliceId> rows_;
};

// Old profilers stored the correlation in place of the operator's id; such ids name random
// operators. Most of the ids that launches can verify must agree.
bool ids_name_operators(const Trace& trace, const OpWork& work,
                        const OperatorsByExternalId& operators) {
  std::int64_t balance = 0;
  for (const DeviceWork& device : work.device) {
    const std::uint32_t id = trace.slices.external_id[index(device.op)];
    if (device.owner == no_slice || id == 0) continue;
    const SliceId named = operators.find(id, trace.slices.start[index(device.op)]);
    if (named != no_slice) balance += named == device.owner ? 1 : -1;
  }
  return balance >= 0;
}

void adopt_orphans(const Trace& trace, OpWork& work) {
  const Slices& s = trace.slices;
  const auto is_orphan = [&](const DeviceWork& d) {
    const std::uint32_t id = s.external_id[index(d.op)];
    return d.owner == no_slice && id != 0 && id != s.correlation[index(d.op)];
  };
  if (std::ranges::none_of(work.device, is_orphan)) return;
  const OperatorsByExternalId operators(trace);
  if (!ids_name_operators(trace, work, operators)) return;
  for (DeviceWork& device : work.device) {
    if (is_orphan(device)) {
      device.owner = operators.find(s.external_id[index(device.op)], s.start[index(device.op)]);
    }
  }
}

void find_owners(const Trace& trace, const RankIndex& rank, OpWork& work) {
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      const SliceId call = rank.launch(op);
      work.device.push_back({op, call == no_slice ? no_slice : work.parent[index(call)], 0, 0});
    }
  }
  adopt_orphans(trace, work);
  run_sort(work.device, [](const DeviceWork& a, const DeviceWork& b) {
    return std::pair(index(a.owner), index(a.op)) < std::pair(index(b.owner), index(b.op));
  });
}

bool is_product(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return false;
  const NameClass c = trace.slices.kind[index(op)];
  return c == NameClass::matmul || c == NameClass::attention;
}

// Splits a share of 1 by duration over the operations that `chosen` selects.
template <class Chosen>
void share_by_time(const Slices& s, std::span<DeviceWork> group, float DeviceWork::* share,
                   Chosen&& chosen) {
  std::int64_t total = 0;
  std::int64_t count = 0;
  for (const DeviceWork& d : group) {
    if (!chosen(d.op)) continue;
    total += s.dur[index(d.op)].count();
    ++count;
  }
  for (DeviceWork& d : group) {
    if (!chosen(d.op)) continue;
    d.*share = total > 0
                   ? static_cast<float>(s.dur[index(d.op)].count()) / static_cast<float>(total)
                   : 1.0F / static_cast<float>(count);
  }
}

void share_group(const Trace& trace, std::span<DeviceWork> group, const OpCost& cost,
                 bool counted) {
  const Slices& s = trace.slices;
  const auto works = [&](SliceId op) { return !trace.is_communication(op) && !trace.is_wait(op); };
  if (cost.bytes) share_by_time(s, group, &DeviceWork::bytes_share, works);
  if (!counted) return;
  const auto product = [&](SliceId op) { return is_product(trace, op); };
  if (std::ranges::any_of(group, [&](const DeviceWork& d) { return product(d.op); })) {
    share_by_time(s, group, &DeviceWork::flops_share, product);
    return;
  }
  // The product's kernel if no name tells: the longest kernel of the call that is not a copy.
  const auto candidate = [&](SliceId op) {
    return s.category[index(op)] == Category::kernel && works(op) &&
           s.kind[index(op)] != NameClass::copy;
  };
  const auto longest = std::ranges::max_element(group, {}, [&](const DeviceWork& d) {
    return candidate(d.op) ? s.dur[index(d.op)] : Ns{-1};
  });
  if (candidate(longest->op)) longest->flops_share = 1;
}

void mark_ancestors(const OpWork& work, SliceId op, std::vector<bool>& covered) {
  for (SliceId up = work.parent[index(op)]; up != no_slice && !covered[index(up)];
       up = work.parent[index(up)]) {
    covered[index(up)] = true;
  }
}

// Calls body(group) for the device work of each operator call.
template <class Body>
void for_each_group(std::vector<DeviceWork>& device, Body&& body) {
  for (std::size_t begin = 0; begin < device.size() && device[begin].owner != no_slice;) {
    std::size_t end = begin + 1;
    while (end < device.size() && device[end].owner == device[begin].owner) ++end;
    body(std::span(device).subspan(begin, end - begin));
    begin = end;
  }
}

void count_on_device(const Trace& trace, OpWork& work) {
  std::vector<bool> covered(trace.slices.size());
  for_each_group(work.device, [&](std::span<const DeviceWork> group) {
    const OpCost* cost = work.cost_of(trace, group.front().owner);
    if (cost != nullptr && cost->flops) mark_ancestors(work, group.front().owner, covered);
  });
  for_each_group(work.device, [&](std::span<DeviceWork> group) {
    const SliceId owner = group.front().owner;
    const OpCost* cost = work.cost_of(trace, owner);
    if (cost == nullptr) return;
    const bool counted = cost->flops && !covered[index(owner)];
    work.counts[index(owner)] = counted;
    share_group(trace, group, *cost, counted);
  });
}

// Without a device the operators compute themselves.
void count_on_host(const Trace& trace, OpWork& work) {
  const Slices& s = trace.slices;
  std::vector<bool> covered(s.size());
  for (const bool marking : {true, false}) {
    for (std::uint32_t i = 0; i < s.size(); ++i) {
      const OpCost* cost =
          s.category[i] == Category::cpu_op ? work.cost_of(trace, SliceId{i}) : nullptr;
      if (cost == nullptr || !cost->flops) continue;
      if (marking) mark_ancestors(work, SliceId{i}, covered);
      if (!marking) work.counts[i] = !covered[i];
    }
  }
}

}  // namespace

const OpCost* OpWork::cost_of(const Trace& trace, SliceId op) const {
  const std::uint32_t row = trace.slices.detail[index(op)];
  if (trace.slices.category[index(op)] != Category::cpu_op || row >= cost.size()) return nullptr;
  return cost[row] == no_row ? nullptr : &costs[cost[row]];
}

OpWork attribute_work(const Trace& trace, const RankIndex& rank) {
  OpWork work;
  price_calls(trace, work);
  find_nesting(trace, rank, work);
  find_owners(trace, rank, work);
  work.counts.assign(trace.slices.size(), false);
  if (rank.cpu_only()) {
    count_on_host(trace, work);
  } else {
    count_on_device(trace, work);
  }
  return work;
}

}  // namespace stepscope
