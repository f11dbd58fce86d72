// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/text_input.h"

#include <algorithm>
#include <cstring>

#include "stepscope/base/utf8.h"

namespace stepscope {
namespace {

class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::unique_ptr<ByteSource> raw, bool big) : raw_(std::move(raw)), big_(big) {}
  Result<std::size_t> read(std::span<char> into) override {
    std::size_t given = 0;
    while (given < into.size()) {
      if (at_ == text_.size()) {
        const auto more = transcode();
        if (!more) return more.error();
        if (text_.empty()) break;
      }
      const std::size_t n = std::min(into.size() - given, text_.size() - at_);
      std::memcpy(into.data() + given, text_.data() + at_, n);
      given += n;
      at_ += n;
    }
    return given;
  }
  [[nodiscard]] std::uint64_t position() const override { return raw_->position(); }
  [[nodiscard]] std::string damage() const override { return raw_->damage(); }

 private:
  Result<Done> transcode() {
    text_.clear();
    at_ = 0;
    std::string units(1 << 16, '\0');
    const auto got = raw_->read(units);
    if (!got) return got.error();
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(units[i]));
    };
    std::size_t i = 0;
    for (; i + 1 < *got; i += 2)
      take(big_ ? byte(i) << 8 | byte(i + 1) : byte(i + 1) << 8 | byte(i));
    if (*got < units.size() && (high_ != 0 || i < *got)) {
      append_utf8(text_, 0xFFFD);
      high_ = 0;
    }
    return Done{};
  }
  void take(std::uint32_t unit) {
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    if (high_ != 0 && low) {
      append_utf8(text_, 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00));
      high_ = 0;
      return;
    }
    if (high_ != 0) append_utf8(text_, high_);
    high_ = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
    if (high_ == 0) append_utf8(text_, unit);
  }

  std::unique_ptr<ByteSource> raw_;
  bool big_;
  std::uint32_t high_ = 0;
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::unique_ptr<PeekedSource>> PeekedSource::open(std::unique_ptr<ByteSource> raw,
                                                         std::size_t bytes) {
  std::string head(bytes, '\0');
  const auto got = raw->read(head);
  if (!got) return got.error();
  head.resize(*got);
  return std::unique_ptr<PeekedSource>(new PeekedSource(std::move(raw), std::move(head)));
}

Result<std::size_t> PeekedSource::read(std::span<char> into) {
  const std::size_t n = std::min(into.size(), head_.size() - given_);
  std::memcpy(into.data(), head_.data() + given_, n);
  given_ += n;
  if (n == into.size()) return n;
  const auto more = raw_->read(into.subspan(n));
  if (!more) return more.error();
  return n + *more;
}

Result<std::unique_ptr<PeekedSource>> open_text(std::unique_ptr<ByteSource> raw) {
  auto peeked = PeekedSource::open(std::move(raw));
  if (!peeked) return peeked.error();
  const std::string_view head = (*peeked)->head();
  const bool big = head.starts_with("\xFE\xFF");
  std::string mark(head.starts_with("\xEF\xBB\xBF")      ? 3
                   : big || head.starts_with("\xFF\xFE") ? 2
                                                         : 0,
                   '\0');
  if (mark.empty()) return peeked;
  if (const auto dropped = (*peeked)->read(mark); !dropped) return dropped.error();
  if (mark.size() == 3) return PeekedSource::open(std::move(*peeked));
  return PeekedSource::open(std::make_unique<Utf16Source>(std::move(*peeked), big));
}

LineReader::LineReader(ByteSource& source, std::size_t buffer)
    : source_(source), buffer_(std::max<std::size_t>(buffer, 16), '\0') {}

bool LineReader::refill() {
  if (over_) return false;
  ++generation_;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= longest_line) return false;
    buffer_.resize(std::min(2 * buffer_.size(), longest_line));
  }
  const auto got = source_.read(std::span(buffer_).subspan(end_));
  if (!got) error_ = got.error();
  const std::size_t n = got ? *got : 0;
  over_ = n < buffer_.size() - end_;
  end_ += n;
  bytes_ += n;
  return n > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      line = std::string_view(buffer_).substr(begin_, at - begin_);
      begin_ = at + 1;
      if (skipping_) {
        skipping_ = false;
        searched = begin_;
        continue;
      }
      break;
    }
    searched = end_ - begin_;  // refill moves the rest to the front
    if (refill()) continue;
    if (!over_) {  // the line does not fit
      if (!skipping_) ++cut_lines_;
      skipping_ = true;
      begin_ = end_;
      searched = begin_;
      continue;
    }
    if (begin_ == end_ || skipping_) return false;
    line = std::string_view(buffer_).substr(begin_, end_ - begin_);
    begin_ = end_;
    break;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace stepscope
