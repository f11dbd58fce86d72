// SPDX-License-Identifier: Apache-2.0
// Any bytes as a snappy block: a text of the stated length, or an error at one of its bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stepscope/read/bytes/snappy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view block(reinterpret_cast<const char*>(data), size);
  const auto text = unpack_snappy(block);
  if (text ? text->size() > 22 * size : !text.error().byte || *text.error().byte > size)
    std::abort();
  return 0;
}
