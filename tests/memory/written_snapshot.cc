// SPDX-License-Identifier: Apache-2.0
// Walks over the allocator once and passes its data to a writer of pickles or of JSON.
#include "tests/memory/written_snapshot.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace stepscope::testing {
namespace {

class PickleWriter {
 public:
  PickleWriter() { out_ = "\x80\x04"; }

  void text(std::string_view s) {
    if (recall(texts_, std::string(s))) return;
    out_ += '\x8c';
    out_ += static_cast<char>(s.size());
    out_ += s;
    memorise(texts_, std::string(s));
  }
  void integer(std::int64_t v) {
    if (v >= 0 && v < 256) {
      out_ += 'K';
      bytes(static_cast<std::uint64_t>(v), 1);
    } else if (v >= -0x80000000LL && v <= 0x7fffffffLL) {
      out_ += 'J';
      bytes(static_cast<std::uint64_t>(v), 4);
    } else {
      out_ += "\x8a\x08";
      bytes(static_cast<std::uint64_t>(v), 8);
    }
  }
  void boolean(bool v) { out_ += v ? '\x88' : '\x89'; }
  void begin_list() { open(']', '('); }
  void end_list() { out_ += 'e'; }
  void begin_dict() { open('}', '('); }
  void end_dict() { out_ += 'u'; }
  void pair(std::int64_t a, std::int64_t b) {
    integer(a);
    integer(b);
    out_ += '\x86';
    out_ += '\x94';
    ++memorised_;
  }
  void key(std::string_view k) { text(k); }
  // Whether the same list was written before and is recalled from the memo.
  bool known_stack(std::size_t stack) { return recall(stacks_, stack); }
  void begin_stack(std::size_t stack) {
    out_ += ']';
    memorise(stacks_, stack);
    out_ += '(';
  }
  std::string done() {
    out_ += '.';
    return std::move(out_);
  }

 private:
  void bytes(std::uint64_t v, int n) {
    for (int i = 0; i < n; ++i) out_ += static_cast<char>(v >> (8 * i) & 0xFFU);
  }
  void open(char kind, char mark) {
    out_ += kind;
    out_ += '\x94';
    ++memorised_;
    out_ += mark;
  }
  template <class T>
  bool recall(const std::map<T, std::uint64_t>& memo, const T& what) {
    const auto at = memo.find(what);
    if (at == memo.end()) return false;
    if (at->second < 256) {
      out_ += 'h';
      bytes(at->second, 1);
    } else {
      out_ += 'j';
      bytes(at->second, 4);
    }
    return true;
  }
  template <class T>
  void memorise(std::map<T, std::uint64_t>& memo, const T& what) {
    out_ += '\x94';
    memo.emplace(what, memorised_++);
  }

  std::string out_;
  std::uint64_t memorised_ = 0;
  std::map<std::string, std::uint64_t> texts_;
  std::map<std::size_t, std::uint64_t> stacks_;
};

class JsonWriter {
 public:
  void text(std::string_view s) {
    comma();
    out_ += '"';
    for (const char c : s) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
  }
  void integer(std::int64_t v) {
    comma();
    out_ += std::to_string(v);
  }
  void boolean(bool v) {
    comma();
    out_ += v ? "true" : "false";
  }
  void begin_list() { open('['); }
  void end_list() {
    out_ += ']';
    fresh_ = false;
  }
  void begin_dict() { open('{'); }
  void end_dict() {
    out_ += '}';
    fresh_ = false;
  }
  void pair(std::int64_t a, std::int64_t b) {
    begin_list();
    integer(a);
    integer(b);
    end_list();
  }
  void key(std::string_view k) {
    text(k);
    out_ += ": ";
    fresh_ = true;
  }
  bool known_stack(std::size_t) { return false; }
  void begin_stack(std::size_t) { begin_list(); }
  std::string done() { return std::move(out_); }

 private:
  void open(char c) {
    comma();
    out_ += c;
    fresh_ = true;
  }
  void comma() {
    if (!fresh_ && !out_.empty()) out_ += ", ";
    fresh_ = false;
  }
  std::string out_;
  bool fresh_ = true;
};

template <class Writer>
void write_stack(Writer& w, const SimulatedAllocator& a, std::size_t stack, const WrittenAs& as) {
  w.key("frames");
  const std::size_t shown = as.stacks ? stack : 0;
  if (w.known_stack(shown)) return;
  w.begin_stack(shown);
  for (const SimFrame& f : a.stacks[shown]) {
    w.begin_dict();
    w.key("name");
    w.text(f.name);
    w.key("filename");
    w.text(f.file);
    w.key("line");
    w.integer(f.line);
    w.end_dict();
  }
  w.end_list();
}

template <class Writer>
void write_segment(Writer& w, const SimulatedAllocator& a, std::uint64_t address,
                   const SimSegment& s, const WrittenAs& as) {
  std::int64_t allocated = 0;
  for (const auto& [at, block] : s.blocks)
    if (block.state == SimBlock::State::active) allocated += block.size;
  w.begin_dict();
  const auto number = [&](std::string_view key, std::int64_t value) {
    w.key(key);
    w.integer(value);
  };
  number("device", as.device);
  number("address", static_cast<std::int64_t>(address));
  number("total_size", s.size);
  number("allocated_size", allocated);
  number("active_size", allocated);
  number("stream", static_cast<std::int64_t>(s.stream));
  w.key("segment_type");
  w.text(s.large ? "large" : "small");
  w.key("segment_pool_id");
  w.pair(0, 0);
  w.key("is_expandable");
  w.boolean(s.expandable);
  write_stack(w, a, 0, as);
  w.key("blocks");
  w.begin_list();
  for (const auto& [at, block] : s.blocks) {
    w.begin_dict();
    number("address", static_cast<std::int64_t>(at));
    number("size", block.size);
    number("requested_size", block.requested);
    w.key("state");
    w.text(block.state == SimBlock::State::active    ? "active_allocated"
           : block.state == SimBlock::State::pending ? "active_pending_free"
                                                     : "inactive");
    write_stack(w, a, block.state == SimBlock::State::free ? 0 : block.stack, as);
    w.end_dict();
  }
  w.end_list();
  w.end_dict();
}

template <class Writer>
void write_events(Writer& w, const SimulatedAllocator& a, const WrittenAs& as) {
  const std::size_t first = a.events.size() - std::min(as.ring, a.events.size());
  for (std::size_t i = first; i < a.events.size() && as.history; ++i) {
    const SimEvent& e = a.events[i];
    w.begin_dict();
    w.key("action");
    w.text(e.action);
    w.key(e.action == "oom" ? "device_free" : "addr");
    w.integer(static_cast<std::int64_t>(e.address));
    w.key("size");
    w.integer(e.size);
    w.key("stream");
    w.integer(static_cast<std::int64_t>(e.stream));
    if (as.times) {
      w.key("time_us");
      w.integer(e.time_us);
    }
    write_stack(w, a, e.stack, as);
    w.end_dict();
  }
}

template <class Writer>
std::string written(const SimulatedAllocator& a, const WrittenAs& as) {
  Writer w;
  w.begin_dict();
  w.key("segments");
  w.begin_list();
  for (const auto& [address, segment] : a.segments) write_segment(w, a, address, segment, as);
  w.end_list();
  w.key("device_traces");
  w.begin_list();
  for (int d = 0; d <= as.device; ++d) {
    w.begin_list();
    if (d == as.device) write_events(w, a, as);
    w.end_list();
  }
  w.end_list();
  w.key("allocator_settings");
  w.begin_dict();
  w.key("PYTORCH_CUDA_ALLOC_CONF");
  w.text(a.expandable ? "expandable_segments:True" : "");
  w.key("expandable_segments");
  w.boolean(a.expandable);
  w.key("max_split_size");
  w.integer(-1);
  w.end_dict();
  w.end_dict();
  return w.done();
}

}  // namespace

std::string pickled(const SimulatedAllocator& allocator, const WrittenAs& as) {
  return written<PickleWriter>(allocator, as);
}

std::string as_json(const SimulatedAllocator& allocator, const WrittenAs& as) {
  return written<JsonWriter>(allocator, as);
}

std::string as_page(const std::string& pickle) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string whole = pickle + std::string(3 - pickle.size() % 3, '\0');
  std::string text;
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | static_cast<unsigned char>(whole[i + k]);
    for (int k = 3; k >= 0; --k) text += digits[bits >> (6 * k) & 63U];
  }
  return "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n"
         "const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"" +
         text + "\"}]\n</script>\n</body>\n";
}

}  // namespace stepscope::testing
