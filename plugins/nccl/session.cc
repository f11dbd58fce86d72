// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/session.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "plugins/nccl/collector.h"

namespace stepscope::nccl {
namespace {

constexpr std::int64_t tick_ns = 20'000'000;      // the writer checks the pool
constexpr std::int64_t settle_every = 5;          // ticks
constexpr std::int64_t flush_ns = 1'000'000'000;  // most time that a killed process loses

constinit Collector collector;

std::int64_t clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The tightest of several readings of one clock between two readings of the other.
std::int64_t offset_to_epoch() {
  std::int64_t best = 0;
  std::int64_t width = -1;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t before = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t epoch = clock_ns(CLOCK_REALTIME);
    const std::int64_t after = clock_ns(CLOCK_MONOTONIC);
    if (width >= 0 && after - before >= width) continue;
    width = after - before;
    best = epoch - (before + width / 2);
  }
  return best;
}

// The GPU of the calling thread, if the process has CUDA; else -1. NCCL calls with the
// communicator's GPU as the current one.
std::int32_t current_device() {
  void* cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (cuda == nullptr) return -1;
  using GetDevice = int (*)(int*);
  const auto get = reinterpret_cast<GetDevice>(dlsym(cuda, "cuCtxGetDevice"));
  int device = -1;
  if (get == nullptr || get(&device) != 0) device = -1;
  dlclose(cuda);
  return device;
}

}  // namespace

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::int32_t thread_id() {
  static thread_local std::int32_t id = 0;
  if (id == 0) id = static_cast<std::int32_t>(syscall(SYS_gettid));
  return id;
}

void Session::log(bool warning, const char* format, ...) const {
  std::array<char, 1800> text = {};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (const abi::Logger logger = logger_.load(); logger != nullptr)
    logger(warning ? abi::log_warning : abi::log_info, abi::log_profile, "stepscope", 0, "%s",
           text.data());
  else if (warning)
    std::fprintf(stderr, "%s\n", text.data());
}

std::uint16_t Session::seat_for(const Arrival& arrival) {
  const std::int32_t device = current_device();
  const std::uint32_t known = communicator_count.load(std::memory_order_relaxed);
  const std::uint32_t count = seat_count.load(std::memory_order_relaxed);
  for (std::uint32_t s = 0; s < count; ++s) {
    if (seats[s].device != device) continue;
    // A rank is in a communicator once: a second communicator of the same hash belongs to another
    // rank.
    bool taken = false;
    for (std::uint32_t c = 0; c < known; ++c) {
      const bool open = communicators[c].open.load(std::memory_order_relaxed);
      taken = taken || (open && communicators[c].seat == s && arrival.hash != 0 &&
                        communicators[c].hash.load(std::memory_order_relaxed) == arrival.hash);
    }
    if (!taken) return static_cast<std::uint16_t>(s);
  }
  if (count == most_seats) return most_seats - 1;
  seats[count] = {.device = device, .rank = -1, .world_size = -1};
  seat_count.store(count + 1, std::memory_order_release);
  return static_cast<std::uint16_t>(count);
}

void Session::admit(Communicator& communicator, const Arrival& arrival) {
  communicator.collectives.store(0, std::memory_order_relaxed);
  communicator.hash.store(arrival.hash, std::memory_order_relaxed);
  communicator.rank.store(arrival.rank, std::memory_order_relaxed);
  communicator.ranks = arrival.ranks;
  communicator.nodes = arrival.nodes;
  communicator.interface = arrival.interface;
  communicator.naming.store(0, std::memory_order_relaxed);
  if (arrival.interface >= 4) name(communicator, arrival.name);
  communicator.open.store(true, std::memory_order_release);
}

void Session::name(Communicator& communicator, const char* text) {
  int unknown = 0;
  if (!communicator.naming.compare_exchange_strong(unknown, 1)) return;
  std::snprintf(communicator.name.data(), communicator.name.size(), "%s",
                text == nullptr ? "" : text);
  communicator.naming.store(2, std::memory_order_release);
}

bool Session::start(const Arrival& arrival) {
  settings = settings_of_environment();
  if (settings.complaint[0] != '\0') log(true, "stepscope: %s", settings.complaint.data());
  if (access(settings.folder.data(), W_OK | X_OK) != 0) {
    log(true, "stepscope: nothing is recorded, %s (STEPSCOPE_NCCL_DIR) cannot be written to: %s",
        settings.folder.data(), std::strerror(errno));
    return false;
  }
  pool.limit(settings.slots);
  for (auto& count : counts.dropped) count.store(0, std::memory_order_relaxed);
  counts.stale.store(0, std::memory_order_relaxed);
  communicator_count.store(0, std::memory_order_relaxed);
  seat_count.store(0, std::memory_order_relaxed);
  process = getpid();
  began = monotonic_ns();
  epoch_offset = offset_to_epoch();
  ++runs_;
  stopping_ = false;
  if (!collector.begin(*this) || !start_writer()) {
    log(true, "stepscope: nothing is recorded, no memory or thread could be had");
    return false;
  }
  running_ = true;
  log(false, "stepscope: recording events 0x%x of interface v%d in %s", settings.mask,
      static_cast<int>(arrival.interface), settings.folder.data());
  return true;
}

// All signals are blocked in this thread; the program handles them.
bool Session::start_writer() {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&wake_, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(&writer_, nullptr, run_writer, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    pthread_setname_np(writer_, "stepscope-nccl");
  } else {
    pthread_cond_destroy(&wake_);
  }
  return started;
}

Communicator* Session::open(const Arrival& arrival, int* mask) {
  if (forked_.load(std::memory_order_relaxed)) return nullptr;
  pthread_mutex_lock(&mutex_);
  if (arrival.logger != nullptr) logger_.store(arrival.logger);
  Communicator* communicator = nullptr;
  const bool ready = running_ || start(arrival);
  const std::uint32_t number = communicator_count.load(std::memory_order_relaxed);
  if (ready && number < most_communicators) {
    communicator = &communicators[number];
    communicator->number = static_cast<std::uint16_t>(number);
    communicator->seat = seat_for(arrival);
    admit(*communicator, arrival);
    communicator_count.store(number + 1, std::memory_order_release);
    ++open_count_;
    accepted_.store(with_parents(settings.mask), std::memory_order_release);
    if (mask != nullptr) *mask = static_cast<int>(settings.mask);
  } else if (ready) {
    log(true, "stepscope: a communicator is not recorded, more than %u were made",
        most_communicators);
  }
  pthread_mutex_unlock(&mutex_);
  return communicator;
}

void Session::close(Communicator* communicator) {
  if (forked_.load(std::memory_order_relaxed)) return;
  pthread_mutex_lock(&mutex_);
  if (communicator->open.exchange(false) && --open_count_ == 0) finish();
  pthread_mutex_unlock(&mutex_);
}

void Session::end() {
  if (forked_.load(std::memory_order_relaxed)) return;
  pthread_mutex_lock(&mutex_);
  finish();
  pthread_mutex_unlock(&mutex_);
}

void Session::finish() {
  accepted_.store(0, std::memory_order_release);
  if (!running_) return;
  pthread_mutex_lock(&wake_mutex_);
  stopping_ = true;
  pthread_cond_signal(&wake_);
  pthread_mutex_unlock(&wake_mutex_);
  pthread_join(writer_, nullptr);
  pthread_cond_destroy(&wake_);
  running_ = false;
  open_count_ = 0;
  for (Communicator& communicator : communicators) communicator.open.store(false);
}

void Session::forget() {
  accepted_.store(0, std::memory_order_relaxed);
  forked_.store(true, std::memory_order_relaxed);
}

void* Session::run_writer(void* session) {
  static_cast<Session*>(session)->write();
  return nullptr;
}

void Session::write() {
  std::int64_t flushed = monotonic_ns();
  bool last = false;
  for (std::int64_t tick = 0; !last; ++tick) {
    pthread_mutex_lock(&wake_mutex_);
    if (!stopping_) {
      const std::int64_t until = monotonic_ns() + tick_ns;
      const timespec at = {.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
      pthread_cond_timedwait(&wake_, &wake_mutex_, &at);
    }
    last = stopping_;
    pthread_mutex_unlock(&wake_mutex_);
    const std::int64_t now = monotonic_ns();
    pool.drain([&](Event& event) { collector.add(event, now); });
    if (tick % settle_every == 0) collector.settle(now);
    if (now - flushed >= flush_ns) {
      collector.flush();
      flushed = now;
    }
  }
  pool.drain_open([&](Event& event) { collector.add_unfinished(event); });
  collector.finish();
}

// The seat's widest communicator is assumed to be the job's.
void Session::number_ranks() {
  const std::uint32_t count = communicator_count.load(std::memory_order_acquire);
  const std::uint32_t seats_here = seat_count.load(std::memory_order_acquire);
  for (std::uint32_t s = 0; s < seats_here; ++s) {
    const Communicator* widest = nullptr;
    for (std::uint32_t c = 0; c < count; ++c) {
      if (communicators[c].seat != s) continue;
      if (widest == nullptr || communicators[c].ranks > widest->ranks) widest = &communicators[c];
    }
    if (widest == nullptr) continue;
    const std::int32_t member = widest->rank.load(std::memory_order_relaxed);
    // A launcher may number processes that are not ranks, so its numbers must not contradict NCCL.
    const bool launched = seats_here == 1 && settings.rank >= 0 &&
                          (widest->ranks < settings.world_size ||
                           (widest->ranks == settings.world_size && member == settings.rank));
    seats[s].rank = launched ? settings.rank : member;
    seats[s].world_size = launched ? settings.world_size : widest->ranks;
  }
}

Communicator* Session::communicator(void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(context);
  const auto first = reinterpret_cast<std::uintptr_t>(communicators.data());
  const std::uintptr_t offset = address - first;
  if (address < first || offset >= sizeof communicators || offset % sizeof(Communicator) != 0)
    return nullptr;
  Communicator* found = &communicators[offset / sizeof(Communicator)];
  return found->open.load(std::memory_order_acquire) ? found : nullptr;
}

Event* Session::begin(const Communicator& communicator, Kind kind) {
  const auto number = static_cast<std::size_t>(kind);
  if ((accepted_.load(std::memory_order_relaxed) >> number & 1U) == 0) return nullptr;
  const std::int32_t thread = thread_id();
  Event* event = pool.take(static_cast<std::uint32_t>(thread));
  if (event == nullptr) {
    counts.dropped[number].fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  event->kind = kind;
  event->context = communicator.number;
  event->thread = thread;
  event->start = monotonic_ns();
  event->stop = 0;
  return event;
}

}  // namespace stepscope::nccl
