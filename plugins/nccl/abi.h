// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler interface, versions 1 to 6, in its memory layout on 64-bit Linux. NCCL looks up
// the newest ncclProfiler_vN that a library has, and passes its descriptors by address. Every
// member is at NCCL's place; only members that the plugin reads have meaningful names.
//
//   v1  NCCL 2.23           v3  2.26    v5  2.28
//   v2  NCCL 2.24 and 2.25  v4  2.27    v6  2.29 and 2.30
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nccl::abi {

// ncclResult_t
enum class Result : int { success = 0, system_error = 2 };

// The kinds of events, one bit each: `type` of a descriptor, and the mask that init() sets.
enum class EventType : std::uint64_t {
  group = 1U << 0U,
  coll = 1U << 1U,
  p2p = 1U << 2U,
  proxy_op = 1U << 3U,
  proxy_step = 1U << 4U,
  proxy_ctrl = 1U << 5U,
  kernel_channel = 1U << 6U,  // since v3
  net_plugin = 1U << 7U,
  group_api = 1U << 8U,  // since v5
  coll_api = 1U << 9U,
  p2p_api = 1U << 10U,
  kernel_launch = 1U << 11U,
  ce_coll = 1U << 12U,  // since v6: collectives of the copy engines
  ce_sync = 1U << 13U,
  ce_batch = 1U << 14U
};

// The states that recordEventState() passes.
enum class State : int {
  send_posted = 0,  // 0 to 7: of a proxy operation, until v3
  recv_done = 7,
  send_gpu_wait = 8,  // 8 to 12, and 20: of a proxy step
  send_wait = 9,
  recv_wait = 10,
  recv_flush_wait = 11,
  recv_gpu_wait = 12,
  ctrl_idle = 13,  // 13 to 18: of the proxy's thread
  ctrl_append_end = 18,
  proxy_op_in_progress = 19,  // since v4
  send_peer_wait = 20,
  net_plugin_update = 21,
  kernel_channel_stop = 22
};

// ncclDebugLogger_t; level 2 warns, 3 informs; the flags are subsystems.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);
inline constexpr int log_warning = 2;
inline constexpr int log_info = 3;
inline constexpr unsigned long log_profile = 0x4000;

using Buffer = const void*;

struct ProxyOp {
  int pid;  // of the requesting process; another process if a peer's NIC is used
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct ProxyStep {
  int step;
};
struct NetPlugin {
  std::int64_t id;
  const void* data;
};
// The data of the built-in network plugins, at NetPlugin::data.
struct NetIb {
  std::uint8_t type;
  int device;
  std::uint64_t work_request;
  int opcode;
  int queue_pair;
  std::size_t bytes;
};
struct NetSocket {
  std::uint8_t type;
  int descriptor;
  int operation;
  std::size_t bytes;
};

namespace v1 {
struct Coll {
  const char* name;
  std::uint64_t comm_hash;
  std::uint64_t seq;
  std::uint8_t func;
  Buffer send;
  Buffer recv;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t op;
  std::size_t traffic_bytes;
  std::uint8_t channels;  // at most
  std::uint8_t warps;
  std::uint8_t algorithm;
  std::uint8_t protocol;
  int is_coll_net;
  int is_nvls;
};
struct P2p {
  const char* name;
  std::uint64_t comm_hash;
  std::uint8_t func;
  Buffer buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};
struct Descriptor {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
  };
};
}  // namespace v1

namespace v2 {
struct Coll {
  const char* name;
  std::uint64_t comm_hash;
  std::uint64_t seq;
  const char* func;
  Buffer send;
  Buffer recv;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t traffic_bytes;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct P2p {
  const char* name;
  std::uint64_t comm_hash;
  const char* func;
  Buffer buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};
struct Descriptor {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
  };
};
}  // namespace v2

namespace v3 {
struct Coll {
  const char* name;
  std::uint64_t comm_hash;
  std::uint64_t seq;
  const char* func;
  Buffer send;
  Buffer recv;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
using P2p = v2::P2p;
struct KernelChannel {
  std::uint8_t channel;
};
struct Descriptor {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel;
    NetPlugin net;
  };
};
}  // namespace v3

namespace v4 {
struct Coll {
  std::uint64_t seq;
  const char* func;
  Buffer send;
  Buffer recv;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct P2p {
  const char* func;
  Buffer buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t gpu_ns;  // the GPU's globaltimer
};
struct Descriptor {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel;
    NetPlugin net;
  };
};
}  // namespace v4

namespace v5 {
struct Coll {
  v4::Coll coll;
  void* group;
};
struct P2p {
  const char* func;
  Buffer buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
};
struct GroupApi {
  bool graph_captured;
  int depth;
};
struct CollApi {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graph_captured;
};
struct P2pApi {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graph_captured;
};
struct KernelLaunch {
  void* stream;
};
struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    v4::KernelChannel kernel;
    NetPlugin net;
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch launch;
  };
};
}  // namespace v5

namespace v6 {
struct CeColl {
  std::uint64_t seq;
  const char* func;
  Buffer send;
  Buffer recv;
  std::size_t count;
  int root;
  const char* datatype;
  const char* strategy;
  bool intra_batch_sync;
  std::uint32_t batch_size;
  std::uint32_t batches;
  std::uint32_t ce_seq;
  void* stream;
};
struct CeSync {
  bool is_complete;
  int ranks;
};
struct CeBatch {
  int operations;
  std::size_t bytes;
  bool uses_intra_sync;
};
struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    v5::Coll coll;
    v5::P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    v4::KernelChannel kernel;
    NetPlugin net;
    v5::GroupApi group_api;
    v5::CollApi coll_api;
    v5::P2pApi p2p_api;
    v5::KernelLaunch launch;
    CeColl ce_coll;
    CeSync ce_sync;
    CeBatch ce_batch;
  };
};
}  // namespace v6

// The arguments of a state, until v3 and since v4.
union OldStateArgs {
  struct {
    std::size_t bytes;
    int steps;
  } proxy_op;
  struct {
    int appended;
  } proxy_ctrl;
};
union StateArgs {
  std::size_t step_bytes;
  int appended;
  void* net_data;
  std::uint64_t gpu_ns;
};

// The exported objects: six words each.
template <class Init, class Descriptor, class Args>
struct Profiler {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Descriptor* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, Args* args);
  Result (*finalize)(void* context);
};
using InitOld = Result (*)(void** context, int* mask);
using InitV4 = Result (*)(void** context, int* mask, const char* comm_name, std::uint64_t comm_hash,
                          int nodes, int ranks, int rank, Logger logger);
using InitV5 = Result (*)(void** context, std::uint64_t comm_id, int* mask, const char* comm_name,
                          int nodes, int ranks, int rank, Logger logger);
using ProfilerV1 = Profiler<InitOld, v1::Descriptor, OldStateArgs>;
using ProfilerV2 = Profiler<InitOld, v2::Descriptor, OldStateArgs>;
using ProfilerV3 = Profiler<InitOld, v3::Descriptor, OldStateArgs>;
using ProfilerV4 = Profiler<InitV4, v4::Descriptor, StateArgs>;
using ProfilerV5 = Profiler<InitV5, v5::Descriptor, StateArgs>;
using ProfilerV6 = Profiler<InitV5, v6::Descriptor, StateArgs>;

static_assert(sizeof(void*) == 8 && sizeof(ProfilerV1) == 48 && sizeof(ProfilerV6) == 48);
static_assert(sizeof(v1::Descriptor) == 120 && sizeof(v2::Descriptor) == 128);
static_assert(sizeof(v3::Descriptor) == 120 && sizeof(v4::Descriptor) == 104);
static_assert(sizeof(v5::Descriptor) == 112 && sizeof(v6::Descriptor) == 112);
static_assert(offsetof(v1::Descriptor, parent) == 8 && offsetof(v1::Descriptor, coll) == 24);
static_assert(offsetof(v6::Descriptor, parent) == 8 && offsetof(v6::Descriptor, coll) == 24);
static_assert(offsetof(v1::Coll, protocol) == 83 && offsetof(v2::Coll, protocol) == 96);
static_assert(offsetof(v3::Coll, protocol) == 88 && offsetof(v4::Coll, protocol) == 72);
static_assert(offsetof(v5::Coll, group) == 80 && offsetof(v5::P2p, group) == 40);
static_assert(offsetof(v4::KernelChannel, gpu_ns) == 8 && offsetof(v6::CeColl, stream) == 80);
static_assert(sizeof(OldStateArgs) == 16 && sizeof(StateArgs) == 8);

}  // namespace stepscope::nccl::abi
