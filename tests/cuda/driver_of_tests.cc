// SPDX-License-Identifier: Apache-2.0
// A library in the place of NVIDIA's driver, for tests on machines without a GPU. Its device is
// host memory, its streams are threads. A copy takes its time and moves its bytes when it ends.
// Events have a clock of their own, which runs faster than the host's and began earlier.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

// The names that programs since CUDA 7 look up.
#undef cuDevicePrimaryCtxRelease
#undef cuEventElapsedTime

struct CUstream_st {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<std::function<void()>> tasks;
  std::jthread thread;
};
struct CUevent_st {
  std::mutex mutex;
  std::condition_variable changed;
  bool pending = false;
  bool timed = true;
  double ms = 0;  // on the device's clock
};

namespace {

constexpr std::size_t device_bytes = std::size_t{1} << 31U;
constexpr double faster = 1.0005;                 // 0.5 ms a second
constexpr std::chrono::microseconds latency{20};  // of a copy
constexpr double bytes_per_second = 4e9;

std::mutex all;  // of what follows
std::map<CUdeviceptr, std::size_t> blocks;
std::map<const std::byte*, std::size_t> pinned;
std::set<CUstream> streams;
std::size_t taken = 0;
bool started = false;
thread_local CUcontext current = nullptr;
CUcontext the_context() { return reinterpret_cast<CUcontext>(&blocks); }

double device_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return faster * std::chrono::duration<double, std::milli>(now).count() + 1e6;
}

bool usable() { return started && current == the_context(); }

bool in_block(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(all);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second;
}

bool is_pinned(const void* memory, std::size_t bytes) {
  const std::lock_guard lock(all);
  const auto* const first = static_cast<const std::byte*>(memory);
  return std::ranges::any_of(pinned, [&](const auto& p) {
    return p.first <= first && first + bytes <= p.first + p.second;
  });
}

void enqueue(CUstream stream, std::function<void()> task) {
  const std::lock_guard lock(stream->mutex);
  stream->tasks.push_back(std::move(task));
  stream->changed.notify_all();
}

CUresult copy(CUstream stream, void* to, const void* from, std::size_t bytes) {
  enqueue(stream, [=] {
    const std::chrono::duration<double> time(static_cast<double>(bytes) / bytes_per_second);
    std::this_thread::sleep_for(latency + time);
    std::memcpy(to, from, bytes);
  });
  return CUDA_SUCCESS;
}

void* host(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  started = true;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_ERROR_OUT_OF_MEMORY    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == CUDA_ERROR_INVALID_VALUE  ? "CUDA_ERROR_INVALID_VALUE"
          : code == CUDA_ERROR_INVALID_HANDLE ? "CUDA_ERROR_INVALID_HANDLE"
                                              : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "of the tests' driver";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult cuDeviceGet(CUdevice* device, int number) {
  *device = number;
  return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(size), "host memory of the tests");
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = the_context();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  if (!usable()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(all);
  for (CUstream stream : streams) {
    std::unique_lock waiting(stream->mutex);
    stream->changed.wait(waiting, [&] { return stream->tasks.empty(); });
  }
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(all);
  *free = device_bytes - taken;
  *total = device_bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (!usable()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(all);
  if (bytes > device_bytes - taken) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = ::operator new(bytes, std::align_val_t{4096});
  std::memset(memory, 0x5A, bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  blocks[*address] = bytes;
  taken += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  const std::lock_guard lock(all);
  const auto block = blocks.find(address);
  if (block == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  taken -= block->second;
  blocks.erase(block);
  ::operator delete(host(address), std::align_val_t{4096});
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr address, unsigned char value, std::size_t bytes) {
  if (!in_block(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  std::memset(host(address), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (!usable()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(all);
  pinned[static_cast<const std::byte*>(memory)] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* memory) {
  const std::lock_guard lock(all);
  return pinned.erase(static_cast<const std::byte*>(memory)) == 1 ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (!in_block(to, bytes) || !is_pinned(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, host(to), from, bytes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (!in_block(from, bytes) || !is_pinned(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, to, host(from), bytes);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (!in_block(from, bytes) || !in_block(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, host(to), host(from), bytes);
}
CUresult cuStreamCreate(CUstream* made, unsigned) {
  if (!usable()) return CUDA_ERROR_INVALID_CONTEXT;
  auto* const stream = new CUstream_st;
  stream->thread = std::jthread([stream](const std::stop_token& stop) {
    std::unique_lock lock(stream->mutex);
    while (stream->changed.wait(lock, stop, [&] { return !stream->tasks.empty(); })) {
      const std::function<void()> task = stream->tasks.front();
      lock.unlock();
      task();
      lock.lock();
      stream->tasks.pop_front();
      stream->changed.notify_all();
    }
  });
  const std::lock_guard lock(all);
  streams.insert(stream);
  *made = stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  {
    const std::lock_guard lock(all);
    if (streams.erase(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  delete stream;  // after its thread, which ends between two tasks
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* made, unsigned flags) {
  *made = new CUevent_st;
  (*made)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (!usable()) return CUDA_ERROR_INVALID_CONTEXT;
  {
    const std::lock_guard lock(event->mutex);
    event->pending = true;
  }
  enqueue(stream, [event] {
    const std::lock_guard lock(event->mutex);
    event->ms = device_ms();
    event->pending = false;
    event->changed.notify_all();
  });
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  const std::lock_guard lock(event->mutex);
  return event->pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  std::unique_lock lock(event->mutex);
  event->changed.wait(lock, [&] { return !event->pending; });
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  const std::scoped_lock lock(from->mutex, to->mutex);
  if (from->pending || to->pending) return CUDA_ERROR_NOT_READY;
  if (!from->timed || !to->timed || from == to) return CUDA_ERROR_INVALID_HANDLE;
  *ms = static_cast<float>(to->ms - from->ms);
  return CUDA_SUCCESS;
}

}  // extern "C"
