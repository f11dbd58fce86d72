// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/io_ring.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#ifdef STEPSCOPE_IO_URING
#include <liburing.h>
#endif

namespace stepscope::zero {

#ifdef STEPSCOPE_IO_URING
namespace {

class Uring final : public IoRing {
 public:
  Uring() = default;
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  ~Uring() override {
    if (open_) ::io_uring_queue_exit(&ring_);
  }
  int setup(unsigned entries) {
    const int result = ::io_uring_queue_init(entries, &ring_, 0);
    open_ = result == 0;
    return -result;
  }
  int submit(int fd, bool write, std::uint64_t offset, std::byte* memory, std::size_t bytes,
             std::uint64_t tag) override {
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) return EBUSY;
    constexpr std::size_t max_bytes = 1U << 30U;  // the rest is submitted afterwards
    const auto n = static_cast<unsigned>(std::min(bytes, max_bytes));
    if (write)
      ::io_uring_prep_write(entry, fd, memory, n, offset);
    else
      ::io_uring_prep_read(entry, fd, memory, n, offset);
    entry->user_data = tag;
    int result = -EINTR;
    while (result == -EINTR) result = ::io_uring_submit(&ring_);
    return result < 0 ? -result : 0;
  }
  std::optional<IoCompletion> reap(bool block, int& failed) override {
    io_uring_cqe* entry = nullptr;
    int result = -EINTR;
    while (result == -EINTR)
      result = block ? ::io_uring_wait_cqe(&ring_, &entry) : ::io_uring_peek_cqe(&ring_, &entry);
    failed = result == 0 || result == -EAGAIN ? 0 : -result;
    if (result != 0 || entry == nullptr) return std::nullopt;
    const IoCompletion completion{.tag = entry->user_data, .result = entry->res};
    ::io_uring_cqe_seen(&ring_, entry);
    return completion;
  }

 private:
  io_uring ring_{};
  bool open_ = false;
};

}  // namespace

std::unique_ptr<IoRing> IoRing::open(unsigned entries, std::string& why_not) {
  auto ring = std::make_unique<Uring>();
  const int failed = ring->setup(entries);
  if (failed == 0) return ring;
  why_not = "io_uring_setup: " + std::generic_category().message(failed);
  return nullptr;
}
#else
std::unique_ptr<IoRing> IoRing::open(unsigned, std::string& why_not) {
  why_not = "built without liburing";
  return nullptr;
}
#endif

}  // namespace stepscope::zero
