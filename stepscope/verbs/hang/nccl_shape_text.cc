// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/nccl_shape_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "stepscope/analysis/hang/nccl_shape.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/wording.h"

namespace stepscope {
namespace {

constexpr std::size_t shown_shapes = 6;
constexpr std::size_t shown_orders = 4;
constexpr std::size_t shown_pairs = 12;
constexpr std::size_t shown_ring_ranks = 32;
constexpr std::size_t shown_tree_ranks = 16;

// "channel 3", "channels 0–11, 14".
std::string channels_in_words(const std::vector<int>& channels) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < channels.size();) {
    std::size_t j = i;
    while (j + 1 < channels.size() && channels[j + 1] == channels[j] + 1) ++j;
    runs.push_back(i == j ? std::to_string(channels[i])
                          : fmt::format("{}–{}", channels[i], channels[j]));
    i = j + 1;
  }
  return fmt::format("channel{} {}", channels.size() == 1 ? "" : "s", fmt::join(runs, ", "));
}

std::size_t channels_of(const auto& list) {
  std::size_t n = 0;
  for (const auto& entry : list) n += entry.channels.size();
  return n;
}

std::string left_out(std::size_t n, std::string_view noun) {
  return fmt::format("    and {} more {}{} {}\n", n, noun, n == 1 ? "" : "s",
                     worded("(--json has all)"));
}

// Two spaces before the first line, four before the others.
std::string indented(const std::string& text, std::size_t width) {
  std::string out = "  ";
  for (const char c : wrapped(text, width - 4)) {
    out += c;
    if (c == '\n') out += "    ";
  }
  out.resize(out.size() - 4);
  return out;
}

std::string ring_line(const NcclRing& ring, int size, std::size_t width) {
  const std::size_t shown = std::min(ring.order.size(), shown_ring_ranks);
  std::vector<std::string> stops;
  for (std::size_t i = 0; i < shown; ++i) stops.push_back(std::to_string(ring.order[i]));
  if (shown < ring.order.size()) stops.emplace_back("…");
  if (ring.whole) stops.push_back(std::to_string(ring.order.front()));
  std::string line =
      fmt::format("{}: {}", channels_in_words(ring.channels), fmt::join(stops, " → "));
  if (shown < ring.order.size())
    line += fmt::format(" ({} ranks; {})", ring.order.size(), worded("--json has all"));
  else if (!ring.whole && size > 0)
    line += fmt::format(" (the log has {} of {} ranks)", ring.order.size(), size);
  return indented(line, width);
}

std::string tree_lines(const NcclTree& tree, int size) {
  std::string out = fmt::format("  {}:", channels_in_words(tree.channels));
  if (!tree.whole && tree.ranks.size() < static_cast<std::size_t>(size))
    out += fmt::format(" (the log has {} of {} ranks)", tree.ranks.size(), size);
  out += '\n';
  for (std::size_t i = 0; i < std::min(tree.ranks.size(), shown_tree_ranks); ++i) {
    const NcclTreeRank& r = tree.ranks[i];
    const std::string up = r.up < 0 ? "-" : std::to_string(r.up);
    out += fmt::format("    {}: up {}, down {}\n", r.rank, up,
                       r.down.empty() ? "-" : fmt::format("{}", fmt::join(r.down, ", ")));
  }
  if (tree.ranks.size() > shown_tree_ranks)
    out += left_out(tree.ranks.size() - shown_tree_ranks, "rank");
  return out;
}

std::string shape_text(const NcclShape& shape, int size, std::size_t times, std::size_t width) {
  const std::string of = times == 1 ? "the communicator" : fmt::format("{} communicators", times);
  std::string out;
  if (!shape.rings.empty()) {
    out += fmt::format("\nRings of {} of {} ranks: {}, {}\n", of, size,
                       counted(channels_of(shape.rings), "channel"),
                       counted(shape.rings.size(), "distinct order"));
    for (std::size_t i = 0; i < std::min(shape.rings.size(), shown_orders); ++i)
      out += ring_line(shape.rings[i], size, width);
    if (shape.rings.size() > shown_orders)
      out += left_out(shape.rings.size() - shown_orders, "order");
  }
  if (!shape.trees.empty()) {
    out += fmt::format("\nTrees of {} of {} ranks: {}, {}\n", of, size,
                       counted(channels_of(shape.trees), "channel"),
                       counted(shape.trees.size(), "distinct shape"));
    for (std::size_t i = 0; i < std::min(shape.trees.size(), shown_orders); ++i)
      out += tree_lines(shape.trees[i], size);
    if (shape.trees.size() > shown_orders)
      out += left_out(shape.trees.size() - shown_orders, "shape");
  }
  for (const auto& [unclear, what] :
       {std::pair(shape.unclear_rings, "ring"), std::pair(shape.unclear_trees, "tree")})
    if (unclear > 0)
      out += fmt::format(
          "  The {} of {} of {} of {} ranks is not known: lines are damaged or "
          "contradict each other.\n",
          what, counted(unclear, "channel"), of, size);
  return out;
}

}  // namespace

std::string transports_in_words(const std::map<std::string, std::uint64_t>& transports) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : transports)
    parts.push_back(fmt::format("{} × {}", count, printable(name)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string nccl_shapes_text(const HangResult& result, std::size_t width) {
  // Largest first; equal ones are counted.
  std::map<int, std::vector<std::pair<NcclShape, std::size_t>>, std::greater<>> by_size;
  for (const LoggedCommunicator& c : result.records.nccl.communicators) {
    if (c.ranks < 2) continue;
    NcclShape shape = nccl_shape(c);
    if (shape == NcclShape{}) continue;
    auto& shapes = by_size[c.ranks];
    const auto same = std::ranges::find(shapes, shape, &std::pair<NcclShape, std::size_t>::first);
    if (same != shapes.end())
      ++same->second;
    else
      shapes.emplace_back(std::move(shape), 1);
  }
  std::string out;
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (const auto& [size, shapes] : by_size)
    for (const auto& [shape, times] : shapes) {
      if (shown++ < shown_shapes)
        out += shape_text(shape, size, times, width);
      else
        ++hidden;
    }
  if (hidden > 0) out += '\n' + left_out(hidden, "shape");
  return out;
}

std::string loose_links_text(const NcclSetup& nccl, std::size_t width) {
  if (nccl.loose_connections.empty() && nccl.loose_rings.empty()) return {};
  const auto host = [](const std::string& name) {
    return name.empty() ? std::string("not recorded") : printable(name);
  };
  std::vector<std::vector<std::string>> rows;
  for (const LooseConnections& c : nccl.loose_connections) {
    if (rows.size() == shown_pairs) break;
    rows.push_back({host(c.from), host(c.to), std::to_string(c.channels.size()),
                    transports_in_words(c.transports)});
  }
  std::string out = "\nCommunicator not recorded (no Init line):\n";
  std::size_t shown = 0;
  for (const LoggedCommunicator& c : nccl.loose_rings) {
    const NcclShape shape = nccl_shape(c);
    if (shape == NcclShape{}) continue;
    if (++shown > shown_pairs) continue;
    // Nothing shows which of several processes are one communicator: each has its own lines.
    if (nccl.loose_rings.size() > 1) {
      const NcclProcess& p = nccl.processes[c.members.front().process];
      out += fmt::format("  process {} on {}:\n", p.pid, host(p.host));
    }
    for (const NcclRing& ring : shape.rings) out += ring_line(ring, c.ranks, width);
    if (shape.unclear_rings > 0)
      out += fmt::format("  {}: lines are damaged or contradict each other\n",
                         counted(shape.unclear_rings, "other ring"));
  }
  if (shown > shown_pairs) out += left_out(shown - shown_pairs, "process");
  if (!rows.empty())
    out += text_table(
        {{"from host", false}, {"to host", false}, {"channels"}, {"connections", false, 60}},
        std::move(rows), width);
  if (nccl.loose_connections.size() > shown_pairs)
    out += left_out(nccl.loose_connections.size() - shown_pairs, "pair");
  return out;
}

}  // namespace stepscope
