// SPDX-License-Identifier: Apache-2.0
// NCCL's side of the profiler interface for tests: loads the library, looks a version up, and calls
// it with that version's descriptors, filled member by member as NCCL fills them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plugins/nccl/abi.h"

namespace stepscope::nccl::test {

inline std::int64_t now_ns() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// A test's own folder and the variables that name it. Both are removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nccl_plugin_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    unsetenv("NCCL_PROFILE_EVENT_MASK");
    set("STEPSCOPE_NCCL_DIR", folder_.string());
  }
  ~Scratch() {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // The complete files, or all files with this ending, by name.
  [[nodiscard]] std::vector<std::string> files(const std::string& ending = ".json") const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
    std::ranges::sort(found);
    return found;
  }
  static std::string text(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> set_;
};

inline std::vector<std::string>& logged() {
  static std::vector<std::string> lines;
  return lines;
}
// The number of the lines, for a thread that waits for one.
inline std::atomic<std::size_t>& warnings() {
  static std::atomic<std::size_t> count = 0;
  return count;
}
inline void log_line(int level, unsigned long, const char*, int, const char* format, ...) {
  std::array<char, 2048> text = {};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  logged().push_back((level == abi::log_warning ? "WARN " : "INFO ") + std::string(text.data()));
  if (level == abi::log_warning) ++warnings();
}

template <int V>
struct Version;
template <>
struct Version<1> {
  using Descriptor = abi::v1::Descriptor;
  using Profiler = abi::ProfilerV1;
  using Args = abi::OldStateArgs;
};
template <>
struct Version<2> {
  using Descriptor = abi::v2::Descriptor;
  using Profiler = abi::ProfilerV2;
  using Args = abi::OldStateArgs;
};
template <>
struct Version<3> {
  using Descriptor = abi::v3::Descriptor;
  using Profiler = abi::ProfilerV3;
  using Args = abi::OldStateArgs;
};
template <>
struct Version<4> {
  using Descriptor = abi::v4::Descriptor;
  using Profiler = abi::ProfilerV4;
  using Args = abi::StateArgs;
};
template <>
struct Version<5> {
  using Descriptor = abi::v5::Descriptor;
  using Profiler = abi::ProfilerV5;
  using Args = abi::StateArgs;
};
template <>
struct Version<6> {
  using Descriptor = abi::v6::Descriptor;
  using Profiler = abi::ProfilerV6;
  using Args = abi::StateArgs;
};

// The loaded library, once for a scope.
class Library {
 public:
  Library() : handle_(dlopen(STEPSCOPE_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <int V>
  const typename Version<V>::Profiler& profiler() const {
    const std::string name = "ncclProfiler_v" + std::to_string(V);
    return *static_cast<const typename Version<V>::Profiler*>(dlsym(handle_, name.c_str()));
  }

 private:
  void* handle_ = nullptr;
};

struct Comm {
  void* context = nullptr;
  int mask = 0;
  abi::Result result = abi::Result::success;
};

struct Call {
  const char* function = "AllReduce";
  std::uint8_t function_code = 4;  // v1
  const char* datatype = "ncclFloat32";
  std::uint8_t datatype_code = 7;
  std::size_t count = 1 << 20;
  int root = 0;  // or the peer
  std::uint64_t seq = 0;
  std::uint8_t channels = 2;
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  void* parent = nullptr;
};

// One communicator of one rank under version V.
template <int V>
class Player {
 public:
  using Descriptor = typename Version<V>::Descriptor;
  using Args = typename Version<V>::Args;

  Player(const Library& library, std::uint64_t hash, int ranks, int rank,
         const char* name = "world")
      : profiler_(library.profiler<V>()), hash_(hash), rank_(rank), name_(name) {
    if constexpr (V <= 3)
      comm_.result = profiler_.init(&comm_.context, &comm_.mask);
    else if constexpr (V == 4)
      comm_.result =
          profiler_.init(&comm_.context, &comm_.mask, name, hash, 1, ranks, rank, log_line);
    else
      comm_.result =
          profiler_.init(&comm_.context, hash, &comm_.mask, name, 1, ranks, rank, log_line);
  }

  [[nodiscard]] const Comm& comm() const { return comm_; }
  [[nodiscard]] const typename Version<V>::Profiler& profiler() const { return profiler_; }
  void finalize() { EXPECT_EQ(profiler_.finalize(comm_.context), abi::Result::success); }

  Descriptor descriptor(abi::EventType type, void* parent = nullptr) const {
    Descriptor d = {};
    d.type = static_cast<decltype(d.type)>(type);
    d.parent = parent;
    d.rank = rank_;
    return d;
  }
  void* start(Descriptor d) const {
    void* handle = &d;  // must be overwritten
    EXPECT_EQ(profiler_.start_event(comm_.context, &handle, &d), abi::Result::success);
    return handle;
  }
  void stop(void* handle) const { EXPECT_EQ(profiler_.stop_event(handle), abi::Result::success); }
  void state(void* handle, abi::State state, Args args = {}) const {
    EXPECT_EQ(profiler_.record_event_state(handle, static_cast<int>(state), &args),
              abi::Result::success);
  }

  void* coll(const Call& call) const {
    Descriptor d = descriptor(abi::EventType::coll, call.parent);
    auto& c = [&]() -> auto& {
      if constexpr (V >= 5)
        return d.coll.coll;
      else
        return d.coll;
    }();
    if constexpr (V <= 3) {
      c.name = name_;
      c.comm_hash = hash_;
    }
    if constexpr (V == 1) {
      c.func = call.function_code;
      c.datatype = call.datatype_code;
      c.algorithm = 1;
      c.protocol = 2;
    } else {
      c.func = call.function;
      c.datatype = call.datatype;
      c.algorithm = call.algorithm;
      c.protocol = call.protocol;
    }
    c.seq = call.seq;
    c.count = call.count;
    c.root = call.root;
    c.channels = call.channels;
    return start(d);
  }

  void* p2p(const Call& call) const {
    Descriptor d = descriptor(abi::EventType::p2p, call.parent);
    if constexpr (V <= 3) {
      d.p2p.name = name_;
      d.p2p.comm_hash = hash_;
    }
    if constexpr (V == 1) {
      d.p2p.func = call.function_code;
      d.p2p.datatype = call.datatype_code;
    } else {
      d.p2p.func = call.function;
      d.p2p.datatype = call.datatype;
    }
    d.p2p.count = call.count;
    d.p2p.peer = call.root;
    if constexpr (V >= 4) d.p2p.channels = call.channels;
    return start(d);
  }

  // A channel of the kernel, from one GPU time to another (used since v4).
  void kernel(void* parent, std::uint8_t channel, std::uint64_t from, std::uint64_t to) const {
    if constexpr (V >= 3) {
      Descriptor d = descriptor(abi::EventType::kernel_channel, parent);
      d.kernel.channel = channel;
      if constexpr (V >= 4) d.kernel.gpu_ns = from;
      void* handle = start(d);
      if constexpr (V >= 4) {
        Args args = {};
        args.gpu_ns = to;
        state(handle, abi::State::kernel_channel_stop, args);
      }
      stop(handle);
    }
  }

  void* proxy_op(void* parent, bool sends, int peer, int pid = getpid()) const {
    Descriptor d = descriptor(abi::EventType::proxy_op, parent);
    d.proxy_op = {pid, 1, peer, 4, 1 << 19, sends ? 1 : 0};
    return start(d);
  }

  void* proxy_step(void* parent, int step) const {
    Descriptor d = descriptor(abi::EventType::proxy_step, parent);
    d.proxy_step.step = step;
    return start(d);
  }

  // Shows the plugin the GPU's timer. Repeats until a sighting takes less than 20 us, so the offset
  // is known to 20 us.
  void calibrate(std::int64_t gpu_offset) const {
    for (int i = 0; i < 100'000; ++i) {
      const std::int64_t before = now_ns();
      kernel(nullptr, 0, static_cast<std::uint64_t>(before + gpu_offset),
             static_cast<std::uint64_t>(before + gpu_offset));
      if (now_ns() - before < 20'000) return;
    }
    ADD_FAILURE() << "no call took less than 20 us";
  }

 private:
  const typename Version<V>::Profiler& profiler_;
  Comm comm_;
  std::uint64_t hash_;
  int rank_;
  const char* name_;
};

}  // namespace stepscope::nccl::test
