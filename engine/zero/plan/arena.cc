// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/plan/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::zero {

Result<Arena> Arena::map(Bytes bytes, std::string_view what) {
  check(bytes.value >= 0, "an arena has a size");
  Arena arena;
  if (bytes.value == 0) return arena;
  constexpr std::size_t huge = std::size_t{2} << 20U;
  const auto wanted = static_cast<std::size_t>(bytes.value);
  void* memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{.what = "no room for " + std::to_string(bytes.value) + " bytes of " +
                         std::string(what) + ": " + std::strerror(errno),
                 .hint = "take a higher ZeRO stage, more ranks or a smaller batch"};
  }
  if (wanted >= huge) madvise(memory, wanted, MADV_HUGEPAGE);  // only advice; failure is harmless
  arena.bytes_ = {static_cast<std::byte*>(memory), wanted};
  arena.mapped_ = wanted;
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), mapped_(std::exchange(other.mapped_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Arena::~Arena() {
  if (mapped_ != 0) munmap(bytes_.data(), mapped_);
}

Bytes Arena::resident() const {
  if (mapped_ == 0) return {};
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((mapped_ + page - 1) / page);
  if (mincore(bytes_.data(), mapped_, pages.data()) != 0) return {};
  std::int64_t resident = 0;
  for (const unsigned char state : pages) resident += (state & 1U) != 0 ? 1 : 0;
  return {resident * static_cast<std::int64_t>(page)};
}

std::span<std::byte> Arena::inside(std::int64_t at, std::int64_t bytes) const {
  check(at >= 0 && bytes >= 0 && static_cast<std::size_t>(at + bytes) <= bytes_.size(),
        "a part lies within its arena");
  return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
}

}  // namespace stepscope::zero
