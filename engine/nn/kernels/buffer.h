// SPDX-License-Identifier: Apache-2.0
// Memory of one thread for intermediate results. It grows and never shrinks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace stepscope::nn {

class Buffer {
 public:
  // Aligned to a cache line. If the buffer grows, its contents are lost.
  std::byte* at_least(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
      size_ = bytes;
    }
    return memory_.get();
  }
  float* floats(std::int64_t count) {
    return reinterpret_cast<float*>(at_least(static_cast<std::size_t>(count) * sizeof(float)));
  }

 private:
  struct AlignedFree {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], AlignedFree> memory_;
  std::size_t size_ = 0;
};

}  // namespace stepscope::nn
