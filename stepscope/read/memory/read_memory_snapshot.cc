// SPDX-License-Identifier: Apache-2.0
// A pickle's memo makes texts, frames and stacks of equal objects one node, so results are cached
// by node index. A JSON text repeats them, so their content is compared as well.
#include "stepscope/read/memory/read_memory_snapshot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

namespace stepscope {
namespace {

enum class Key : std::uint8_t {
  not_looked_up,
  other,
  action,
  addr,
  address,
  active_size,
  allocated_size,
  blocks,
  category,
  device,
  device_free,
  filename,
  frames,
  history,
  is_expandable,
  line,
  name,
  pool_id,
  real_size,
  requested_size,
  segment_pool_id,
  segment_type,
  size,
  stage,
  state,
  stream,
  time_us,
  total_size
};
constexpr std::array<std::string_view, 28> key_names = {"",
                                                        "",
                                                        "action",
                                                        "addr",
                                                        "address",
                                                        "active_size",
                                                        "allocated_size",
                                                        "blocks",
                                                        "category",
                                                        "device",
                                                        "device_free",
                                                        "filename",
                                                        "frames",
                                                        "history",
                                                        "is_expandable",
                                                        "line",
                                                        "name",
                                                        "pool_id",
                                                        "real_size",
                                                        "requested_size",
                                                        "segment_pool_id",
                                                        "segment_type",
                                                        "size",
                                                        "stage",
                                                        "state",
                                                        "stream",
                                                        "time_us",
                                                        "total_size"};
static_assert(key_names[static_cast<std::size_t>(Key::total_size)] == "total_size");

constexpr std::uint32_t unknown_index = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint8_t no_action = std::numeric_limits<std::uint8_t>::max();
constexpr std::int64_t most_bytes = std::int64_t{1} << 50U;  // of one block; a petabyte
constexpr std::int64_t most_in_all = std::int64_t{1} << 60U;
constexpr std::int64_t latest_us = 9'000'000'000'000'000;  // fits Ns
constexpr std::int64_t most_devices = 4096;

std::uint64_t hash_of(std::span<const std::uint32_t> words) {
  std::uint64_t h = words.size();
  for (const std::uint32_t w : words) {
    h = (h ^ w) * 0x9E3779B97F4A7C15U;
    h ^= h >> 29U;
  }
  return h;
}

AllocatorAction action_named(std::string_view name) {
  for (std::size_t i = 0; i + 1 < allocator_action_count; ++i)
    if (name_of(static_cast<AllocatorAction>(i)) == name) return static_cast<AllocatorAction>(i);
  return AllocatorAction::other;
}

// Stores each frame and stack once.
class StackBuilder {
 public:
  explicit StackBuilder(MemorySnapshot& into) : into_(into) {}

  std::uint32_t frame(const SnapshotFrame& f) {
    const std::array<std::uint32_t, 3> words = {index(f.name), index(f.file),
                                                static_cast<std::uint32_t>(f.line)};
    auto [at, end] = frames_.equal_range(hash_of(words));
    for (; at != end; ++at)
      if (into_.stacks.frames[at->second] == f) return at->second;
    const auto fresh = static_cast<std::uint32_t>(into_.stacks.frames.size());
    into_.stacks.frames.push_back(f);
    frames_.emplace(hash_of(words), fresh);
    return fresh;
  }
  std::uint32_t stack(std::span<const std::uint32_t> frames) {
    if (frames.empty()) return 0;
    SnapshotStacks& all = into_.stacks;
    auto [at, end] = stacks_.equal_range(hash_of(frames));
    for (; at != end; ++at)
      if (std::ranges::equal(all[at->second], frames)) return at->second;
    const auto fresh = static_cast<std::uint32_t>(all.size());
    all.of.insert(all.of.end(), frames.begin(), frames.end());
    all.begin.push_back(static_cast<std::uint32_t>(all.of.size()));
    stacks_.emplace(hash_of(frames), fresh);
    return fresh;
  }

 private:
  MemorySnapshot& into_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> frames_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> stacks_;
};

class SnapshotReader {
 public:
  SnapshotReader(const PlainTree& tree, MemorySnapshot& into)
      : tree_(tree),
        into_(into),
        builder_(into),
        keys_(tree.nodes.size(), Key::not_looked_up),
        meaning_(tree.nodes.size(), unknown_index) {}

  void read(const PlainValue& root) {
    if (root.kind() != PlainKind::dict) {  // only segments: torch.cuda.memory_snapshot()
      segments(root, std::nullopt);
    } else {
      if (const auto value = root.find("segments")) segments(*value, std::nullopt);
      if (const auto value = root.find("device_traces")) traces(*value, std::nullopt);
      if (const auto value = root.find("host_segments")) segments(*value, pinned_host_memory);
      if (const auto value = root.find("host_traces")) traces(*value, pinned_host_memory);
      if (const auto value = root.find("external_annotations")) marks(*value);
      if (const auto value = root.find("allocator_settings")) settings(*value);
    }
    if (tree_.wide_integers > 0) into_.notes["integers_beyond_63_bits"] = tree_.wide_integers;
    finish();
  }

 private:
  void note(const std::string& reason) { ++into_.notes[reason]; }

  Key key_of(const PlainValue& key) {
    Key& known = keys_[key.id()];
    if (known != Key::not_looked_up) return known;
    const std::string_view text = key.text().value_or(std::string_view());
    known = Key::other;
    for (std::size_t i = 2; i < key_names.size(); ++i)
      if (key_names[i] == text) known = static_cast<Key>(i);
    return known;
  }
  template <class Member>
  void members(const PlainValue& dict, Member member) {
    if (dict.kind() != PlainKind::dict) return;
    for (std::size_t i = 0; i < dict.size(); ++i) member(key_of(dict.key(i)), dict[i]);
  }
  StringId text_id(const PlainValue& value) {
    std::uint32_t& known = meaning_[value.id()];
    if (known == unknown_index)
      known = index(into_.strings.intern(value.text().value_or(std::string_view())));
    return StringId{known};
  }

  // All sizes in a file together stay far below 2^63, so their sums cannot overflow.
  bool size(const PlainValue& value, Bytes& into) {
    const auto whole = value.integer();
    if (!whole || *whole < 0 || *whole > most_bytes || *whole > most_in_all - sum_of_sizes_)
      return false;
    sum_of_sizes_ += *whole;
    into = Bytes{*whole};
    return true;
  }
  // Addresses and streams: any 64 bits.
  static std::uint64_t bits(const PlainValue& value) {
    if (const auto whole = value.integer()) return static_cast<std::uint64_t>(*whole);
    // A pickle's integer beyond 2^63 was read as a real.
    const auto real = value.real();
    return real && *real >= 0 && *real < 1.8e19 ? static_cast<std::uint64_t>(*real) : 0;
  }
  static MemoryPool pool(const PlainValue& value) {
    if (value.size() != 2 || value.kind() == PlainKind::dict) return {};
    return {value[0].integer().value_or(0), value[1].integer().value_or(0)};
  }
  Ns time(const PlainValue& value) {
    const auto us = value.integer();
    if (!us || *us < 0 || *us > latest_us) {
      note("times_out_of_range");
      return {};
    }
    return Ns{*us * 1000};
  }

  std::uint32_t frame(const PlainValue& value) {
    std::uint32_t& known = meaning_[value.id()];
    if (known != unknown_index) return known;
    SnapshotFrame f;
    members(value, [&](Key key, const PlainValue& v) {
      if (key == Key::name) f.name = text_id(v);
      if (key == Key::filename) f.file = text_id(v);
      if (key == Key::line) f.line = static_cast<std::int32_t>(v.integer().value_or(0));
    });
    return meaning_[value.id()] = builder_.frame(f);
  }
  std::uint32_t stack(const PlainValue& value) {
    std::uint32_t& known = meaning_[value.id()];
    if (known != unknown_index) return known;
    frames_.clear();
    if (value.kind() == PlainKind::list || value.kind() == PlainKind::tuple)
      for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].kind() == PlainKind::dict) frames_.push_back(frame(value[i]));
    return meaning_[value.id()] = builder_.stack(frames_);
  }

  SnapshotDevice& device(std::int64_t number) {
    const auto at = std::ranges::find(into_.devices, number, &SnapshotDevice::device);
    if (at != into_.devices.end()) return *at;
    into_.devices.emplace_back();
    into_.devices.back().device = static_cast<int>(number);
    return into_.devices.back();
  }

  // A pickle can repeat a list at no cost in bytes; no allocator writes such lists. Reading stops
  // there with a note, so the work stays linear in the size of the file.
  bool spend(const char* repeats) {
    if (spent_ < tree_.nodes.size()) {
      ++spent_;
      return true;
    }
    note(repeats);
    return false;
  }

  void segments(const PlainValue& list, std::optional<int> of) {
    if (list.kind() != PlainKind::list && list.kind() != PlainKind::tuple)
      return note("unreadable_segments");
    for (std::size_t i = 0; i < list.size() && spend("repeated_segments"); ++i)
      segment(list[i], of);
  }
  void segment(const PlainValue& value, std::optional<int> of) {
    SnapshotSegment s;
    std::int64_t number = of.value_or(0);
    bool sized = false;
    std::optional<PlainValue> blocks;
    members(value, [&](Key key, const PlainValue& v) {
      if (key == Key::address) s.address = bits(v);
      if (key == Key::total_size) sized = size(v, s.size);
      if (key == Key::stream) s.stream = bits(v);
      if (key == Key::device && !of) number = v.integer().value_or(-1);
      if (key == Key::segment_type) s.large = v.text() != "small";
      if (key == Key::segment_pool_id) s.pool = pool(v);
      if (key == Key::is_expandable) s.expandable = v.boolean().value_or(false);
      if (key == Key::frames) s.stack = stack(v);
      if (key == Key::blocks) blocks = v;
    });
    const bool numbered = of || (number >= 0 && number < most_devices);
    const bool wraps = s.address + static_cast<std::uint64_t>(s.size.value) < s.address;
    if (!sized || !numbered || wraps) return note("unreadable_segments");
    SnapshotDevice& d = device(number);
    s.first_block = static_cast<std::uint32_t>(d.blocks.size());
    std::uint64_t address = s.address;
    for (std::size_t i = 0; blocks && i < blocks->size() && spend("repeated_blocks"); ++i)
      block((*blocks)[i], address, d);
    s.blocks = static_cast<std::uint32_t>(d.blocks.size() - s.first_block);
    if (blocks && address - s.address != static_cast<std::uint64_t>(s.size.value))
      note("segments_whose_blocks_do_not_fill_them");
    d.segments.push_back(s);
  }
  // Blocks are adjacent; older files do not write their addresses.
  void block(const PlainValue& value, std::uint64_t& address, SnapshotDevice& d) {
    SnapshotBlock b;
    bool sized = false;
    bool requested = false;
    std::optional<PlainValue> history;
    members(value, [&](Key key, const PlainValue& v) {
      if (key == Key::size) sized = size(v, b.size);
      if (key == Key::requested_size) requested = size(v, b.requested);
      if (key == Key::frames) b.stack = stack(v);
      if (key == Key::category) b.category = text_id(v);
      if (key == Key::history) history = v;
      if (key == Key::state) {
        const auto text = v.text();
        if (text == "active_allocated")
          b.state = BlockState::active;
        else if (text == "active_pending_free" || text == "active_awaiting_free")
          b.state = BlockState::pending;
        else if (text != "inactive")
          note("blocks_of_unknown_state");
      }
    });
    if (!sized || address + static_cast<std::uint64_t>(b.size.value) < address)
      return note("unreadable_blocks");
    if (history && history->size() > 0 && history->kind() != PlainKind::dict)
      members((*history)[0], [&](Key key, const PlainValue& v) {
        if (key == Key::real_size && !requested) requested = size(v, b.requested);
        if (key == Key::frames && b.stack == 0) b.stack = stack(v);
      });
    if (!requested) b.requested = b.size;
    b.address = address;
    address += static_cast<std::uint64_t>(b.size.value);
    d.blocks.push_back(b);
  }

  void traces(const PlainValue& list, std::optional<int> of) {
    if (list.kind() != PlainKind::list && list.kind() != PlainKind::tuple)
      return note("unreadable_traces");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const PlainValue events = list[i];
      if (events.size() == 0 || events.kind() == PlainKind::dict) continue;
      if (!of && i >= most_devices) return note("unreadable_traces");
      SnapshotDevice& d = device(of ? *of : static_cast<std::int64_t>(i));
      for (std::size_t e = 0; e < events.size() && spend("repeated_events"); ++e)
        event(events[e], d);
    }
  }
  void event(const PlainValue& value, SnapshotDevice& d) {
    AllocatorEvent e;
    bool sized = false;
    bool addressed = false;
    members(value, [&](Key key, const PlainValue& v) {
      switch (key) {
        case Key::action:
          e.action = action(v);
          break;
        case Key::addr:
        case Key::device_free:
          e.address = bits(v);
          addressed = true;
          break;
        case Key::size:
          sized = size(v, e.size);
          break;
        case Key::stream:
          e.stream = bits(v);
          break;
        case Key::pool_id:
        case Key::segment_pool_id:
          e.pool = pool(v);
          break;
        case Key::time_us:
          e.time = time(v);
          break;
        case Key::frames:
          e.stack = stack(v);
          break;
        case Key::category:
          e.category = text_id(v);
          break;
        default:
          break;
      }
    });
    const bool bare = e.action == AllocatorAction::other || e.action == AllocatorAction::snapshot;
    if (e.action == AllocatorAction::other) note("events_of_unknown_action");
    if (!bare && (!sized || (!addressed && e.action != AllocatorAction::oom)))
      return note("unreadable_events");
    d.events.push_back(e);
  }
  AllocatorAction action(const PlainValue& value) {
    if (actions_.empty()) actions_.assign(tree_.nodes.size(), no_action);
    std::uint8_t& known = actions_[value.id()];
    if (known == no_action)
      known = static_cast<std::uint8_t>(action_named(value.text().value_or(std::string_view())));
    return static_cast<AllocatorAction>(known);
  }

  void marks(const PlainValue& list) {
    if (list.kind() == PlainKind::dict) return;
    for (std::size_t i = 0; i < list.size() && spend("repeated_annotations"); ++i) {
      MemoryMark mark;
      std::int64_t number = -1;
      bool named = false;
      members(list[i], [&](Key key, const PlainValue& v) {
        if (key == Key::name) {
          mark.name = text_id(v);
          named = true;
        }
        if (key == Key::stage) mark.begins = v.text() == "START";
        if (key == Key::device) number = v.integer().value_or(-1);
        if (key == Key::time_us) mark.time = time(v);
      });
      if (!named || number < 0 || number >= most_devices) {
        note("unreadable_annotations");
        continue;
      }
      device(number).marks.push_back(mark);
    }
  }

  void settings(const PlainValue& dict) {
    if (dict.kind() != PlainKind::dict) return note("unreadable_settings");
    AllocatorSettings& out = into_.settings;
    out.recorded = true;
    for (const std::string_view key : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
      if (const auto value = dict.find(key); value && out.text.empty())
        out.text = value->text().value_or(std::string_view());
    if (const auto value = dict.find("expandable_segments"))
      out.expandable_segments = value->boolean().value_or(false);
    if (const auto value = dict.find("max_split_size"))
      out.max_split_size = Bytes{value->integer().value_or(-1)};
    const auto divisions = dict.find("roundup_power2_divisions");
    if (!divisions || divisions->kind() != PlainKind::dict) return;
    for (std::size_t i = 0; i < divisions->size() && i < 64; ++i)
      out.roundup_divisions.push_back((*divisions)[i].integer().value_or(0));
  }

  void finish() {
    std::erase_if(into_.devices,
                  [](const SnapshotDevice& d) { return d.segments.empty() && d.events.empty(); });
    std::ranges::sort(into_.devices, {}, &SnapshotDevice::device);
    for (SnapshotDevice& d : into_.devices) {
      std::ranges::stable_sort(d.segments, {}, &SnapshotSegment::address);
      std::vector<SnapshotBlock> blocks;
      blocks.reserve(d.blocks.size());
      for (SnapshotSegment& s : d.segments) {
        const auto first = d.blocks.begin() + s.first_block;
        s.first_block = static_cast<std::uint32_t>(blocks.size());
        blocks.insert(blocks.end(), first, first + s.blocks);
      }
      d.blocks = std::move(blocks);
    }
  }

  const PlainTree& tree_;
  MemorySnapshot& into_;
  StackBuilder builder_;
  std::vector<Key> keys_;               // by node
  std::vector<std::uint32_t> meaning_;  // by node: the id of a text, frame or stack
  std::vector<std::uint8_t> actions_;   // by node
  std::vector<std::uint32_t> frames_;
  std::int64_t sum_of_sizes_ = 0;
  std::size_t spent_ = 0;
};

bool looks_like_segments(const PlainValue& list) {
  if (list.kind() != PlainKind::list || list.size() == 0) return false;
  return list[0].find("total_size") && list[0].find("blocks");
}

}  // namespace

bool is_memory_snapshot(const PlainValue& value) {
  if (value.kind() == PlainKind::dict)
    return value.find("segments").has_value() &&
           (value.find("device_traces") || value.find("traces") ||
            value.find("allocator_settings") || looks_like_segments(*value.find("segments")));
  return looks_like_segments(value);
}

Error no_snapshot(std::string_view path) {
  return {.what = "is no memory snapshot: it has no segments",
          .file = std::string(path),
          .hint = "record one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"};
}

Result<MemorySnapshot> memory_snapshot_of(const PlainTree& tree, std::string_view path) {
  if (!is_memory_snapshot(tree.value())) return no_snapshot(path);
  MemorySnapshot out;
  out.path = path;
  SnapshotReader(tree, out).read(tree.value());
  return out;
}

}  // namespace stepscope
