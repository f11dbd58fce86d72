// SPDX-License-Identifier: Apache-2.0
// Reads GPU work first, because it shows which processes are ranks; then the work of host threads.
#include "stepscope/read/nsys/nsys.h"

#include <algorithm>
#include <utility>

#include "stepscope/read/nsys/nsys_device.h"
#include "stepscope/read/nsys/nsys_export.h"
#include "stepscope/read/nsys/nsys_host.h"
#include "stepscope/read/nsys/nsys_nccl.h"
#include "stepscope/read/nsys/nsys_process.h"
#include "stepscope/read/nsys/nsys_ranks.h"
#include "stepscope/read/rows/track_names.h"

namespace stepscope {
namespace {

void read_tables(NsysExport& nsys, NsysProcesses& processes) {
  read_nsys_work(nsys, processes);
  const bool host_only = processes.all().empty();
  read_nsys_calls(nsys, processes, host_only);
  read_nsys_ranges(nsys, processes, processes.all().empty());
  read_nsys_waits(nsys, processes);
  read_nsys_memory(nsys, processes);
  read_nsys_metrics(nsys, processes);
  read_nsys_other(nsys, processes);
}

// What the profiler says of its tracing of CUDA: the most specific text first, which is not of the
// kind "not all events might have been collected".
void keep_warning(std::string_view text, std::string& kept) {
  constexpr std::size_t longest = 200;
  if (text.find("CUDA") == text.npos) return;
  const auto vague = [](std::string_view t) {
    return t.starts_with("No CUDA events") || t.starts_with("Not all CUDA events");
  };
  if (kept.empty() || (vague(kept) && !vague(text))) kept = text.substr(0, longest);
}

// Losses and warnings that the profiler itself reports.
void read_diagnostics(NsysExport& nsys) {
  constexpr std::int64_t warning = 2;
  constexpr std::array<std::string_view, 2> columns = {"severity", "text"};
  nsys.each_row("DIAGNOSTIC_EVENT", columns, [&](const SqliteRows& row) {
    const std::string_view text = row.text(1);
    const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
    if (row.integer(0) >= warning) keep_warning(text, nsys.warning);
    if (has("dropped") || has("lost") || has("buffer full") || has("might have been collected"))
      nsys.note("profiler_reports_lost_events");
  });
}

void set_metadata(const NsysExport& nsys, const std::vector<NsysGpu>& gpus, const std::string& path,
                  NsysProcess& process) {
  Metadata& metadata = process.trace.metadata;
  metadata.path = path;
  metadata.backend = metadata.groups.empty() ? "" : "nccl";
  metadata.clock = nsys.utc_start ? Clock::unix_epoch : Clock::relative;
  metadata.base = nsys.utc_start.value_or(Ns{0});
  metadata.file_bytes = nsys.file.file_bytes();
  metadata.text_bytes = nsys.file.bytes();
  if (!nsys.host.empty()) metadata.texts["host_name"] = nsys.host;
  if (!nsys.version.empty()) metadata.texts["nsys_version"] = nsys.version;
  if (!nsys.warning.empty()) metadata.texts[std::string(profiler_warning_key)] = nsys.warning;
  if (!nsys.schema.empty()) metadata.texts["nsys_schema_version"] = nsys.schema;
  for (const NsysGpu& gpu : gpus)
    if (gpu.global_pid == 0 || static_cast<std::int64_t>(gpu.global_pid) == process.pid())
      metadata.devices.push_back(gpu.properties);
  if (process.trace.memory.size() > 0) metadata.with_memory = true;
  const auto& dims = process.trace.ops.input_dims;
  if (std::ranges::any_of(dims, [](StringId id) { return id != empty_string; }))
    metadata.with_shapes = true;
  for (std::vector<Ns>* column :
       {&process.trace.slices.start, &process.trace.memory.time, &process.trace.counters.time})
    for (Ns& t : *column) t += metadata.base;
}

Error nothing_in_it(const NsysExport& nsys, const std::string& path) {
  if (nsys.window)
    return {.what = "no CUDA work and no whole range lies within --filter-time",
            .file = path,
            .byte = {},
            .hint = "instants count from the start of the capture, as nsys shows them"};
  return {
      .what = nsys.notes.truncated
                  ? "a damaged export: no CUDA work and no ranges can be read from it"
                  : "an Nsight Systems export whose capture has no CUDA work and no NVTX ranges" +
                        (nsys.warning.empty() ? "" : "; it warns: " + nsys.warning),
      .file = path,
      .byte = {},
      .hint = nsys.notes.truncated ? "copy it again, or export the report again"
                                   : "record with nsys profile --trace=cuda,nvtx"};
}

Result<std::vector<Trace>> read_from(Result<SqliteFile> file, const std::string& path,
                                     const std::optional<TimeWindow>& window) {
  if (!file) return file.error();
  auto nsys = open_nsys(std::move(*file), path);
  if (!nsys) return nsys.error();
  if (window && nsys->utc_start == Ns{0})
    return Error{.what = "its times are of the calendar, not since the capture began",
                 .file = path,
                 .byte = {},
                 .hint = "for --filter-time export the report without --ts-normalize"};
  if (window) nsys->open_window(*window);
  NsysProcesses processes;
  read_tables(*nsys, processes);
  if (nsys->interrupted) return interrupted(path);
  read_diagnostics(*nsys);
  auto& all = processes.all();
  std::erase_if(all, [](const auto& p) { return p->trace.slices.size() == 0; });
  if (all.empty()) return nothing_in_it(*nsys, path);
  for (const auto& process : all) add_nccl_collectives(*nsys, *process);
  find_nsys_ranks(*nsys, processes);
  const std::vector<NsysGpu> gpus = read_nsys_gpus(*nsys);
  std::vector<Trace> traces;
  for (const auto& process : all) {
    set_metadata(*nsys, gpus, path, *process);
    order_tracks(process->trace);
    traces.push_back(std::move(process->trace));
  }
  traces.front().notes.merge(nsys->notes);
  return traces;
}

}  // namespace

Result<std::vector<Trace>> read_nsys(const std::string& path, const ReadControl& control) {
  return read_from(SqliteFile::open(path, {control.stop, control.bytes_read}), path,
                   control.window);
}

Result<std::vector<Trace>> read_nsys_bytes(std::string_view bytes, const std::string& name,
                                           const ReadControl& control) {
  return read_from(SqliteFile::open_bytes(bytes, name, {control.stop, control.bytes_read}), name,
                   control.window);
}

}  // namespace stepscope
