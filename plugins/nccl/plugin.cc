// SPDX-License-Identifier: Apache-2.0
// The functions that NCCL calls, for each version of its interface. Nothing here throws, waits or
// dereferences a handle. After any failure NCCL still gets success and continues without the event.
#include <pthread.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "plugins/nccl/abi.h"
#include "plugins/nccl/session.h"
#include "plugins/nccl/words.h"

namespace stepscope::nccl {
namespace {

using abi::Result;
using abi::State;

// Zeros that take no space in the file, and memory only for slots in use.
alignas(64) unsigned char slot_memory[EventPool::storage_bytes];
constinit Session session{slot_memory};

std::uint64_t handle_value(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

// ---- descriptors ----

template <class Coll>
CallPayload numbered_call(const Coll& c) {  // v1
  return {.nccl_seq = c.seq,
          .count = c.count,
          .ordinal = -1,
          .stream = 0,
          .peer = c.root,
          .function = c.func,
          .datatype = c.datatype,
          .algorithm = c.algorithm,
          .protocol = c.protocol,
          .channels = c.channels,
          .graph_captured = false};
}

CallPayload call_of(const abi::v1::Coll& c) { return numbered_call(c); }

template <class Coll>
CallPayload call_of(const Coll& c) {
  return {.nccl_seq = c.seq,
          .count = c.count,
          .ordinal = -1,
          .stream = 0,
          .peer = c.root,
          .function = function_code(c.func),
          .datatype = datatype_code(c.datatype),
          .algorithm = algorithm_code(c.algorithm),
          .protocol = protocol_code(c.protocol),
          .channels = c.channels,
          .graph_captured = false};
}

CallPayload call_of(const abi::v5::Coll& c) { return call_of(c.coll); }

CallPayload call_of(const abi::v6::CeColl& c) {
  CallPayload call = {};
  call.nccl_seq = c.seq;
  call.count = c.count;
  call.ordinal = -1;
  call.stream = handle_value(c.stream);
  call.peer = c.root;
  call.function = function_code(c.func);
  call.datatype = datatype_code(c.datatype);
  call.algorithm = unknown_word;
  call.protocol = unknown_word;
  return call;
}

CallPayload message(std::uint8_t function, std::uint8_t datatype, std::size_t count, int peer) {
  CallPayload call = {};
  call.count = count;
  call.ordinal = -1;
  call.peer = peer;
  call.function = function;
  call.datatype = datatype;
  call.algorithm = unknown_word;
  call.protocol = unknown_word;
  return call;
}

CallPayload call_of(const abi::v1::P2p& p) { return message(p.func, p.datatype, p.count, p.peer); }

template <class P2p>
CallPayload message_of(const P2p& p) {
  CallPayload call = message(function_code(p.func), datatype_code(p.datatype), p.count, p.peer);
  if constexpr (requires { p.channels; }) call.channels = p.channels;
  return call;
}
CallPayload call_of(const abi::v2::P2p& p) { return message_of(p); }
CallPayload call_of(const abi::v4::P2p& p) { return message_of(p); }
CallPayload call_of(const abi::v5::P2p& p) { return message_of(p); }

CallPayload call_of(const abi::v5::CollApi& c) {
  CallPayload call = message(function_code(c.func), datatype_code(c.datatype), c.count, c.root);
  call.stream = handle_value(c.stream);
  call.graph_captured = c.graph_captured;
  return call;
}
CallPayload call_of(const abi::v5::P2pApi& c) {
  CallPayload call = message(function_code(c.func), datatype_code(c.datatype), c.count, -1);
  call.stream = handle_value(c.stream);
  call.graph_captured = c.graph_captured;
  return call;
}

ProxyPayload proxy_of(const abi::ProxyOp& op) {
  ProxyPayload proxy = {};
  proxy.peer = op.peer;
  proxy.steps = op.steps;
  proxy.wait = -1;
  proxy.state = -1;
  proxy.channel = op.channel;
  proxy.sends = op.is_send != 0;
  return proxy;
}

ProxyPayload proxy_of(int step) {
  ProxyPayload proxy = {};
  proxy.peer = -1;
  proxy.steps = step;
  proxy.wait = -1;
  proxy.state = -1;
  return proxy;
}

NetPayload net_of(std::int64_t id, const void* data) {
  NetPayload net = {};
  net.type = static_cast<std::uint16_t>(static_cast<std::uint64_t>(id) >> 16U & 0xffffU);
  net.device = -1;
  if (data != nullptr && net.type == 1) {
    const auto& ib = *static_cast<const abi::NetIb*>(data);
    net.device = ib.device;
    net.request = ib.work_request;
    net.operation = ib.opcode;
    net.queue_pair = ib.queue_pair;
    net.bytes = ib.bytes;
  } else if (data != nullptr && net.type == 2) {
    const auto& socket = *static_cast<const abi::NetSocket*>(data);
    net.queue_pair = socket.descriptor;
    net.operation = socket.operation;
    net.bytes = socket.bytes;
  }
  return net;
}

template <class Kernel>
KernelPayload kernel_of(const Kernel& k) {
  KernelPayload kernel = {};
  kernel.channel = k.channel;
  if constexpr (requires { k.gpu_ns; }) kernel.gpu_start = k.gpu_ns;
  return kernel;
}

OtherPayload other_of(std::uint64_t stream, std::uint64_t bytes, int number, bool flag) {
  return {.stream = stream, .bytes = bytes, .number = number, .flag = flag};
}

// Until v3 a call carries its communicator's name and hash; v6's wrapper around calls does not.
template <class Call>
void introduce(Communicator& communicator, const Call& call, int rank) {
  if constexpr (requires { call.comm_hash; }) {
    if (communicator.naming.load(std::memory_order_acquire) == 2) return;
    communicator.rank.store(rank, std::memory_order_relaxed);
    communicator.hash.store(call.comm_hash, std::memory_order_release);
    Session::name(communicator, call.name);
  }
}

// Fills in the data of kinds of events that only some versions have.
template <class Descriptor>
void fill_late(Event& event, const Descriptor& d) {
  if constexpr (requires { d.kernel; }) {
    if (event.kind == Kind::kernel_channel) event.kernel = kernel_of(d.kernel);
    if (event.kind == Kind::net_plugin) event.net = net_of(d.net.id, d.net.data);
  }
  if constexpr (requires { d.group_api; }) {
    if (event.kind == Kind::group_api)
      event.other = other_of(0, 0, d.group_api.depth, d.group_api.graph_captured);
    if (event.kind == Kind::coll_api) event.call = call_of(d.coll_api);
    if (event.kind == Kind::p2p_api) event.call = call_of(d.p2p_api);
    if (event.kind == Kind::kernel_launch)
      event.other = other_of(handle_value(d.launch.stream), 0, 0, false);
  }
  if constexpr (requires { d.ce_coll; }) {
    if (event.kind == Kind::ce_coll) event.call = call_of(d.ce_coll);
    if (event.kind == Kind::ce_sync)
      event.other = other_of(0, 0, d.ce_sync.ranks, d.ce_sync.is_complete);
    if (event.kind == Kind::ce_batch)
      event.other =
          other_of(0, d.ce_batch.bytes, d.ce_batch.operations, d.ce_batch.uses_intra_sync);
  }
}

// The number of kinds of a version.
template <class Descriptor>
constexpr unsigned kinds_of() {
  if constexpr (requires(Descriptor d) { d.ce_coll; }) return 15;
  if constexpr (requires(Descriptor d) { d.group_api; }) return 12;
  if constexpr (requires(Descriptor d) { d.kernel; }) return 8;
  return 6;
}

template <class Descriptor>
void fill(Event& event, const Descriptor& d, std::int64_t ordinal) {
  switch (event.kind) {
    case Kind::coll:
      event.call = call_of(d.coll);
      event.call.ordinal = ordinal;
      break;
    case Kind::p2p:
      event.call = call_of(d.p2p);
      break;
    case Kind::proxy_op:
      event.proxy = proxy_of(d.proxy_op);
      // A peer's operation on this process's NIC: its parent is an address in the peer's process.
      if (d.proxy_op.pid != session.process) event.parent = 0;
      break;
    case Kind::proxy_step:
      event.proxy = proxy_of(d.proxy_step.step);
      if (Event* op = session.pool.find(event.parent); op != nullptr) {
        event.proxy.sends = op->proxy.sends;
        event.proxy.channel = op->proxy.channel;
      }
      break;
    case Kind::proxy_ctrl:
      event.proxy = proxy_of(-1);
      break;
    default:
      event.other = {};
      fill_late(event, d);
  }
}

// ---- calls ----

template <class Descriptor>
Result start_event(void* context, void** handle, Descriptor* descriptor) {
  if (handle == nullptr) return Result::success;
  *handle = nullptr;
  if (context == nullptr || descriptor == nullptr) return Result::success;
  Communicator* communicator = session.communicator(context);
  const auto type = static_cast<std::uint64_t>(descriptor->type);
  if (communicator == nullptr || type == 0 || (type & (type - 1)) != 0) return Result::success;
  const auto number = static_cast<unsigned>(std::countr_zero(type));
  if (number >= kinds_of<Descriptor>()) return Result::success;
  const auto kind = static_cast<Kind>(number);
  // Count it even if the event is dropped: the number must be the same on all ranks.
  std::int64_t ordinal = -1;
  if (kind == Kind::coll) {
    ordinal = communicator->collectives.fetch_add(1, std::memory_order_relaxed);
    introduce(*communicator, descriptor->coll, descriptor->rank);
  } else if (kind == Kind::p2p) {
    introduce(*communicator, descriptor->p2p, descriptor->rank);
  }
  Event* event = session.begin(*communicator, kind);
  if (event == nullptr) return Result::success;
  event->parent = handle_value(descriptor->parent);
  fill(*event, *descriptor, ordinal);
  session.pool.publish(*event);
  *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(event->id));
  return Result::success;
}

Result stop_event(void* handle) {
  if (handle == nullptr) return Result::success;
  if (!session.pool.stop(handle_value(handle), monotonic_ns()))
    session.counts.stale.fetch_add(1, std::memory_order_relaxed);
  return Result::success;
}

// The wait that a state of a proxy step begins; -1: none.
std::int8_t wait_of(State state) {
  switch (state) {
    case State::send_gpu_wait:
      return static_cast<std::int8_t>(Wait::send_gpu);
    case State::send_peer_wait:
      return static_cast<std::int8_t>(Wait::send_peer);
    case State::send_wait:
      return static_cast<std::int8_t>(Wait::send_net);
    case State::recv_wait:
      return static_cast<std::int8_t>(Wait::recv_net);
    case State::recv_flush_wait:
      return static_cast<std::int8_t>(Wait::recv_flush);
    case State::recv_gpu_wait:
      return static_cast<std::int8_t>(Wait::recv_gpu);
    default:
      return -1;
  }
}

void change_wait(ProxyPayload& proxy, State state, std::int64_t now) {
  const std::int8_t wait = wait_of(state);
  if (wait < 0) return;
  if (proxy.wait >= 0) {
    constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t waited = std::clamp<std::int64_t>(now - proxy.wait_since, 0, longest);
    proxy.waited_ns[static_cast<std::size_t>(proxy.wait)] += static_cast<std::uint32_t>(waited);
  }
  proxy.wait = wait;
  proxy.wait_since = now;
}

template <class Args>
std::uint64_t bytes_of(const Args& args) {
  if constexpr (requires { args.step_bytes; })
    return args.step_bytes;
  else
    return args.proxy_op.bytes;
}

template <class Args>
Result record_state(void* handle, int number, Args* args) {
  if (handle == nullptr) return Result::success;
  Event* event = session.pool.find(handle_value(handle));
  if (event == nullptr) {
    session.counts.stale.fetch_add(1, std::memory_order_relaxed);
    return Result::success;
  }
  const auto state = static_cast<State>(number);
  constexpr bool since_v4 = requires(Args a) { a.step_bytes; };
  switch (event->kind) {
    case Kind::kernel_channel:
      if constexpr (since_v4) {
        if (state == State::kernel_channel_stop && args != nullptr)
          event->kernel.gpu_stop = args->gpu_ns;
      }
      break;
    case Kind::proxy_step:
      change_wait(event->proxy, state, monotonic_ns());
      // Since v4 the states of a step carry its bytes; before v4 the states of its operation do.
      if (since_v4 && args != nullptr)
        event->proxy.bytes = std::max(event->proxy.bytes, bytes_of(*args));
      break;
    case Kind::proxy_op:
      if (state == State::proxy_op_in_progress && event->proxy.begun == 0)
        event->proxy.begun = monotonic_ns();
      if (!since_v4 && args != nullptr)
        event->proxy.bytes = std::max(event->proxy.bytes, bytes_of(*args));
      break;
    case Kind::proxy_ctrl:
      if (state >= State::ctrl_idle && state <= State::ctrl_append_end)
        event->proxy.state = static_cast<std::int8_t>(number);
      break;
    default:
      break;
  }
  return Result::success;
}

Result finalize(void* context) {
  if (Communicator* communicator = session.communicator(context); communicator != nullptr)
    session.close(communicator);
  return Result::success;
}

Result arrive(void** context, int* mask, const Session::Arrival& arrival) {
  if (context == nullptr) return Result::system_error;
  Communicator* communicator = session.open(arrival, mask);
  *context = communicator;
  return communicator == nullptr ? Result::system_error : Result::success;
}

template <int interface>
Result init_old(void** context, int* mask) {
  return arrive(context, mask, {.interface = interface});
}

Result init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
               int ranks, int rank, abi::Logger logger) {
  return arrive(context, mask, {4, hash, name, ranks, nodes, rank, logger});
}

template <int interface>
Result init_new(void** context, std::uint64_t hash, int* mask, const char* name, int nodes,
                int ranks, int rank, abi::Logger logger) {
  return arrive(context, mask, {interface, hash, name, ranks, nodes, rank, logger});
}

void end_session() { session.end(); }
void forget_session() { session.forget(); }

// Run when the library is loaded, and when it is unloaded or the process exits.
__attribute__((constructor)) void loaded() { pthread_atfork(nullptr, nullptr, forget_session); }
__attribute__((destructor)) void unloaded() { end_session(); }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NCCL looks up these names.
#define STEPSCOPE_EXPORT __attribute__((visibility("default"), used))
extern "C" {
STEPSCOPE_EXPORT constinit abi::ProfilerV1 ncclProfiler_v1 = {"stepscope",
                                                              init_old<1>,
                                                              start_event<abi::v1::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::OldStateArgs>,
                                                              finalize};
STEPSCOPE_EXPORT constinit abi::ProfilerV2 ncclProfiler_v2 = {"stepscope",
                                                              init_old<2>,
                                                              start_event<abi::v2::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::OldStateArgs>,
                                                              finalize};
STEPSCOPE_EXPORT constinit abi::ProfilerV3 ncclProfiler_v3 = {"stepscope",
                                                              init_old<3>,
                                                              start_event<abi::v3::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::OldStateArgs>,
                                                              finalize};
STEPSCOPE_EXPORT constinit abi::ProfilerV4 ncclProfiler_v4 = {"stepscope",
                                                              init_v4,
                                                              start_event<abi::v4::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::StateArgs>,
                                                              finalize};
STEPSCOPE_EXPORT constinit abi::ProfilerV5 ncclProfiler_v5 = {"stepscope",
                                                              init_new<5>,
                                                              start_event<abi::v5::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::StateArgs>,
                                                              finalize};
STEPSCOPE_EXPORT constinit abi::ProfilerV6 ncclProfiler_v6 = {"stepscope",
                                                              init_new<6>,
                                                              start_event<abi::v6::Descriptor>,
                                                              stop_event,
                                                              record_state<abi::StateArgs>,
                                                              finalize};
}
// NOLINTEND(readability-identifier-naming)

}  // namespace stepscope::nccl
