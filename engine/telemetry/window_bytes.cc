// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/window_bytes.h"

#include <cstring>
#include <type_traits>

namespace stepscope {
namespace {

constexpr std::uint64_t magic = 0x3257'4E41'5253'5353;  // "SSSRANW2"

struct Writer {
  std::vector<std::byte>& out;

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void number(const T& value) {
    const std::size_t at = out.size();
    out.resize(at + sizeof(T));
    std::memcpy(out.data() + at, &value, sizeof(T));
  }
  void operator()(const std::string& text) {
    number(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    out.insert(out.end(), from, from + text.size());
  }
  void operator()(const QuantileSketch& sketch) {
    number(static_cast<std::int32_t>(sketch.first_bucket()));
    number(static_cast<std::uint32_t>(sketch.counts().size()));
    for (const std::uint64_t count : sketch.counts()) number(count);
    number(sketch.sum());
    number(sketch.min().value_or(0));
    number(sketch.max().value_or(0));
  }
  bool size(std::size_t count) {
    number(static_cast<std::uint32_t>(count));
    return true;
  }
};

struct Reader {
  std::span<const std::byte> in;
  bool ok = true;

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void number(T& value) {
    if (in.size() < sizeof(T)) {
      ok = false;
      return;
    }
    std::memcpy(&value, in.data(), sizeof(T));
    in = in.subspan(sizeof(T));
  }
  void operator()(std::string& text) {
    std::uint32_t length = 0;
    number(length);
    ok = ok && length <= in.size();
    if (!ok) return;
    text.assign(reinterpret_cast<const char*>(in.data()), length);
    in = in.subspan(length);
  }
  void operator()(QuantileSketch& sketch) {
    std::int32_t first = 0;
    std::uint32_t size = 0;
    number(first);
    number(size);
    ok = ok && first >= 0 && size <= static_cast<std::uint32_t>(QuantileSketch::bucket_count);
    if (!ok) return;
    std::vector<std::uint64_t> counts(size);
    for (std::uint64_t& count : counts) number(count);
    double sum = 0;
    double min = 0;
    double max = 0;
    number(sum);
    number(min);
    number(max);
    if (ok) sketch = QuantileSketch(counts, first, sum, min, max);
  }
  // The number of rows that follow; each has at least a byte.
  bool size(std::size_t& count) {
    std::uint32_t rows = 0;
    number(rows);
    ok = ok && rows <= in.size();
    count = ok ? rows : 0;
    return ok;
  }
};

// One list of fields serves both directions.
template <class Archive, class Row, class Fields>
void rows(Archive& archive, std::vector<Row>& list, const Fields& fields) {
  std::size_t count = list.size();
  if (!archive.size(count)) return;
  if constexpr (std::is_same_v<Archive, Reader>) list.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Archive, Reader>) {
      if (!archive.ok) return;
      list.emplace_back();
    }
    fields(list[i]);
  }
}

template <class Archive>
void window_fields(Archive& archive, RankWindow& w) {
  const auto numbers = [&](auto&... value) { (archive.number(value), ...); };
  numbers(w.rank, w.world, w.first_step, w.end_step, w.begin, w.end, w.clock_offset, w.totals);
  archive(w.step_wall);
  for (auto& times : w.pass_times) archive(times);
  rows(archive, w.groups, [&](CollectiveGroup& group) {
    archive(group.name);
    numbers(group.size);
  });
  rows(archive, w.collectives, [&](CollectiveTotals& c) {
    numbers(c.group, c.kind, c.purpose, c.calls, c.bytes, c.padding, c.bus_bytes, c.time, c.stall,
            c.timed_calls, c.timed_bus_bytes, c.transfer, c.peer_wait, c.peer_stall);
    archive(c.durations);
  });
  rows(archive, w.layers, [&](LayerTotals& layer) {
    archive(layer.name);
    numbers(layer.forward, layer.backward);
  });
  rows(archive, w.steps, [&](StepRecord& step) { numbers(step); });
  rows(archive, w.arrivals, [&](Arrival& arrival) { numbers(arrival); });
}

bool consistent(const RankWindow& w) {
  const auto group_known = [&](const auto& row) { return row.group < w.groups.size(); };
  for (const CollectiveTotals& calls : w.collectives)
    if (!group_known(calls) || slot(calls.kind) >= collective_kind_count ||
        slot(calls.purpose) >= collective_purpose_count)
      return false;
  for (const Arrival& arrival : w.arrivals)
    if (!group_known(arrival) || slot(arrival.kind) >= collective_kind_count) return false;
  return w.rank >= 0 && w.rank < w.world && w.first_step <= w.end_step;
}

}  // namespace

void encode(const RankWindow& window, std::vector<std::byte>& out) {
  out.clear();
  Writer writer{out};
  writer.number(magic);
  // The fields are only read: Writer takes its arguments by const reference.
  window_fields(writer, const_cast<RankWindow&>(window));  // NOLINT
}

Result<RankWindow> decode_window(std::span<const std::byte> bytes) {
  Reader reader{bytes};
  std::uint64_t found = 0;
  reader.number(found);
  RankWindow window;
  if (reader.ok && found == magic) window_fields(reader, window);
  if (found != magic || !reader.ok || !consistent(window))
    return Error{
        .what = "these " + std::to_string(bytes.size()) + " bytes are not a window of statistics",
        .byte = bytes.size() - reader.in.size(),
        .hint = "all ranks must run the same build"};
  return window;
}

}  // namespace stepscope
