// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/rows.h"

#include <array>
#include <cstring>

#include "plugins/nccl/words.h"

namespace stepscope::nccl {
namespace {

// NCCL runs a communicator's calls one after the other on any CUDA stream. Each communicator has a
// row of its own.
std::int64_t stream_of(const Communicator& communicator) { return communicator.number + 1; }

bool is_function(const CallPayload& call, Function function) {
  return call.function == static_cast<std::uint8_t>(function);
}

// ncclAllReduce_RING_LL128: NCCL's choice for this call, not the name of the kernel that ran it.
void put_name(RowText& row, const CallPayload& call, bool detailed) {
  const char* function = function_text(call.function);
  row.put("nccl");
  row.put(function == nullptr ? "Operation" : function);
  if (!detailed) return;
  const char* algorithm = algorithm_text(call.algorithm);
  const char* protocol = protocol_text(call.protocol);
  if (algorithm == nullptr || protocol == nullptr) return;
  row.put("_");
  row.put(algorithm);
  row.put("_");
  row.put(protocol);
}

void begin_row(RowText& row, const char* phase, const char* category, std::int64_t process,
               std::int64_t thread) {
  row.put(",\n{\"ph\":\"");
  row.put(phase);
  row.put("\",\"cat\":\"");
  row.put(category);
  row.put("\",\"pid\":");
  row.put_integer(process);
  row.put(",\"tid\":");
  row.put_integer(thread);
  row.put(",\"name\":\"");
}

void put_time(RowText& row, std::int64_t start) {
  row.put("\",\"ts\":");
  row.put_microseconds(start);
}

void put_span(RowText& row, std::int64_t start, std::int64_t stop) {
  put_time(row, start);
  row.put(",\"dur\":");
  row.put_microseconds(stop > start ? stop - start : 0);
}

// The elements that this rank sends and receives. NCCL's count is the elements that one rank sends
// (all-gather, gather), receives (reduce-scatter, scatter), or exchanges with one peer
// (all-to-all). -1 = not known.
struct Elements {
  std::int64_t in;
  std::int64_t out;
};
Elements elements_of(const CallPayload& call, std::int32_t ranks) {
  const auto count = static_cast<std::int64_t>(call.count);
  const bool fits = ranks > 0 && count >= 0 && count < (std::int64_t{1} << 62U) / ranks;
  const std::int64_t all = fits ? count * ranks : -1;
  switch (static_cast<Function>(call.function)) {
    case Function::all_gather:
    case Function::gather:
      return {count, all};
    case Function::reduce_scatter:
    case Function::scatter:
      return {all, count};
    case Function::all_to_all:
      return {all, all};
    default:
      return {count, count};
  }
}

void put_group(RowText& row, const Communicator& communicator) {
  if (communicator.ranks > 0) row.member("Group size", communicator.ranks);
  const std::uint64_t hash = communicator.hash.load(std::memory_order_acquire);
  if (hash != 0) row.member_hex("Process Group Name", hash);
  if (communicator.naming.load(std::memory_order_acquire) == 2 && communicator.name[0] != '\0')
    row.member("Process Group Description", communicator.name.data());
}

// The root or peer of these calls. The own rank for any other call and for unknown functions.
std::int32_t rank_of(const CallPayload& call, const Communicator& communicator) {
  const bool names_another =
      is_function(call, Function::broadcast) || is_function(call, Function::reduce) ||
      is_function(call, Function::gather) || is_function(call, Function::scatter) ||
      is_function(call, Function::send) || is_function(call, Function::recv);
  return names_another ? call.peer : communicator.rank.load(std::memory_order_relaxed);
}

void put_call(RowText& row, const CallPayload& call, const Communicator& communicator) {
  if (const char* name = collective_name(call.function); name != nullptr)
    row.member("Collective name", name);
  if (const char* dtype = dtype_name(call.datatype); dtype != nullptr) row.member("dtype", dtype);
  const Elements elements = elements_of(call, communicator.ranks);
  if (elements.in >= 0) row.member("In msg nelems", elements.in);
  if (elements.out >= 0) row.member("Out msg nelems", elements.out);
  put_group(row, communicator);
  if (const std::int32_t rank = rank_of(call, communicator); rank >= 0) row.member("Rank", rank);
  if (call.ordinal >= 0) {
    row.member("Seq", call.ordinal);
    row.put(",\"NCCL seq\":");
    row.put_unsigned(call.nccl_seq);
  }
  if (const char* text = algorithm_text(call.algorithm); text != nullptr)
    row.member("algorithm", text);
  if (const char* text = protocol_text(call.protocol); text != nullptr)
    row.member("protocol", text);
  if (call.channels > 0) row.member("channels", call.channels);
}

void put_proxy_sums(RowText& row, const ProxySums& sums) {
  constexpr std::array<const char*, wait_count> keys = {
      "send waits for GPU ns", "send waits for peer ns", "send in network ns",
      "receive in network ns", "receive flush ns",       "receive waits for GPU ns"};
  if (sums.operations == 0) return;
  row.member("proxy operations", sums.operations);
  row.member("proxy ns", sums.last - sums.first);
  if (sums.sent_bytes > 0) row.member("sent bytes", static_cast<std::int64_t>(sums.sent_bytes));
  if (sums.received_bytes > 0)
    row.member("received bytes", static_cast<std::int64_t>(sums.received_bytes));
  if (sums.steps == 0) return;
  row.member("proxy steps", sums.steps);
  for (std::size_t i = 0; i < wait_count; ++i)
    if (sums.waited_ns[i] > 0) row.member(keys[i], static_cast<std::int64_t>(sums.waited_ns[i]));
}

const char* state_name(std::int8_t state) {
  constexpr std::array<const char*, 6> names = {"idle",    "active", "sleep",
                                                "wake up", "append", "append end"};
  const int at = state - static_cast<int>(abi::State::ctrl_idle);
  return at >= 0 && at < 6 ? names[static_cast<std::size_t>(at)] : "proxy thread";
}

// A range of a host thread.
void put_range(RowText& row, const Event& event, const RowPlace& place) {
  begin_row(row, "X", "user_annotation", place.process, event.thread);
  switch (event.kind) {
    case Kind::coll_api:
    case Kind::p2p_api:
      put_name(row, event.call, false);
      break;
    case Kind::kernel_launch:
      row.put("NCCL kernel launch");
      break;
    default:
      row.put(event.kind == Kind::group_api ? "ncclGroup" : "NCCL group");
  }
  put_span(row, event.start, event.stop);
  row.put(",\"args\":{\"interface\":");
  row.put_integer(place.communicator->interface);
  if (event.kind == Kind::coll_api || event.kind == Kind::p2p_api) {
    row.put(",\"count\":");
    row.put_unsigned(event.call.count);
    row.member("graph captured", event.call.graph_captured ? 1 : 0);
    row.member_hex("CUDA stream", event.call.stream);
  } else if (event.kind == Kind::group_api) {
    row.member("depth", event.other.number);
    row.member("graph captured", event.other.flag ? 1 : 0);
  } else if (event.kind == Kind::kernel_launch) {
    row.member_hex("CUDA stream", event.other.stream);
  }
  row.put("}}");
}

void put_kernel_args(RowText& row, const KernelPayload& kernel) {
  row.member("channel", kernel.channel);
  row.put(",\"GPU start ns\":");
  row.put_unsigned(kernel.gpu_start);
  row.put(",\"GPU stop ns\":");
  row.put_unsigned(kernel.gpu_stop);
}

void put_proxy_args(RowText& row, const Event& event) {
  const ProxyPayload& proxy = event.proxy;
  row.member("channel", proxy.channel);
  if (event.kind == Kind::proxy_op) {
    row.member("peer", proxy.peer);
    row.member("steps", proxy.steps);
  } else {
    row.member("step", proxy.steps);
  }
  if (proxy.bytes > 0) row.member("bytes", static_cast<std::int64_t>(proxy.bytes));
}

void put_async_name(RowText& row, const Event& event) {
  switch (event.kind) {
    case Kind::kernel_channel:
      return row.put("channel");
    case Kind::proxy_op:
      return row.put(event.proxy.sends ? "proxy send" : "proxy receive");
    case Kind::proxy_step:
      return row.put("proxy step");
    case Kind::proxy_ctrl:
      return row.put(state_name(event.proxy.state));
    case Kind::coll:
    case Kind::p2p:
    case Kind::ce_coll:
      return put_name(row, event.call, false);
    case Kind::ce_sync:
      return row.put("copy engine sync");
    case Kind::ce_batch:
      return row.put("copy engine batch");
    default:
      return row.put(event.net.type == 2 ? "socket" : "queue pair");
  }
}

void put_async_args(RowText& row, const Event& event, const RowPlace& place) {
  row.put(",\"args\":{\"event\":\"");
  row.put_hex(event.id);
  row.put("\"");
  if (event.parent != 0) row.member_hex("parent", event.parent);
  if (place.correlation != 0) row.member("correlation", place.correlation);
  switch (event.kind) {
    case Kind::kernel_channel:
      put_kernel_args(row, event.kernel);
      break;
    case Kind::proxy_op:
    case Kind::proxy_step:
      put_proxy_args(row, event);
      break;
    case Kind::ce_coll:
      put_call(row, event.call, *place.communicator);
      break;
    case Kind::ce_sync:
      row.member("ranks", event.other.number);
      break;
    case Kind::ce_batch:
      row.member("operations", event.other.number);
      row.member("bytes", static_cast<std::int64_t>(event.other.bytes));
      break;
    case Kind::net_plugin:
      row.member("device", event.net.device);
      row.member(event.net.type == 2 ? "descriptor" : "queue pair", event.net.queue_pair);
      row.member("operation", event.net.operation);
      row.member("bytes", static_cast<std::int64_t>(event.net.bytes));
      break;
    default:
      break;
  }
  row.put("}");
}

const char* async_category(Kind kind) {
  switch (kind) {
    case Kind::kernel_channel:
      return "nccl_channel";
    case Kind::proxy_op:
      return "nccl_proxy";
    case Kind::proxy_step:
      return "nccl_proxy_step";
    case Kind::proxy_ctrl:
      return "nccl_proxy_thread";
    case Kind::net_plugin:
      return "nccl_net";
    default:
      return "nccl_copy_engine";
  }
}

void put_id(RowText& row, std::uint64_t id) {
  row.put(",\"id\":\"");
  row.put_hex(id);
  row.put("\"");
}

void put_async_pair(RowText& row, const Event& event, const char* category, const RowPlace& place) {
  begin_row(row, "b", category, place.process, event.thread);
  put_async_name(row, event);
  put_time(row, event.start);
  put_id(row, event.id);
  put_async_args(row, event, place);
  row.put("}");
  begin_row(row, "e", category, place.process, event.thread);
  put_async_name(row, event);
  put_time(row, event.stop > event.start ? event.stop : event.start);
  put_id(row, event.id);
  row.put("}");
}

}  // namespace

// Asynchronous: the host's call is not a launch that explains idle time, because the file lacks the
// compute in between.
void put_enqueue(RowText& row, const Operation& operation, const RowPlace& place) {
  const Event& event = operation.event;
  put_async_pair(row, event, "nccl_enqueue", place);
}

void put_device(RowText& row, const Operation& operation, const DeviceTime& time,
                const RowPlace& place) {
  const CallPayload& call = operation.event.call;
  const Communicator& communicator = *place.communicator;
  begin_row(row, "X", "kernel", place.device, stream_of(communicator));
  put_name(row, call, true);
  put_span(row, time.start, time.stop);
  row.put(",\"args\":{\"device\":");
  row.put_integer(place.device);
  row.member("stream", stream_of(communicator));
  row.member("correlation", place.correlation);
  put_call(row, call, communicator);
  row.member("timing", timing_text(time.timing));
  if (operation.kernels > 0) row.member("channels seen", operation.kernels);
  if (time.timing == Timing::gpu) {
    row.put(",\"GPU start ns\":");
    row.put_unsigned(operation.gpu_first);
    row.put(",\"GPU stop ns\":");
    row.put_unsigned(operation.gpu_last);
  }
  put_proxy_sums(row, operation.proxy);
  row.put("}}");
}

void put_event(RowText& row, const Event& event, const RowPlace& place) {
  switch (event.kind) {
    case Kind::group:
    case Kind::group_api:
    case Kind::coll_api:
    case Kind::p2p_api:
    case Kind::kernel_launch:
      return put_range(row, event, place);
    default:
      break;
  }
  put_async_pair(row, event, async_category(event.kind), place);
}

void put_stream_name(RowText& row, const RowPlace& place) {
  const Communicator& communicator = *place.communicator;
  row.put(",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":");
  row.put_integer(place.device);
  row.put(",\"tid\":");
  row.put_integer(stream_of(communicator));
  row.put(",\"args\":{\"name\":\"communicator ");
  row.put_hex(communicator.hash.load(std::memory_order_acquire));
  row.put("\"}}");
}

}  // namespace stepscope::nccl
