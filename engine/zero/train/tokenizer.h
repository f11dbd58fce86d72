// SPDX-License-Identifier: Apache-2.0
// The byte-level tokenizer: each byte of a text is a token, and one more token ends a text. It
// needs no vocabulary file and can express any input.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::zero {

inline constexpr std::int32_t end_of_text = 256;
inline constexpr std::int64_t byte_vocabulary = 257;  // 256 bytes and end_of_text

// Tokens 0..255, one per byte. end_of_text is not appended.
[[nodiscard]] std::vector<std::int32_t> encode_bytes(std::string_view text);
// The text of generated tokens, always valid UTF-8. end_of_text gives no text. U+FFFD replaces each
// byte outside a valid sequence and each token outside the vocabulary (of padding).
[[nodiscard]] std::string decode_bytes(std::span<const std::int32_t> tokens);

}  // namespace stepscope::zero
