// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/host_communication.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/work/op_inputs.h"

namespace stepscope {
namespace {

struct NameFacts {
  bool candidate = false;  // communication of some kind; metadata may say more
  bool backend = false;
  bool device = false;  // the backend is of the nccl family
  CollectiveKind kind = CollectiveKind::none;
  std::optional<NamedSize> size{};
};

std::vector<NameFacts> name_facts(const Trace& trace) {
  std::vector<NameFacts> facts(trace.strings.size());
  std::vector<bool> seen(facts.size());
  for (std::uint32_t row = 0; row < trace.slices.size(); ++row) {
    const std::uint32_t i = index(trace.slices.name[row]);
    if (seen[i] || trace.slices.kind[row] != NameClass::communication ||
        is_device_work(trace.slices.category[row]))
      continue;
    seen[i] = true;
    const std::string_view name = trace.strings[StringId{i}];
    const CollectiveKind kind = collective_kind(name);
    const bool params = name == "record_param_comms";
    facts[i] = {params || kind != CollectiveKind::none, is_backend_row(name),
                name.substr(0, name.find(':')).ends_with("ccl"), kind, size_in_name(name)};
  }
  return facts;
}

}  // namespace

HostCommunication find_host_communication(const Trace& trace, const std::vector<TrackId>& threads) {
  const std::vector<NameFacts> facts = name_facts(trace);
  const Slices& s = trace.slices;
  HostCommunication found;
  for (const TrackId thread : threads) {
    const Track& track = trace.track(thread);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const NameFacts& fact = facts[index(s.name[i])];
      if (!fact.candidate) continue;
      HostRow row;
      row.slice = SliceId{i};
      row.meta = trace.collective(row.slice);
      row.kind = fact.kind;
      row.size = fact.size;
      if (row.meta != nullptr) {
        const std::string_view name = trace.strings[row.meta->name];
        if (name == "wait") continue;
        row.form = HostForm::params;
        const CollectiveKind recorded = collective_kind(name);
        if (recorded != CollectiveKind::none) row.kind = recorded;
      } else if (fact.backend) {
        row.form = HostForm::backend;
        row.enqueues = fact.device;
      }
      found.rows.push_back(row);
    }
  }
  std::ranges::sort(found.rows, {}, [](const HostRow& row) { return index(row.slice); });
  return found;
}

std::vector<std::uint32_t> HostCommunication::around(const Trace& trace, TrackId thread,
                                                     Ns t) const {
  // Communication rows nest only a few levels. The bound keeps overlapping rows from a long walk.
  constexpr std::size_t walk = 16;
  const Slices& s = trace.slices;
  const Track& track = trace.track(thread);
  const auto slice = [](const HostRow& r) { return index(r.slice); };
  const auto begin = std::ranges::lower_bound(rows, track.first, {}, slice);
  const auto end = std::ranges::lower_bound(rows, track.first + track.count, {}, slice);
  auto after = std::upper_bound(
      begin, end, t, [&](Ns at, const HostRow& row) { return at < s.start[index(row.slice)]; });
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < walk && after != begin; ++i) {
    --after;
    if (s.end(after->slice) >= t) found.push_back(static_cast<std::uint32_t>(after - rows.begin()));
  }
  return found;
}

namespace {

using Rows = std::vector<const HostRow*>;

// The elements of the first two arguments that are tensors or lists of tensors. A backend's row has
// the input, an operator the output and the input, in either order.
constexpr std::int64_t unknown_size = -1;
using Sizes = std::array<std::int64_t, 2>;

class ArgumentSizes {
 public:
  explicit ArgumentSizes(const Trace& trace) : trace_(trace) {}

  Sizes of(const HostRow& row) {
    const std::uint32_t detail = trace_.slices.detail[index(row.slice)];
    const Category category = trace_.slices.category[index(row.slice)];
    const bool recorded = category == Category::cpu_op || category == Category::user_annotation;
    if (!recorded || detail == no_row || detail >= trace_.ops.size()) return none;
    const StringId dims = trace_.ops.input_dims[detail];
    const StringId types = trace_.ops.input_types[detail];
    const auto [at, fresh] = known_.try_emplace(std::pair(index(dims), index(types)), none);
    if (fresh) at->second = parse(trace_.strings[dims], trace_.strings[types]);
    return at->second;
  }

 private:
  static constexpr Sizes none = {unknown_size, unknown_size};

  static Sizes parse(std::string_view dims, std::string_view types) {
    Sizes sizes = none;
    const auto inputs = parse_inputs(dims, types, "");
    if (!inputs) return sizes;
    for (std::size_t i = 0; i < sizes.size() && i < inputs->args.size(); ++i) {
      const OpInput& input = inputs->args[i];
      if (input.is_tensor()) sizes[i] = element_count(input.dims).value_or(unknown_size);
      if (input.list.empty()) continue;
      sizes[i] = 0;
      for (const Dims& tensor : input.list) sizes[i] += element_count(tensor).value_or(0);
    }
    return sizes;
  }

  const Trace& trace_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sizes> known_;
};

bool same_size(const Sizes& row, const Sizes& asker) {
  if (row[0] == unknown_size || asker[0] == unknown_size) return true;
  return row[0] == asker[0] || row[0] == asker[1];
}

// gloo runs a reduce-scatter as an all-reduce.
CollectiveKind run_as(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter ? CollectiveKind::all_reduce : kind;
}

// The operators of one kind that wait for their rows, in the order of the program.
struct Waiting {
  struct Asker {
    const HostRow* row = nullptr;
    Sizes sizes{};
    bool taken = false;
  };
  std::vector<Asker> askers;
  std::size_t first = 0;  // all before are taken

  const HostRow* take(const HostRow& row, const Sizes& sizes, const Trace& trace) {
    constexpr std::size_t most_in_flight = 256;  // of other queues, and whose rows are not recorded
    const Ns start = trace.slices.start[index(row.slice)];
    const std::size_t last = std::min(askers.size(), first + most_in_flight);
    for (std::size_t i = first; i < last; ++i) {
      Asker& asker = askers[i];
      if (trace.slices.start[index(asker.row->slice)] > start) return nullptr;
      const bool fits = !asker.taken && run_as(asker.row->kind) == run_as(row.kind) &&
                        (asker.row->kind == row.kind || row.kind == CollectiveKind::all_reduce) &&
                        same_size(sizes, asker.sizes);
      if (!fits) continue;
      asker.taken = true;
      while (first < askers.size() && askers[first].taken) ++first;
      return asker.row;
    }
    return nullptr;
  }
};

}  // namespace

std::vector<AskedRow> asked_rows(const Trace& trace, const HostCommunication& host,
                                 bool device_unseen) {
  Rows backend;
  Rows params;
  Rows ops;
  bool enqueues = device_unseen;
  for (const HostRow& row : host.rows) {
    if (row.form == HostForm::backend && row.enqueues) enqueues = true;
    if (row.form == HostForm::backend && !row.enqueues) backend.push_back(&row);
    if (row.form == HostForm::params) params.push_back(&row);
    if (row.form == HostForm::op && trace.name(row.slice).starts_with("c10d::"))
      ops.push_back(&row);
  }
  const auto by_start = [&](const HostRow* row) { return trace.slices.start[index(row->slice)]; };
  for (Rows* rows : {&backend, &params, &ops}) std::ranges::stable_sort(*rows, {}, by_start);
  const Rows& askers = params.empty() ? ops : params;
  const Rows& calls = backend.empty() && !enqueues ? askers : backend;
  ArgumentSizes sizes(trace);
  std::array<Waiting, collective_kind_count> waiting;
  for (const HostRow* row : askers)
    waiting[static_cast<std::size_t>(run_as(row->kind))].askers.push_back({row, sizes.of(*row)});
  std::vector<AskedRow> asked;
  asked.reserve(calls.size());
  for (const HostRow* row : calls) {
    Waiting& queue = waiting[static_cast<std::size_t>(run_as(row->kind))];
    const HostRow* asker = queue.take(*row, sizes.of(*row), trace);
    asked.push_back({row, asker == nullptr ? row : asker});
  }
  return asked;
}

}  // namespace stepscope
