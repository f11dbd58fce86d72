// SPDX-License-Identifier: Apache-2.0
// The recording of one process, from its first communicator to its last: communicators, their
// ranks, the pool of events, and the writer's thread.
//
// Hot calls (begin, find, stop) take no lock. They make no system call except the first call of a
// thread.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "plugins/nccl/abi.h"
#include "plugins/nccl/event_pool.h"
#include "plugins/nccl/settings.h"

namespace stepscope::nccl {

class Collector;

struct Communicator {
  std::atomic<std::int64_t> collectives = 0;  // begun so far, recorded or not
  std::atomic<std::uint64_t> hash;            // equal on all its ranks; 0 = not known
  std::atomic<std::int32_t> rank;             // within it; -1 = not known
  std::atomic<int> naming;                    // `name` is: 0 not known, 1 being written, 2 there
  std::array<char, 64> name;
  std::int32_t ranks;  // -1 = not known (until v3)
  std::int32_t nodes;
  std::int32_t interface;
  std::uint16_t number;
  std::uint16_t seat;
  std::atomic<bool> open;
};

// A rank of this process. Usually there is one; a process that drives several GPUs has one for
// each.
struct Seat {
  std::int32_t device;  // -1 = not known
  std::int32_t rank;    // of the job
  std::int32_t world_size;
};

struct Counts {
  std::array<std::atomic<std::uint64_t>, kind_count> dropped;  // no slot was free
  std::atomic<std::uint64_t> stale;  // calls with a handle that is not live
};

class Session {
 public:
  static constexpr std::uint32_t most_communicators = 1024;
  static constexpr std::uint32_t most_seats = 16;

  // `memory`: see EventPool.
  constexpr explicit Session(unsigned char* memory) : pool(memory) {}

  struct Arrival {
    std::int32_t interface = 0;
    std::uint64_t hash = 0;
    const char* name = nullptr;
    std::int32_t ranks = -1;
    std::int32_t nodes = -1;
    std::int32_t rank = -1;
    abi::Logger logger = nullptr;
  };
  // Opens a communicator. Null if nothing can be recorded (the reason was logged). The first
  // communicator starts the writer. Sets *mask.
  Communicator* open(const Arrival& arrival, int* mask);
  // Closes a communicator. With the last one the files are completed.
  void close(Communicator* communicator);
  // Called when the process ends or the library is unloaded. Completes the files if there are any.
  void end();
  // Called in the child of a fork. The child records nothing and does not touch the parent's files.
  void forget();

  // Sets the communicator's name. Until v3 the name comes with the first call. The first name
  // stays.
  static void name(Communicator& communicator, const char* text);

  // The communicator of a context that NCCL holds; null for any other address.
  [[nodiscard]] Communicator* communicator(void* context);
  // An event of this thread at this moment. Null if this kind is not recorded or no slot is free.
  [[nodiscard]] Event* begin(const Communicator& communicator, Kind kind);

  EventPool pool;
  Counts counts = {};
  std::array<Communicator, most_communicators> communicators = {};
  std::array<Seat, most_seats> seats = {};
  std::atomic<std::uint32_t> communicator_count = 0;
  std::atomic<std::uint32_t> seat_count = 0;
  Settings settings = {};
  std::int32_t process = 0;
  std::int64_t began = 0;         // ns, CLOCK_MONOTONIC
  std::int64_t epoch_offset = 0;  // CLOCK_REALTIME - CLOCK_MONOTONIC when the session began, ns

  // Gives each seat its rank in the job, by all data known so far. Only the writer calls it.
  void number_ranks();
  // The number of this process's sessions so far, including this one.
  [[nodiscard]] std::uint32_t runs() const { return runs_; }

  void log(bool warning, const char* format, ...) const __attribute__((format(printf, 3, 4)));

 private:
  bool start(const Arrival& arrival);
  bool start_writer();
  void finish();
  void admit(Communicator& communicator, const Arrival& arrival);
  [[nodiscard]] std::uint16_t seat_for(const Arrival& arrival);
  static void* run_writer(void* session);
  void write();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // open, close, end
  pthread_mutex_t wake_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = {};  // while running_; its clock is CLOCK_MONOTONIC
  pthread_t writer_ = {};
  bool stopping_ = false;  // by wake_mutex_
  bool running_ = false;   // by mutex_
  std::uint32_t open_count_ = 0;
  std::uint32_t runs_ = 0;
  std::atomic<std::uint32_t> accepted_ = 0;  // kinds that are recorded now, as bits
  std::atomic<bool> forked_ = false;
  std::atomic<abi::Logger> logger_ = nullptr;
};

[[nodiscard]] std::int64_t monotonic_ns();
[[nodiscard]] std::int32_t thread_id();

}  // namespace stepscope::nccl
