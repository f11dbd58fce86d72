// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/trace_columns.h"

#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/face/tree/json_values.h"

namespace stepscope::binding {
namespace {

template <class T>
const char* format_of() {
  if constexpr (std::is_same_v<T, double>) return "g";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "L";
  if constexpr (sizeof(T) == 8) return "l";
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? "i" : "I";
  if constexpr (sizeof(T) == 2) return "s";
  return "C";
}

// Rows of a vector that the owner keeps alive, read in place. T is a number, an enum over one, or a
// quantity that is just one.
template <class T>
ArrowColumn column(std::string name, const std::vector<T>& rows, std::shared_ptr<const void> owner,
                   std::shared_ptr<const ArrowColumn> dictionary = nullptr) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  return {.name = std::move(name),
          .format = format_of<T>(),
          .length = static_cast<std::int64_t>(rows.size()),
          .buffers = {nullptr, rows.data()},
          .owner = std::move(owner),
          .dictionary = std::move(dictionary)};
}

// A vector of its own.
template <class T>
ArrowColumn own_column(std::string name, std::vector<T> rows,
                       std::shared_ptr<const ArrowColumn> dictionary = nullptr) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(rows));
  return column(std::move(name), *kept, kept, std::move(dictionary));
}

// One column of what `field` says of each row.
template <class Rows, class Field>
ArrowColumn column_of(std::string name, const Rows& rows, Field field,
                      std::shared_ptr<const ArrowColumn> dictionary = nullptr) {
  using T = std::decay_t<decltype(field(rows[0]))>;
  std::vector<T> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(field(row));
  return own_column(std::move(name), std::move(values), std::move(dictionary));
}

struct Texts {
  std::vector<std::int64_t> offsets{0};
  std::string text;
};

void add_text(Texts& texts, std::string_view text) {
  texts.text += valid_text(text);
  texts.offsets.push_back(static_cast<std::int64_t>(texts.text.size()));
}

std::shared_ptr<const ArrowColumn> dictionary_of(Texts made) {
  auto texts = std::make_shared<const Texts>(std::move(made));
  return std::make_shared<const ArrowColumn>(
      ArrowColumn{.name = {},
                  .format = "U",
                  .length = static_cast<std::int64_t>(texts->offsets.size() - 1),
                  .buffers = {nullptr, texts->offsets.data(), texts->text.data()},
                  .owner = texts});
}

std::shared_ptr<const ArrowColumn> names_of(const StringPool& pool) {
  Texts texts;
  texts.offsets.reserve(pool.size() + 1);
  for (std::uint32_t i = 0; i < pool.size(); ++i) add_text(texts, pool[StringId{i}]);
  return dictionary_of(std::move(texts));
}

std::shared_ptr<const ArrowColumn> words_of(std::span<const std::string_view> words) {
  Texts texts;
  for (const std::string_view word : words) add_text(texts, word);
  return dictionary_of(std::move(texts));
}

SharedTable table(std::size_t rows, std::vector<ArrowColumn> columns) {
  return std::make_shared<const ArrowTable>(
      ArrowTable{static_cast<std::int64_t>(rows), std::move(columns)});
}

using Dictionary = std::shared_ptr<const ArrowColumn>;

const Dictionary& categories() {
  static const Dictionary words = words_of(category_names);
  return words;
}
const Dictionary& classes() {
  static const Dictionary words = words_of(name_class_names);
  return words;
}

}  // namespace

NamedTrace named(std::shared_ptr<const Trace> trace) {
  Dictionary names = names_of(trace->strings);
  return {std::move(trace), std::move(names)};
}

SharedTable slices_of(const NamedTrace& named) {
  const auto& [t, names] = named;
  const Slices& s = t->slices;
  return table(s.size(),
               {column("start_ns", s.start, t), column("dur_ns", s.dur, t),
                column("name", s.name, t, names), column("category", s.category, t, categories()),
                column("class", s.kind, t, classes()), column("track", s.track, t),
                column("correlation", s.correlation, t), column("external_id", s.external_id, t)});
}

// The device rows alone, in the order of the slices.
SharedTable kernels_of(const NamedTrace& named) {
  const Trace& t = *named.trace;
  const Dictionary& names = named.names;
  const Slices& s = t.slices;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (is_device_work(s.category[i])) rows.push_back(i);
  const auto of_track = [&](std::uint32_t i) -> const Track& { return t.track(s.track[i]); };
  return table(
      rows.size(),
      {column_of("start_ns", rows, [&](std::uint32_t i) { return s.start[i]; }),
       column_of("dur_ns", rows, [&](std::uint32_t i) { return s.dur[i]; }),
       column_of(
           "name", rows, [&](std::uint32_t i) { return s.name[i]; }, names),
       column_of(
           "category", rows, [&](std::uint32_t i) { return s.category[i]; }, categories()),
       column_of(
           "class", rows, [&](std::uint32_t i) { return s.kind[i]; }, classes()),
       column_of("device", rows, [&](std::uint32_t i) { return of_track(i).device_index; }),
       column_of("stream", rows, [&](std::uint32_t i) { return of_track(i).tid; }),
       column_of("correlation", rows, [&](std::uint32_t i) { return s.correlation[i]; })});
}

SharedTable tracks_of(const NamedTrace& named) {
  const Dictionary& names = named.names;
  const auto& rows = named.trace->tracks;
  static const Dictionary kinds = words_of(std::array<std::string_view, 2>{"host", "device"});
  return table(
      rows.size(),
      {column_of("pid", rows, [](const Track& r) { return r.pid; }),
       column_of("tid", rows, [](const Track& r) { return r.tid; }),
       column_of(
           "process", rows, [](const Track& r) { return r.process_name; }, names),
       column_of(
           "thread", rows, [](const Track& r) { return r.thread_name; }, names),
       column_of(
           "kind", rows, [](const Track& r) { return static_cast<std::uint8_t>(r.device); }, kinds),
       column_of("device", rows, [](const Track& r) { return r.device_index; })});
}

SharedTable collectives_of(const NamedTrace& named) {
  const Trace& t = *named.trace;
  const Dictionary& names = named.names;
  const auto& rows = t.collectives;
  using C = Collective;
  const auto at = [&](const C& c) { return index(c.slice); };
  return table(
      rows.size(),
      {column_of("start_ns", rows, [&](const C& c) { return t.slices.start[at(c)]; }),
       column_of("dur_ns", rows, [&](const C& c) { return t.slices.dur[at(c)]; }),
       column_of("slice", rows, [&](const C& c) { return at(c); }),
       column_of(
           "name", rows, [](const C& c) { return c.name; }, names),
       column_of(
           "dtype", rows, [](const C& c) { return c.dtype; }, names),
       column_of(
           "group", rows, [](const C& c) { return c.group_name; }, names),
       column_of(
           "group_description", rows, [](const C& c) { return c.group_description; }, names),
       column_of(
           "group_ranks", rows, [](const C& c) { return c.group_ranks; }, names),
       column_of("group_size", rows, [](const C& c) { return c.group_size; }),
       column_of("seq", rows, [](const C& c) { return c.seq; }),
       column_of("in_elements", rows, [](const C& c) { return c.in_elements; }),
       column_of("out_elements", rows, [](const C& c) { return c.out_elements; }),
       column_of("src_rank", rows, [](const C& c) { return c.src_rank; }),
       column_of("dst_rank", rows, [](const C& c) { return c.dst_rank; })});
}

SharedTable memory_of(const NamedTrace& named) {
  const auto& t = named.trace;
  const MemoryEvents& m = t->memory;
  static_assert(sizeof(Bytes) == 8);
  return table(m.size(), {column("time_ns", m.time, t), column("device", m.device, t),
                          column("address", m.address, t), column("bytes", m.bytes, t),
                          column("total_allocated_bytes", m.total_allocated, t),
                          column("total_reserved_bytes", m.total_reserved, t)});
}

SharedTable counters_of(const NamedTrace& named) {
  const auto& [t, names] = named;
  const Counters& c = t->counters;
  return table(c.size(), {column("time_ns", c.time, t), column("metric", c.metric, t, names),
                          column("value", c.value, t)});
}

}  // namespace stepscope::binding
