// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/span_ring.h"

namespace stepscope {

std::vector<NamedSpan> SpanRing::spans() const {
  std::vector<NamedSpan> out;
  const std::size_t kept = std::min<std::uint64_t>(closed_, spans_.size());
  out.reserve(kept);
  for (std::size_t i = 0; i < kept; ++i)
    out.push_back(spans_[(next_ + spans_.size() - kept + i) % spans_.size()]);
  return out;
}

}  // namespace stepscope
