// SPDX-License-Identifier: Apache-2.0
// Columns and enumerations: https://docs.nvidia.com/nsight-systems/UserGuide (SQLite schema). Rows
// are named as in torch.profiler, so that every analysis treats both alike.
#include "stepscope/read/nsys/nsys_device.h"

#include <algorithm>
#include <limits>

namespace stepscope {
namespace {

int device_of(NsysExport& nsys, std::int64_t device) {
  if (device >= 0 && device < 4096) return static_cast<int>(device);
  nsys.note("device_out_of_range");
  return 0;
}

void reserve(NsysExport& nsys, std::string_view table, NsysProcess& process) {
  // Reserves the rows for one process. If there are several, the surplus only costs address space.
  const auto rows = static_cast<std::size_t>(
      std::min<std::uint64_t>(nsys.file.last_row(table), nsys.file.bytes() / 16));
  Slices& s = process.trace.slices;
  const std::size_t all = s.size() + rows;
  const auto room = [&](auto&... columns) { (columns.reserve(all), ...); };
  room(s.start, s.dur, s.name, s.track, s.category, s.correlation, s.external_id, s.detail);
}

// Adds device work, whose tables begin with the same columns.
void add_work(NsysExport& nsys, NsysProcess& process, const SqliteRows& row, int device,
              StringId name, Category category, std::uint32_t detail = no_row) {
  process.add(nsys,
              {.name = name,
               .track = process.stream(device, row.integer(4)),
               .category = category,
               .correlation = nsys_correlation(row.integer(6)),
               .detail = detail},
              row.integer(0), end_of(row, 1));
  ++process.device_rows;
}

void read_kernels(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_KERNEL";
  constexpr std::array<std::string_view, 9> columns = {
      "start",     "end",           "deviceId",      "contextId", "streamId",
      "globalPid", "correlationId", "demangledName", "shortName"};
  std::int64_t last_context = std::numeric_limits<std::int64_t>::min();
  const NsysProcess* last = nullptr;
  const bool there = nsys.each_row_in_window(
      table, columns,
      [&](const SqliteRows& row) {
        NsysProcess& process = processes.get(nsys_pid(row.integer(5)));
        if (last == nullptr) reserve(nsys, table, process);
        const int device = device_of(nsys, row.integer(2));
        const std::int64_t context = row.integer(3);
        if (last != &process || context != last_context) process.device_of[context] = device;
        last = &process;
        last_context = context;
        StringId name = process.name(nsys.texts, row.integer(7), empty_string);
        if (name == empty_string) name = process.name(nsys.texts, row.integer(8), empty_string);
        if (name == empty_string) {
          nsys.note("kernel_without_name");
          name = process.trace.strings.intern("unknown kernel");
        }
        add_work(nsys, process, row, device, name, Category::kernel);
      },
      {.process = 5, .correlation = 6});
  if (!there) nsys.note("missing_table_CUPTI_ACTIVITY_KIND_KERNEL");
}

// ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND in the names of torch.profiler.
constexpr std::array<std::string_view, 14> copy_kinds = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
                                                         "AtoA",    "AtoD", "DtoA", "DtoD", "HtoH",
                                                         "PtoP",    "HtoD", "DtoH", "DtoD"};
constexpr std::array<std::string_view, 8> memory_kinds = {
    "Pageable", "Pinned",        "Device",         "Array",
    "Managed",  "Device Static", "Managed Static", "Unknown"};

// The first of the kinds that move managed memory: ENUM_CUDA_MEMCPY_OPER calls them "Unified".
constexpr std::int64_t first_unified = 11;
// ENUM_CUDA_UNIF_MEM_MIGRATION.
constexpr std::array<std::string_view, 6> migration_causes = {
    "", "prefetch", "page fault", "speculative prefetch", "eviction", "access counters"};

template <std::size_t n>
std::string_view word_of(const std::array<std::string_view, n>& words, std::int64_t kind) {
  return kind >= 0 && kind < static_cast<std::int64_t>(n) ? words[static_cast<std::size_t>(kind)]
                                                          : std::string_view("Unknown");
}

std::uint32_t add_bytes(NsysExport& nsys, Trace& trace, const SqliteRows& row, int column) {
  std::int64_t bytes = row.is_null(column) ? -1 : row.integer(column);
  if (bytes < -1 || bytes > most_nsys_bytes) {
    nsys.note("size_out_of_range");
    bytes = -1;
  }
  trace.copies.bytes.push_back(Bytes{bytes});
  return static_cast<std::uint32_t>(trace.copies.size() - 1);
}

void read_copies(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 12> columns = {
      "start",         "end",   "deviceId", "contextId", "streamId", "globalPid",
      "correlationId", "bytes", "copyKind", "srcKind",   "dstKind",  "migrationCause"};
  std::string text;
  nsys.each_row_in_window("CUPTI_ACTIVITY_KIND_MEMCPY", columns,
                          [&](const SqliteRows& row) {
                            NsysProcess& process = processes.get(nsys_pid(row.integer(5)));
                            const int device = device_of(nsys, row.integer(2));
                            process.device_of.emplace(row.integer(3), device);
                            text = "Memcpy ";
                            text += word_of(copy_kinds, row.integer(8));
                            if (row.integer(8) >= first_unified) {
                              const auto cause = word_of(migration_causes, row.integer(11));
                              text += " (Unified";
                              if (!cause.empty() && cause != "Unknown") {
                                text += ", ";
                                text += cause;
                              }
                              text += ')';
                            } else if (!row.is_null(9) && !row.is_null(10)) {
                              text += " (";
                              text += word_of(memory_kinds, row.integer(9));
                              text += " -> ";
                              text += word_of(memory_kinds, row.integer(10));
                              text += ')';
                            }
                            add_work(nsys, process, row, device, process.trace.strings.intern(text),
                                     Category::memcpy, add_bytes(nsys, process.trace, row, 7));
                          },
                          {.process = 5, .correlation = 6});
}

void read_memsets(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 9> columns = {"start",         "end",      "deviceId",
                                                       "contextId",     "streamId", "globalPid",
                                                       "correlationId", "bytes",    "memKind"};
  nsys.each_row_in_window("CUPTI_ACTIVITY_KIND_MEMSET", columns,
                          [&](const SqliteRows& row) {
                            NsysProcess& process = processes.get(nsys_pid(row.integer(5)));
                            const int device = device_of(nsys, row.integer(2));
                            process.device_of.emplace(row.integer(3), device);
                            const std::int64_t kind = row.is_null(8) ? 2 : row.integer(8);
                            const std::string text =
                                "Memset (" + std::string(word_of(memory_kinds, kind)) + ")";
                            add_work(nsys, process, row, device, process.trace.strings.intern(text),
                                     Category::memset, add_bytes(nsys, process.trace, row, 7));
                          },
                          {.process = 5, .correlation = 6});
}

// --cuda-graph-trace=graph: one row per graph launch instead of the kernels inside.
void read_graphs(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 8> columns = {
      "start", "end", "deviceId", "contextId", "streamId", "globalPid", "correlationId", "graphId"};
  nsys.each_row_in_window("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns,
                          [&](const SqliteRows& row) {
                            NsysProcess& process = processes.get(nsys_pid(row.integer(5)));
                            const int device = device_of(nsys, row.integer(2));
                            const std::string text = "CUDA graph " + std::to_string(row.integer(7));
                            add_work(nsys, process, row, device, process.trace.strings.intern(text),
                                     Category::kernel);
                            nsys.note("cuda_graph_recorded_as_a_whole");
                          },
                          {.process = 5, .correlation = 6});
}

// The streams where events were recorded, for the streams that wait for them.
struct EventRecords {
  using Key = std::tuple<std::uint64_t, std::int64_t>;  // process, eventSyncId or eventId
  struct Record {
    std::int64_t stream = -1;
    std::int64_t correlation = -1;
  };
  std::map<Key, Record> by_sync_id;
  std::map<Key, std::vector<Record>> by_event_id;
};

EventRecords read_records(NsysExport& nsys) {
  EventRecords records;
  constexpr std::array<std::string_view, 5> columns = {"globalPid", "streamId", "correlationId",
                                                       "eventId", "eventSyncId"};
  nsys.each_row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, [&](const SqliteRows& row) {
    const std::uint64_t pid = nsys_pid(row.integer(0));
    const EventRecords::Record record{row.integer(1), row.integer(2)};
    if (!row.is_null(4)) records.by_sync_id[{pid, row.integer(4)}] = record;
    records.by_event_id[{pid, row.integer(3)}].push_back(record);
  });
  for (auto& [key, list] : records.by_event_id)
    std::ranges::sort(list, {}, &EventRecords::Record::correlation);
  return records;
}

// The record that a wait is for: by the pair's own number if the export has one, else the last
// record of that event before the wait was called.
EventRecords::Record record_of(const EventRecords& records, std::uint64_t pid,
                               const SqliteRows& row, std::int64_t correlation) {
  if (!row.is_null(8) && row.integer(8) != 0) {
    const auto at = records.by_sync_id.find({pid, row.integer(8)});
    if (at != records.by_sync_id.end()) return at->second;
  }
  const auto at = records.by_event_id.find({pid, row.integer(7)});
  if (at == records.by_event_id.end()) return {};
  const auto after =
      std::ranges::upper_bound(at->second, correlation, {}, &EventRecords::Record::correlation);
  return after == at->second.begin() ? EventRecords::Record{} : *(after - 1);
}

std::int32_t small(std::int64_t v) {
  return v >= 0 && v <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(v)
                                                                 : -1;
}

}  // namespace

void read_nsys_work(NsysExport& nsys, NsysProcesses& processes) {
  read_kernels(nsys, processes);
  read_copies(nsys, processes);
  read_memsets(nsys, processes);
  read_graphs(nsys, processes);
}

// The context gives the device; deviceId of these rows is wrong in some versions.
void read_nsys_waits(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
  constexpr std::array<std::string_view, 9> columns = {"start",    "end",       "contextId",
                                                       "streamId", "globalPid", "correlationId",
                                                       "syncType", "eventId",   "eventSyncId"};
  constexpr std::array<std::string_view, 5> names = {
      "Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  if (!nsys.has(table)) return;
  const EventRecords records = read_records(nsys);
  nsys.each_row_in_window(
      table, columns,
      [&](const SqliteRows& row) {
        const std::uint64_t pid = nsys_pid(row.integer(4));
        NsysProcess* process = processes.find(pid);
        if (process == nullptr) return;
        const auto device = process->device_of.find(row.integer(2));
        if (device == process->device_of.end()) return nsys.note("wait_in_an_unknown_context");
        const std::int64_t correlation = row.integer(5);
        const std::int64_t type = row.integer(6);
        const std::int64_t stream = row.integer(3);
        EventRecords::Record record;
        if (type == 2) record = record_of(records, pid, row, correlation);
        SyncDetails& syncs = process->trace.syncs;
        syncs.stream.push_back(small(stream));
        syncs.wait_on_stream.push_back(small(record.stream));
        syncs.wait_on_record_correlation.push_back(small(record.correlation));
        if (type == 2 && record.stream < 0) nsys.note("stream_wait_without_its_event_record");
        process->add(nsys,
                     {.name = process->trace.strings.intern(
                          type >= 0 && type < 5 ? names[static_cast<std::size_t>(type)] : names[0]),
                      .track = process->stream(device->second, stream),
                      .category = Category::sync,
                      .correlation = nsys_correlation(correlation),
                      .detail = static_cast<std::uint32_t>(syncs.size() - 1)},
                     row.integer(0), end_of(row, 1));
      },
      {.process = 4, .correlation = 5});
}

// Memory that the process took from the driver: blocks of its caching allocator, not tensors.
void read_nsys_memory(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 7> columns = {
      "start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType"};
  nsys.each_row("CUDA_GPU_MEMORY_USAGE_EVENTS", columns, [&](const SqliteRows& row) {
    NsysProcess* process = processes.find(nsys_pid(row.integer(1)));
    const std::int64_t bytes = row.integer(4);
    const std::int64_t time = row.integer(0);
    if (process == nullptr || time < nsys_earliest || time > nsys_latest) return;
    if (bytes < 0 || bytes > most_nsys_bytes) return nsys.note("size_out_of_range");
    const bool on_device = row.is_null(5) || row.integer(5) == 2 || row.integer(5) == 5;
    MemoryEvents& m = process->trace.memory;
    m.time.push_back(Ns{time});
    m.track.push_back(process->host_track(process->pid()));
    m.address.push_back(static_cast<std::uint64_t>(row.integer(3)));
    m.bytes.push_back(Bytes{row.integer(6) == 0 ? bytes : -bytes});
    m.total_allocated.push_back(Bytes{-1});
    m.total_reserved.push_back(Bytes{-1});
    m.device.push_back(static_cast<std::int16_t>(on_device ? device_of(nsys, row.integer(2)) : -1));
    ++process->trace.notes.events;
  });
}

std::vector<NsysGpu> read_nsys_gpus(NsysExport& nsys) {
  std::map<std::int64_t, DeviceProperties> gpus;
  constexpr std::array<std::string_view, 7> columns = {
      "id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "uuid"};
  nsys.each_row("TARGET_INFO_GPU", columns, [&](const SqliteRows& row) {
    DeviceProperties p;
    p.name = row.text(1);
    p.total_memory = Bytes{std::clamp<std::int64_t>(row.integer(2), 0, most_nsys_bytes)};
    p.multiprocessors = std::max(small(row.integer(3)), 0);
    p.compute_major = std::max(small(row.integer(4)), 0);
    p.compute_minor = std::max(small(row.integer(5)), 0);
    p.uuid = row.text(6);
    gpus[row.integer(0)] = p;
  });
  std::vector<NsysGpu> found;
  const auto add = [&](std::uint64_t pid, std::int64_t ordinal, std::int64_t gpu) {
    const auto at = gpus.find(gpu);
    if (at == gpus.end() || ordinal < 0 || ordinal >= 4096) return;
    NsysGpu entry{pid, static_cast<int>(ordinal), gpu, at->second};
    entry.properties.id = entry.ordinal;
    found.push_back(std::move(entry));
  };
  constexpr std::array<std::string_view, 3> devices = {"gpuId", "cudaId", "pid"};
  nsys.each_row("TARGET_INFO_CUDA_DEVICE", devices, [&](const SqliteRows& row) {
    add(static_cast<std::uint64_t>(row.integer(2)), row.integer(1), row.integer(0));
  });
  // Without that table, ordinals are taken as GPU numbers. They are equal unless hidden GPUs shift
  // the ordinals.
  if (found.empty())
    for (const auto& [gpu, properties] : gpus) add(0, gpu, gpu);
  if (found.empty()) nsys.note("no_gpu_description");
  return found;
}

// Metrics are sampled per GPU and go to the process with work on that GPU.
void read_nsys_metrics(NsysExport& nsys, NsysProcesses& processes) {
  if (!nsys.has("GPU_METRICS")) return;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;  // typeId, metricId
  constexpr std::array<std::string_view, 3> infos = {"typeId", "metricId", "metricName"};
  nsys.each_row("TARGET_INFO_GPU_METRICS", infos, [&](const SqliteRows& row) {
    names[{row.integer(0), row.integer(1)}] = row.text(2);
  });
  const std::vector<NsysGpu> gpus = read_nsys_gpus(nsys);
  struct Target {
    NsysProcess* process = nullptr;
    StringId name = empty_string;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Target> targets;
  const auto target_of = [&](std::int64_t type, std::int64_t metric) {
    const auto [at, fresh] = targets.try_emplace({type, metric});
    if (!fresh) return at->second;
    const std::int64_t gpu = type & 0xFF;
    for (const auto& process : processes.all()) {
      for (const auto& [context, device] : process->device_of) {
        const bool runs_there = std::ranges::any_of(gpus, [&](const NsysGpu& g) {
          const bool of_process =
              g.global_pid == 0 || static_cast<std::int64_t>(g.global_pid) == process->pid();
          return of_process && g.gpu == gpu && g.ordinal == device;
        });
        if (runs_there || (gpus.empty() && processes.all().size() == 1))
          at->second.process = process.get();
      }
    }
    const auto name = names.find({type, metric});
    const std::string text =
        name != names.end() ? name->second : "metric " + std::to_string(metric);
    if (at->second.process != nullptr)
      at->second.name = at->second.process->trace.strings.intern(text);
    return at->second;
  };
  constexpr std::array<std::string_view, 4> columns = {"timestamp", "typeId", "metricId", "value"};
  nsys.each_row_in_window("GPU_METRICS", columns, [&](const SqliteRows& row) {
    const std::int64_t time = row.integer(0);
    const Target target = target_of(row.integer(1), row.integer(2));
    if (target.process == nullptr || time < nsys_earliest || time > nsys_latest)
      return nsys.note("metric_of_no_rank");
    Counters& c = target.process->trace.counters;
    c.time.push_back(Ns{time});
    c.metric.push_back(target.name);
    c.value.push_back(row.real(3));
    c.slice.push_back(no_slice);
    ++target.process->trace.notes.events;
  });
}

}  // namespace stepscope
