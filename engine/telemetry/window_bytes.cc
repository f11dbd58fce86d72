// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/window_bytes.h"

#include "stepscope/base/plain_bytes.h"

namespace stepscope {

template <>
struct Plain<QuantileSketch> {
  static void append(std::string& out, const QuantileSketch& sketch) {
    append_plain(out, sketch.first_bucket());
    append_plain(out, std::vector(sketch.counts().begin(), sketch.counts().end()));
    append_plain(out, std::array{sketch.sum(), sketch.min().value_or(0), sketch.max().value_or(0)});
  }
  static bool take(std::string_view& in, QuantileSketch& sketch) {
    int first = 0;
    std::vector<std::uint64_t> counts;
    std::array<double, 3> figures{};
    if (!take_plain(in, first) || !take_plain(in, counts) || !take_plain(in, figures)) return false;
    if (first < 0 || counts.size() > std::size_t{QuantileSketch::bucket_count}) return false;
    sketch = QuantileSketch(counts, first, figures[0], figures[1], figures[2]);
    return true;
  }
};

namespace {

constexpr std::uint64_t magic = 0x3657'4E41'5253'5353;  // "SSSRANW6"

bool consistent(const RankWindow& w) {
  for (const CollectiveGroup& group : w.groups)
    if (group.several && group.size < 1) return false;  // calls are divided by the size
  const auto group_known = [&](const auto& row) { return row.group < w.groups.size(); };
  for (const CollectiveTotals& calls : w.collectives)
    if (!group_known(calls) || slot(calls.kind) >= collective_kind_count ||
        slot(calls.purpose) >= collective_purpose_count)
      return false;
  for (const Arrival& arrival : w.arrivals)
    if (!group_known(arrival) || slot(arrival.kind) >= collective_kind_count ||
        slot(arrival.purpose) >= collective_purpose_count)
      return false;
  return w.rank >= 0 && w.rank < w.world && w.first_step <= w.end_step;
}

}  // namespace

void encode(const RankWindow& window, std::vector<std::byte>& out) {
  std::string text;
  append_plain(text, magic);
  append_plain(text, window);
  const auto bytes = std::as_bytes(std::span(text));
  out.assign(bytes.begin(), bytes.end());
}

Result<RankWindow> decode_window(std::span<const std::byte> bytes) {
  std::string_view in(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::uint64_t found = 0;
  RankWindow window;
  if (!take_plain(in, found) || found != magic || !take_plain(in, window) || !consistent(window))
    return Error{
        .what = "these " + std::to_string(bytes.size()) + " bytes are not a window of statistics",
        .byte = bytes.size() - in.size(),
        .hint = "all ranks must run the same build"};
  return window;
}

}  // namespace stepscope
