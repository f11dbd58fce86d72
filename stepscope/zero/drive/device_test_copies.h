// SPDX-License-Identifier: Apache-2.0
// For tests: a device whose memory is host memory. Each queue copies in order on a thread of its
// own, and late: a copy to the device reads the host's memory, and one to the host writes it, only
// when it ends. It counts every use of memory that an unfinished copy still needs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stepscope/zero/drive/device.h"

namespace stepscope::zero {

// What all devices of a test did.
struct TestDeviceCounts {
  std::mutex mutex;
  std::atomic<bool> held{false};  // no copy ends meanwhile
  std::int64_t copies = 0;
  std::int64_t clashes = 0;      // begun on memory that another copy still had
  std::int64_t unpinned = 0;     // copies from or to host memory that was not pinned
  std::size_t most_at_once = 0;  // queues with unfinished copies at the begin of a copy
  std::int64_t allocated = 0;    // bytes of the device that are in use
  std::int64_t pinned = 0;       // bytes of the host
};

struct TestDeviceOptions {
  Ns delay{};                         // from the begin of a copy to its end, at least
  std::int64_t most_bytes = 1 << 30;  // of the device
};

class TestDevice final : public Device {
 public:
  TestDevice(TestDeviceCounts& counts, const TestDeviceOptions& options, int copies)
      : counts_(counts), options_(options) {
    for (Queue& queue : queues_) {
      queue.copies.resize(static_cast<std::size_t>(copies));
      queue.thread =
          std::jthread([this, &queue](const std::stop_token& stop) { run(queue, stop); });
    }
  }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;
  TestDevice(TestDevice&&) = delete;
  TestDevice& operator=(TestDevice&&) = delete;
  ~TestDevice() override {
    finish_all();
    for (Queue& queue : queues_) {
      queue.thread.request_stop();
      queue.changed.notify_all();
      queue.thread.join();
    }
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<DeviceAddress> allocate(Bytes bytes) override {
    const std::lock_guard lock(counts_.mutex);
    if (counts_.allocated + bytes.value > options_.most_bytes)
      return Error{.what = name_ + ": cannot take " + std::to_string(bytes.value) + " bytes"};
    counts_.allocated += bytes.value;
    OffloadBuffer& block = blocks_.emplace_back(static_cast<std::size_t>(bytes.value));
    sizes_[reinterpret_cast<DeviceAddress>(block.bytes().data())] = bytes.value;
    return reinterpret_cast<DeviceAddress>(block.bytes().data());
  }
  void release(DeviceAddress address) noexcept override {
    finish_all();
    const std::lock_guard lock(counts_.mutex);
    counts_.allocated -= sizes_[address];
    std::erase_if(blocks_, [&](OffloadBuffer& b) {
      return reinterpret_cast<DeviceAddress>(b.bytes().data()) == address;
    });
  }
  [[nodiscard]] Result<Done> pin(std::span<std::byte> memory) override {
    const std::lock_guard lock(counts_.mutex);
    pinned_.push_back(memory);
    counts_.pinned += std::ssize(memory);
    return Done{};
  }
  void unpin(std::span<std::byte> memory) noexcept override {
    finish_all();
    const std::lock_guard lock(counts_.mutex);
    counts_.pinned -= std::ssize(memory);
    std::erase_if(pinned_, [&](std::span<std::byte> p) { return p.data() == memory.data(); });
  }
  [[nodiscard]] Result<DeviceTicket> copy_to_device(DeviceQueue queue, DeviceAddress to,
                                                    std::span<const std::byte> from) override {
    const auto host = reinterpret_cast<DeviceAddress>(from.data());
    return begin(queue, {.from = host, .to = to, .bytes = from.size()}, host);
  }
  [[nodiscard]] Result<DeviceTicket> copy_to_host(DeviceQueue queue, DeviceAddress from,
                                                  std::span<std::byte> to) override {
    const auto host = reinterpret_cast<DeviceAddress>(to.data());
    return begin(queue, {.from = from, .to = host, .bytes = to.size()}, host);
  }
  [[nodiscard]] Result<DeviceTicket> copy_within(DeviceQueue queue, DeviceAddress from,
                                                 DeviceAddress to, Bytes bytes) override {
    return begin(queue, {.from = from, .to = to, .bytes = static_cast<std::size_t>(bytes.value)},
                 0);
  }
  [[nodiscard]] bool test(DeviceTicket ticket) override {
    Queue& queue = queues_[static_cast<std::size_t>(ticket.queue)];
    const std::lock_guard lock(queue.mutex);
    return queue.copies[ticket.copy].done;
  }
  [[nodiscard]] Result<OffloadInstants> wait(DeviceTicket ticket) override {
    Queue& queue = queues_[static_cast<std::size_t>(ticket.queue)];
    std::unique_lock lock(queue.mutex);
    Copy& copy = queue.copies[ticket.copy];
    check(copy.used, "a ticket is waited for once");
    queue.changed.wait(lock, [&] { return copy.done; });
    copy.used = false;
    return copy.times;
  }

 private:
  struct Copy {
    DeviceAddress from = 0;
    DeviceAddress to = 0;
    std::size_t bytes = 0;
    bool used = false;  // until wait()
    bool done = false;
    OffloadInstants times{};
  };
  struct Queue {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::vector<Copy> copies;
    std::deque<std::size_t> order;
    std::jthread thread;
  };

  static Ns now() {
    return std::chrono::duration_cast<Ns>(std::chrono::steady_clock::now().time_since_epoch());
  }
  // The host and the device have different addresses, so one comparison covers both.
  static bool clash(const Copy& a, const Copy& b) {
    const auto meet = [](DeviceAddress x, std::size_t nx, DeviceAddress y, std::size_t ny) {
      return x < y + ny && y < x + nx;
    };
    return meet(a.to, a.bytes, b.to, b.bytes) || meet(a.to, a.bytes, b.from, b.bytes) ||
           meet(a.from, a.bytes, b.to, b.bytes);
  }

  Result<DeviceTicket> begin(DeviceQueue number, Copy copy, DeviceAddress host) {
    const std::lock_guard all(counts_.mutex);
    ++counts_.copies;
    if (host != 0 && std::ranges::none_of(pinned_, [&](std::span<std::byte> p) {
          const auto first = reinterpret_cast<DeviceAddress>(p.data());
          return first <= host && host + copy.bytes <= first + p.size();
        }))
      ++counts_.unpinned;
    std::size_t busy = 1;  // this copy's queue
    for (Queue& queue : queues_) {
      const std::lock_guard lock(queue.mutex);
      if (&queue != &queues_[static_cast<std::size_t>(number)] && !queue.order.empty()) ++busy;
      for (const Copy& other : queue.copies)
        if (other.used && clash(copy, other)) ++counts_.clashes;
    }
    Queue& queue = queues_[static_cast<std::size_t>(number)];
    const std::lock_guard lock(queue.mutex);
    const auto free = std::ranges::find(queue.copies, false, &Copy::used);
    check(free != queue.copies.end(), "no more copies than were said are unfinished");
    counts_.most_at_once = std::max(counts_.most_at_once, busy);
    copy.used = true;
    *free = copy;
    const auto index = static_cast<std::size_t>(free - queue.copies.begin());
    queue.order.push_back(index);
    queue.changed.notify_all();
    return DeviceTicket{.queue = number, .copy = static_cast<std::uint32_t>(index)};
  }
  void run(Queue& queue, const std::stop_token& stop) {
    std::unique_lock lock(queue.mutex);
    while (queue.changed.wait(lock, stop, [&] { return !queue.order.empty(); })) {
      Copy& copy = queue.copies[queue.order.front()];
      copy.times.begin = now();
      lock.unlock();
      std::this_thread::sleep_for(options_.delay);
      while (counts_.held) std::this_thread::sleep_for(std::chrono::microseconds(10));
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the device's addresses are those of the host
      std::memmove(reinterpret_cast<void*>(copy.to), reinterpret_cast<const void*>(copy.from),
                   copy.bytes);
      lock.lock();
      copy.times.end = now();
      copy.done = true;
      queue.order.pop_front();
      queue.changed.notify_all();
    }
  }
  void finish_all() {
    for (Queue& queue : queues_) {
      std::unique_lock lock(queue.mutex);
      queue.changed.wait(lock, [&] { return queue.order.empty(); });
    }
  }

  TestDeviceCounts& counts_;
  TestDeviceOptions options_;
  std::string name_ = "test device";
  std::vector<OffloadBuffer> blocks_;
  std::map<DeviceAddress, std::int64_t> sizes_;
  std::vector<std::span<std::byte>> pinned_;
  std::array<Queue, device_queue_count> queues_;
};

// Makes such devices; `counts` must outlive them.
inline OpenDevice test_devices(TestDeviceCounts& counts, const TestDeviceOptions& options = {}) {
  return [&counts, options](int, int copies) -> Result<std::unique_ptr<Device>> {
    return std::unique_ptr<Device>(std::make_unique<TestDevice>(counts, options, copies));
  };
}

}  // namespace stepscope::zero
