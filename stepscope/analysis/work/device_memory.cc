// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/device_memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/key_index.h"

namespace stepscope {
namespace {

// The events of one device in time order, with the total after each event.
struct DeviceEvents {
  int device = -1;
  std::vector<std::uint32_t> rows{};
  MemoryBlocks blocks{};
  bool whole = true;               // the totals include what was allocated before the recording
  std::vector<Bytes> allocated{};  // parallel to rows
  std::vector<std::optional<Bytes>> reserved{};  // … ; of the host, rows have no figure or a 0
};

// The rows' own totals of the host begin with the process's first recording. What was freed between
// two recordings, or by a thread without rows, stays in them.
void take_totals(const MemoryEvents& memory, DeviceEvents& events) {
  const auto recorded = [](Bytes b) { return b.value < 0 ? std::nullopt : std::optional(b); };
  events.blocks = memory_blocks(memory, events.rows);
  events.reserved.resize(events.rows.size());
  events.whole = events.device >= 0 && recorded(memory.total_allocated[events.rows.front()]);
  if (!events.whole) events.allocated = events.blocks.held;
  for (std::size_t i = 0; i < events.rows.size(); ++i) {
    const std::uint32_t row = events.rows[i];
    if (events.device >= 0) events.reserved[i] = recorded(memory.total_reserved[row]);
    if (const auto total = recorded(memory.total_allocated[row]); events.whole)
      events.allocated.push_back(total ? *total : events.allocated.back() + memory.bytes[row]);
  }
}

std::vector<DeviceEvents> events_by_device(const MemoryEvents& memory) {
  std::vector<DeviceEvents> devices;
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    auto at = std::ranges::find(devices, static_cast<int>(memory.device[i]), &DeviceEvents::device);
    if (at == devices.end()) at = devices.insert(at, DeviceEvents{.device = memory.device[i]});
    at->rows.push_back(i);
  }
  std::ranges::sort(devices, {}, &DeviceEvents::device);
  for (DeviceEvents& events : devices) take_totals(memory, events);
  return devices;
}

MemoryPhase memory_in(const PhaseSpan& span, const MemoryEvents& memory,
                      const DeviceEvents& events) {
  // The events before an instant.
  const auto before = [&](Ns instant) {
    const auto after = std::ranges::lower_bound(
        events.rows, instant, {}, [&](std::uint32_t row) { return memory.time[row]; });
    return static_cast<std::size_t>(after - events.rows.begin());
  };
  const auto allocated_after = [&](std::size_t count) {
    return count > 0 ? events.allocated[count - 1]
                     : events.allocated.front() - memory.bytes[events.rows.front()];
  };
  const std::size_t first = before(span.start);
  const std::size_t end = before(span.end);
  std::size_t highest = first;
  for (std::size_t count = first + 1; count <= end; ++count)
    if (allocated_after(count) > allocated_after(highest)) highest = count;
  return {.phase = span.phase,
          .start = span.start,
          .end = span.end,
          .at_start = allocated_after(first),
          .at_end = allocated_after(end),
          .peak = allocated_after(highest),
          .reserved = highest > 0 ? events.reserved[highest - 1] : std::nullopt};
}

std::vector<PhaseSpan> join_neighbours(std::span<const PhaseSpan> phases) {
  std::vector<PhaseSpan> joined;
  for (const PhaseSpan& span : phases) {
    if (!joined.empty() && joined.back().phase == span.phase)
      joined.back().end = span.end;
    else
      joined.push_back(span);
  }
  return joined;
}

std::vector<MemoryPoint> timeline_of(const MemoryEvents& memory, const DeviceEvents& events) {
  std::vector<MemoryPoint> points;
  points.reserve(events.rows.size());
  for (std::size_t i = 0; i < events.rows.size(); ++i) {
    const std::uint32_t row = events.rows[i];
    points.push_back({memory.time[row], events.allocated[i], events.reserved[i]});
  }
  return thin_out(points, 2000);
}

// The deepest operator of a thread that encloses the instant.
std::string_view operator_at(const Trace& trace, TrackId thread, Ns at) {
  const Track& track = trace.track(thread);
  std::string_view deepest;
  for (std::uint32_t i = track.first; i < track.first + track.count && trace.slices.start[i] <= at;
       ++i) {
    if (trace.slices.category[i] == Category::cpu_op && trace.slices.end(SliceId{i}) > at)
      deepest = trace.name(SliceId{i});
  }
  return deepest;
}

std::string_view kernel_at(const Trace& trace, const RankIndex& rank, int device, Ns at) {
  std::string_view running;
  const DeviceLane* lane = rank.lane(device);
  if (lane == nullptr) return running;
  for (const SliceId op : lane->ops) {
    if (trace.slices.start[index(op)] > at) break;
    if (trace.slices.end(op) > at) running = trace.name(op);
  }
  return running;
}

void describe_peak(const Trace& trace, const RankIndex& rank, const DeviceEvents& events,
                   DeviceMemory& memory) {
  const auto peak = std::ranges::max_element(events.allocated) - events.allocated.begin();
  const std::uint32_t row = events.rows[static_cast<std::size_t>(peak)];
  memory.peak_allocated = events.allocated[static_cast<std::size_t>(peak)];
  memory.peak_time = trace.memory.time[row];
  memory.peak_reserved = std::ranges::max(events.reserved);
  memory.running_at_peak = operator_at(trace, trace.memory.track[row], memory.peak_time);
  const std::string_view kernel = kernel_at(trace, rank, memory.device, memory.peak_time);
  if (!kernel.empty()) {
    memory.running_at_peak += memory.running_at_peak.empty() ? "" : "; on the device ";
    memory.running_at_peak += kernel;
  }
  const auto properties =
      std::ranges::find(trace.metadata.devices, memory.device, &DeviceProperties::id);
  if (events.whole && properties != trace.metadata.devices.end() &&
      properties->total_memory.value > 0)
    memory.headroom =
        properties->total_memory - memory.peak_reserved.value_or(memory.peak_allocated);
}

// Moves the model's state from what is older than the recording, if it fits in.
void explain_older(const ModelState& state, std::array<Bytes, memory_use_count>& uses) {
  const auto of = [&](MemoryUse use) -> Bytes& { return uses[static_cast<std::size_t>(use)]; };
  if (state.sum() > of(MemoryUse::older)) return;
  of(MemoryUse::older) = of(MemoryUse::older) - state.sum();
  of(MemoryUse::parameters) += state.weights;
  of(MemoryUse::masters) += state.masters;
  of(MemoryUse::gradients) += state.gradients;
  of(MemoryUse::optimizer) += state.moments;
}

// Bytes of the peak whose allocation is in the trace.
Bytes allocated_since(std::span<const MemoryBlock> blocks, const DeviceMemory& memory) {
  Bytes sum{};
  for (const MemoryBlock& block : blocks)
    if (block.allocated && *block.allocated <= memory.peak_time &&
        (!block.freed || *block.freed > memory.peak_time))
      sum += block.bytes;
  return sum;
}

// PyTorch's caching allocators give blocks in steps of 512 bytes, and blocks of more than 1 MiB
// with a rest of up to 1 MiB.
Bytes caching_slack(Bytes wanted) { return Bytes{wanted.value > 1 << 20 ? 1 << 20 : 511}; }
Bytes no_slack(Bytes) { return {}; }

DeviceMemory describe(const Trace& trace, const RankIndex& rank, DeviceEvents& events,
                      const std::optional<ModelState>& state, std::span<const Bytes> weights,
                      std::span<const PhaseSpan> phases) {
  DeviceMemory memory;
  memory.device = events.device;
  describe_peak(trace, rank, events, memory);
  MemoryBlocks& blocks = events.blocks;
  memory.unmatched_frees = blocks.unmatched_frees;
  const bool made_here =
      mark_weights(blocks.blocks, weights, phases, memory.device >= 0 ? caching_slack : no_slack);
  memory.composition =
      composition_at(blocks.blocks, phases, memory.peak_time, memory.peak_allocated);
  memory.phase_at_peak = phase_at(phases, memory.peak_time).value_or(Phase::other);
  if (memory.composition)
    memory.before_recording = memory.peak_allocated - allocated_since(blocks.blocks, memory);
  memory.older_counts = events.whole;
  if (state && !made_here && events.whole && memory.composition)
    explain_older(*state, *memory.composition);
  if (state && !made_here && !events.whole) memory.uncounted = state->sum();
  for (const PhaseSpan& span : phases)
    memory.phases.push_back(memory_in(span, trace.memory, events));
  memory.timeline = timeline_of(trace.memory, events);
  return memory;
}

}  // namespace

std::optional<double> MemoryPhase::not_allocated_share() const {
  const auto bytes = not_allocated();
  if (!bytes || reserved->value == 0) return std::nullopt;
  return static_cast<double>(bytes->value) / static_cast<double>(reserved->value);
}

std::vector<MemoryPoint> thin_out(std::span<const MemoryPoint> points, std::size_t limit) {
  if (points.size() <= std::max<std::size_t>(limit, 4)) return {points.begin(), points.end()};
  std::vector<MemoryPoint> kept{points.front()};
  const std::span inner = points.subspan(1, points.size() - 2);
  const std::size_t stretches = std::max<std::size_t>(limit, 4) / 2 - 1;  // two points each
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t first = inner.size() * i / stretches;
    const std::span stretch = inner.subspan(first, inner.size() * (i + 1) / stretches - first);
    if (stretch.empty()) continue;
    const auto [low, high] = std::ranges::minmax_element(stretch, {}, &MemoryPoint::allocated);
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
  }
  kept.push_back(points.back());
  return kept;
}

MemoryTable memory_table(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                         std::span<const PhaseSpan> phases) {
  MemoryTable table;
  const std::vector<PhaseSpan> joined = join_neighbours(phases);
  if (trace.memory.size() > 0) table.state = model_state(trace, rank, steps, joined);
  std::vector<DeviceEvents> devices = events_by_device(trace.memory);
  const auto of_model = [&](const DeviceEvents& e) { return (e.device >= 0) != rank.cpu_only(); };
  // If several devices allocate, no row says which of them has the model.
  const bool one = std::ranges::count_if(devices, of_model) == 1;
  if (!one) table.state.reset();
  const auto weights = one ? weight_sizes(trace, rank, steps, joined) : std::vector<Bytes>();
  for (DeviceEvents& events : devices) {
    const bool models = of_model(events);
    table.devices.push_back(describe(trace, rank, events, models ? table.state : std::nullopt,
                                     models ? weights : std::vector<Bytes>(), joined));
  }
  table.copies = copy_table(trace, rank, steps);
  return table;
}

namespace {

// Index of the phase that contains an instant.
std::optional<std::size_t> place_of(std::span<const PhaseSpan> phases, Ns instant) {
  const auto after = std::ranges::upper_bound(phases, instant, {}, &PhaseSpan::start);
  if (after == phases.begin() || instant >= std::prev(after)->end) return std::nullopt;
  return static_cast<std::size_t>(std::prev(after) - phases.begin());
}

Phase phase_of(std::span<const PhaseSpan> phases, std::optional<std::size_t> place) {
  return place ? phases[*place].phase : Phase::other;
}

// True if the trace has backwards and none of them ends later.
bool after_last_backward(std::span<const PhaseSpan> phases, Ns instant) {
  const auto later = [&](const PhaseSpan& span) {
    return span.phase == Phase::backward && span.end > instant;
  };
  return std::ranges::find(phases, Phase::backward, &PhaseSpan::phase) != phases.end() &&
         std::ranges::none_of(phases, later);
}

// The use of a block that the trace never frees.
MemoryUse use_of_kept(Ns allocated, std::span<const PhaseSpan> phases) {
  const Phase phase = phase_of(phases, place_of(phases, allocated));
  if (phase == Phase::optimizer) return MemoryUse::optimizer;
  if (phase == Phase::backward) return MemoryUse::gradients;
  // Else the trace ends before the backward that would free the block.
  if (phase == Phase::forward || phase == Phase::recompute)
    return after_last_backward(phases, allocated) ? MemoryUse::activations : MemoryUse::unknown;
  const auto first = std::ranges::find(phases, Phase::forward, &PhaseSpan::phase);
  return first != phases.end() && allocated < first->start ? MemoryUse::parameters
                                                           : MemoryUse::unknown;
}

// The use of a block that is older than the trace.
MemoryUse use_of_inherited(Ns freed, std::span<const PhaseSpan> phases) {
  const Phase phase = phase_of(phases, place_of(phases, freed));
  if (phase == Phase::optimizer) return MemoryUse::gradients;
  return phase == Phase::backward || phase == Phase::recompute ? MemoryUse::activations
                                                               : MemoryUse::unknown;
}

}  // namespace

bool mark_weights(std::span<MemoryBlock> blocks, std::span<const Bytes> weights,
                  std::span<const PhaseSpan> phases, Bytes (*slack)(Bytes)) {
  const auto backward = std::ranges::find(phases, Phase::backward, &PhaseSpan::phase);
  if (weights.empty() || backward == phases.end()) return false;
  std::vector<MemoryBlock*> kept;
  for (MemoryBlock& block : blocks)
    if (block.allocated && !block.freed && *block.allocated < backward->start)
      kept.push_back(&block);
  std::ranges::sort(kept, {},
                    [](const MemoryBlock* b) { return std::pair(b->bytes, *b->allocated); });
  std::vector<bool> taken(kept.size());
  Ns last = Ns::min();
  std::size_t at = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {  // largest first, so that none takes its block
    if (i == 0 || weights[i] != weights[i - 1])
      at = static_cast<std::size_t>(
          std::ranges::lower_bound(kept, weights[i], {}, &MemoryBlock::bytes) - kept.begin());
    while (at < kept.size() && taken[at]) ++at;
    if (at == kept.size() || kept[at]->bytes > weights[i] + slack(weights[i])) return false;
    taken[at] = true;
    last = std::max(last, *kept[at]->allocated);
  }
  for (MemoryBlock* block : kept) block->of_model = *block->allocated <= last;
  return true;
}

MemoryUse use_of(const MemoryBlock& block, std::span<const PhaseSpan> phases) {
  if (block.of_model) return MemoryUse::parameters;
  if (!block.allocated)
    return block.freed ? use_of_inherited(*block.freed, phases) : MemoryUse::older;
  if (!block.freed) return use_of_kept(*block.allocated, phases);
  const auto from = place_of(phases, *block.allocated);
  const auto to = place_of(phases, *block.freed);
  if (from && from == to) return MemoryUse::temporary;
  const Phase phase = phase_of(phases, from);
  if (phase == Phase::forward || phase == Phase::recompute) return MemoryUse::activations;
  if (phase == Phase::backward) return MemoryUse::gradients;
  return phase == Phase::optimizer ? MemoryUse::temporary : MemoryUse::unknown;
}

MemoryBlocks memory_blocks(const MemoryEvents& memory, std::span<const std::uint32_t> rows) {
  KeyIndex<std::uint64_t, std::identity> addresses;
  std::vector<std::optional<MemoryBlock>> open;  // by index of the address
  MemoryBlocks result;
  Bytes held{};
  Bytes older{};
  for (const std::uint32_t row : rows) {
    const auto [number, fresh] = addresses.insert(memory.address[row]);
    if (fresh) open.emplace_back();
    std::optional<MemoryBlock>& block = open[number];
    const Bytes bytes = memory.bytes[row];
    if (block && bytes.value != 0) {
      block->freed = memory.time[row];
      result.blocks.push_back(*block);
      held = held - block->bytes;
      block.reset();
    } else if (bytes.value < 0) {
      result.blocks.push_back({std::nullopt, memory.time[row], Bytes{-bytes.value}});
      ++result.unmatched_frees;
      older = older - bytes;
      held += bytes;
    }
    if (bytes.value > 0) {
      block = MemoryBlock{memory.time[row], std::nullopt, bytes};
      held += bytes;
    }
    result.held.push_back(held);
  }
  for (Bytes& total : result.held) total += older;
  for (const std::optional<MemoryBlock>& block : open)
    if (block) result.blocks.push_back(*block);
  return result;
}

std::optional<std::array<Bytes, memory_use_count>> composition_at(
    std::span<const MemoryBlock> blocks, std::span<const PhaseSpan> phases, Ns instant,
    Bytes total) {
  std::array<Bytes, memory_use_count> uses{};
  Bytes known{};
  for (const MemoryBlock& block : blocks) {
    if (block.allocated && *block.allocated > instant) continue;
    if (block.freed && *block.freed <= instant) continue;
    uses[static_cast<std::size_t>(use_of(block, phases))] += block.bytes;
    known += block.bytes;
  }
  if (known > total) return std::nullopt;
  uses[static_cast<std::size_t>(MemoryUse::older)] += total - known;
  return uses;
}

// Copies and memsets by direction, from the names of CUDA ("Memcpy HtoD (Pinned -> Device)"), old
// ROCm ("CopyHostToDevice"), rocprofv3 ("MEMORY_COPY_HOST_TO_DEVICE") and XPU ("Memcpy M2D").
#include <algorithm>
#include <array>
#include <tuple>

namespace {

struct Direction {
  std::string_view word;
  std::string_view name;
};
constexpr auto directions = std::to_array<Direction>({{"HtoD", "HtoD"},
                                                      {"DtoH", "DtoH"},
                                                      {"DtoD", "DtoD"},
                                                      {"PtoP", "PtoP"},
                                                      {"HtoH", "HtoH"},
                                                      {"HostToDevice", "HtoD"},
                                                      {"DeviceToHost", "DtoH"},
                                                      {"DeviceToDevice", "DtoD"},
                                                      {"HOST_TO_DEVICE", "HtoD"},
                                                      {"DEVICE_TO_HOST", "DtoH"},
                                                      {"DEVICE_TO_DEVICE", "DtoD"},
                                                      {"HOST_TO_HOST", "HtoH"},
                                                      {"H2D", "HtoD"},
                                                      {"D2H", "DtoH"},
                                                      {"D2D", "DtoD"},
                                                      {"M2D", "HtoD"},
                                                      {"D2M", "DtoH"}});

std::string direction_of(const Trace& trace, SliceId op) {
  const std::string_view name = trace.name(op);
  if (trace.slices.category[index(op)] == Category::memset) return "memset";
  const auto found =
      std::ranges::find_if(directions, [&](const Direction& d) { return contains(name, d.word); });
  if (found != directions.end()) return std::string(found->name);
  return std::string(name.substr(0, name.find(" (")));
}

std::optional<bool> pinned_in(std::string_view name) {
  if (contains(name, "Pinned")) return true;
  if (contains(name, "Pageable")) return false;
  return std::nullopt;
}

struct CopySums {
  CopyRow row;
  std::uint64_t with_bytes = 0;
  Bytes bytes{};
  Ns time_with_bytes{};
};

}  // namespace

bool crosses_host(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::memcpy) return false;
  const std::string direction = direction_of(trace, op);
  return direction == "HtoD" || direction == "DtoH";
}

std::optional<Bytes> copied_bytes(const Trace& trace, SliceId op) {
  const std::uint32_t row = trace.slices.detail[index(op)];
  if (row >= trace.copies.size() || trace.copies.bytes[row].value < 0) return std::nullopt;
  return trace.copies.bytes[row];
}

std::vector<CopyRow> copy_table(const Trace& trace, const RankIndex& rank,
                                std::span<const Step> steps) {
  const Slices& s = trace.slices;
  std::vector<CopySums> sums;
  std::vector<std::uint32_t> place(trace.strings.size(), no_row);  // by name
  const auto row_of = [&](SliceId op) -> CopySums& {
    std::uint32_t& at = place[index(s.name[index(op)])];
    if (at == no_row) {
      const CopyRow row{.direction = direction_of(trace, op), .pinned = pinned_in(trace.name(op))};
      const auto same = std::ranges::find_if(sums, [&](const CopySums& x) {
        return x.row.direction == row.direction && x.row.pinned == row.pinned;
      });
      at = static_cast<std::uint32_t>(same - sums.begin());
      if (same == sums.end()) sums.push_back({.row = row});
    }
    return sums[at];
  };
  for (const SliceId op : rank.operations()) {
    const std::uint32_t i = index(op);
    if (s.category[i] == Category::kernel || !step_at(steps, s.start[i])) continue;
    CopySums& sum = row_of(op);
    ++sum.row.count;
    sum.row.total += s.dur[i];
    const auto bytes = copied_bytes(trace, op);
    if (!bytes) continue;
    ++sum.with_bytes;
    sum.bytes += *bytes;
    sum.time_with_bytes += s.dur[i];
  }
  std::vector<CopyRow> rows;
  for (CopySums& sum : sums) {
    if (sum.with_bytes == sum.row.count) sum.row.bytes = sum.bytes;
    if (sum.time_with_bytes > Ns{}) sum.row.bandwidth = sum.bytes / seconds(sum.time_with_bytes);
    rows.push_back(std::move(sum.row));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &CopyRow::total);
  return rows;
}

}  // namespace stepscope
