// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/op_work.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "stepscope/analysis/steps/backward_graph.h"
#include "stepscope/analysis/steps/nesting.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/analysis/work/op_flops.h"
#include "stepscope/base/ascii.h"
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

// Operators with a sequence number inside a node that computes a forward again are of that forward,
// and so are the operators inside them, until a node of the inner backward begins.
void find_nesting(const Trace& trace, const RankIndex& rank, OpWork& work) {
  const Slices& s = trace.slices;
  const BackwardGraph graph(trace, rank);
  work.parent.assign(s.size(), no_slice);
  work.recompute.assign(s.size(), false);
  std::vector<bool> recomputing(s.size());
  const auto is_operator = [&](SliceId id) { return s.category[index(id)] == Category::cpu_op; };
  for (const TrackId track : rank.host_tracks) {
    visit_nested(s, trace.track(track), is_operator, [&](SliceId row, SliceId parent) {
      work.parent[index(row)] = parent;
      if (!is_operator(row)) return;
      const std::uint32_t i = index(row);
      if (graph.is_node(i)) {
        recomputing[i] = graph.recomputes(i);
        return;
      }
      if (parent == no_slice || !recomputing[index(parent)]) return;
      recomputing[i] = true;
      work.recompute[i] = graph.is_differentiated(i) || work.recompute[index(parent)];
    });
  }
}

// Operators by External id, for device work without an operator around its launch call.
class OperatorsByExternalId {
 public:
  explicit OperatorsByExternalId(const Trace& trace) : slices_(trace.slices) {
    for (std::uint32_t i = 0; i < slices_.size(); ++i)
      if (slices_.category[i] == Category::cpu_op && slices_.external_id[i] != 0)
        rows_.push_back(SliceId{i});
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
  for (DeviceWork& device : work.device)
    if (is_orphan(device))
      device.owner = operators.find(s.external_id[index(device.op)], s.start[index(device.op)]);
}

void find_owners(const Trace& trace, const RankIndex& rank, OpWork& work) {
  for (const SliceId op : rank.operations()) {
    const SliceId call = rank.launch(op);
    work.device.push_back({op, call == no_slice ? no_slice : work.parent[index(call)], 0, 0});
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
  // Copies between host and device move their own bytes.
  const auto works = [&](SliceId op) {
    return !trace.is_communication(op) && !trace.is_wait(op) && !crosses_host(trace, op);
  };
  if (cost.bytes) share_by_time(s, group, &DeviceWork::bytes_share, works);
  if (!counted) return;
  const auto product = [&](SliceId op) { return is_product(trace, op); };
  if (std::ranges::any_of(group, [&](const DeviceWork& d) { return product(d.op); })) {
    share_by_time(s, group, &DeviceWork::flops_share, product);
    return;
  }
  // The product's kernel if no name shows it: the longest kernel of the call that is not a copy.
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
       up = work.parent[index(up)])
    covered[index(up)] = true;
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
  const auto multiplies = [&](std::uint32_t row) {
    const OpCost* cost = work.cost_of(trace, SliceId{row});
    return cost != nullptr && cost->flops;
  };
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (multiplies(i)) mark_ancestors(work, SliceId{i}, covered);
  for (std::uint32_t i = 0; i < s.size(); ++i) work.counts[i] = multiplies(i) && !covered[i];
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
  if (rank.cpu_only())
    count_on_host(trace, work);
  else
    count_on_device(trace, work);
  return work;
}

// The least bytes an operator moves. Inputs are as recorded. The output follows from the operator's
// kind: one entry per kind, with the operators of that kind in one list.

namespace {

using Count = std::optional<std::int64_t>;

// `words` has a space on both sides of each.
bool has_word(std::string_view words, std::string_view name) {
  return contains(words, " " + std::string(name) + " ");
}

// Writes one tensor of the broadcast shape of its inputs. In place ("add_") that is the first
// input.
constexpr std::string_view pointwise =
    " add sub rsub mul div true_divide neg abs exp log sqrt rsqrt square pow sin cos tanh "
    "sigmoid relu gelu silu elu leaky_relu threshold hardtanh clamp clamp_min clamp_max where "
    "masked_fill lerp addcmul addcdiv reciprocal remainder maximum minimum erf log2 ceil floor "
    "nan_to_num gelu_backward silu_backward sigmoid_backward tanh_backward threshold_backward "
    "native_dropout_backward _softmax _log_softmax _softmax_backward_data "
    "_log_softmax_backward_data mse_loss_backward elu_backward log_sigmoid ";
constexpr std::string_view comparisons =
    " eq ne lt le gt ge logical_and logical_or logical_not isnan isinf isfinite ";
// Writes a tensor of the shape and type of its first input.
constexpr std::string_view like_first =
    " native_layer_norm _fused_rms_norm native_batch_norm cudnn_batch_norm miopen_batch_norm "
    "native_group_norm cumsum flip roll clone batch_norm _batch_norm_with_update ";
// Writes a tensor of the shape and type of its second input: (grad_output, input, …) → grad_input.
// The parameters' gradients are small.
constexpr std::string_view like_second =
    " native_layer_norm_backward native_batch_norm_backward _fused_rms_norm_backward "
    "native_group_norm_backward batch_norm_backward ";
// (input, grad_output, …) → grad_input
constexpr std::string_view cudnn_norm_backward =
    " cudnn_batch_norm_backward miopen_batch_norm_backward ";
constexpr std::string_view reductions =
    " sum mean amax amin max min prod any all argmax argmin linalg_vector_norm norm var std "
    "mse_loss ";
constexpr std::string_view products = " mm bmm linear _scaled_mm ";
constexpr std::string_view added_products = " addmm baddbmm addmm_ baddbmm_ ";

// Empty on overflow too: shapes come from a file.
Count times(Count a, Count b) {
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}
Count sum_of(Count a, Count b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Count bytes_of(const Dims& dims, std::string_view type) {
  return times(element_bytes(type), element_count(dims));
}

Count tensor_bytes(const OpInputs& inputs, std::size_t i) {
  const Dims* dims = inputs.tensor(i);
  return dims == nullptr ? std::nullopt : bytes_of(*dims, inputs.args[i].type);
}

// Bytes of all tensor inputs; empty if one has no known width, or without tensor inputs.
Count read_bytes(const OpInputs& inputs) {
  Count sum;
  for (std::size_t i = 0; i < inputs.args.size(); ++i) {
    if (!inputs.args[i].is_tensor()) continue;
    sum = sum_of(sum.value_or(0), tensor_bytes(inputs, i));
    if (!sum) return std::nullopt;
  }
  return sum;
}

// Bytes of the broadcast shape, with the widest type of the tensors that have a dimension.
Count broadcast_bytes(const OpInputs& inputs, Count width) {
  Dims shape;
  Count widest;
  for (const OpInput& input : inputs.args) {
    if (!input.is_tensor()) continue;
    const Dims& dims = input.dims;
    if (dims.size() > shape.size()) shape.insert(shape.begin(), dims.size() - shape.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& extent = shape[shape.size() - dims.size() + i];
      if (extent != dims[i] && extent != 1 && dims[i] != 1) return std::nullopt;
      extent = extent == 1 ? dims[i] : extent;
    }
    const Count own = element_bytes(input.type);
    if (own && (!dims.empty() || !widest)) widest = std::max(widest.value_or(0), *own);
  }
  return times(element_count(shape), width ? width : widest);
}

// The output has the input's dimensions except those named by "dim"; without a list it is one
// element.
Count reduced_bytes(const OpInputs& inputs) {
  const Dims* dims = inputs.tensor(0);
  const Count width = dims == nullptr ? std::nullopt : element_bytes(inputs.args[0].type);
  if (!width) return std::nullopt;
  auto over = inputs.integers(1);
  if (const auto one = inputs.integer(1); one && !over) over = Dims{*one};
  if (!over || over->empty()) return width;
  Dims kept = *dims;
  const auto rank = static_cast<std::int64_t>(kept.size());
  for (const std::int64_t dim : *over) {
    if (dim < -rank || dim >= rank) return std::nullopt;
    kept[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = 1;
  }
  return bytes_of(kept, inputs.args[0].type);
}

// Bytes of one element that _scaled_mm writes: c10's ScalarType number, or the type of its
// operands.
Count scaled_width(const OpInputs& inputs) {
  const auto type = inputs.integer(6);
  if (!type) return element_bytes(inputs.args[0].type);
  if (*type == 5 || *type == 15) return 2;  // Half, BFloat16
  return *type == 6 ? Count(4) : std::nullopt;
}

// c[m, n] = a[m, k]·b[k, n], with a batch in front for rank 3; linear's weight is transposed. An
// `out` argument is c itself.
Count product_bytes(std::string_view name, const OpInputs& inputs, std::size_t first) {
  const Dims* a = inputs.tensor(first, 1);
  const Dims* b = inputs.tensor(first + 1, 2);
  if (a == nullptr || b == nullptr) return std::nullopt;
  Dims out = *a;
  out.back() = name == "linear" ? b->front() : b->back();
  const Count width =
      name == "_scaled_mm" ? scaled_width(inputs) : element_bytes(inputs.args[first].type);
  const Count operands = sum_of(tensor_bytes(inputs, first), tensor_bytes(inputs, first + 1));
  const Count added = first == 1 ? tensor_bytes(inputs, 0) : Count(0);
  return sum_of(sum_of(operands, added), times(element_count(out), width));
}

// How often a kernel of Inductor iterates, at most: the last of its numbers are the sizes of its
// grid and of its reduction.
Count iterations(const OpInputs& inputs) {
  Count product = 1;
  bool any = false;
  for (std::size_t i = 0; i < inputs.args.size(); ++i)
    if (const auto size = inputs.integer(i); size && *size > 0) {
      product = times(product, size);
      any = true;
    }
  return any ? product : std::nullopt;
}

// A fused kernel touches each of its arguments once, except where it picks rows or columns of some,
// or where it iterates over fewer elements than one has (the padding of a matrix).
Count fused_bytes(std::string_view name, const OpInputs& inputs) {
  static constexpr auto partial =
      std::to_array<std::string_view>({"embedding", "index", "gather", "scatter", "slice", "select",
                                       "unbind", "split", "chunk", "unfold"});
  if (contains_any(name, partial)) return std::nullopt;
  const Count all = iterations(inputs);
  const bool touched = all && std::ranges::all_of(inputs.args, [&](const OpInput& input) {
                         return !input.is_tensor() || element_count(input.dims) <= all;
                       });
  return touched ? read_bytes(inputs) : std::nullopt;
}

// Rows of a table: indices are read; rows are read and written.
Count embedding_bytes(const OpInputs& inputs) {
  const Dims* table = inputs.tensor(0, 2);
  const Dims* indices = inputs.tensor(1);
  if (table == nullptr || indices == nullptr) return std::nullopt;
  Dims rows = *indices;
  rows.push_back(table->back());
  return sum_of(tensor_bytes(inputs, 1), times(2, bytes_of(rows, inputs.args[0].type)));
}

// embedding_dense_backward(grad, indices, num_weights, …) writes the whole table's gradient.
Count embedding_backward_bytes(const OpInputs& inputs) {
  const Dims* grad = inputs.tensor(0, 2);
  const auto rows = inputs.integer(2);
  if (grad == nullptr || !rows) return std::nullopt;
  return sum_of(read_bytes(inputs), bytes_of({*rows, grad->back()}, inputs.args[0].type));
}

// copy_(destination, source): reads the source and writes the destination.
Count copy_bytes(const OpInputs& inputs) {
  const Count destination = tensor_bytes(inputs, 0);
  const Dims* source = inputs.tensor(1);
  if (source == nullptr) return std::nullopt;
  return sum_of(destination, bytes_of(*source, inputs.args[1].type));
}

// Query, key, value and output of an attention. A backward also reads the output's gradient and
// writes three gradients.
Count attention_bytes(const OpInputs& inputs, bool backward) {
  const std::size_t q = backward ? 1 : 0;
  const Count query = tensor_bytes(inputs, q);
  const Count pair = sum_of(tensor_bytes(inputs, q + 1), tensor_bytes(inputs, q + 2));
  return sum_of(times(backward ? 4 : 2, query), times(backward ? 2 : 1, pair));
}

Count written_bytes(std::string_view name, const OpInputs& inputs) {
  const bool in_place = name.ends_with('_');
  const std::string_view base = in_place ? name.substr(0, name.size() - 1) : name;
  if (has_word(comparisons, base))
    return in_place ? tensor_bytes(inputs, 0) : broadcast_bytes(inputs, 1);
  if (has_word(pointwise, base))
    return in_place ? tensor_bytes(inputs, 0) : broadcast_bytes(inputs, {});
  if (has_word(like_first, base) || has_word(cudnn_norm_backward, name))
    return tensor_bytes(inputs, 0);
  if (has_word(like_second, name)) return tensor_bytes(inputs, 1);
  if (has_word(reductions, name)) return reduced_bytes(inputs);
  return std::nullopt;
}

Count all_bytes(std::string_view name, const OpInputs& inputs) {
  if (has_word(products, name)) return product_bytes(name, inputs, 0);
  if (has_word(added_products, name)) return product_bytes(name, inputs, 1);
  if (name.starts_with("triton_")) return fused_bytes(name, inputs);
  if (name == "copy_") return copy_bytes(inputs);
  if (name == "fill_" || name == "zero_") return tensor_bytes(inputs, 0);
  if (name == "embedding") return embedding_bytes(inputs);
  if (name == "embedding_dense_backward") return embedding_backward_bytes(inputs);
  if (attention_flops(name, inputs))
    return attention_bytes(inputs, name.ends_with("backward") || name.ends_with("::bwd"));
  return sum_of(read_bytes(inputs), written_bytes(name, inputs));
}

}  // namespace

std::optional<Bytes> moved_bytes(std::string_view base_name, const OpInputs& inputs) {
  const Count bytes = all_bytes(base_name, inputs);
  return bytes ? std::optional(Bytes{*bytes}) : std::nullopt;
}

}  // namespace stepscope
