// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/memory_account.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace stepscope {
namespace {

struct Node {
  std::map<std::string, Node> inner{};
  std::int64_t bytes = 0;
};

constexpr std::size_t deepest = 200;
constexpr std::size_t longest_label = 1000;

// Labels from the outermost call inwards.
std::vector<std::string> path_of(const MemorySnapshot& snapshot, std::uint32_t stack,
                                 const AllocationSite& site) {
  if (stack == 0) return {"no stack recorded"};
  std::vector<std::string> path;
  for (const std::uint32_t index : snapshot.stacks[stack]) {
    if (path.size() == deepest) break;
    const SnapshotFrame& f = snapshot.stacks.frames[index];
    const std::string_view name = snapshot.strings[f.name].substr(0, longest_label);
    const std::string_view file = snapshot.strings[f.file].substr(0, longest_label);
    const bool python = file.ends_with(".py") || file.starts_with('<');
    if (!python || name == "_call_impl" || name == "_wrapped_call_impl") continue;
    const std::size_t slash = file.rfind('/');
    path.push_back(std::string(name) + " (" +
                   std::string(slash == std::string_view::npos ? file : file.substr(slash + 1)) +
                   ':' + std::to_string(f.line) + ')');
  }
  std::ranges::reverse(path);
  if (path.empty() && !site.name.empty()) {
    if (site.phase == AllocationPhase::backward) path.emplace_back("autograd");
    path.push_back(site.name);
  }
  if (!site.operation.empty()) path.push_back(site.operation);
  if (path.empty()) path.emplace_back("no telling frame");
  return path;
}

class TreeColumns {
 public:
  explicit TreeColumns(std::int64_t least) : least_(least) {}

  MemoryTree run(const Node& root) {
    add("all", 0, root);
    return std::move(out_);
  }

 private:
  void add(const std::string& label, std::uint32_t parent, const Node& node) {
    const auto here = static_cast<std::uint32_t>(out_.label.size());
    const auto known = labels_.try_emplace(label, static_cast<std::uint32_t>(labels_.size()));
    if (known.second) out_.labels.push_back(label);
    out_.label.push_back(known.first->second);
    out_.parent.push_back(parent);
    out_.total.push_back(Bytes{node.bytes});
    std::vector<const std::pair<const std::string, Node>*> inner;
    for (const auto& entry : node.inner)
      if (entry.second.bytes >= least_) inner.push_back(&entry);
    std::ranges::stable_sort(inner, std::ranges::greater{},
                             [](const auto* entry) { return entry->second.bytes; });
    for (const auto* entry : inner) add(entry->first, here, entry->second);
  }

  std::int64_t least_;
  std::map<std::string, std::uint32_t> labels_;
  MemoryTree out_;
};

MemoryTree memory_tree(const MemorySnapshot& snapshot, const MemoryState& state,
                       std::span<const AllocationSite> sites) {
  std::map<std::uint32_t, std::int64_t> by_stack;
  for (const BlockLife* life : state.blocks) by_stack[life->stack] += life->size.value;
  Node root;
  for (const auto& [stack, bytes] : by_stack) {
    root.bytes += bytes;
    Node* at = &root;
    for (std::string& label : path_of(snapshot, stack, sites[stack])) {
      at = &at->inner[std::move(label)];
      at->bytes += bytes;
    }
  }
  const double least = least_tree_share * static_cast<double>(root.bytes);
  return TreeColumns(std::max<std::int64_t>(static_cast<std::int64_t>(least), 1)).run(root);
}

// True for an event that neither allocates nor frees memory.
bool is_remark(AllocatorAction action) {
  return action == AllocatorAction::snapshot || action == AllocatorAction::other;
}

SegmentRetries find_retries(const SnapshotDevice& device) {
  SegmentRetries out;
  const auto& events = device.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!gives_segment_back(events[i].action)) continue;
    const AllocatorEvent& first = events[i];
    std::uint64_t segments = 0;
    Bytes bytes{};
    for (;
         i < events.size() && (gives_segment_back(events[i].action) || is_remark(events[i].action));
         ++i)
      if (gives_segment_back(events[i].action)) {
        ++segments;
        bytes += events[i].size;
      }
    const AllocatorEvent* const next = i < events.size() ? &events[i] : nullptr;
    const bool wanted =
        next != nullptr && (takes_segment(next->action) || next->action == AllocatorAction::oom);
    const bool told = wanted && first.stack != 0 && next->stack != 0;
    if (!wanted || (told && first.stack != next->stack)) {
      ++out.emptied;
      continue;
    }
    ++out.count;
    out.segments += segments;
    out.bytes += bytes;
    if (told) ++out.certain;
    if (next->time > first.time && first.time > Ns{}) out.total += next->time - first.time;
  }
  return out;
}

OutOfMemory shortage(const AllocatorEvent& e, std::uint32_t position, const MemoryState& state) {
  constexpr std::uint64_t most = std::uint64_t{1} << 60U;
  OutOfMemory oom{.position = position,
                  .request = e.size,
                  .device_free = Bytes{static_cast<std::int64_t>(std::min(e.address, most))},
                  .stack = e.stack,
                  .fragments = memory_fragments(state, position),
                  .fit = memory_fit(state, e.size, e.stream, e.pool)};
  const Bytes own = oom.fit.free_usable + oom.device_free;
  const Bytes all = oom.fragments.free() + oom.device_free;
  if (own >= oom.request)
    oom.verdict = OomVerdict::fragmented;
  else if (all >= oom.request)
    oom.verdict = OomVerdict::streams;
  else if (all + oom.fragments.pending >= oom.request)
    oom.verdict = OomVerdict::pending;
  if (all < oom.request) oom.missing = oom.request - all;
  return oom;
}

// Fills ooms (except their times), oom_count and retries.
void find_shortages(const SnapshotDevice& device, const MemoryReplay& replay,
                    DeviceMemoryAccount& account) {
  account.retries = find_retries(device);
  for (std::uint32_t i = 0; i < device.events.size(); ++i) {
    if (device.events[i].action != AllocatorAction::oom) continue;
    ++account.oom_count;
    if (account.ooms.size() < most_ooms)
      account.ooms.push_back(shortage(device.events[i], i, state_at(replay, i)));
  }
}

using Phase = AllocationPhase;

std::optional<MemoryUse> use_named(std::string_view category) {
  constexpr std::array<std::pair<std::string_view, MemoryUse>, 6> names = {
      {{"parameter", MemoryUse::parameters},
       {"optimizer_state", MemoryUse::optimizer},
       {"gradient", MemoryUse::gradients},
       {"activation", MemoryUse::activations},
       {"temporary", MemoryUse::temporary},
       {"autograd_detail", MemoryUse::temporary}}};
  for (const auto& [name, use] : names)
    if (name == category) return use;
  return std::nullopt;
}

// The position from which on nothing is allocated and most of what is held is freed: the program
// ends, or an error unwinds it. What lives there was kept. The last position without such an end.
std::uint32_t end_of_work(const SnapshotDevice& device, const MemoryReplay& replay) {
  constexpr std::int64_t part = 4;  // that stays, at most, where the work has ended
  std::size_t last = device.events.size();
  while (last > 0 && device.events[last - 1].action != AllocatorAction::alloc) --last;
  const bool freed = last > 0 && part * replay.live.back() < replay.live[last];
  return static_cast<std::uint32_t>(freed ? last : device.events.size());
}

class Uses {
 public:
  Uses(const MemorySnapshot& snapshot, const SnapshotDevice& device, const MemoryReplay& replay,
       std::span<const AllocationSite> sites)
      : snapshot_(snapshot),
        sites_(sites),
        python_only_(is_python_only()),
        end_(end_of_work(device, replay)) {
    phases_.reserve(device.events.size() + 1);
    phases_.push_back(Phase::unknown);
    for (const AllocatorEvent& e : device.events) {
      const Phase here = phase_of(e.stack);
      phases_.push_back(tells(here) ? here : phases_.back());
    }
  }

  [[nodiscard]] MemoryUse of(const BlockLife& life) const {
    if (const auto use = use_named(snapshot_.strings[life.category])) return *use;
    const bool kept = life.end > end_;
    const Phase freed = kept ? Phase::unknown : freed_in(life);
    if (life.stack == 0 && life.before_trace) {
      if (kept) return MemoryUse::older;
      if (sites_[life.free_stack].zeroes_gradients) return MemoryUse::gradients;
      if (freed == Phase::backward) return MemoryUse::activations;
      return freed == Phase::optimizer ? MemoryUse::optimizer : MemoryUse::unknown;
    }
    switch (phase_of(life.stack)) {
      case Phase::setup:
        return kept ? MemoryUse::parameters : MemoryUse::temporary;
      case Phase::optimizer:
        return kept ? MemoryUse::optimizer : MemoryUse::temporary;
      case Phase::backward:
        return freed == Phase::backward ? MemoryUse::temporary : MemoryUse::gradients;
      case Phase::forward:
        return freed == Phase::forward ? MemoryUse::temporary : MemoryUse::activations;
      default:
        return freed == Phase::backward ? MemoryUse::activations : MemoryUse::unknown;
    }
  }

 private:
  [[nodiscard]] bool is_python_only() const {
    return snapshot_.stacks.size() > 1 &&
           std::ranges::all_of(snapshot_.stacks.frames, [&](const SnapshotFrame& f) {
             const std::string_view file = snapshot_.strings[f.file];
             return file.ends_with(".py") || file.starts_with('<');
           });
  }
  static bool tells(Phase phase) { return phase != Phase::unknown && phase != Phase::other; }
  [[nodiscard]] Phase phase_of(std::uint32_t stack) const {
    return stack == 0 && python_only_ ? Phase::backward : sites_[stack].phase;
  }
  [[nodiscard]] Phase freed_in(const BlockLife& life) const {
    const Phase own = sites_[life.free_stack].phase;
    if (tells(own)) return own;
    const std::uint32_t at = std::min(life.released, life.end);
    return phases_[std::min<std::size_t>(at, phases_.size() - 1)];
  }

  const MemorySnapshot& snapshot_;
  std::span<const AllocationSite> sites_;
  bool python_only_;
  std::uint32_t end_;          // end_of_work()
  std::vector<Phase> phases_;  // by position: of the last event that shows it
};

// Marks the copies that autocast made of parameters.
void mark_casts(const MemoryReplay& replay, std::span<const AllocationSite> sites,
                std::span<MemoryUse> uses) {
  std::map<Bytes, std::size_t> parameters;  // by size
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i] == MemoryUse::parameters || uses[i] == MemoryUse::older)
      ++parameters[replay.blocks[i].requested];
  std::vector<std::size_t> made;
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (const BlockLife& b = replay.blocks[i];
        sites[b.stack].casts && parameters.contains(b.requested * 2))
      made.push_back(i);
  std::ranges::stable_sort(made, {}, [&](std::size_t i) { return replay.blocks[i].begin; });
  std::map<Bytes, std::multiset<std::uint32_t>> ends;  // of the copies that live, by size
  for (const std::size_t i : made) {
    const BlockLife& b = replay.blocks[i];
    std::multiset<std::uint32_t>& living = ends[b.requested];
    living.erase(living.begin(), living.upper_bound(b.begin));
    if (living.size() == parameters[b.requested * 2]) continue;
    living.insert(b.end);
    uses[i] = MemoryUse::casts;
  }
}

// The use of each block of a replayed history, in terms of MemoryUse
// (device_memory.h), inferred from the stacks of its allocation and its free:
//   parameters   allocated in setup and kept: never freed, or at the end (end_of_work())
//   older        before the trace, without a stack, kept
//   optimizer    allocated in the optimizer and kept; before the trace, and freed there
//   gradients    allocated in a backward and not freed in one; before the trace, and freed in
//                zero_grad
//   activations  allocated in a forward and not freed in one; anywhere else, or before the trace,
//                and freed in a backward
//   casts        made by autocast, with half the bytes of a parameter; at once no more of a size
//                than parameters of twice the size (copies of activations may have it too)
//   temporary    freed in the phase that allocated it, or allocated in setup or optimizer and freed
//   unknown      the rest
// A category in the file itself (pages of profile_plot) takes precedence. If only Python's stacks
// are recorded, an allocation without a stack counts as autograd's.
// Element i is the use of replay.blocks[i].
std::vector<MemoryUse> memory_uses(const MemorySnapshot& snapshot, const SnapshotDevice& device,
                                   const MemoryReplay& replay,
                                   std::span<const AllocationSite> sites) {
  const Uses uses(snapshot, device, replay, sites);
  std::vector<MemoryUse> out;
  out.reserve(replay.blocks.size());
  for (const BlockLife& life : replay.blocks) out.push_back(uses.of(life));
  mark_casts(replay, sites, out);
  return out;
}

class DeviceAccount {
 public:
  DeviceAccount(const MemorySnapshot& snapshot, const SnapshotDevice& device,
                std::span<const AllocationSite> sites)
      : snapshot_(snapshot),
        device_(device),
        sites_(sites),
        replay_(replay_memory(device, snapshot.settings)),
        uses_(memory_uses(snapshot, device, replay_, sites)) {}

  DeviceMemoryAccount run() {
    facts();
    const auto peak = std::ranges::max_element(replay_.live);
    const auto at = static_cast<std::uint32_t>(peak - replay_.live.begin());
    const MemoryState there = state_at(replay_, at);
    out_.peak = instant(there, at);
    out_.tree = memory_tree(snapshot_, there, sites_);
    const auto last = static_cast<std::uint32_t>(replay_.live.size() - 1);
    out_.end = instant(state_at(replay_, last), last);
    out_.peak_reserved = Bytes{*std::ranges::max_element(replay_.reserved)};
    timeline(at);
    find_shortages(device_, replay_, out_);
    for (OutOfMemory& oom : out_.ooms) oom.time = time_of(oom.position + 1);
    return std::move(out_);
  }

 private:
  void facts() {
    out_.device = device_.device;
    out_.events = device_.events.size();
    out_.begins_empty = replay_.begins_empty;
    out_.contradictions = replay_.blocks_missing + replay_.blocks_reused + replay_.frees_unknown +
                          replay_.segments_unknown;
    out_.sizes_corrected = replay_.sizes_corrected;
    for (const AllocatorEvent& e : device_.events) {
      if (e.action == AllocatorAction::alloc) ++out_.allocations;
      if (e.stack != 0) out_.has_stacks = true;
    }
    out_.trains = std::ranges::any_of(sites_,
                                      [](const AllocationSite& site) {
                                        return site.phase == AllocationPhase::backward ||
                                               site.phase == AllocationPhase::optimizer;
                                      }) ||
                  std::ranges::any_of(device_.events, [](const AllocatorEvent& e) {
                    return e.action == AllocatorAction::alloc && e.stack == 0;
                  });
    for (const SnapshotBlock& b : device_.blocks)
      if (b.stack != 0 && b.state != BlockState::inactive) out_.has_stacks = true;
    out_.has_times =
        !device_.events.empty() &&
        std::ranges::all_of(device_.events, [](const AllocatorEvent& e) { return e.time > Ns{}; });
    if (out_.has_times) {
      out_.start = device_.events.front().time;
      Ns latest = out_.start;
      for (const AllocatorEvent& e : device_.events) latest = std::max(latest, e.time);
      out_.length = latest - out_.start;
    }
    for (const BlockLife& life : replay_.blocks)
      if (life.end == never && !life.before_trace) {
        ++out_.lasting;
        out_.lasting_bytes += life.size;
      }
  }

  // Position p is reached after event p − 1.
  [[nodiscard]] std::optional<Ns> time_of(std::uint32_t position) const {
    if (!out_.has_times) return std::nullopt;
    if (position == 0) return Ns{};
    return device_.events[position - 1].time - out_.start;
  }

  MemoryInstant instant(const MemoryState& state, std::uint32_t position) const {
    MemoryInstant out{.position = position,
                      .time = time_of(position),
                      .fragments = memory_fragments(state, position)};
    struct Held {
      MemoryHolder holder{};
      std::map<std::uint32_t, std::int64_t> by_stack{};
    };
    // What one line asks for may serve several uses: each is a holder of its own.
    using Place = std::tuple<std::string_view, std::string_view, std::int32_t, MemoryUse>;
    std::map<Place, Held> all;
    for (const BlockLife* life : state.blocks) {
      const MemoryUse use = uses_[static_cast<std::size_t>(life - replay_.blocks.data())];
      out.by_use[static_cast<std::size_t>(use)] += life->size;
      const AllocationSite& site = sites_[life->stack];
      Held& held = all[{site.name, site.file, site.line, use}];
      held.holder.use = use;
      held.holder.bytes += life->size;
      held.holder.requested += life->requested;
      ++held.holder.blocks;
      held.by_stack[life->stack] += life->size.value;
    }
    for (auto& [place, held] : all) {
      MemoryHolder& holder = held.holder;
      const auto most = std::ranges::max_element(held.by_stack, {},
                                                 [](const auto& entry) { return entry.second; });
      holder.stack = most->first;
      holder.site = sites_[holder.stack];
      out.holders.push_back(std::move(holder));
    }
    std::ranges::stable_sort(out.holders, std::ranges::greater{}, &MemoryHolder::bytes);
    return out;
  }

  // First, last, the peak, and the highest and lowest of each stretch.
  [[nodiscard]] std::vector<std::uint32_t> sampled(std::uint32_t peak) const {
    const std::size_t n = replay_.live.size();
    std::vector<std::uint32_t> at(n <= timeline_points ? n : 0);
    std::iota(at.begin(), at.end(), 0U);
    if (!at.empty()) return at;
    constexpr std::size_t stretches = timeline_points / 2 - 2;
    for (std::size_t k = 0; k < stretches; ++k) {
      const auto first = replay_.live.begin() + static_cast<std::ptrdiff_t>(k * n / stretches);
      const auto end = replay_.live.begin() + static_cast<std::ptrdiff_t>((k + 1) * n / stretches);
      const auto [low, high] = std::minmax_element(first, end);
      for (const auto point : {low, high})
        at.push_back(static_cast<std::uint32_t>(point - replay_.live.begin()));
    }
    at.insert(at.end(), {0U, peak, static_cast<std::uint32_t>(n - 1)});
    std::ranges::sort(at);
    at.erase(std::ranges::unique(at).begin(), at.end());
    return at;
  }

  void timeline(std::uint32_t peak) {
    const std::size_t n = replay_.live.size();
    // At most one block ends at an event.
    std::vector<std::uint32_t> ends(n, never);
    for (std::uint32_t b = 0; b < replay_.blocks.size(); ++b)
      if (const std::uint32_t end = replay_.blocks[b].end; end != never) ends[end] = b;
    std::array<Bytes, memory_use_count> now{};
    std::size_t begun = 0;
    std::uint32_t done = 0;  // earlier positions are counted
    Ns latest{};
    for (const std::uint32_t p : sampled(peak)) {
      for (; done <= p; ++done) {
        if (ends[done] != never) change(now, ends[done], -1);
        for (; begun < replay_.blocks.size() && replay_.blocks[begun].begin <= done; ++begun)
          change(now, static_cast<std::uint32_t>(begun), 1);
      }
      latest = std::max(latest, time_of(p).value_or(Ns{p}));
      out_.timeline.push_back({.position = p,
                               .time = latest,
                               .live = Bytes{replay_.live[p]},
                               .requested = Bytes{replay_.requested[p]},
                               .reserved = Bytes{replay_.reserved[p]},
                               .by_use = now});
    }
  }
  void change(std::array<Bytes, memory_use_count>& now, std::uint32_t block,
              std::int64_t sign) const {
    now[static_cast<std::size_t>(uses_[block])] += replay_.blocks[block].size * sign;
  }

  const MemorySnapshot& snapshot_;
  const SnapshotDevice& device_;
  std::span<const AllocationSite> sites_;
  MemoryReplay replay_;
  std::vector<MemoryUse> uses_;
  DeviceMemoryAccount out_;
};

}  // namespace

MemoryAccount memory_account(const MemorySnapshot& snapshot) {
  const std::vector<AllocationSite> sites = allocation_sites(snapshot);
  MemoryAccount out;
  for (const SnapshotDevice& device : snapshot.devices)
    out.devices.push_back(DeviceAccount(snapshot, device, sites).run());
  return out;
}

}  // namespace stepscope
