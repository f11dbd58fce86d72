// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/cuda_device.h"

#ifdef STEPSCOPE_CUDA
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/zero/drive/cuda_driver.h"
#endif

namespace stepscope::zero {

#ifndef STEPSCOPE_CUDA
namespace {
Error no_cuda_in_build() {
  return {.what = "--offload-device is not in this build of stepscope",
          .hint = "configure it with -DSTEPSCOPE_CUDA=ON, or leave out --offload-device",
          .code = ErrorCode::refused};
}
}  // namespace

Result<Done> cuda_in_build() { return no_cuda_in_build(); }
Result<int> cuda_devices() { return no_cuda_in_build(); }
Result<std::unique_ptr<Device>> open_cuda_device(int, int) { return no_cuda_in_build(); }
#else
namespace {

Ns cuda_now() {
  return std::chrono::duration_cast<Ns>(std::chrono::steady_clock::now().time_since_epoch());
}

// An event whose host time is known.
struct CudaReference {
  CUevent event = nullptr;
  Ns host{};
  int users = 0;  // unfinished copies that are measured from it
};
struct CudaCopy {
  CUevent begin = nullptr;
  CUevent end = nullptr;
  Ns submitted{};
  std::size_t reference = 0;
  bool used = false;
};
struct CudaQueue {
  CUstream copies_stream = nullptr;
  CUstream clock_stream = nullptr;  // has nothing but references, so they are recorded at once
  std::vector<CudaCopy> copies;
  std::array<CudaReference, 2> references;
  std::size_t reference = 0;  // of new copies
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaDriver& driver) : driver_(driver) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  CudaDevice(CudaDevice&&) = delete;
  CudaDevice& operator=(CudaDevice&&) = delete;
  ~CudaDevice() override;
  [[nodiscard]] Result<Done> open(int number, int copies);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<DeviceAddress> allocate(Bytes bytes) override;
  void release(DeviceAddress address) noexcept override;
  [[nodiscard]] Result<Done> pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) noexcept override;
  [[nodiscard]] Result<DeviceTicket> copy_to_device(DeviceQueue queue, DeviceAddress to,
                                                    std::span<const std::byte> from) override;
  [[nodiscard]] Result<DeviceTicket> copy_to_host(DeviceQueue queue, DeviceAddress from,
                                                  std::span<std::byte> to) override;
  [[nodiscard]] Result<DeviceTicket> copy_within(DeviceQueue queue, DeviceAddress from,
                                                 DeviceAddress to, Bytes bytes) override;
  [[nodiscard]] bool test(DeviceTicket ticket) override;
  [[nodiscard]] Result<OffloadInstants> wait(DeviceTicket ticket) override;

 private:
  [[nodiscard]] Result<Done> must(CUresult code, const std::string& doing) const;
  [[nodiscard]] Result<Done> open_queue(CudaQueue& queue, int copies);
  [[nodiscard]] Result<Done> set_reference(CudaQueue& queue, CudaReference& reference);
  [[nodiscard]] Result<Done> renew_reference(CudaQueue& queue);
  [[nodiscard]] Result<Ns> instant(const CudaReference& reference, CUevent event) const;
  template <class Submit>
  [[nodiscard]] Result<DeviceTicket> begin(DeviceQueue number, const std::string& doing,
                                           Submit submit);
  [[nodiscard]] CudaQueue& queue(DeviceQueue number) {
    return queues_[static_cast<std::size_t>(number)];
  }
  // Any thread may call: the context is the thread's from now on.
  void use() const { (void)driver_.use_context(context_); }

  const CudaDriver& driver_;
  std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::array<CudaQueue, device_queue_count> queues_;
};

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  use();
  (void)driver_.synchronize();
  for (CudaQueue& q : queues_) {
    for (const CudaCopy& copy : q.copies) {
      if (copy.begin != nullptr) (void)driver_.destroy_event(copy.begin);
      if (copy.end != nullptr) (void)driver_.destroy_event(copy.end);
    }
    for (const CudaReference& reference : q.references)
      if (reference.event != nullptr) (void)driver_.destroy_event(reference.event);
    for (CUstream stream : {q.copies_stream, q.clock_stream})
      if (stream != nullptr) (void)driver_.destroy_stream(stream);
  }
  (void)driver_.release_context(device_);
}

Result<Done> CudaDevice::must(CUresult code, const std::string& doing) const {
  if (code == CUDA_SUCCESS) return Done{};
  return cuda_error(driver_, name_ + ": " + doing, code);
}

Result<Done> CudaDevice::open(int number, int copies) {
  name_ = "CUDA device " + std::to_string(number);
  if (auto done = must(driver_.device(&device_, number), "cannot be opened"); !done) return done;
  std::array<char, 256> text{};
  if (auto done = must(driver_.device_name(text.data(), static_cast<int>(text.size()), device_),
                       "cannot tell its name");
      !done)
    return done;
  name_ += " (" + std::string(text.data()) + ")";
  if (auto done = must(driver_.retain_context(&context_, device_), "cannot be used"); !done)
    return done;
  use();
  for (CudaQueue& q : queues_)
    if (auto done = open_queue(q, copies); !done) return done;
  return Done{};
}

Result<Done> CudaDevice::open_queue(CudaQueue& queue, int copies) {
  const auto event = [&](CUevent& made, unsigned flags) {
    return must(driver_.create_event(&made, flags), "cannot make an event");
  };
  for (CUstream* stream : {&queue.copies_stream, &queue.clock_stream})
    if (auto done =
            must(driver_.create_stream(stream, CU_STREAM_NON_BLOCKING), "cannot make a stream");
        !done)
      return done;
  queue.copies.resize(static_cast<std::size_t>(copies));
  for (CudaCopy& copy : queue.copies) {
    // The waiting thread leaves its core to other ranks.
    if (auto done = event(copy.begin, CU_EVENT_BLOCKING_SYNC); !done) return done;
    if (auto done = event(copy.end, CU_EVENT_BLOCKING_SYNC); !done) return done;
  }
  for (CudaReference& reference : queue.references)
    if (auto done = event(reference.event, CU_EVENT_DEFAULT); !done) return done;
  return set_reference(queue, queue.references[0]);
}

// The host time is the middle of a short round trip, if five tries have one; else of the last.
Result<Done> CudaDevice::set_reference(CudaQueue& queue, CudaReference& reference) {
  constexpr Ns is_short{20'000};
  for (int i = 0; i < 5; ++i) {
    const Ns before = cuda_now();
    if (auto done = must(driver_.record(reference.event, queue.clock_stream), "cannot record");
        !done)
      return done;
    if (auto done = must(driver_.wait(reference.event), "cannot wait for an event"); !done)
      return done;
    const Ns trip = cuda_now() - before;
    reference.host = before + trip / 2;
    if (trip <= is_short) break;
  }
  return Done{};
}

// Once a second: the clocks differ in speed, and times from an event have single precision.
Result<Done> CudaDevice::renew_reference(CudaQueue& queue) {
  constexpr Ns period{1'000'000'000};
  if (cuda_now() - queue.references[queue.reference].host < period) return Done{};
  const std::size_t other = 1 - queue.reference;
  if (queue.references[other].users > 0) return Done{};
  if (auto done = set_reference(queue, queue.references[other]); !done) return done;
  queue.reference = other;
  return Done{};
}

Result<DeviceAddress> CudaDevice::allocate(Bytes bytes) {
  use();
  CUdeviceptr address = 0;
  const auto size = static_cast<std::size_t>(bytes.value);
  if (const CUresult code = driver_.allocate(&address, size); code != CUDA_SUCCESS) {
    std::size_t free = 0;
    std::size_t total = 0;
    const bool known = driver_.memory(&free, &total) == CUDA_SUCCESS;
    Error error = cuda_error(
        driver_,
        name_ + ": cannot take " + std::to_string(size) + " bytes of memory" +
            (known ? " (" + std::to_string(free) + " of " + std::to_string(total) + " are free)"
                   : ""),
        code);
    error.hint = "keep fewer parts there, use more devices, or offload to a drive (--offload)";
    return error;
  }
  auto zeroed = must(driver_.fill(address, 0, size), "cannot clear memory");
  if (zeroed) zeroed = must(driver_.synchronize(), "cannot clear memory");
  if (!zeroed) {
    (void)driver_.release(address);
    return zeroed.error();
  }
  check(address % offload_alignment == 0, "device memory begins at a block");
  return DeviceAddress{address};
}

void CudaDevice::release(DeviceAddress address) noexcept {
  use();
  (void)driver_.synchronize();
  (void)driver_.release(address);
}

Result<Done> CudaDevice::pin(std::span<std::byte> memory) {
  use();
  auto done = must(driver_.pin(memory.data(), memory.size(), CU_MEMHOSTREGISTER_PORTABLE),
                   "cannot pin " + std::to_string(memory.size()) + " bytes of host memory");
  if (done) return done;
  Error error = done.error();
  error.hint = "free memory of the host, or leave out --offload-device";
  return error;
}

void CudaDevice::unpin(std::span<std::byte> memory) noexcept {
  use();
  (void)driver_.synchronize();
  (void)driver_.unpin(memory.data());
}

template <class Submit>
Result<DeviceTicket> CudaDevice::begin(DeviceQueue number, const std::string& doing,
                                       Submit submit) {
  use();
  CudaQueue& q = queue(number);
  if (auto done = renew_reference(q); !done) return done.error();
  const auto free = std::ranges::find(q.copies, false, &CudaCopy::used);
  check(free != q.copies.end(), "no more copies than were said are unfinished");
  free->submitted = cuda_now();
  for (const CUresult code : {driver_.record(free->begin, q.copies_stream), submit(q.copies_stream),
                              driver_.record(free->end, q.copies_stream)})
    if (auto done = must(code, doing); !done) return done.error();
  free->used = true;
  free->reference = q.reference;
  ++q.references[q.reference].users;
  return DeviceTicket{.queue = number, .copy = static_cast<std::uint32_t>(free - q.copies.begin())};
}

Result<DeviceTicket> CudaDevice::copy_to_device(DeviceQueue queue, DeviceAddress to,
                                                std::span<const std::byte> from) {
  return begin(queue, "cannot copy to it", [&](CUstream stream) {
    return driver_.to_device(to, from.data(), from.size(), stream);
  });
}

Result<DeviceTicket> CudaDevice::copy_to_host(DeviceQueue queue, DeviceAddress from,
                                              std::span<std::byte> to) {
  return begin(queue, "cannot copy from it", [&](CUstream stream) {
    return driver_.to_host(to.data(), from, to.size(), stream);
  });
}

Result<DeviceTicket> CudaDevice::copy_within(DeviceQueue queue, DeviceAddress from,
                                             DeviceAddress to, Bytes bytes) {
  return begin(queue, "cannot copy within it", [&](CUstream stream) {
    return driver_.within(to, from, static_cast<std::size_t>(bytes.value), stream);
  });
}

bool CudaDevice::test(DeviceTicket ticket) {
  use();
  return driver_.query(queue(ticket.queue).copies[ticket.copy].end) != CUDA_ERROR_NOT_READY;
}

Result<Ns> CudaDevice::instant(const CudaReference& reference, CUevent event) const {
  float ms = 0;
  auto done = must(driver_.elapsed(&ms, reference.event, event), "cannot time a copy");
  if (!done) return done.error();
  return reference.host + Ns{std::llround(static_cast<double>(ms) * 1e6)};
}

Result<OffloadInstants> CudaDevice::wait(DeviceTicket ticket) {
  use();
  CudaQueue& q = queue(ticket.queue);
  CudaCopy& copy = q.copies[ticket.copy];
  check(copy.used, "a ticket is waited for once");
  copy.used = false;
  CudaReference& reference = q.references[copy.reference];
  --reference.users;
  if (auto done = must(driver_.wait(copy.end), "a copy failed"); !done) return done.error();
  const Ns seen = cuda_now();
  const auto begin = instant(reference, copy.begin);
  if (!begin) return begin.error();
  const auto end = instant(reference, copy.end);
  if (!end) return end.error();
  const Ns last = std::clamp(*end, copy.submitted, seen);
  return OffloadInstants{.begin = std::clamp(*begin, copy.submitted, last), .end = last};
}

}  // namespace

Result<Done> cuda_in_build() { return Done{}; }

Result<int> cuda_devices() {
  const auto& driver = cuda_driver();
  if (!driver) return driver.error();
  int count = 0;
  if (const CUresult code = driver->device_count(&count); code != CUDA_SUCCESS)
    return cuda_error(*driver, "the CUDA devices cannot be counted", code);
  if (count == 0)
    return Error{.what = "this machine has no CUDA device", .hint = "leave out --offload-device"};
  return count;
}

Result<std::unique_ptr<Device>> open_cuda_device(int number, int copies) {
  const auto count = cuda_devices();
  if (!count) return count.error();
  if (number < 0 || number >= *count)
    return Error{.what = "there is no CUDA device " + std::to_string(number) +
                         ": this machine has " + std::to_string(*count),
                 .hint = "give --offload-device a number from 0 to " + std::to_string(*count - 1)};
  auto device = std::make_unique<CudaDevice>(*cuda_driver());
  if (auto opened = device->open(number, copies); !opened) return opened.error();
  return std::unique_ptr<Device>(std::move(device));
}
#endif

}  // namespace stepscope::zero
