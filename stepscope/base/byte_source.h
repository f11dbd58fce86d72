// SPDX-License-Identifier: Apache-2.0
// A stream of uncompressed bytes. Its source is plain, gzip (one or more members) or zstd (one or
// more frames); the first bytes show which. A compressed source that inflates to more than 16 MiB
// and to more than most_inflation times its own size gives an error: traces and logs compress 5 to
// 50 times, decompression bombs 150 to 1000 times and more. base/files/open_source.h opens files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope {

// The number of bytes that a reader takes at once. It is small in a fuzz build, so that small
// inputs cross the ends of windows as large inputs do elsewhere.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::size_t window_bytes = 1 << 10;
#else
inline constexpr std::size_t window_bytes = 1 << 20;
#endif

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into` as far as possible. Fewer bytes than asked for mean the end. After the end it
  // gives 0.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  // Compressed bytes consumed so far, for progress.
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  // Why the stream ended before its format allows ("gzip member cut after byte N"), or empty. All
  // bytes before the damage were delivered.
  [[nodiscard]] virtual std::string damage() const { return {}; }
  // Whether the damage is that the compressed file itself ends too early.
  [[nodiscard]] virtual bool is_cut() const { return false; }
};

inline constexpr std::uint64_t most_inflation = 100;

// `raw` itself, or a decompressor of it if its first bytes (four suffice) are those of gzip or
// zstd. `path` is for errors.
[[nodiscard]] std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> raw,
                                                   std::string_view first_bytes,
                                                   std::string path = {});

}  // namespace stepscope
