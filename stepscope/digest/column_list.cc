// SPDX-License-Identifier: Apache-2.0
#include "stepscope/digest/column_list.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

namespace stepscope {
namespace {

template <class T>
std::int64_t integer_of(const T& value) {
  if constexpr (std::is_same_v<T, Ns>)
    return value.count();
  else if constexpr (std::is_same_v<T, Bytes>)
    return value.value;
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::int64_t>(value);
  else
    return static_cast<std::int64_t>(value);
}

template <class T>
T value_of(std::int64_t integer) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(integer);
  else if constexpr (std::is_same_v<T, Bytes>)
    return Bytes{integer};
  else
    return static_cast<T>(integer);
}

template <class T>
constexpr ColumnRange whole_range() {
  if constexpr (std::is_same_v<T, bool>)
    return {0, 1};
  else if constexpr (std::is_same_v<T, Category>)
    return {0, category_count - 1};
  else if constexpr (std::is_enum_v<T>)
    return {0, std::numeric_limits<std::underlying_type_t<T>>::max()};
  else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(std::int64_t))
    return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  else
    return {};
}

struct Name {
  std::string_view table;
  std::string_view column;
};

// Value i of a table of vectors, and of a vector of rows.
template <auto Table, auto Member>
struct InColumn {
  static auto& at(auto& trace, std::size_t i) { return ((trace.*Table).*Member)[i]; }
  static std::size_t size(const Trace& trace) { return ((trace.*Table).*Member).size(); }
  static void resize(Trace& trace, std::size_t rows) { ((trace.*Table).*Member).resize(rows); }
};
template <auto Rows, auto Member>
struct InRow {
  static auto& at(auto& trace, std::size_t i) { return (trace.*Rows)[i].*Member; }
  static std::size_t size(const Trace& trace) { return (trace.*Rows).size(); }
  static void resize(Trace& trace, std::size_t rows) { (trace.*Rows).resize(rows); }
};

template <class Place>
using ValueAt = std::remove_cvref_t<decltype(Place::at(std::declval<Trace&>(), 0))>;

template <class Place>
constexpr TraceColumn column_at(Name name, IntegerCoding coding, ColumnRange range) {
  using T = ValueAt<Place>;
  return {name.table,
          name.column,
          coding,
          range,
          sizeof(T),
          [](const Trace& trace) {
            std::vector<std::int64_t> out(Place::size(trace));
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = integer_of(Place::at(trace, i));
            return out;
          },
          [](Trace& trace, std::span<const std::int64_t> values) {
            Place::resize(trace, values.size());
            for (std::size_t i = 0; i < values.size(); ++i)
              Place::at(trace, i) = value_of<T>(values[i]);
          }};
}

template <auto Table, auto Member>
constexpr TraceColumn column(Name name, IntegerCoding coding,
                             ColumnRange range = whole_range<ValueAt<InColumn<Table, Member>>>()) {
  return column_at<InColumn<Table, Member>>(name, coding, range);
}

template <auto Rows, auto Member>
constexpr TraceColumn field(Name name, IntegerCoding coding,
                            ColumnRange range = whole_range<ValueAt<InRow<Rows, Member>>>()) {
  return column_at<InRow<Rows, Member>>(name, coding, range);
}

constexpr IntegerCoding plain{Residue::value, Layout::varint};
constexpr IntegerCoding noisy{Residue::value, Layout::planes};
constexpr IntegerCoding steps{Residue::delta, Layout::varint};
constexpr IntegerCoding instants{Residue::delta, Layout::planes};
constexpr IntegerCoding links{Residue::present, Layout::varint, 0};
constexpr IntegerCoding rows{Residue::present, Layout::varint, no_row};

// Sums and differences of values in these ranges fit 64 bits: ten months before the origin to the
// year 2255, a month, a pebibyte, 2^40 elements.
constexpr ColumnRange instant_range{-100'000'000'000'000'000, 9'000'000'000'000'000'000};
constexpr ColumnRange duration_range{0, 2'600'000'000'000'000};
constexpr ColumnRange byte_range{-(std::int64_t{1} << 50), std::int64_t{1} << 50};
constexpr ColumnRange element_range{-1, std::int64_t{1} << 40};

constexpr std::array columns = {
    field<&Trace::tracks, &Track::pid>({"tracks", "pid"}, plain),
    field<&Trace::tracks, &Track::tid>({"tracks", "tid"}, plain),
    field<&Trace::tracks, &Track::pid_text>({"tracks", "pid_text"}, plain),
    field<&Trace::tracks, &Track::tid_text>({"tracks", "tid_text"}, plain),
    field<&Trace::tracks, &Track::process_name>({"tracks", "process_name"}, plain),
    field<&Trace::tracks, &Track::thread_name>({"tracks", "thread_name"}, plain),
    field<&Trace::tracks, &Track::device>({"tracks", "device"}, plain),
    field<&Trace::tracks, &Track::device_index>({"tracks", "device_index"}, plain),
    column<&Trace::slices, &Slices::start>({"slices", "start"}, instants, instant_range),
    column<&Trace::slices, &Slices::dur>({"slices", "dur"}, noisy, duration_range),
    column<&Trace::slices, &Slices::name>({"slices", "name"}, plain),
    column<&Trace::slices, &Slices::track>({"slices", "track"}, steps),
    column<&Trace::slices, &Slices::category>({"slices", "category"}, plain),
    column<&Trace::slices, &Slices::correlation>({"slices", "correlation"}, links),
    column<&Trace::slices, &Slices::external_id>({"slices", "external_id"}, links),
    column<&Trace::slices, &Slices::detail>({"slices", "detail"}, rows),
    column<&Trace::ops, &OpDetails::input_dims>({"ops", "input_dims"}, plain),
    column<&Trace::ops, &OpDetails::input_types>({"ops", "input_types"}, plain),
    column<&Trace::ops, &OpDetails::concrete_inputs>({"ops", "concrete_inputs"}, plain),
    column<&Trace::ops, &OpDetails::sequence>({"ops", "sequence"}, steps),
    column<&Trace::ops, &OpDetails::forward_thread>({"ops", "forward_thread"}, plain),
    column<&Trace::copies, &CopyDetails::bytes>({"copies", "bytes"}, plain, byte_range),
    column<&Trace::syncs, &SyncDetails::stream>({"syncs", "stream"}, plain),
    column<&Trace::syncs, &SyncDetails::wait_on_stream>({"syncs", "wait_on_stream"}, plain),
    column<&Trace::syncs, &SyncDetails::wait_on_record_correlation>(
        {"syncs", "wait_on_record_correlation"}, steps),
    field<&Trace::collectives, &Collective::slice>({"collectives", "slice"}, steps),
    field<&Trace::collectives, &Collective::name>({"collectives", "name"}, plain),
    field<&Trace::collectives, &Collective::dtype>({"collectives", "dtype"}, plain),
    field<&Trace::collectives, &Collective::group_name>({"collectives", "group_name"}, plain),
    field<&Trace::collectives, &Collective::group_description>({"collectives", "group_description"},
                                                               plain),
    field<&Trace::collectives, &Collective::group_ranks>({"collectives", "group_ranks"}, plain),
    field<&Trace::collectives, &Collective::in_split>({"collectives", "in_split"}, plain),
    field<&Trace::collectives, &Collective::out_split>({"collectives", "out_split"}, plain),
    field<&Trace::collectives, &Collective::in_elements>({"collectives", "in_elements"}, plain,
                                                         element_range),
    field<&Trace::collectives, &Collective::out_elements>({"collectives", "out_elements"}, plain,
                                                          element_range),
    field<&Trace::collectives, &Collective::seq>({"collectives", "seq"}, steps),
    field<&Trace::collectives, &Collective::group_size>({"collectives", "group_size"}, plain),
    field<&Trace::collectives, &Collective::global_rank_start>({"collectives", "global_rank_start"},
                                                               plain),
    field<&Trace::collectives, &Collective::global_rank_stride>(
        {"collectives", "global_rank_stride"}, plain),
    field<&Trace::collectives, &Collective::src_rank>({"collectives", "src_rank"}, plain),
    field<&Trace::collectives, &Collective::dst_rank>({"collectives", "dst_rank"}, plain),
    field<&Trace::collectives, &Collective::rank>({"collectives", "rank"}, plain),
    field<&Trace::collectives, &Collective::is_async>({"collectives", "is_async"}, plain),
    column<&Trace::memory, &MemoryEvents::time>({"memory", "time"}, instants, instant_range),
    column<&Trace::memory, &MemoryEvents::track>({"memory", "track"}, plain),
    column<&Trace::memory, &MemoryEvents::address>({"memory", "address"}, plain),
    column<&Trace::memory, &MemoryEvents::bytes>({"memory", "bytes"}, plain, byte_range),
    column<&Trace::memory, &MemoryEvents::total_allocated>({"memory", "total_allocated"}, plain,
                                                           byte_range),
    column<&Trace::memory, &MemoryEvents::total_reserved>({"memory", "total_reserved"}, plain,
                                                          byte_range),
    column<&Trace::memory, &MemoryEvents::device>({"memory", "device"}, plain),
    column<&Trace::counters, &Counters::time>({"counters", "time"}, instants, instant_range),
    column<&Trace::counters, &Counters::metric>({"counters", "metric"}, plain),
    column<&Trace::counters, &Counters::value>({"counters", "value"}, noisy),
    column<&Trace::counters, &Counters::slice>({"counters", "slice"}, steps),
};

bool strings_exist(const Trace& t, std::initializer_list<StringId> ids) {
  return std::ranges::all_of(ids, [&](StringId id) { return index(id) < t.strings.size(); });
}

bool detail_exists(const Trace& t, std::size_t slice) {
  const std::uint32_t detail = t.slices.detail[slice];
  if (detail == no_row) return true;
  const Category c = t.slices.category[slice];
  if (c == Category::memcpy || c == Category::memset) return detail < t.copies.size();
  return detail < (c == Category::sync ? t.syncs.size() : t.ops.size());
}

std::string_view broken_slices(const Trace& t) {
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    if (index(t.slices.track[i]) >= t.tracks.size())
      return "a slice is on a track that is not there";
    if (!strings_exist(t, {t.slices.name[i]})) return "a slice has a name that is not there";
    if (!detail_exists(t, i)) return "a slice has details that are not there";
  }
  return {};
}

std::string_view broken_collectives(const Trace& t) {
  for (std::size_t i = 0; i < t.collectives.size(); ++i) {
    const Collective& c = t.collectives[i];
    if (index(c.slice) >= t.slices.size()) return "a collective is on a slice that is not there";
    if (i > 0 && index(c.slice) <= index(t.collectives[i - 1].slice))
      return "collectives are not in the order of their slices";
    if (!strings_exist(t, {c.name, c.dtype, c.group_name, c.group_description, c.group_ranks,
                           c.in_split, c.out_split}))
      return "a collective has a text that is not there";
  }
  return {};
}

std::string_view broken_others(const Trace& t) {
  for (const Track& track : t.tracks)
    if (!strings_exist(t, {track.pid_text, track.tid_text, track.process_name, track.thread_name}))
      return "a track has a name that is not there";
  for (std::size_t i = 0; i < t.ops.size(); ++i)
    if (!strings_exist(t, {t.ops.input_dims[i], t.ops.input_types[i], t.ops.concrete_inputs[i]}))
      return "an operator has a text that is not there";
  for (const TrackId id : t.memory.track)
    if (index(id) >= t.tracks.size()) return "a memory event is on a track that is not there";
  for (std::size_t i = 0; i < t.counters.size(); ++i) {
    if (!strings_exist(t, {t.counters.metric[i]})) return "a counter has a name that is not there";
    const SliceId slice = t.counters.slice[i];
    if (slice != no_slice && index(slice) >= t.slices.size())
      return "a counter is on a slice that is not there";
  }
  return {};
}

}  // namespace

std::span<const TraceColumn> trace_columns() { return columns; }

std::string_view broken_reference(const Trace& trace) {
  for (const auto check_of : {broken_slices, broken_collectives, broken_others})
    if (const std::string_view broken = check_of(trace); !broken.empty()) return broken;
  return {};
}

}  // namespace stepscope
