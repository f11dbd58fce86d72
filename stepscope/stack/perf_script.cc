// SPDX-License-Identifier: Apache-2.0
// Each distinct line of a frame is parsed once. Repeated lines are found by their hash.
#include "stepscope/stack/perf_script.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_hash.h"

namespace stepscope {
namespace {

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Takes the last word off the text, with the blanks before it.
std::string_view take_last_word(std::string_view& text) {
  text = trimmed(text);
  std::size_t at = text.size();
  while (at > 0 && !is_blank(text[at - 1])) --at;
  const std::string_view word = text.substr(at);
  text = trimmed(text.substr(0, at));
  return word;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// Converts "12.345678:" to nanoseconds.
std::optional<Ns> time_of(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > 10) return std::nullopt;
  const std::string_view fraction = word.substr(dot + 1);
  if (!all_digits(word.substr(0, dot)) || !all_digits(fraction) || fraction.size() > 9)
    return std::nullopt;
  const auto seconds = number_of<std::int64_t>(word.substr(0, dot));
  auto ns = number_of<std::int64_t>(fraction);
  // Nanoseconds overflow at 9223372036 s.
  if (!seconds || !ns || *seconds > 9'000'000'000) return std::nullopt;
  for (std::size_t i = fraction.size(); i < 9; ++i) *ns *= 10;
  return Ns{*seconds * 1'000'000'000 + *ns};
}

// "12" or "12/34".
bool ids(std::string_view word, PerfHeader& header) {
  const std::size_t slash = word.find('/');
  const std::string_view first = word.substr(0, slash);
  const auto id = [](std::string_view text) { return all_digits(text) || text == "-1"; };
  if (!id(first)) return false;
  header.pid = {};
  header.tid = first;
  if (slash == std::string_view::npos) return true;
  header.pid = first;
  header.tid = word.substr(slash + 1);
  return id(header.tid);
}

// Finds the begin and end of the word "seconds.fraction:".
bool find_time(std::string_view line, std::size_t& begin, std::size_t& end,
               std::optional<Ns>& time) {
  for (std::size_t colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    begin = colon;
    while (begin > 0 && !is_blank(line[begin - 1])) --begin;
    end = colon + 1;
    if (begin == 0) continue;
    time = time_of(line.substr(begin, end - begin));
    if (time) return true;
  }
  return false;
}

// "cycles:u: ffff..." → the event and the rest. The period before the event is skipped.
void split_event(std::string_view text, PerfHeader& header) {
  text = trimmed(text);
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at > 0 && at < text.size() && is_blank(text[at])) text = trimmed(text.substr(at));
  const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
  header.event = text.substr(0, blank);
  while (header.event.ends_with(':')) header.event.remove_suffix(1);
  header.rest = trimmed(text.substr(blank));
}

// Splits the address of a frame from the rest.
bool split_address(std::string_view line, std::string_view& symbol) {
  line = trimmed(line);
  std::size_t at = 0;
  while (at < line.size() && is_hex(line[at])) ++at;
  if (at == 0 || at == line.size() || !is_blank(line[at])) return false;
  symbol = trimmed(line.substr(at));
  return true;
}

// "function+0x12 (/usr/lib/libfoo.so)" → "function (libfoo.so)".
void frame_text(std::string_view symbol, std::string& out) {
  std::string_view library;
  if (symbol.ends_with(')')) {
    int depth = 0;
    std::size_t at = symbol.size();
    while (at > 0) {
      --at;
      if (symbol[at] == ')') ++depth;
      if (symbol[at] == '(' && --depth == 0) break;
    }
    if (depth == 0 && (at == 0 || is_blank(symbol[at - 1]))) {
      library = symbol.substr(at + 1, symbol.size() - at - 2);
      symbol = trimmed(symbol.substr(0, at));
    }
  }
  if (const std::size_t plus = symbol.rfind("+0x");
      plus != std::string_view::npos && plus > 0 &&
      std::ranges::all_of(symbol.substr(plus + 3), is_hex))
    symbol = symbol.substr(0, plus);
  if (!library.starts_with('[')) library = library.substr(library.rfind('/') + 1);
  out.assign(symbol.empty() ? "[unknown]" : symbol);
  // CPython's own trampolines: "py::function:/path/file.py".
  if (symbol.starts_with("py::")) {
    const std::size_t colon = symbol.find(":/", 4);
    const std::size_t frozen = symbol.find(":<", 4);
    const std::size_t cut = std::min(colon, frozen);
    if (cut != std::string_view::npos) {
      out.assign(symbol.substr(4, cut - 4));
      out += " (";
      out += symbol.substr(cut + 1);
      out += ')';
      return;
    }
  }
  if (library.empty()) return;
  out += " (";
  out += library;
  out += ')';
}

class PerfReader {
 public:
  explicit PerfReader(ProfileBuilder& into) : into_(into) {}

  void line(std::string_view text) {
    if (text.empty()) return end_sample();
    if (text.front() == '#') return;
    if (is_blank(text.front()) && open_) return frame(text);
    end_sample();
    PerfHeader header;
    if (parse_perf_header(trimmed(text), header)) {
      open(header);
    } else if (is_blank(text.front())) {
      ++stray_;
    } else {
      ++bad_;
    }
  }

  void finish() {
    end_sample();
    into_.note("lines_that_are_no_frame_or_sample", bad_);
    into_.note("frames_outside_a_sample", stray_);
    into_.note("samples_without_a_stack", bare_);
    if (events_.size() > 1) {
      std::string names;
      for (const std::string& e : events_) names += (names.empty() ? "" : ", ") + e;
      into_.note("events counted together: " + names, events_.size());
    }
  }

 private:
  void open(const PerfHeader& header) {
    open_ = true;
    frames_.clear();
    time_ = header.time;
    const WideHash who = wide_hash(header.command);
    std::uint64_t tid = 0;
    for (const char c : header.tid) tid = 10 * tid + static_cast<unsigned char>(c);
    const WideHash key{detail::folded(who.low ^ tid, 0x9E3779B97F4A7C15ULL), who.high + tid};
    if (const std::uint32_t* known = threads_.find(key)) {
      thread_ = *known;
    } else {
      std::string name(header.command);
      name += '-';
      if (!header.pid.empty()) {
        name += header.pid;
        name += '/';
      }
      name += header.tid;
      thread_ = into_.thread("", name);
      threads_.put(key, thread_);
    }
    if (header.event != event_) {
      event_ = header.event;
      if (events_.size() < 16) events_.insert(event_);
    }
    std::string_view symbol;
    if (split_address(header.rest, symbol)) frames_.push_back(intern(symbol));
  }

  StringId intern(std::string_view symbol) {
    frame_text(symbol, text_);
    return into_.strings.intern(text_);
  }

  void frame(std::string_view text) {
    const WideHash hash = wide_hash(text);
    if (const std::uint32_t* known = lines_.find(hash)) {
      frames_.push_back(StringId{*known});
      return;
    }
    // Without call chains perf pads the command's name with blanks.
    PerfHeader header;
    if (parse_perf_header(trimmed(text), header)) {
      end_sample();
      return open(header);
    }
    std::string_view symbol;
    if (!split_address(text, symbol)) {
      // Source lines of -F +srcline are below their frame: "  file.c:12".
      if (text.rfind(':') == std::string_view::npos) ++bad_;
      return;
    }
    const StringId id = intern(symbol);
    lines_.put(hash, index(id));
    frames_.push_back(id);
  }

  void end_sample() {
    if (!open_) return;
    open_ = false;
    std::uint32_t node = thread_;
    for (std::size_t i = frames_.size(); i-- > 0;) node = into_.tree.child(node, frames_[i]);
    if (frames_.empty()) ++bare_;
    into_.tree.add(node, 1);
    ++into_.input.stacks;
    if (into_.keep_samples && time_) into_.samples.push_back({*time_, Ns{0}, node});
  }

  ProfileBuilder& into_;
  HashCache lines_;
  HashCache threads_{1 << 12};
  std::vector<StringId> frames_;  // innermost first
  std::string text_;
  std::set<std::string> events_;
  std::string event_;
  std::optional<Ns> time_;
  std::uint32_t thread_ = 0;
  bool open_ = false;
  std::uint64_t bad_ = 0;
  std::uint64_t stray_ = 0;
  std::uint64_t bare_ = 0;
};

}  // namespace

bool parse_perf_header(std::string_view line, PerfHeader& header) {
  std::size_t begin = 0;
  std::size_t end = 0;
  if (!find_time(line, begin, end, header.time)) return false;
  std::string_view before = line.substr(0, begin);
  std::string_view word = take_last_word(before);
  if (word.size() > 2 && word.front() == '[' && word.back() == ']') word = take_last_word(before);
  if (!ids(word, header) || before.empty()) return false;
  header.command = before;
  split_event(line.substr(end), header);
  return true;
}

bool is_perf_script(std::string_view head) {
  bool sample = false;
  for (int lines = 0; !head.empty() && lines < 2000; ++lines) {
    const std::string_view line = take_line(head);
    if (line.starts_with('#')) continue;
    PerfHeader header;
    std::string_view symbol;
    if (sample && !line.empty() && is_blank(line.front()) && split_address(line, symbol))
      return true;
    if (line.empty()) continue;
    sample = parse_perf_header(trimmed(line), header);
    if (sample && split_address(header.rest, symbol)) return true;
  }
  return sample;
}

Result<Done> read_perf_script(ByteSource& source, ProfileBuilder& into) {
  return read_lines<PerfReader>(source, into);
}

}  // namespace stepscope
