// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and HMAC of it (RFC 2104), for the signatures of requests. Short texts only:
// the whole message is in memory.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// The digest as 32 bytes.
[[nodiscard]] std::string sha256(std::string_view message);
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view message);
// Lower-case hexadecimal digits of the bytes.
[[nodiscard]] std::string hex_of(std::string_view bytes);

}  // namespace stepscope
