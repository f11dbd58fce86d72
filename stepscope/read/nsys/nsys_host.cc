// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_host.h"

#include <algorithm>
#include <cctype>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/nsys/nsys_nccl.h"

namespace stepscope {
namespace {

// cudaLaunchKernel_v7000, cudaMemcpyAsync_ptsz_v7000 → the names in torch.profiler.
std::string_view api_name(std::string_view name) {
  if (const std::size_t at = name.rfind("_v"); at != std::string_view::npos) {
    const std::string_view digits = name.substr(at + 2);
    const bool version = digits.size() >= 4 && std::ranges::all_of(digits, [](unsigned char c) {
                           return std::isdigit(c) != 0;
                         });
    if (version) name = name.substr(0, at);
  }
  for (const std::string_view stream : {"_ptsz", "_ptds"})
    if (name.ends_with(stream)) name.remove_suffix(stream.size());
  return name;
}

NsysProcess* process_of(NsysProcesses& processes, std::int64_t global_tid, bool create) {
  const std::uint64_t pid = nsys_pid(global_tid);
  return create ? &processes.get(pid) : processes.find(pid);
}

// A start/end range like "iteration 3" may end on another thread. It counts for the thread it began
// on.
enum NvtxType : std::int64_t {
  category_name = 33,
  mark = 34,
  thread_name = 39,
  push_pop = 59,
  start_end = 60,
  nvtxt_push_pop = 70,
  nvtxt_start_end = 71,
  domain_create = 75,
};

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_word_letter(c) || c == '.'; });
}

// aten::mm, flash_attn::_flash_attn_forward, AddmmBackward0; not FSDP::pre_forward (layers.0).
bool names_operator(std::string_view name) {
  if (name == "record_param_comms" || name.starts_with("autograd::engine::") ||
      name.starts_with("torch::autograd::"))
    return true;
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos || colons == 0) return false;
  const bool lower = std::islower(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_';
  return lower && is_word(name.substr(0, colons)) && is_word(name.substr(colons + 2));
}

void add_operator(NsysExport& nsys, NsysProcess& process, const EmittedOperator& emitted,
                  const SqliteRows& row, TrackId track) {
  Trace& trace = process.trace;
  std::uint32_t detail = no_row;
  if (emitted.sequence >= 0 || !emitted.sizes.empty()) {
    detail = static_cast<std::uint32_t>(trace.ops.size());
    trace.ops.input_dims.push_back(trace.strings.intern(emitted.sizes));
    trace.ops.input_types.push_back(empty_string);
    trace.ops.concrete_inputs.push_back(empty_string);
    trace.ops.sequence.push_back(emitted.sequence);
    trace.ops.forward_thread.push_back(0);
  }
  process.add(nsys,
              {.name = trace.strings.intern(emitted.name),
               .track = track,
               .category = emitted.is_operator ? Category::cpu_op : Category::user_annotation,
               .detail = detail},
              row.integer(0), end_of(row, 1));
}

// Adds a range or a name. The text is the row's own or a registered one.
void add_range(NsysExport& nsys, NsysProcess& process, const NcclSchemas& schemas,
               const SqliteRows& row) {
  const TrackId track = process.host_track(nsys_tid(row.integer(5)));
  const std::string_view own = row.text(3);
  if (const auto emitted = parse_emitted(own.empty() ? nsys.texts.text(row.integer(4)) : own))
    return add_operator(nsys, process, *emitted, row, track);
  StringId name = own.empty() ? process.name(nsys.texts, row.integer(4), empty_string)
                              : process.trace.strings.intern(own);
  if (name == empty_string) {
    nsys.note("range_without_name");
    name = process.trace.strings.intern("unnamed range");
  }
  const SliceId slice =
      process.add(nsys, {.name = name, .track = track, .category = Category::user_annotation},
                  row.integer(0), end_of(row, 1));
  const std::string_view text = process.trace.strings[name];
  if (slice == no_slice || !is_nccl_call(text)) return;
  NcclCall call{.slice = slice,
                .tid = nsys_tid(row.integer(5)),
                .start = process.trace.slices.start[index(slice)],
                .end = process.trace.slices.end(slice),
                .name = text};
  if (!row.is_null(6)) read_nccl_payload(row.text(6), schemas, call);
  process.nccl.push_back(call);
}

// A range that the window cuts would be a step with a part of its work.
bool lies_outside(const NsysExport& nsys, const SqliteRows& row) {
  if (!nsys.window) return false;
  return row.integer(0) < nsys.window->from.count() || row.is_null(1) ||
         row.integer(1) > nsys.window->until.count();
}

// Communicators are created once, before the steps, so their data is read outside the window too.
void add_outside(NsysExport& nsys, NsysProcess& process, const NcclSchemas& schemas,
                 const SqliteRows& row) {
  const std::string_view own = row.text(3);
  const std::string_view text = own.empty() ? nsys.texts.text(row.integer(4)) : own;
  if (!text.starts_with("ncclComm") || row.is_null(6)) return;
  NcclCall call{.tid = nsys_tid(row.integer(5)),
                .start = Ns{row.integer(0)},
                .end = Ns{row.integer(0)},
                .name = process.trace.strings[process.trace.strings.intern(text)]};
  read_nccl_payload(row.text(6), schemas, call);
  process.nccl.push_back(call);
}

std::optional<int> mpi_rank(std::string_view name) {
  constexpr std::string_view head = "MPI Rank ";
  if (!name.starts_with(head)) return std::nullopt;
  const auto rank = number_of<int>(name.substr(head.size()));
  return rank && *rank >= 0 ? rank : std::nullopt;
}

// A table of calls on host threads: the column of their name, and their category.
struct CallTable {
  std::string_view table;
  std::string_view name;
  Category category;
};
constexpr std::array<CallTable, 9> call_tables = {{
    {"OSRT_API", "nameId", Category::other},
    {"CUBLAS_EVENTS", "nameId", Category::other},
    {"CUDNN_EVENTS", "nameId", Category::other},
    {"MPI_P2P_EVENTS", "textId", Category::user_annotation},
    {"MPI_COLLECTIVES_EVENTS", "textId", Category::user_annotation},
    {"MPI_START_WAIT_EVENTS", "textId", Category::user_annotation},
    {"MPI_OTHER_EVENTS", "textId", Category::user_annotation},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "nameId", Category::overhead},
    {"PROFILER_OVERHEAD", "nameId", Category::overhead},
}};

void read_names(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 2> thread_columns = {"globalTid", "nameId"};
  constexpr std::array<std::string_view, 2> process_columns = {"globalPid", "name"};
  constexpr std::array<std::string_view, 2> rank_columns = {"globalTid", "rank"};
  nsys.each_row("ThreadNames", thread_columns, [&](const SqliteRows& row) {
    NsysProcess* process = processes.find(nsys_pid(row.integer(0)));
    if (process == nullptr) return;
    const StringId name = process->name(nsys.texts, row.integer(1), empty_string);
    const std::int64_t tid = nsys_tid(row.integer(0));
    for (Track& track : process->trace.tracks)
      if (!track.device && track.tid == tid) track.thread_name = name;
    if (const auto rank = mpi_rank(process->trace.strings[name])) process->rank_by_name = rank;
  });
  nsys.each_row("PROCESSES", process_columns, [&](const SqliteRows& row) {
    NsysProcess* process = processes.find(nsys_pid(row.integer(0)));
    if (process == nullptr) return;
    const StringId name = process->trace.strings.intern(row.text(1));
    for (Track& track : process->trace.tracks)
      if (!track.device) track.process_name = name;
  });
  nsys.each_row("MPI_RANKS", rank_columns, [&](const SqliteRows& row) {
    NsysProcess* process = processes.find(nsys_pid(row.integer(0)));
    const std::int64_t rank = row.integer(1);
    if (process != nullptr && rank >= 0 && rank < 100'000'000)
      process->rank_by_name = static_cast<int>(rank);
  });
}

}  // namespace

std::optional<EmittedOperator> parse_emitted(std::string_view text) {
  const std::size_t sequence = text.find(", seq = ");
  const std::size_t op = text.find(", op_id = ");
  const std::size_t sizes = text.find(", sizes = ");
  const std::size_t end = std::min({sequence, op, sizes});
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  EmittedOperator emitted;
  emitted.name = text.substr(0, end);
  if (sequence != std::string_view::npos)
    emitted.sequence =
        std::max(leading_number<std::int32_t>(text.substr(sequence + 8)).value_or(-1), -1);
  if (sizes != std::string_view::npos) {
    emitted.sizes = text.substr(sizes + 10);
    emitted.sizes = emitted.sizes.substr(0, emitted.sizes.find(", input_op_ids = "));
    if (!emitted.sizes.starts_with('[') || !emitted.sizes.ends_with(']')) emitted.sizes = {};
  }
  emitted.is_operator = emitted.sequence >= 0 || names_operator(emitted.name);
  return emitted;
}

void read_nsys_calls(NsysExport& nsys, NsysProcesses& processes, bool create) {
  constexpr std::array<std::string_view, 6> columns = {"start",         "end",    "globalTid",
                                                       "correlationId", "nameId", "returnValue"};
  struct Api {
    std::string text;
    Category category = Category::driver;
    bool known = false;
  };
  const SqliteTable* table = nsys.file.table("CUPTI_ACTIVITY_KIND_RUNTIME");
  const bool results = table != nullptr && table->has("returnValue");
  std::vector<Api> apis(nsys.texts.size());
  const NsysProcess* last = nullptr;
  std::vector<StringId>* ids = nullptr;
  std::map<const NsysProcess*, std::vector<StringId>> ids_of;
  std::uint64_t elsewhere = 0;
  const bool there =
      nsys.each_row_in_window("CUPTI_ACTIVITY_KIND_RUNTIME", columns, [&](const SqliteRows& row) {
        const std::int64_t global = row.integer(2);
        NsysProcess* process = process_of(processes, global, create);
        if (process == nullptr) {
          ++elsewhere;
          return;
        }
        if (process != last) {
          ids = &ids_of[process];
          if (ids->empty()) ids->assign(apis.size() + 1, NsysProcess::unmapped);
          last = process;
        }
        const std::uint32_t place = nsys.texts.place(row.integer(4));
        if (place == NsysTexts::none) return nsys.note("call_without_name");
        Api& api = apis[place];
        if (!api.known) {
          api.text = api_name(nsys.texts[place]);
          api.category = api.text.starts_with("cuda") ? Category::runtime : Category::driver;
          api.known = true;
        }
        StringId& name = (*ids)[place];
        if (name == NsysProcess::unmapped) name = process->trace.strings.intern(api.text);
        // Queries return codes that are no failures; an allocation fails for lack of room.
        const bool failed = results && row.integer(5) != 0 &&
                            contains_any(api.text, {"Malloc", "Alloc", "MemCreate"});
        process->add(
            nsys,
            {.name =
                 failed ? process->trace.strings.intern(api.text + std::string(failed_call)) : name,
             .track = process->host_track(nsys_tid(global)),
             .category = api.category,
             .correlation = nsys_correlation(row.integer(3))},
            row.integer(0), end_of(row, 1));
      });
  if (!there) nsys.note("missing_table_CUPTI_ACTIVITY_KIND_RUNTIME");
  if (results)
    for (const auto& process : processes.all())
      process->trace.metadata.texts.emplace(call_results_key, "1");
  if (elsewhere > 0) nsys.note("calls_of_processes_without_gpu_work", elsewhere);
}

void read_nsys_ranges(NsysExport& nsys, NsysProcesses& processes, bool create) {
  constexpr std::array<std::string_view, 7> columns = {"start",  "end",       "eventType", "text",
                                                       "textId", "globalTid", "binaryData"};
  const NcclSchemas schemas = read_nccl_schemas(nsys);
  std::uint64_t elsewhere = 0;
  std::uint64_t outside = 0;
  const bool there = nsys.each_row("NVTX_EVENTS", columns, [&](const SqliteRows& row) {
    const std::int64_t type = row.integer(2);
    const bool range =
        type == push_pop || type == start_end || type == nvtxt_push_pop || type == nvtxt_start_end;
    if (!range && type != thread_name) {
      if (type == mark) nsys.note("nvtx_mark_not_used");
      return;
    }
    NsysProcess* process = process_of(processes, row.integer(5), create && range);
    if (process == nullptr) {
      ++elsewhere;
      return;
    }
    if (range && lies_outside(nsys, row)) {
      ++outside;
      return add_outside(nsys, *process, schemas, row);
    }
    if (range) return add_range(nsys, *process, schemas, row);
    const std::string_view own = row.text(3);
    const auto rank = mpi_rank(own.empty() ? nsys.texts.text(row.integer(4)) : own);
    if (rank) process->rank_by_name = rank;
  });
  if (!there) nsys.note("missing_table_NVTX_EVENTS");
  if (outside > 0) nsys.note("outside_filter_time", outside);
  if (elsewhere > 0) nsys.note("ranges_of_processes_without_gpu_work", elsewhere);
}

void read_nsys_other(NsysExport& nsys, NsysProcesses& processes) {
  for (const CallTable& of : call_tables) {
    const std::array<std::string_view, 4> columns = {"start", "end", "globalTid", of.name};
    nsys.each_row_in_window(of.table, columns, [&](const SqliteRows& row) {
      NsysProcess* process = processes.find(nsys_pid(row.integer(2)));
      if (process == nullptr) return;
      const StringId name = process->name(nsys.texts, row.integer(3), empty_string);
      process->add(nsys,
                   {.name = name,
                    .track = process->host_track(nsys_tid(row.integer(2))),
                    .category = of.category},
                   row.integer(0), end_of(row, 1));
    });
  }
  read_names(nsys, processes);
}

}  // namespace stepscope
