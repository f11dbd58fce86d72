// SPDX-License-Identifier: Apache-2.0
// Four sources describe a call. In order of preference: metadata (on the kernel, on the operator
// around its launch, on the operator of its external id), the backend's annotation, the kernel's
// name, the name of a range around its launch.
#include "stepscope/analysis/matching/collective_calls.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "stepscope/analysis/matching/host_communication.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

struct StreamFacts {
  std::uint32_t group = no_row;
  bool one_group = true;
  bool other_messages = false;  // a SendRecv kernel known not to be an all-to-all
  bool all_to_all = false;
};

void learn(const CollectiveCall& call, StreamFacts& facts) {
  if (call.group != no_row) {
    facts.one_group = facts.one_group && (facts.group == no_row || facts.group == call.group);
    facts.group = call.group;
  }
  if (call.kind_by_name) return;
  facts.all_to_all = facts.all_to_all || call.kind == CollectiveKind::all_to_all;
  facts.other_messages = facts.other_messages || is_message(call.kind);
}

// The kernels of one communicator share a stream. A kernel launched before the capture began takes
// its group from its neighbours if they all agree, and so does the all-to-all behind a SendRecv.
void infer_from_streams(const RankView& view, RankCalls& rank) {
  std::unordered_map<std::uint32_t, StreamFacts> facts;
  for (const CollectiveCall& call : rank.calls) learn(call, facts[index(call.stream)]);
  for (CollectiveCall& call : rank.calls) {
    const StreamFacts& known = facts[index(call.stream)];
    if (call.group == no_row && known.one_group && !view.index->cpu_only())
      call.group = known.group;
    const bool bare_messages =
        call.kind_by_name && call.kind == CollectiveKind::send_recv && call.edge_count == 0;
    if (bare_messages && known.all_to_all && !known.other_messages)
      call.kind = CollectiveKind::all_to_all;
  }
}

// The sources found for one call before it is read.
struct Sources {
  const Collective* meta = nullptr;
  const Collective* op_meta = nullptr;  // of the operator; kernels carry only a part of it
  const HostRow* backend = nullptr;     // innermost annotation of the backend
  const HostRow* op = nullptr;          // the dispatcher's operator
  const HostRow* sized = nullptr;       // innermost whose name has a size
};

class CallReader {
  const RankView& view_;
  const Trace& trace_;
  HostCommunication host_;
  std::vector<bool> owned_;  // rows of host_ around a kernel's launch: their kernel is known
  std::unordered_map<std::uint32_t, const HostRow*> by_external_id_;
  std::map<std::tuple<StringId, StringId, int, int, int>, std::uint32_t> group_rows_;
  std::multimap<std::string, std::uint32_t> rows_by_name_;  // of one name by row
  // The slices of the calls in each range whose name has a size.
  std::map<const HostRow*, std::vector<SliceId>> sized_;
  RankCalls out_;

 public:
  explicit CallReader(const RankView& view)
      : view_(view),
        trace_(*view.trace),
        host_(find_host_communication(trace_, view.index->host_tracks)),
        owned_(host_.rows.size()) {
    for (const HostRow& row : host_.rows) {
      const std::uint32_t id = trace_.slices.external_id[index(row.slice)];
      if (row.meta != nullptr && id != 0) by_external_id_.emplace(id, &row);
    }
  }

  RankCalls read() {
    if (view_.index->cpu_only()) {
      read_host();
    } else {
      read_device();
    }
    std::ranges::stable_sort(out_.calls, {}, &CollectiveCall::start);
    add_configured_groups();
    infer_from_streams(view_, out_);
    take_only_group();
    read_sizes_of_ranges();
    for (CollectiveCall& call : out_.calls)
      if (const auto step = step_at(view_.steps, call.start))
        call.step = static_cast<std::uint32_t>(*step);
    out_.calls.shrink_to_fit();
    return std::move(out_);
  }

 private:
  std::uint32_t add_group(CommGroup group) {
    const auto row = static_cast<std::uint32_t>(out_.groups.size());
    rows_by_name_.emplace(group.name, row);
    out_.groups.push_back(std::move(group));
    return row;
  }

  std::uint32_t group_row(const Collective& meta) {
    const auto key = std::tuple(meta.group_name, meta.group_ranks, meta.group_size,
                                meta.global_rank_start, meta.global_rank_stride);
    if (const auto at = group_rows_.find(key); at != group_rows_.end()) return at->second;
    std::uint32_t row = no_row;
    if (auto group = group_of(trace_, meta)) {
      const auto [same, last] = rows_by_name_.equal_range(group->name);
      const auto at =
          std::find_if(same, last, [&](const auto& r) { return out_.groups[r.second] == *group; });
      row = at == last ? add_group(std::move(*group)) : at->second;
    }
    group_rows_.emplace(key, row);
    return row;
  }

  int global_rank(std::uint32_t group, int in_group) const {
    if (group == no_row || in_group < 0) return in_group;
    const std::vector<int>& ranks = out_.groups[group].ranks;
    const auto at = static_cast<std::size_t>(in_group);
    return at < ranks.size() ? ranks[at] : in_group;
  }

  void read_metadata(const Collective& meta, CollectiveCall& call) {
    call.group = group_row(meta);
    call.seq = meta.seq;
    if (meta.dtype != empty_string) call.dtype = dtype_name(trace_.strings[meta.dtype]);
    const auto size = dtype_bytes(call.dtype);
    const int n = call.group == no_row ? meta.group_size : out_.groups[call.group].size;
    call.elements =
        gathers(call.kind) && meta.out_elements > 0 ? meta.out_elements : meta.in_elements;
    if (size)
      call.bytes = message_bytes(call.kind, {meta.in_elements, meta.out_elements, n}, *size);
    read_recorded_root(meta, call);
  }

  void read_recorded_root(const Collective& meta, CollectiveCall& call) {
    if (is_rooted(call.kind) && meta.rank >= 0) call.root = global_rank(call.group, meta.rank);
  }

  // Uses the input shapes of the annotation if no metadata was recorded.
  void read_arguments(SliceId row, CollectiveCall& call) {
    const std::uint32_t detail = trace_.slices.detail[index(row)];
    const Category category = trace_.slices.category[index(row)];
    if (detail == no_row || detail >= trace_.ops.size()) return;
    if (category != Category::cpu_op && category != Category::user_annotation) return;
    const auto tensors = tensor_arguments(trace_.strings[trace_.ops.input_dims[detail]],
                                          trace_.strings[trace_.ops.input_types[detail]]);
    if (!tensors) return;
    call.dtype = tensors->dtype;
    call.elements = tensors->elements;
    const int n = call.group == no_row ? -1 : out_.groups[call.group].size;
    call.bytes = message_bytes(call.kind, {tensors->elements, -1, n}, *dtype_bytes(call.dtype));
  }

  std::optional<OpInputs> inputs_of(const HostRow& op) const {
    const std::uint32_t detail = trace_.slices.detail[index(op.slice)];
    if (detail == no_row || detail >= trace_.ops.size()) return std::nullopt;
    return parse_inputs(trace_.strings[trace_.ops.input_dims[detail]],
                        trace_.strings[trace_.ops.input_types[detail]],
                        trace_.strings[trace_.ops.concrete_inputs[detail]]);
  }

  // c10d::broadcast_(tensors, group, root, …), c10d::reduce_(tensors, group, op, root, …),
  // c10d::scatter_(outputs, inputs, group, root, …), c10d::gather_(outputs, inputs, group, root,
  // …). The root is a rank within the group.
  void read_root(const HostRow& op, CollectiveCall& call) {
    const std::string_view name = trace_.name(op.slice);
    std::size_t argument = 0;
    if (name == "c10d::broadcast_") argument = 2;
    if (name == "c10d::reduce_" || name == "c10d::scatter_" || name == "c10d::gather_")
      argument = 3;
    if (argument == 0) return;
    const auto inputs = inputs_of(op);
    const auto root = inputs ? inputs->integer(argument) : std::nullopt;
    if (!root || *root < 0) return;
    call.root_in_group = call.group == no_row;
    call.root = global_rank(call.group, static_cast<int>(*root));
  }

  // c10d::send(tensors, group, dst, tag), c10d::recv_(tensors, group, src, tag). The peer is a rank
  // within the group.
  void read_peer(const HostRow& op, P2pEdge& edge) const {
    const std::string_view name = trace_.name(op.slice);
    if (name != "c10d::send" && name != "c10d::recv_") return;
    const auto inputs = inputs_of(op);
    const auto peer = inputs ? inputs->integer(2) : std::nullopt;
    if (!peer || *peer < 0) return;
    edge.peer() = static_cast<int>(*peer);
    edge.in_group = true;
    if (const auto tag = inputs->integer(3)) edge.tag = static_cast<int>(*tag);
  }

  // Also where the members of the group are unknown.
  bool may_be_member(std::uint32_t group, int rank) const {
    if (group == no_row || out_.groups[group].ranks.empty()) return true;
    return out_.groups[group].place_of(rank).has_value();
  }

  // "nccl:send 0->1" and "nccl:recv 0<-1" number ranks within the group. Metadata use global ranks.
  void add_edge(const HostRow* row, const Collective* meta, CollectiveCall& call,
                const HostRow* op = nullptr) {
    P2pEdge edge;
    const CollectiveKind kind =
        meta != nullptr ? collective_kind(trace_.strings[meta->name]) : row->kind;
    const bool sends = edge.sends = kind == CollectiveKind::send;
    (sends ? edge.src : edge.dst) = view_.rank;
    int& peer = edge.peer();
    if (meta != nullptr) {
      if (call.group == no_row) call.group = group_row(*meta);
      peer = sends ? meta->dst_rank : meta->src_rank;
      edge.elements = std::max(meta->in_elements, meta->out_elements);
    }
    if (peer < 0 && row != nullptr) {
      const std::string_view name = trace_.name(row->slice);
      const auto arrow = name.find_first_of("-<>");
      if (arrow != std::string_view::npos && arrow + 2 < name.size()) {
        const auto named = leading_number<int>(name.substr(arrow + 2));
        edge.in_group = named.has_value();
        peer = named.value_or(-1);
      }
    }
    if (peer < 0 && op != nullptr) read_peer(*op, edge);
    // NCCL's own record has the peer's rank within the group; some have the rank's own number.
    if (peer < 0 && meta != nullptr && meta->rank >= 0) {
      peer = global_rank(call.group, meta->rank);
      edge.by_number = true;
      if (peer == view_.rank || !may_be_member(call.group, peer)) {
        out_.own_numbers = true;
        peer = -1;
      }
    }
    if (edge.elements < 0 && meta == nullptr) edge.elements = call.elements;
    if (call.group != no_row)
      complete_by_group(view_.rank, out_.groups[call.group], call, std::span(&edge, 1));
    if (edge.src == edge.dst && !edge.in_group) return;  // a copy within the rank
    if (call.edge_count == 0) call.first_edge = static_cast<std::uint32_t>(out_.edges.size());
    out_.edges.push_back(edge);
    ++call.edge_count;
  }

  // The dtype of rows with metadata; empty if they differ or one has no dtype.
  std::string_view common_dtype(std::span<const HostRow* const> rows) const {
    std::string_view common;
    for (const HostRow* row : rows) {
      if (row->meta == nullptr || row->meta->dtype == empty_string) return {};
      const std::string_view dtype = dtype_name(trace_.strings[row->meta->dtype]);
      if (!common.empty() && dtype != common) return {};
      common = dtype;
    }
    return common;
  }

  // A fused kernel runs the sends and receives that were recorded before its launch on the same
  // thread and have no kernel of their own.
  void collect_pending(SliceId launch, CollectiveCall& call) {
    constexpr std::size_t longest_batch = 1024;
    const Slices& s = trace_.slices;
    const Track& track = trace_.track(s.track[index(launch)]);
    auto at = std::ranges::upper_bound(host_.rows, index(launch), {},
                                       [](const HostRow& row) { return index(row.slice); });
    std::vector<const HostRow*> batch;
    const HostRow* inner = nullptr;  // a backend row inside its record_param_comms
    for (std::size_t i = 0; i < longest_batch && at != host_.rows.begin(); ++i) {
      --at;
      const auto row = static_cast<std::size_t>(at - host_.rows.begin());
      if (index(at->slice) < track.first) break;
      const bool message = at->kind == CollectiveKind::send || at->kind == CollectiveKind::recv;
      if (message && owned_[row]) break;
      if (!message && is_known(at->kind) && at->kind != CollectiveKind::send_recv) break;
      if (!message || at->form == HostForm::op) continue;
      owned_[row] = true;
      const bool holds_inner = at->form == HostForm::params && inner != nullptr &&
                               s.end(at->slice) >= s.end(inner->slice);
      if (holds_inner) batch.pop_back();
      batch.push_back(&*at);
      inner = at->form == HostForm::backend ? &*at : nullptr;
    }
    for (auto row = batch.rbegin(); row != batch.rend(); ++row) add_edge(*row, (*row)->meta, call);
    if (call.edge_count == 0) return;
    call.kind = CollectiveKind::send_recv;
    if (call.dtype.empty()) call.dtype = common_dtype(batch);
  }

  Sources sources_of(SliceId kernel, CollectiveKind by_name, SliceId& innermost) {
    Sources from;
    from.meta = trace_.collective(kernel);
    const SliceId launch = view_.index->launch(kernel);
    if (launch != no_slice) {
      const Slices& s = trace_.slices;
      const auto rows = host_.around(trace_, s.track[index(launch)], s.start[index(launch)]);
      for (const std::uint32_t r : rows) {
        const HostRow& row = host_.rows[r];
        owned_[r] = true;
        if (innermost == no_slice) innermost = row.slice;
        if (row.form == HostForm::backend && from.backend == nullptr) from.backend = &row;
        if (row.form == HostForm::op && from.op == nullptr) from.op = &row;
        if (row.meta != nullptr && from.op_meta == nullptr) from.op_meta = row.meta;
        if (row.size && from.sized == nullptr) from.sized = &row;
      }
    }
    // Old writers put the correlation into the external id, so only a row of the same kind counts.
    // A message that was recorded before the launch may be one of several in the kernel.
    const auto at = by_external_id_.find(trace_.slices.external_id[index(kernel)]);
    if (from.op_meta == nullptr && at != by_external_id_.end() &&
        (at->second->kind == by_name || (!is_known(by_name) && !is_message(at->second->kind)))) {
      from.op_meta = at->second->meta;
      if (innermost == no_slice) innermost = at->second->slice;
    }
    if (from.meta == nullptr) from.meta = from.op_meta;
    return from;
  }

  CollectiveCall describe(SliceId slice, CollectiveKind by_name, const Sources& from) {
    CollectiveCall call;
    call.slice = slice;
    call.start = trace_.slices.start[index(slice)];
    call.end = trace_.slices.end(slice);
    call.stream = trace_.slices.track[index(slice)];
    call.kind = by_name == CollectiveKind::none ? CollectiveKind::unknown : by_name;
    call.kind_by_name = true;
    CollectiveKind recorded = CollectiveKind::none;
    if (from.meta != nullptr) recorded = collective_kind(trace_.strings[from.meta->name]);
    if (!is_known(recorded) && from.backend != nullptr) recorded = from.backend->kind;
    if (!is_known(recorded) && from.op != nullptr) recorded = from.op->kind;
    if (is_known(recorded)) {
      call.kind = recorded;
      call.kind_by_name = false;
    }
    if (from.meta != nullptr) read_metadata(*from.meta, call);
    if (!call.bytes && from.backend != nullptr) read_arguments(from.backend->slice, call);
    if (call.root < 0 && from.op_meta != nullptr) read_recorded_root(*from.op_meta, call);
    if (call.root < 0 && from.op != nullptr) read_root(*from.op, call);
    if (call.kind == CollectiveKind::send || call.kind == CollectiveKind::recv)
      add_edge(from.backend, from.meta, call, from.op);
    if (from.sized != nullptr) sized_[from.sized].push_back(slice);
    return call;
  }

  void read_device() {
    std::vector<CollectiveKind> kind_of_name(trace_.strings.size(), CollectiveKind::none);
    std::vector<bool> asked(trace_.strings.size());
    for (const DeviceLane& lane : view_.index->devices) {
      for (const SliceId op : lane.ops) {
        if (!trace_.is_communication(op)) continue;
        const std::uint32_t name = index(trace_.slices.name[index(op)]);
        if (!asked[name]) kind_of_name[name] = collective_kind(trace_.name(op));
        asked[name] = true;
        SliceId innermost = no_slice;
        const Sources from = sources_of(op, kind_of_name[name], innermost);
        CollectiveCall call = describe(op, kind_of_name[name], from);
        call.host = innermost;
        call.launch = view_.index->launch(op);
        out_.calls.push_back(call);
      }
    }
    for (CollectiveCall& call : out_.calls) {
      const bool fused = call.kind_by_name && (call.kind == CollectiveKind::send_recv ||
                                               call.kind == CollectiveKind::unknown);
      if (fused && call.launch != no_slice) collect_pending(call.launch, call);
    }
  }

  void read_host() {
    const Slices& s = trace_.slices;
    for (const auto& [row, asker] : asked_rows(trace_, host_, view_.index->device_unseen())) {
      Sources from;
      from.meta = asker->meta;
      from.backend = row->form == HostForm::backend ? row : nullptr;
      const SliceId launch = asker->slice;
      for (const std::uint32_t r :
           host_.around(trace_, s.track[index(launch)], s.start[index(launch)])) {
        const HostRow& around = host_.rows[r];
        if (around.form == HostForm::op && from.op == nullptr) from.op = &around;
        if (around.size && from.sized == nullptr) from.sized = &around;
      }
      CollectiveCall call = describe(row->slice, row->kind, from);
      call.on_host = true;
      call.host = row->slice;
      call.launch = launch;
      // gloo posts a message and then begins its row, for which the thread may need a core.
      if (call.edge_count > 0 && s.track[index(launch)] == call.stream)
        call.start = std::min(call.start, s.start[index(launch)]);
      out_.calls.push_back(call);
    }
  }

  // Groups that this rank lists but did not use show join_groups() which names the rank knows. In
  // some versions an empty list of ranks means the whole world.
  void add_configured_groups() {
    const int world = trace_.metadata.world_size.value_or(-1);
    for (const ProcessGroup& group : trace_.metadata.groups) {
      CommGroup listed{group.name, group.description, group.ranks, group.size};
      for (int rank = 0; group.ranks.empty() && group.size == world && rank < world; ++rank)
        listed.ranks.push_back(rank);
      const auto self = std::ranges::find(listed.ranks, view_.rank);
      const bool only = trace_.metadata.groups.size() == 1 && self != listed.ranks.end();
      if (listed.ranks.empty() || (listed.name.empty() && !only)) continue;
      listed.size = static_cast<int>(listed.ranks.size());
      const bool member = self != listed.ranks.end();
      const auto same = rows_by_name_.find(listed.name);
      const std::uint32_t row =
          same == rows_by_name_.end() ? add_group(std::move(listed)) : same->second;
      if (member) out_.listed.push_back(row);
    }
  }

  // The size in the name of a range is that of the one call in it.
  void read_sizes_of_ranges() {
    std::unordered_map<std::uint32_t, const HostRow*> range_of;
    for (const auto& [range, calls] : sized_)
      if (calls.size() == 1) range_of.emplace(index(calls.front()), range);
    for (std::uint32_t c = 0; c < out_.calls.size() && !range_of.empty(); ++c) {
      CollectiveCall& call = out_.calls[c];
      const auto at = range_of.find(index(call.slice));
      if (at == range_of.end() || at->second->kind != call.kind || !size_is_whole(call.kind))
        continue;
      const NamedSize& named = *at->second->size;
      call.bytes_by_range = !call.bytes;
      if (!call.bytes) call.bytes = named.bytes;
      if (std::abs(call.bytes->value - named.bytes.value) <= named.rounding.value) continue;
      if (out_.other_sizes.calls++ == 0) {
        out_.other_sizes.range = trace_.name(at->second->slice);
        out_.other_sizes.recorded = *call.bytes;
      }
    }
  }

  // In a job with a single process group every call belongs to it, even without metadata.
  void take_only_group() {
    if (trace_.metadata.groups.size() != 1 || out_.listed.size() != 1) return;
    const std::uint32_t row = out_.listed.front();
    for (CollectiveCall& call : out_.calls) {
      if (call.group != no_row) continue;
      call.group = row;
      complete_by_group(view_.rank, out_.groups[row], call, out_.edges_of(call));
    }
  }
};

}  // namespace

RankCalls find_collective_calls(const RankView& view) { return CallReader(view).read(); }

const DeviceLane* lane_of(const RankView& view, const CollectiveCall& call) {
  return view.index->lane(view.trace->track(call.stream).device_index);
}

void complete_by_group(int rank, const CommGroup& group, CollectiveCall& call,
                       std::span<P2pEdge> edges) {
  const auto size = dtype_bytes(call.dtype);
  if (!call.bytes && size)
    call.bytes = message_bytes(call.kind, {call.elements, -1, group.size}, *size);
  const std::vector<int>& ranks = group.ranks;
  if (ranks.empty()) return;
  const auto global = [&](int number) {
    return static_cast<std::size_t>(number) < ranks.size() ? ranks[static_cast<std::size_t>(number)]
                                                           : -1;
  };
  if (std::exchange(call.root_in_group, false)) call.root = global(call.root);
  const bool pair = ranks.size() == 2 && (ranks[0] == rank || ranks[1] == rank);
  for (P2pEdge& edge : edges) {
    int& peer = edge.peer();
    if (std::exchange(edge.in_group, false)) peer = global(peer);
    if (peer < 0 && pair) peer = ranks[0] == rank ? ranks[1] : ranks[0];
  }
}

void sort_as_launched(const RankView& view, std::span<const CollectiveCall> calls,
                      std::vector<std::uint32_t>& rows) {
  const auto elsewhere = [&](std::uint32_t c) {
    return calls[c].stream != calls[rows.front()].stream;
  };
  const auto unknown = [&](std::uint32_t c) { return calls[c].launch == no_slice; };
  if (std::ranges::none_of(rows, elsewhere) || std::ranges::any_of(rows, unknown)) return;
  std::ranges::stable_sort(
      rows, {}, [&](std::uint32_t c) { return view.trace->slices.start[index(calls[c].launch)]; });
}

void Plain<std::string_view>::append(std::string& out, const std::string_view& name) {
  append_plain(out, std::string(name));
}

bool Plain<std::string_view>::take(std::string_view& in, std::string_view& name) {
  static StringPool names;
  std::string taken;
  if (!take_plain(in, taken)) return false;
  name = names[names.intern(taken)];
  return true;
}

}  // namespace stepscope
