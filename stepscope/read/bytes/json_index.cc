// SPDX-License-Identifier: Apache-2.0
// A block of 64 bytes gives three masks: quotes, backslashes, brackets. A quote after an odd run of
// backslashes is escaped. The prefix XOR of the other quotes marks the insides of strings, where
// brackets do not count.
#include "stepscope/read/bytes/json_index.h"

#include <array>
#include <bit>
#include <cstring>

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stepscope {
namespace {

struct Masks {
  std::uint64_t quote = 0;
  std::uint64_t backslash = 0;
  std::uint64_t bracket = 0;
};

// State carried from block to block.
struct State {
  std::uint64_t in_string = 0;    // all ones inside a string
  std::uint64_t escape_next = 0;  // 1 when the next byte is escaped
  std::uint64_t backslashes = 0;  // any backslash so far
};

// The bytes escaped by a backslash before them. Backslashes are rare, so this goes bit by bit.
inline std::uint64_t escaped_bytes(std::uint64_t backslash, State& state) {
  std::uint64_t escaped = state.escape_next;
  backslash &= ~state.escape_next;
  state.escape_next = 0;
  while (backslash != 0) {
    const int at = std::countr_zero(backslash);
    if (at == 63) {
      state.escape_next = 1;
      break;
    }
    escaped |= 2ULL << at;
    backslash &= ~(3ULL << at);
  }
  return escaped;
}

inline std::uint64_t prefix_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Writes the positions of the set bits eight at a time. The next block overwrites the surplus.
inline std::uint32_t* write_bits(std::uint64_t bits, std::uint32_t base, std::uint32_t* out) {
  const auto count = static_cast<unsigned>(std::popcount(bits));
  for (unsigned done = 0; done < count; done += 8)
    for (unsigned i = 0; i < 8; ++i) {
      out[done + i] = base + static_cast<std::uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  return out + count;
}

template <class Load, class PrefixXor, class WriteBits>
__attribute__((always_inline)) inline void index_with(std::string_view text, JsonIndex& index,
                                                      Load load, PrefixXor prefix,
                                                      WriteBits write) {
  check(text.size() < (1ULL << 32), "an indexed text is smaller than 4 GiB");
  const std::size_t room = text.size() + 64 + json_index_padding;
  if (index.at.size() < room) {
    index.at = {};  // nothing of it is copied
    index.at.resize(room);
  }
  std::uint32_t* out = index.at.data();
  State state;
  for (std::size_t base = 0; base < text.size(); base += 64) {
    Masks masks = load(text.data() + base);
    if (const std::size_t left = text.size() - base; left < 64) {
      const std::uint64_t valid = (1ULL << left) - 1;
      masks = {masks.quote & valid, masks.backslash & valid, masks.bracket & valid};
    }
    state.backslashes |= masks.backslash;
    if ((masks.backslash | state.escape_next) != 0) [[unlikely]]
      masks.quote &= ~escaped_bytes(masks.backslash, state);
    const std::uint64_t inside = prefix(masks.quote) ^ state.in_string;
    state.in_string = 0 - (inside >> 63);
    out = write(masks.quote | (masks.bracket & ~inside), static_cast<std::uint32_t>(base), out);
  }
  index.count = static_cast<std::size_t>(out - index.at.data());
  index.has_backslash = state.backslashes != 0;
  for (std::size_t i = 0; i < json_index_padding; ++i)
    out[i] = static_cast<std::uint32_t>(text.size());
}

Masks load_portable(const char* p) {
  Masks masks;
  for (unsigned i = 0; i < 64; ++i) {
    const auto c = static_cast<unsigned char>(p[i]);
    masks.quote |= static_cast<std::uint64_t>(c == '"') << i;
    masks.backslash |= static_cast<std::uint64_t>(c == '\\') << i;
    masks.bracket |= static_cast<std::uint64_t>((c | 0x20) == '{' || (c | 0x20) == '}') << i;
  }
  return masks;
}

void index_portable(std::string_view text, JsonIndex& index) {
  index_with(text, index, load_portable, prefix_xor, write_bits);
}

#if defined(__x86_64__)

// SSE2 is part of x86-64, so every build has it.
void index_sse2(std::string_view text, JsonIndex& index) {
  const auto load = [](const char* p) {
    Masks masks;
    for (unsigned i = 0; i < 64; i += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
      const __m128i lower = _mm_or_si128(v, _mm_set1_epi8(0x20));
      const auto bits = [&](__m128i equal) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal)))
               << i;
      };
      masks.quote |= bits(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
      masks.backslash |= bits(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
      masks.bracket |= bits(_mm_or_si128(_mm_cmpeq_epi8(lower, _mm_set1_epi8('{')),
                                         _mm_cmpeq_epi8(lower, _mm_set1_epi8('}'))));
    }
    return masks;
  };
  index_with(text, index, load, prefix_xor, write_bits);
}

[[gnu::target("avx2,pclmul,bmi,bmi2,popcnt")]] inline std::uint64_t avx2_bits(__m256i low,
                                                                              __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

[[gnu::target("avx2,pclmul,bmi,bmi2,popcnt")]] inline Masks load_avx2(const char* p) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  const __m256i open = _mm256_set1_epi8('{');
  const __m256i close = _mm256_set1_epi8('}');
  const __m256i case_bit = _mm256_set1_epi8(0x20);
  const __m256i la = _mm256_or_si256(a, case_bit);
  const __m256i lb = _mm256_or_si256(b, case_bit);
  return {avx2_bits(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote)),
          avx2_bits(_mm256_cmpeq_epi8(a, backslash), _mm256_cmpeq_epi8(b, backslash)),
          avx2_bits(_mm256_or_si256(_mm256_cmpeq_epi8(la, open), _mm256_cmpeq_epi8(la, close)),
                    _mm256_or_si256(_mm256_cmpeq_epi8(lb, open), _mm256_cmpeq_epi8(lb, close)))};
}

[[gnu::target("avx2,pclmul,bmi,bmi2,popcnt")]] inline std::uint64_t prefix_xor_clmul(
    std::uint64_t bits) {
  const __m128i ones = _mm_set1_epi8(static_cast<char>(0xff));
  const __m128i product =
      _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), ones, 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

[[gnu::target("avx2,pclmul,bmi,bmi2,popcnt")]] void index_avx2(std::string_view text,
                                                               JsonIndex& index) {
  index_with(text, index, load_avx2, prefix_xor_clmul, write_bits);
}

#define STEPSCOPE_INDEX_AVX512 "avx512f,avx512bw,avx512vl,avx512vbmi2,pclmul,bmi,bmi2,popcnt"

[[gnu::target(STEPSCOPE_INDEX_AVX512)]] inline Masks load_avx512(const char* p) {
  const __m512i v = _mm512_loadu_si512(p);
  const __m512i lower = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
  return {_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')),
          _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\')),
          _mm512_cmpeq_epi8_mask(lower, _mm512_set1_epi8('{')) |
              _mm512_cmpeq_epi8_mask(lower, _mm512_set1_epi8('}'))};
}

// Writes sixteen of the places. The forms with a mask of ones have no undefined register, about
// which GCC 12 warns.
template <int sixteen>
[[gnu::target(STEPSCOPE_INDEX_AVX512)]] inline void widen(__m512i places, __m512i first,
                                                          std::uint32_t* out) {
  const __m128i bytes = _mm512_maskz_extracti32x4_epi32(0xf, places, sixteen);
  _mm512_storeu_si512(out + 16 * sixteen,
                      _mm512_add_epi32(first, _mm512_maskz_cvtepu8_epi32(0xffff, bytes)));
}

// Compresses the positions of the set bits as bytes and widens sixteen at a time.
[[gnu::target(STEPSCOPE_INDEX_AVX512)]] inline std::uint32_t* write_bits_avx512(
    std::uint64_t bits, std::uint32_t base, std::uint32_t* out) {
  alignas(64) static constexpr std::array<std::uint8_t, 64> ascending = [] {
    std::array<std::uint8_t, 64> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i);
    return numbers;
  }();
  const __m512i places = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(ascending.data()));
  const __m512i first = _mm512_set1_epi32(static_cast<int>(base));
  const auto count = static_cast<unsigned>(std::popcount(bits));
  widen<0>(places, first, out);
  if (count > 16) widen<1>(places, first, out);
  if (count > 32) [[unlikely]] {
    widen<2>(places, first, out);
    widen<3>(places, first, out);
  }
  return out + count;
}

[[gnu::target(STEPSCOPE_INDEX_AVX512)]] inline std::uint64_t prefix_xor_avx512(std::uint64_t bits) {
  const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)),
                                               _mm_set1_epi8(static_cast<char>(0xff)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

[[gnu::target(STEPSCOPE_INDEX_AVX512)]] void index_avx512(std::string_view text, JsonIndex& index) {
  index_with(text, index, load_avx512, prefix_xor_avx512, write_bits_avx512);
}

// How many of the variants below this CPU lacks.
std::size_t variants_lacking() {
  const CpuFeatures& has = cpu_features();
  const bool bits = has.pclmul && has.bmi && has.bmi2 && has.popcnt;
  if (bits && isa() >= Isa::avx512 && has.avx512_vbmi2) return 0;
  return bits && isa() >= Isa::avx2 ? 1 : 2;
}

#endif

}  // namespace

std::span<const NamedIndexer> json_indexers() {
#if defined(__x86_64__)
  static constexpr std::array<NamedIndexer, 4> all = {{{"avx512", index_avx512},
                                                       {"avx2", index_avx2},
                                                       {"sse2", index_sse2},
                                                       {"portable", index_portable}}};
  static const std::size_t lacking = variants_lacking();
  return std::span<const NamedIndexer>(all).subspan(lacking);
#else
  static constexpr std::array<NamedIndexer, 1> all = {{{"portable", index_portable}}};
  return all;
#endif
}

void index_json(std::string_view text, JsonIndex& index) {
  static const JsonIndexer best = json_indexers().front().run;
  best(text, index);
}

}  // namespace stepscope
