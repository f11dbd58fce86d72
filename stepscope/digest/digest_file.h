// SPDX-License-Identifier: Apache-2.0
// A digest: the traces of one file as compressed columns, about a hundredth of the JSON of a large
// one. Nothing that an analysis reads is lost, so it answers as the file itself does.
// docs/dev/digest-format.md describes the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/digest/digest_header.h"
#include "stepscope/event/trace.h"

namespace stepscope {

inline constexpr std::uint32_t digest_version = 2;

// Whether the first bytes of a file are those of a digest of any version; ten bytes suffice.
[[nodiscard]] bool is_digest(std::string_view head);

// The whole file. REQUIRES: the traces are sealed. Errors: a value of a trace is beyond what a
// digest may hold; interrupted.
[[nodiscard]] Result<std::string> encode_digest(const DigestSource& source,
                                                std::span<const Trace> traces, unsigned threads = 1,
                                                const StopFlag* stop = nullptr);

// The file of a head and of the columns that it describes, which are compressed already. It is
// written whatever the head says of them. Error: the head takes more than 256 MiB.
[[nodiscard]] Result<std::string> assemble_digest(const DigestHeader& header,
                                                  std::string_view columns);

// The traces of a digest in their sealed order, ready to be sealed again, which classifies their
// names. `bytes` is the whole file, `path` is for errors. Errors name the byte: it is no digest, of
// another version, cut, damaged, or its columns would take more than 16 MiB and more than 1,000
// times its size in memory; interrupted.
[[nodiscard]] Result<std::vector<Trace>> decode_digest(std::string_view bytes,
                                                       const std::string& path,
                                                       unsigned threads = 1,
                                                       const StopFlag* stop = nullptr);

// The head of a digest that is whole. Errors as above, except that the columns are not decoded.
[[nodiscard]] Result<DigestHeader> digest_header(std::string_view bytes, const std::string& path);

}  // namespace stepscope
