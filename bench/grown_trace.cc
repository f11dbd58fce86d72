// SPDX-License-Identifier: Apache-2.0
#include "bench/grown_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/document.h"
#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_scan.h"
#include "stepscope/read/rows/number.h"

namespace stepscope::bench {
namespace {

// The numbers that advance together from copy to copy.
enum class Series : std::uint8_t { time, link, sequence, collective, step };
constexpr std::size_t series_count = 5;

struct Patch {  // an unsigned number in the text
  std::size_t at = 0;
  std::size_t size = 0;
  std::uint64_t value = 0;
  Series series{};
};

struct Template {
  std::string text;
  std::size_t begin = 0;         // of the first event
  std::size_t end = 0;           // after the last
  std::string once{};            // the rows that are not repeated, joined
  std::string repeated{};        // one copy of the rest, joined
  std::vector<Patch> patches{};  // into `repeated`, ascending
  std::array<std::uint64_t, series_count> stride{};
};

Result<std::string> read_text(const std::string& path) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::string text;
  for (std::size_t got = 1; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + (8 << 20));
    const auto read = (*source)->read(std::span(text).subspan(before));
    if (!read) return read.error();
    text.resize(before + (got = *read));
  }
  return text;
}

struct Link {
  Field field;
  Series series;
};
constexpr std::array links = {Link{Field::ts, Series::time},
                              Link{Field::id, Series::link},
                              Link{Field::external_id, Series::link},
                              Link{Field::correlation, Series::link},
                              Link{Field::wait_on_record, Series::link},
                              Link{Field::sequence, Series::sequence},
                              Link{Field::seq, Series::collective}};
constexpr std::string_view step_prefix = "ProfilerStep#";

// Records the number at the start of `digits`. 0 and negative numbers mean "none" to every writer.
void add_patch(std::string_view event, std::string_view digits, Series series, Template& out) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || value == 0) return;
  out.patches.push_back(
      {out.repeated.size() + static_cast<std::size_t>(digits.data() - event.data()),
       static_cast<std::size_t>(stop - digits.data()), value, series});
}

void add_event(std::string_view text, const RawEvent& event, Template& out) {
  const bool names = event.has(Field::ph) && event[Field::ph].text() == "M";
  std::string& to = names ? out.once : out.repeated;
  if (!to.empty()) to += ",\n  ";
  if (!names) {
    const std::size_t first = out.patches.size();
    for (const Link& link : links)
      if (event.has(link.field)) add_patch(text, event[link.field].text(), link.series, out);
    if (event.has(Field::name) && event[Field::name].text().starts_with(step_prefix))
      add_patch(text, event[Field::name].text().substr(step_prefix.size()), Series::step, out);
    std::ranges::sort(out.patches.begin() + static_cast<std::ptrdiff_t>(first), out.patches.end(),
                      {}, &Patch::at);
  }
  to += text;
}

// The distance of copies is the largest number, or the span of numbers if the first is not near
// zero.
void set_strides(Template& out, std::uint64_t latest_us) {
  std::array<std::uint64_t, series_count> low;
  std::array<std::uint64_t, series_count> high{};
  low.fill(~std::uint64_t{0});
  for (const Patch& patch : out.patches) {
    const auto s = static_cast<std::size_t>(patch.series);
    low[s] = std::min(low[s], patch.value);
    high[s] = std::max(high[s], patch.value);
  }
  auto& time_high = high[static_cast<std::size_t>(Series::time)];
  time_high = std::max(time_high, latest_us);
  for (std::size_t s = 0; s < series_count; ++s)
    if (high[s] > 0) out.stride[s] = high[s] - low[s] + 1;
}

Result<Template> take_apart(std::string text, const std::string& path) {
  Template out{.text = std::move(text)};
  const std::size_t size = out.text.size();
  Metadata metadata;
  ImportNotes notes;
  const OuterText head = read_head(out.text, true, metadata, notes);
  if (head.outer != Outer::events) return Error{.what = "no traceEvents", .file = path};
  out.text.resize(size + json_text_padding);
  const std::string_view body = std::string_view(out.text).substr(head.at, size - head.at);
  JsonIndex index;
  index_json(body, index);
  RawEvent event;
  std::uint64_t latest_us = 0;
  std::size_t cursor = 0;
  while (cursor < index.count && body[index.at[cursor]] == '{') {
    const std::size_t begin = index.at[cursor];
    if (scan_event(body, index, cursor, event) != Scan::complete)
      return Error{.what = "not a well-formed event", .file = path, .byte = head.at + begin};
    const std::size_t end = index.at[cursor - 1] + 1;
    if (out.end == 0) out.begin = head.at + begin;
    out.end = head.at + end;
    add_event(body.substr(begin, end - begin), event, out);
    if (!event.has(Field::ts) || !event.has(Field::dur)) continue;
    const auto start = parse_microseconds(event[Field::ts]);
    const auto dur = parse_microseconds(event[Field::dur]);
    if (start && dur && start->count() > 0 && dur->count() > 0)
      latest_us = std::max(latest_us, static_cast<std::uint64_t>((*start + *dur).count()) / 1000);
  }
  out.text.resize(size);
  if (out.repeated.empty()) return Error{.what = "no events to repeat", .file = path};
  set_strides(out, latest_us + 1000);
  return out;
}

std::string copy_of(const Template& from, std::uint64_t number) {
  std::string copy;
  copy.reserve(from.repeated.size() + from.patches.size() * 4);
  std::size_t at = 0;
  std::array<char, 24> digits{};
  for (const Patch& patch : from.patches) {
    copy.append(from.repeated, at, patch.at - at);
    const std::uint64_t stride = from.stride[static_cast<std::size_t>(patch.series)];
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), patch.value + number * stride);
    copy.append(digits.data(), end);
    at = patch.at + patch.size;
  }
  return copy.append(from.repeated, at);
}

bool write(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

bool write_grown(const Template& from, std::uint64_t bytes) {
  const std::string_view text = from.text;
  bool good = write(text.substr(0, from.begin)) && write(from.once);
  std::uint64_t written = text.size() - from.repeated.size();
  for (std::uint64_t number = 0; good && (number == 0 || written < bytes); ++number) {
    const std::string copy = copy_of(from, number);
    if (number > 0 || !from.once.empty()) good = write(",\n  ");
    good = good && write(copy);
    written += copy.size();
  }
  return good && write(text.substr(from.end)) && std::fflush(stdout) == 0;
}

}  // namespace

Result<Done> write_grown(const std::string& trace, std::uint64_t bytes) {
  auto text = read_text(trace);
  const auto parts = text ? take_apart(std::move(*text), trace) : text.error();
  if (!parts) return parts.error();
  if (!write_grown(*parts, bytes)) return Error{.what = "cannot write all of it"};
  return Done{};
}

}  // namespace stepscope::bench
