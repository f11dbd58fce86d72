// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/event_parse.h"

#include <algorithm>

#include "stepscope/read/rows/event_mend.h"
#include "stepscope/read/rows/event_scan.h"

namespace stepscope {
namespace {

// The index of one window fits the L2 cache.
constexpr std::size_t first_window = 64 * 1024;
// No event is larger. A larger one is damage.
constexpr std::size_t largest_event = 8 * 1024 * 1024;

class Stretch {
 public:
  Stretch(std::string_view text, std::uint64_t offset, bool final, JsonIndex& index,
          EventSink& sink)
      : text_(text), offset_(offset), final_(final), index_(index), sink_(sink) {}

  ParsedStretch run() {
    std::size_t window = first_window;
    while (at_ < text_.size()) {
      const std::size_t before = at_;
      const std::size_t size = std::min(window, text_.size() - at_);
      const Stop stop = run_window(size);
      if (stop == Stop::array_end) return {at_, true};
      if (stop == Stop::malformed && !recover()) break;
      if (stop == Stop::needs_more && at_ == before) {
        const bool whole = before + size == text_.size();
        if (whole && !final_ && text_.size() - at_ <= largest_event) break;
        if (whole || size > largest_event) {
          if (!recover()) break;
        } else {
          window *= 2;
          continue;
        }
      }
      window = first_window;
    }
    return {at_, false};
  }

 private:
  enum class Stop { needs_more, malformed, array_end };

  // Reads the complete events of [at_, at_ + size). Leaves at_ behind the last of them
  // (needs_more), on the malformed event, or behind the end of the array.
  Stop run_window(std::size_t size) {
    const std::string_view window = text_.substr(at_, size);
    index_json(window, index_);
    const std::size_t base = at_;
    std::size_t cursor = 0;
    while (cursor < index_.count) {
      const std::size_t begin = index_.at[cursor];
      switch (window[begin]) {
        case '{': {
          const Scan scan = scan_event(window, index_, cursor, event_);
          if (scan != Scan::complete) {
            at_ = base + begin;
            return scan == Scan::malformed ? Stop::malformed : Stop::needs_more;
          }
          sink_.add(event_, offset_ + base + begin);
          at_ = base + index_.at[cursor - 1] + 1;
          break;
        }
        case ']':
          at_ = base + begin + 1;
          return Stop::array_end;
        case '"':
          if (cursor + 1 >= index_.count) {
            at_ = base + begin;
            return Stop::needs_more;
          }
          sink_.note("not_an_event", offset_ + base + begin);
          cursor += 2;
          at_ = base + index_.at[cursor - 1] + 1;
          break;
        case '[': {
          const std::size_t behind = behind_array(window, cursor);
          at_ = base + begin;
          if (behind > index_.count) return Stop::needs_more;
          sink_.note("not_an_event", offset_ + at_);
          cursor = behind;
          at_ = base + index_.at[cursor - 1] + 1;
          break;
        }
        default:  // a stray '}'
          sink_.note("not_an_event", offset_ + base + begin);
          at_ = base + begin + 1;
          ++cursor;
      }
    }
    if (index_.count == 0) at_ = base + size;  // only commas and white space
    return Stop::needs_more;
  }

  // The cursor behind the array that opens at `cursor`; beyond the index if the array does not end.
  [[nodiscard]] std::size_t behind_array(std::string_view window, std::size_t cursor) const {
    int depth = 0;
    for (; cursor < index_.count; ++cursor) {
      const char c = window[index_.at[cursor]];
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && --depth == 0) return cursor + 1;
    }
    return cursor + 1;
  }

  // at_ is on an event that the index could not follow or that never ends. Mends it or finds the
  // next one. False at the end of the text: more is needed, or the file is truncated.
  bool recover() {
    std::size_t length = 0;
    const std::string_view rest = text_.substr(at_);
    if (rest.empty() || rest[0] != '{') return skip_to_next("malformed_event");
    const bool more = !final_ && rest.size() <= largest_event;
    const Scan scan = mend_event(rest.substr(0, largest_event), more, length, event_);
    if (scan == Scan::complete) {
      sink_.note("mended_event", offset_ + at_);
      sink_.add(event_, offset_ + at_);
      at_ += length;
      return true;
    }
    if (scan == Scan::incomplete && rest.size() <= largest_event) {
      if (!final_) return false;
      sink_.truncated(offset_ + at_);  // well-formed up to here
      at_ = text_.size();
      return false;
    }
    return skip_to_next("malformed_event");
  }

  bool skip_to_next(const char* reason) {
    const std::size_t next = find_event_start(text_, at_ + 1);
    if (next != not_found) {
      sink_.note(reason, offset_ + at_);
      at_ = next;
      return true;
    }
    if (!final_ && text_.size() - at_ <= largest_event) return false;
    if (final_)
      sink_.truncated(offset_ + at_);
    else
      sink_.note(reason, offset_ + at_);
    at_ = text_.size();
    return false;
  }

  std::string_view text_;
  std::uint64_t offset_;
  bool final_;
  JsonIndex& index_;
  EventSink& sink_;
  std::size_t at_ = 0;
  RawEvent event_;
};

}  // namespace

ParsedStretch parse_events(std::string_view text, std::uint64_t offset, bool final,
                           JsonIndex& index, EventSink& sink) {
  return Stretch(text, offset, final, index, sink).run();
}

}  // namespace stepscope
