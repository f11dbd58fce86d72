// SPDX-License-Identifier: Apache-2.0
// bench/nccl_plugin [ROUNDS]: the plugin's cost to the threads that call it, in ns per event
// (start, its states, stop), compared with reading the clock. Each round times a batch of every
// kind of event and of clock readings, interleaved, then waits until the writer has emptied the
// pool. Prints minimum, median and maximum over rounds. It also measures the share of a thread's
// time at the rates of a training step, and the share of a core that the writer's thread uses
// meanwhile.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plugins/nccl/abi.h"
#include "stepscope/stats/summary.h"

namespace {

using namespace stepscope::nccl;

constexpr int batch = 2000;  // far below the pool's slots

double seconds_of(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Plugin {
  const abi::ProfilerV6* profiler = nullptr;
  void* context = nullptr;
  int mask = 0;

  explicit Plugin(const char* folder) {
    setenv("STEPSCOPE_NCCL_DIR", folder, 1);
    setenv("STEPSCOPE_NCCL_EVENTS", "coll,proxy,step,kernel", 1);
    void* library = dlopen(STEPSCOPE_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fmt::print(stderr, "nccl_plugin: {}\n", dlerror());
      std::exit(1);
    }
    profiler = static_cast<const abi::ProfilerV6*>(dlsym(library, "ncclProfiler_v6"));
    if (profiler->init(&context, 1, &mask, "bench", 1, 8, 0, nullptr) != abi::Result::success)
      std::exit(1);
  }
  void* start(abi::v6::Descriptor& descriptor) const {
    void* handle = nullptr;
    profiler->start_event(context, &handle, &descriptor);
    return handle;
  }
  void state(void* handle, abi::State state, abi::StateArgs args = {}) const {
    profiler->record_event_state(handle, static_cast<int>(state), &args);
  }

  void* coll(std::uint64_t seq) const {
    abi::v6::Descriptor d = {};
    d.type = static_cast<std::uint64_t>(abi::EventType::coll);
    d.coll.coll.seq = seq;
    d.coll.coll.func = "AllReduce";
    d.coll.coll.count = 1 << 20;
    d.coll.coll.datatype = "ncclBfloat16";
    d.coll.coll.channels = 16;
    d.coll.coll.algorithm = "RING";
    d.coll.coll.protocol = "SIMPLE";
    void* handle = start(d);
    profiler->stop_event(handle);
    return handle;
  }
  void kernel(void* parent, int channel, std::uint64_t gpu) const {
    abi::v6::Descriptor d = {};
    d.type = static_cast<std::uint64_t>(abi::EventType::kernel_channel);
    d.parent = parent;
    d.kernel.channel = static_cast<std::uint8_t>(channel);
    d.kernel.gpu_ns = gpu;
    void* handle = start(d);
    state(handle, abi::State::kernel_channel_stop, {.gpu_ns = gpu + 1000});
    profiler->stop_event(handle);
  }
  void* proxy(void* parent) const {
    abi::v6::Descriptor d = {};
    d.type = static_cast<std::uint64_t>(abi::EventType::proxy_op);
    d.parent = parent;
    d.proxy_op = {static_cast<int>(getpid()), 1, 1, 8, 1 << 19, 1};
    return start(d);
  }
  void step(void* parent, int number) const {
    abi::v6::Descriptor d = {};
    d.type = static_cast<std::uint64_t>(abi::EventType::proxy_step);
    d.parent = parent;
    d.proxy_step.step = number;
    void* handle = start(d);
    state(handle, abi::State::send_gpu_wait);
    state(handle, abi::State::send_wait, {.step_bytes = 1 << 19});
    profiler->stop_event(handle);
  }
};

struct Row {
  std::string name;
  int readings;  // of the clock, in each
  std::vector<double> ns = {};
};

template <class Call>
void time_batch(Row& row, const Call& call) {
  const double start = seconds_of(CLOCK_MONOTONIC);
  for (int i = 0; i < batch; ++i) {
    call(i);
    asm volatile("" ::: "memory");  // keeps calls separate
  }
  row.ns.push_back((seconds_of(CLOCK_MONOTONIC) - start) * 1e9 / batch);
}

double median_of(const Row& row) { return *stepscope::median(std::span<const double>(row.ns)); }

void print(const Row& row) {
  const auto [low, high] = std::ranges::minmax(row.ns);
  fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.0f} |\n", row.name, row.readings, low,
             median_of(row), high);
}

// NCCL's calling threads during one second of a step's communication.
void print_share(const char* what, double per_second, double ns) {
  fmt::print("| {} | {:.0f} | {:.3f} % |\n", what, per_second, per_second * ns * 1e-9 * 100);
}

// Events of all kinds at a given rate, and the share of a core that the whole process uses for
// them.
double writer_share(const Plugin& plugin, int calls_per_second, double seconds) {
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  const double start = seconds_of(CLOCK_MONOTONIC);
  int done = 0;
  while (seconds_of(CLOCK_MONOTONIC) - start < seconds) {
    const int due = static_cast<int>((seconds_of(CLOCK_MONOTONIC) - start) * calls_per_second) + 1;
    for (; done < due; ++done) {
      void* coll = plugin.coll(static_cast<std::uint64_t>(done));
      for (int c = 0; c < 16; ++c)
        plugin.kernel(coll, c, static_cast<std::uint64_t>(seconds_of(CLOCK_MONOTONIC) * 1e9));
    }
    usleep(1000);
  }
  const double own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread;
  return (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process - own) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 25;
  std::string folder = (std::filesystem::temp_directory_path() / "nccl_plugin_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const Plugin plugin(folder.c_str());
  Row clock{"reading the clock", 1};
  Row coll{"collective: start, stop", 2};
  Row kernel{"kernel channel: start, state, stop", 2};
  Row proxy{"proxy operation: start, stop", 2};
  Row step{"proxy step: start, 2 states, stop", 4};
  for (int round = 0; round < rounds; ++round) {
    time_batch(clock, [](int) {
      timespec t = {};
      clock_gettime(CLOCK_MONOTONIC, &t);
    });
    void* parent = plugin.coll(0);
    time_batch(coll, [&](int i) { plugin.coll(static_cast<std::uint64_t>(i)); });
    time_batch(kernel, [&](int i) {
      plugin.kernel(parent, i % 16, static_cast<std::uint64_t>(i) + 1'000'000);
    });
    time_batch(proxy, [&](int) { plugin.profiler->stop_event(plugin.proxy(parent)); });
    void* operation = plugin.proxy(parent);
    time_batch(step, [&](int i) { plugin.step(operation, i); });
    plugin.profiler->stop_event(operation);
    usleep(60'000);
  }
  fmt::print("| event | readings of the clock | ns, min | median | max |\n|---|---|---|---|---|\n");
  for (const Row* row : {&clock, &coll, &kernel, &proxy, &step}) print(*row);
  // 64 layers, each gathered twice and reduced once, 4 steps per second, 16 channels. The proxy
  // moves 50 GB/s in steps of 512 KiB, in both directions.
  constexpr double calls = 64.0 * 3 * 4;
  constexpr double steps = 2 * 50e9 / (512.0 * 1024);
  fmt::print("\n| thread | events a second | of its time |\n|---|---|---|\n");
  print_share("application: collectives", calls, median_of(coll));
  print_share("proxy: kernel channels (default)", calls * 16, median_of(kernel));
  print_share("proxy: operations, 4 a call (default)", calls * 4, median_of(proxy));
  print_share("proxy: steps (STEPSCOPE_NCCL_EVENTS=step)", steps, median_of(step));
  fmt::print("\nthe writer at {:.0f} collectives of 16 channels a second: {:.2f} % of a core\n",
             calls, 100 * writer_share(plugin, static_cast<int>(calls), 3));
  plugin.profiler->finalize(plugin.context);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}
