// SPDX-License-Identifier: Apache-2.0
// Operations are in a table by id (linear probing) and in a list by the time of their last event.
#include "plugins/nccl/collector.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "plugins/nccl/rows.h"
#include "plugins/nccl/words.h"

namespace stepscope::nccl {
namespace {

// After all channels of a call have ended, its proxy's last events come within this time.
constexpr std::int64_t settle_ns = 100'000'000;
// The wait when a part of a call has ended and the number of remaining events is unknown.
constexpr std::int64_t quiet_ns = 2'000'000'000;

// The calls of one group are enqueued within this time, the message to itself not first.
constexpr std::int64_t same_group_ns = 1'000'000;

std::uint64_t mixed(std::uint64_t id) { return (id * 0x9e3779b97f4a7c15ULL) >> 32U; }

bool complete(const Operation& operation, std::int64_t now) {
  const std::int64_t quiet = now - operation.touched;
  const std::uint32_t channels = operation.event.call.channels;
  if (operation.called && channels > 0 && operation.kernels >= channels) return quiet >= settle_ns;
  const bool something = operation.kernels > 0 || operation.proxy.operations > 0;
  return something && quiet >= quiet_ns;
}

// NCCL's default: broadcasts run as parts of an all-gather of unequal sizes.
bool gathers_broadcasts() {
  const char* enabled = std::getenv("NCCL_ALLGATHERV_ENABLE");
  return enabled == nullptr || std::strcmp(enabled, "0") != 0;
}

// The characters of a host's name that a file's name may have: [A-Za-z0-9.-].
void host_name(std::array<char, 65>& name) {
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
    std::strcpy(name.data(), "host");
  for (char* c = name.data(); *c != '\0'; ++c) {
    const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                       (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';
    if (!plain) *c = '_';
  }
}

// nccl_rank3_node01_4711; for a further session of the process nccl_rank3_node01_4711_2. While the
// rank may still change: nccl_node01_4711, nccl_node01_4711_gpu1.
struct Stem {
  std::array<char, 224> text = {};
};
Stem stem_of(const Session& session, std::uint32_t number, bool with_rank) {
  const Seat& seat = session.seats[number];
  std::array<char, 65> host = {};
  host_name(host);
  std::array<char, 32> rank = {};
  if (with_rank && seat.rank >= 0)
    std::snprintf(rank.data(), rank.size(), "rank%d_", static_cast<int>(seat.rank));
  std::array<char, 32> part = {};
  if (number > 0) std::snprintf(part.data(), part.size(), "_gpu%u", number);
  std::array<char, 32> again = {};
  if (session.runs() > 1) std::snprintf(again.data(), again.size(), "_%u", session.runs());
  Stem stem;
  std::snprintf(stem.text.data(), stem.text.size(), "nccl_%s%s_%d%s%s", rank.data(), host.data(),
                static_cast<int>(session.process), part.data(), again.data());
  return stem;
}

std::uint64_t sum(const std::array<std::atomic<std::uint64_t>, kind_count>& counts) {
  std::uint64_t total = 0;
  for (const auto& count : counts) total += count.load(std::memory_order_relaxed);
  return total;
}

// Zeroed memory; null if it cannot be allocated.
void* zeroed(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void put_fact(RowText& row, const char* key, std::uint64_t value) {
  row.put(",\n\"");
  row.put(key);
  row.put("\":");
  row.put_unsigned(value);
}

}  // namespace

bool Collector::begin(Session& session) {
  session_ = &session;
  tables_ = static_cast<Tables*>(zeroed(sizeof(Tables)));
  freed_count_ = 0;
  fresh_ = 0;
  oldest_ = 0;
  newest_ = 0;
  steps_lost_ = 0;
  recorded_ = 0;
  for (RankFile& rank : files_) rank = {};
  return tables_ != nullptr;
}

std::uint32_t Collector::bucket_of(std::uint64_t id) const {
  auto at = static_cast<std::uint32_t>(mixed(id) % buckets);
  while (tables_->slot_of[at] != 0 && tables_->operations[tables_->slot_of[at] - 1].event.id != id)
    at = (at + 1) % buckets;
  return at;
}

void Collector::link(std::uint32_t slot) {
  tables_->operations[slot].older = newest_;
  tables_->operations[slot].newer = 0;
  if (newest_ != 0)
    tables_->operations[newest_ - 1].newer = slot + 1;
  else
    oldest_ = slot + 1;
  newest_ = slot + 1;
}

void Collector::unlink(std::uint32_t slot) {
  const Operation& operation = tables_->operations[slot];
  if (operation.older != 0)
    tables_->operations[operation.older - 1].newer = operation.newer;
  else
    oldest_ = operation.newer;
  if (operation.newer != 0)
    tables_->operations[operation.newer - 1].older = operation.older;
  else
    newest_ = operation.older;
}

// Entries after a freed bucket move up, so probing never meets a hole too early.
void Collector::remove(std::uint32_t slot) {
  std::uint32_t hole = bucket_of(tables_->operations[slot].event.id);
  for (std::uint32_t at = (hole + 1) % buckets; tables_->slot_of[at] != 0;
       at = (at + 1) % buckets) {
    const auto home = static_cast<std::uint32_t>(
        mixed(tables_->operations[tables_->slot_of[at] - 1].event.id) % buckets);
    if ((at + buckets - home) % buckets < (at + buckets - hole) % buckets) continue;
    tables_->slot_of[hole] = tables_->slot_of[at];
    hole = at;
  }
  tables_->slot_of[hole] = 0;
  unlink(slot);
  tables_->freed[freed_count_++] = slot;
}

Operation& Collector::operation_of(std::uint64_t id, std::int64_t now) {
  std::uint32_t bucket = bucket_of(id);
  std::uint32_t slot = 0;
  if (tables_->slot_of[bucket] != 0) {
    slot = tables_->slot_of[bucket] - 1;
    unlink(slot);
  } else {
    if (freed_count_ == 0 && fresh_ == most_operations) {
      const std::uint32_t quietest = oldest_ - 1;
      write_operation(tables_->operations[quietest]);
      remove(quietest);
      bucket = bucket_of(id);
    }
    slot = freed_count_ > 0 ? tables_->freed[--freed_count_] : fresh_++;
    tables_->operations[slot] = {};
    tables_->operations[slot].event.id = id;
    tables_->slot_of[bucket] = slot + 1;
  }
  tables_->operations[slot].touched = now;
  link(slot);
  return tables_->operations[slot];
}

void Collector::add(Event& event, std::int64_t now) {
  if (event.start < session_->began) return;  // of an earlier session, stopped too late for it
  ++recorded_;
  switch (event.kind) {
    case Kind::coll:
    case Kind::p2p:
      return add_call(event, now);
    case Kind::kernel_channel:
      add_channel(event, now);
      break;
    case Kind::proxy_op:
      add_proxy_operation(event, now);
      break;
    case Kind::proxy_step:
      close_wait(event);
      add_proxy_step(event, now);
      break;
    case Kind::coll_api:
      tables_->api_calls[mixed(event.id) % most_api_calls] = {
          event.id, event.call.count, event.call.function, event.call.datatype};
      break;
    default:
      break;
  }
  // Copy-engine collectives have no other rows.
  const auto bit = 1U << static_cast<unsigned>(event.kind);
  if ((session_->settings.rows & bit) != 0 || event.kind == Kind::ce_coll) write_row(event);
}

void Collector::add_call(const Event& event, std::int64_t now) {
  Operation& operation = operation_of(event.id, now);
  operation.event = event;
  operation.called = true;
  note_miscount(event);
  RankFile& rank = file_of(event.context);
  operation.correlation = ++rank.correlation;
  RowText row;
  put_enqueue(
      row, operation,
      {&session_->communicators[event.context], session_->process, 0, operation.correlation});
  write(rank, row);
}

void Collector::note_miscount(const Event& call) {
  std::int64_t& from = tables_->miscounts_from[call.context];
  if (from != 0) return;
  const Communicator& communicator = session_->communicators[call.context];
  const bool to_itself = call.kind == Kind::p2p && call.call.peer >= 0 &&
                         call.call.peer == communicator.rank.load(std::memory_order_relaxed);
  const bool broadcast = call.kind == Kind::coll &&
                         call.call.function == static_cast<std::uint8_t>(Function::broadcast) &&
                         communicator.interface >= 6 && gathers_broadcasts();
  if (!to_itself && !broadcast) return;
  from = call.start - same_group_ns;
  session_->log(true,
                "stepscope: NCCL (2.26 to 2.30.7) miscounts the work of communicator 0x%llx after "
                "a %s; the GPU times of its calls are not used, NCCL's proxy times them, or "
                "nothing does%s",
                static_cast<unsigned long long>(communicator.hash.load(std::memory_order_relaxed)),
                to_itself ? "message of a rank to itself" : "broadcast",
                to_itself ? "" : " (NCCL_ALLGATHERV_ENABLE=0 avoids it)");
}

bool Collector::misdated(const Operation& operation) const {
  const std::int64_t from = tables_->miscounts_from[operation.event.context];
  return from != 0 && operation.event.start >= from && operation.kernels > 0;
}

void Collector::add_channel(const Event& event, std::int64_t now) {
  GpuClock& clock = file_of(event.context).clock;
  if (event.kernel.gpu_start != 0) clock.saw(event.kernel.gpu_start, event.start);
  if (event.kernel.gpu_stop != 0) clock.saw(event.kernel.gpu_stop, event.stop);
  if (event.parent == 0) return;
  Operation& operation = operation_of(event.parent, now);
  if (!operation.called) operation.event.context = event.context;
  add_kernel(operation, event);
}

Collector::Proxy& Collector::proxy_of(std::uint64_t id) {
  Proxy& proxy = tables_->proxies[mixed(id) % most_proxies];
  if (proxy.id == id) return proxy;
  steps_lost_ += proxy.sums.steps;
  proxy = {};
  proxy.id = id;
  return proxy;
}

void Collector::add_proxy_operation(const Event& event, std::int64_t now) {
  Proxy& proxy = proxy_of(event.id);
  if (event.parent == 0) {
    proxy.foreign = true;
  } else {
    Operation& operation = operation_of(event.parent, now);
    if (!operation.called) operation.event.context = event.context;
    add_proxy(operation, event);
    add_sums(operation.proxy, proxy.sums);
    proxy.operation = event.parent;
  }
  proxy.sums = {};
}

// Steps mostly end before their operation.
void Collector::add_proxy_step(const Event& event, std::int64_t now) {
  if (event.parent == 0) return;
  Proxy& proxy = proxy_of(event.parent);
  if (proxy.foreign) return;
  add_step(proxy.operation == 0 ? proxy.sums : operation_of(proxy.operation, now).proxy, event);
}

void Collector::add_unfinished(const Event& event) { ++file_of(event.context).unfinished; }

void Collector::settle(std::int64_t now) {
  std::uint32_t at = oldest_;
  while (at != 0) {
    const std::uint32_t slot = at - 1;
    at = tables_->operations[slot].newer;
    if (now - tables_->operations[slot].touched < settle_ns) break;
    if (!complete(tables_->operations[slot], now)) continue;
    write_operation(tables_->operations[slot]);
    remove(slot);
  }
}

void Collector::take_api_type(Operation& operation) const {
  CallPayload& call = operation.event.call;
  const ApiCall& asked = tables_->api_calls[mixed(operation.event.parent) % most_api_calls];
  const std::uint64_t bytes = asked.count * dtype_bytes(asked.datatype);
  if (operation.event.parent == 0 || asked.id != operation.event.parent || bytes == 0 ||
      asked.function != call.function || bytes != call.count * dtype_bytes(call.datatype))
    return;
  call.count = asked.count;
  call.datatype = asked.datatype;
}

void Collector::write_operation(Operation& operation) {
  RankFile& rank = file_of(operation.event.context);
  if (!operation.called) {
    ++rank.orphans;
    return;
  }
  const bool foreign = misdated(operation);
  if (foreign) ++rank.misdated;
  const DeviceTime time = device_time(operation, rank.clock, !foreign);
  ++rank.timings[static_cast<std::size_t>(time.timing)];
  if (time.timing == Timing::none) return;
  take_api_type(operation);
  const Communicator& communicator = session_->communicators[operation.event.context];
  RowText row;
  put_device(row, operation, time,
             {&communicator, 0, std::max(0, session_->seats[communicator.seat].device),
              operation.correlation});
  write(rank, row);
}

void Collector::write_row(const Event& event) {
  RowText row;
  put_event(row, event, {&session_->communicators[event.context], session_->process, 0, 0});
  write(file_of(event.context), row);
}

void Collector::write(RankFile& rank, const RowText& row) {
  if (row.overflowed() || !rank.file.append(row.text())) ++rank.rows_dropped;
}

Collector::RankFile& Collector::file_of(std::uint16_t communicator) {
  const std::uint16_t seat = session_->communicators[communicator].seat;
  if (!files_[seat].begun) open_file(seat);
  return files_[seat];
}

void Collector::open_file(std::uint32_t seat) {
  RankFile& rank = files_[seat];
  rank.begun = true;
  session_->number_ranks();
  const Settings& settings = session_->settings;
  const Stem stem = stem_of(*session_, seat, false);
  if (!rank.file.open(settings.folder.data(), stem.text.data(), settings.most_bytes)) {
    session_->log(true, "stepscope: cannot write %s: %s", rank.file.path(), std::strerror(errno));
    return;
  }
  std::array<char, 65> host = {};
  host_name(host);
  RowText head;
  head.put("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":");
  head.put_integer(session_->epoch_offset);
  head.member("host_name", host.data());
  head.member("recorded_by", "stepscope nccl plugin");
  head.member("nccl_profiler_interface", session_->communicators[0].interface);
  head.member("nccl_event_mask", session_->settings.mask);
  rank.file.append_end(head.text());
  put_distributed(rank, seat);
  RowText first;
  first.put(",\n\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":");
  first.put_integer(session_->process);
  first.put(",\"args\":{\"labels\":\"NCCL\"}}");
  rank.file.append_end(first.text());
}

// Written at the head, for files that stay incomplete, and once more at the end.
void Collector::put_distributed(RankFile& rank, std::uint32_t seat) {
  const Seat& own = session_->seats[seat];
  RowText text;
  text.put(",\n\"distributedInfo\":{\"backend\":\"nccl\"");
  if (own.rank >= 0) text.member("rank", own.rank);
  if (own.world_size > 0) text.member("world_size", own.world_size);
  text.put(",\"pg_config\":[");
  rank.file.append_end(text.text());
  bool first = true;
  const std::uint32_t count = session_->communicator_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Communicator& communicator = session_->communicators[i];
    const std::uint64_t hash = communicator.hash.load(std::memory_order_acquire);
    if (communicator.seat != seat || hash == 0) continue;
    RowText group;
    group.put(first ? "\n{" : ",\n{");
    group.put("\"backend_config\":\"cuda:nccl\"");
    group.member_hex("pg_name", hash);
    if (communicator.naming.load(std::memory_order_acquire) == 2)
      group.member("pg_desc", communicator.name.data());
    if (communicator.ranks > 0) group.member("pg_size", communicator.ranks);
    if (const std::int32_t member = communicator.rank.load(std::memory_order_relaxed); member >= 0)
      group.member("pg_rank", member);
    if (communicator.nodes > 0) group.member("nodes", communicator.nodes);
    group.put(",\"ranks\":[]}");
    rank.file.append_end(group.text());
    first = false;
  }
  rank.file.append_end("]}");
}

void Collector::put_counts(RankFile& rank) {
  RowText text;
  put_fact(text, "nccl_events_recorded", recorded_);
  put_fact(text, "nccl_events_dropped", sum(session_->counts.dropped));
  put_fact(text, "nccl_events_unfinished", rank.unfinished);
  put_fact(text, "nccl_stale_handles", session_->counts.stale.load(std::memory_order_relaxed));
  put_fact(text, "nccl_rows_dropped", rank.rows_dropped);
  put_fact(text, "nccl_children_without_call", rank.orphans);
  put_fact(text, "nccl_proxy_steps_lost", steps_lost_);
  put_fact(text, "nccl_calls_with_times_of_others", rank.misdated);
  put_fact(text, "nccl_calls_timed_by_gpu", rank.timings[0]);
  put_fact(text, "nccl_calls_timed_by_host", rank.timings[1]);
  put_fact(text, "nccl_calls_timed_by_proxy", rank.timings[2]);
  put_fact(text, "nccl_calls_untimed", rank.timings[3]);
  rank.file.append_end(text.text());
}

void Collector::flush() {
  for (RankFile& rank : files_) {
    if (!rank.file.is_open()) continue;
    rank.file.flush();
    if (rank.file.error() == 0 || std::exchange(rank.told, true)) continue;
    session_->log(true, "stepscope: cannot write %s: %s; rows are dropped until there is room",
                  rank.file.path(), std::strerror(rank.file.error()));
  }
}

void Collector::end_file(std::uint32_t seat) {
  RankFile& rank = files_[seat];
  if (!rank.file.is_open()) return;
  const std::uint32_t count = session_->communicator_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Communicator& communicator = session_->communicators[i];
    if (communicator.seat != seat) continue;
    RowText row;
    put_stream_name(row, {&communicator, 0, std::max(0, session_->seats[seat].device), 0});
    rank.file.append_end(row.text());
  }
  rank.file.append_end("\n]");
  put_distributed(rank, seat);
  put_counts(rank);
  rank.file.append_end("\n}\n");
  const Stem stem = stem_of(*session_, seat, true);
  if (!rank.file.close(session_->settings.folder.data(), stem.text.data()))
    session_->log(true, "stepscope: cannot complete %s: %s", rank.file.path(),
                  std::strerror(errno));
}

void Collector::finish() {
  while (oldest_ != 0) {
    const std::uint32_t slot = oldest_ - 1;
    write_operation(tables_->operations[slot]);
    remove(slot);
  }
  session_->number_ranks();
  for (std::uint32_t seat = 0; seat < Session::most_seats; ++seat) end_file(seat);
  munmap(tables_, sizeof(Tables));
  tables_ = nullptr;
}

}  // namespace stepscope::nccl
