// SPDX-License-Identifier: Apache-2.0
// Reads a digest (digest/digest_file.h) like any trace.
#pragma once

#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/digest/digest_header.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

// The traces that the digest was made from. Their path is that of the file they were in. Errors:
// those of decode_digest; more than 4 GB.
// `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_digest_from(ByteSource& source,
                                                          const std::string& path,
                                                          const ReadControl& control);
// The source of the digest and its ranks. Errors as above.
[[nodiscard]] Result<DigestHeader> read_digest_header(const std::string& path,
                                                      const ReadControl& control = {});

}  // namespace stepscope
