// SPDX-License-Identifier: Apache-2.0
// ISA-L and libzstd decompress. This file holds the loop around them and the handling of damaged
// streams.
#include "stepscope/base/byte_source.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

constexpr std::size_t compressed_block = 256 * 1024;

// A block of compressed input that is refilled when it is used up. Both decompressors use it.
class CompressedInput {
 public:
  explicit CompressedInput(std::unique_ptr<ByteSource> raw)
      : raw_(std::move(raw)), block_(compressed_block) {}

  // Makes unread input available; false at the end of the file.
  Result<bool> refill() {
    if (next_ < filled_) return true;
    const auto got = raw_->read(block_);
    if (!got) return got.error();
    next_ = 0;
    filled_ = *got;
    return filled_ > 0;
  }
  [[nodiscard]] std::span<char> unread() {
    return std::span(block_).subspan(next_, filled_ - next_);
  }
  void take(std::size_t n) {
    next_ += n;
    taken_ += n;
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::unique_ptr<ByteSource> raw_;
  std::vector<char> block_;
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t taken_ = 0;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> raw)
      : input_(std::move(raw)), state_(std::make_unique<inflate_state>()) {
    start_member();
  }

  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size() && !ended_) {
      if (!damage_.empty()) {
        got += drain(into.subspan(got));
        continue;
      }
      const auto more = input_.refill();
      if (!more) return more.error();
      if (!*more && !has_pending_output()) {
        ended_ = true;
        cut_ = inside_member_;
        if (cut_)
          damage_ = "gzip member cut after compressed byte " + std::to_string(input_.taken());
        break;
      }
      if (!inside_member_ && !next_member()) break;
      got += inflate_into(into.subspan(got));
    }
    return got;
  }
  [[nodiscard]] std::uint64_t position() const override { return input_.taken(); }
  [[nodiscard]] std::string damage() const override { return damage_; }
  [[nodiscard]] bool is_cut() const override { return cut_; }

 private:
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }
  [[nodiscard]] bool has_pending_output() const {
    return inside_member_ && state_->block_state != ISAL_BLOCK_FINISH &&
           state_->tmp_out_valid > state_->tmp_out_processed;
  }
  // Steps to the next gzip member. Zero padding is allowed between members; other bytes end the
  // stream.
  bool next_member() {
    const auto bytes = input_.unread();
    const auto zeros = std::ranges::find_if(bytes, [](char c) { return c != 0; });
    if (zeros != bytes.begin()) {
      input_.take(static_cast<std::size_t>(zeros - bytes.begin()));
      return true;
    }
    if (static_cast<unsigned char>(bytes[0]) != 0x1f) {
      ended_ = true;
      damage_ =
          "bytes after the last gzip member, at compressed byte " + std::to_string(input_.taken());
      return false;
    }
    start_member();
    inside_member_ = true;
    return true;
  }
  // Delivers the bytes that were inflated before the damage and did not fit into the last read.
  std::size_t drain(std::span<char> into) {
    const auto left = static_cast<std::size_t>(state_->tmp_out_valid - state_->tmp_out_processed);
    const std::size_t n = std::min(left, into.size());
    std::memcpy(into.data(), state_->tmp_out_buffer + state_->tmp_out_processed, n);
    state_->tmp_out_processed += static_cast<std::int32_t>(n);
    ended_ = n == left;
    return n;
  }
  std::size_t inflate_into(std::span<char> into) {
    const auto bytes = input_.unread();
    state_->next_in = reinterpret_cast<std::uint8_t*>(bytes.data());
    state_->avail_in = static_cast<std::uint32_t>(bytes.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(into.data());
    state_->avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(into.size(), 1U << 30));
    const std::uint32_t room = state_->avail_out;
    const int status = isal_inflate(state_.get());
    input_.take(bytes.size() - state_->avail_in);
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT) {
      damage_ = "corrupt gzip data near compressed byte " + std::to_string(input_.taken());
    } else if (state_->block_state == ISAL_BLOCK_FINISH) {
      inside_member_ = false;
    }
    return room - state_->avail_out;
  }

  CompressedInput input_;
  std::unique_ptr<inflate_state> state_;
  bool inside_member_ = true;
  bool ended_ = false;
  std::string damage_;
  bool cut_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> raw)
      : input_(std::move(raw)),
        stream_(ZSTD_createDStream(), ZSTD_freeDStream),
        hint_(ZSTD_initDStream(stream_.get())),
        frame_hint_(hint_) {}

  // Input is given block by block, as zstd asks for it. No input is given while output waits for
  // room, because a call that meets damage does not report the bytes it wrote before.
  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size() && !ended_) {
      const auto more = input_.refill();
      if (!more) return more.error();
      const auto bytes = input_.unread();
      ZSTD_inBuffer in{bytes.data(), full_ ? 0 : std::min(bytes.size(), hint_), 0};
      ZSTD_outBuffer out{into.data() + got, into.size() - got, 0};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
      input_.take(in.pos);
      got += out.pos;
      if (ZSTD_isError(left)) {
        ended_ = true;
        damage_ = "corrupt zstd data near compressed byte " + std::to_string(input_.taken()) +
                  " (" + ZSTD_getErrorName(left) + ")";
      } else if (!*more && out.pos == 0 && !full_) {
        ended_ = true;
        cut_ = left_in_frame_ != 0;
        if (cut_)
          damage_ = "zstd frame cut after compressed byte " + std::to_string(input_.taken());
      } else {
        left_in_frame_ = left;
        full_ = out.pos == out.size;
        hint_ = left == 0 ? frame_hint_ : left;
      }
    }
    return got;
  }
  [[nodiscard]] std::uint64_t position() const override { return input_.taken(); }
  [[nodiscard]] std::string damage() const override { return damage_; }
  [[nodiscard]] bool is_cut() const override { return cut_; }

 private:
  CompressedInput input_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  std::size_t hint_;        // useful amount of input for the next call
  std::size_t frame_hint_;  // the same at the start of a frame
  std::size_t left_in_frame_ = 0;
  bool full_ = false;  // the last call filled its room
  bool ended_ = false;
  std::string damage_;
  bool cut_ = false;
};

// Ends the reading of decompression bombs.
class BoundedSource final : public ByteSource {
 public:
  BoundedSource(std::unique_ptr<ByteSource> inflating, std::string path)
      : inflating_(std::move(inflating)), path_(std::move(path)) {}

  Result<std::size_t> read(std::span<char> into) override {
    constexpr std::uint64_t always = 16 << 20;
    const auto got = inflating_->read(into);
    if (!got) return got;
    given_ += *got;
    if (given_ <= always || given_ / most_inflation <= inflating_->position()) return got;
    return Error{.what = "inflates to more than " + std::to_string(most_inflation) +
                         " times its size, as a decompression bomb does",
                 .file = path_,
                 .byte = inflating_->position(),
                 .hint = "decompress it if you trust it, and give the decompressed file"};
  }
  [[nodiscard]] std::uint64_t position() const override { return inflating_->position(); }
  [[nodiscard]] std::string damage() const override { return inflating_->damage(); }
  [[nodiscard]] bool is_cut() const override { return inflating_->is_cut(); }

 private:
  std::unique_ptr<ByteSource> inflating_;
  std::string path_;
  std::uint64_t given_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> raw, std::string_view first_bytes,
                                     std::string path) {
  std::unique_ptr<ByteSource> inflating;
  if (first_bytes.starts_with("\x1f\x8b")) inflating = std::make_unique<GzipSource>(std::move(raw));
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd"))
    inflating = std::make_unique<ZstdSource>(std::move(raw));
  if (!inflating) return raw;
  return std::make_unique<BoundedSource>(std::move(inflating), std::move(path));
}

}  // namespace stepscope
