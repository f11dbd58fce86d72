// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/import_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

struct Reason {
  std::string_view key;
  std::string_view which;  // events
  std::string_view consequence;
};

constexpr std::array reasons = {
    Reason{"negative_duration", "that end before they begin", "their time counts as none"},
    Reason{"duration_out_of_range", "that last impossibly long", "their time counts as none"},
    Reason{"missing_duration", "without a duration", "their time counts as none"},
    Reason{"unreadable_duration", "with a duration that is no number", "their time counts as none"},
    Reason{"missing_timestamp", "without a time", "left out"},
    Reason{"unreadable_timestamp", "with a time that is no number", "left out"},
    Reason{"timestamp_out_of_range", "with an impossible time", "left out"},
    Reason{"size_out_of_range", "with an impossible size", "it counts as not recorded"},
    Reason{"event_without_phase", "that do not say what they are (no ph)", "left out"},
    Reason{"unknown_phase", "of an unknown phase (ph)", "left out"},
    Reason{"asynchronous_row", "asynchronous (ph b to e), on no thread", "left out"},
    Reason{"not_an_event", "that are no objects", "left out"},
    Reason{"mended_event", "in broken JSON", "read as far as they could be"},
    Reason{"truncated_event", "that are cut off", "left out"},
    Reason{"begin_without_end", "that begin and never end", "they last as long as the trace"},
    Reason{"end_without_begin", "that end without a beginning", "left out"},
    Reason{"end_of_other_name", "that end under another name", "taken for the one begun"},
    Reason{"kernel_beyond_the_next", "that outlast the next of their stream",
           "they end where it begins"},
    Reason{"rows_of_no_rank", "that belong to no rank", "left out"},
    Reason{"timestamp_of_an_unknown_clock", "of a clock that no snapshot joins to the trace's",
           "left out"},
    Reason{"oversized_argument", "with an argument of more than a megabyte", "read without it"},
    Reason{"counter_without_a_name", "that are readings of an unknown counter", "left out"},
    Reason{"unreadable_value", "that are readings of no number", "left out"},
    Reason{"operation_without_a_name", "whose name the file does not hold", "left out"},
    Reason{"kernel_without_its_dispatch", "that are kernels of no device", "left out"},
    Reason{"rows_not_of_a_stream", "of planes and lines that are not read (TPUs, modules, steps)",
           "left out"},
    Reason{"unknown_device", "on a device that the file does not describe", "taken for the first"},
};

// Facts about exports of Nsight Systems and about Perfetto traces: {} is how often.
struct Fact {
  std::string_view key;
  std::string_view sentence;
};
constexpr std::array import_facts = {
    Fact{"missing_table_CUPTI_ACTIVITY_KIND_KERNEL",
         "the export has no kernels: record with nsys profile --trace=cuda,nvtx"},
    Fact{"missing_table_CUPTI_ACTIVITY_KIND_RUNTIME",
         "the export has no CUDA calls: why the device idles stays unknown"},
    Fact{"missing_table_NVTX_EVENTS",
         "the export has no NVTX ranges: no steps, no phases, no operators"},
    Fact{"missing_table_StringIds", "the export has no texts (StringIds): names are missing"},
    Fact{"no_session_start_time",
         "an export does not say when it began (TARGET_INFO_SESSION_START_TIME): its ranks cannot "
         "be compared in time"},
    Fact{"no_gpu_description",
         "the export does not describe its GPUs (TARGET_INFO_GPU): --machine or --peak-tflops "
         "name the peak"},
    Fact{"write_ahead_log_not_read",
         "a write-ahead log lies next to the export: rows that stand only there are missing; "
         "sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)' moves them in"},
    Fact{"ranks_by_order_of_devices",
         "ranks are numbered by device: the export says neither MPI's nor NCCL's"},
    Fact{"nccl_call_without_payload",
         "{} calls of NCCL have no payload, so sizes and groups of collectives are unknown: "
         "nsys export --include-blobs=true"},
    Fact{"nccl_group_not_told_apart",
         "{} groups of NCCL calls run in kernels of another number: their sizes stay unknown"},
    Fact{"outside_filter_time", "{} rows outside --filter-time are left out"},
    Fact{"nccl_calls_of_one_kernel",
         "{} calls of NCCL share a kernel with others: the first of each kernel counts"},
    Fact{"cuda_graph_recorded_as_a_whole",
         "{} launches of CUDA graphs are one row each and count as compute: nsys profile "
         "--cuda-graph-trace=node records their kernels"},
    Fact{"stream_wait_without_its_event_record",
         "{} waits of streams do not say what they wait for: no dependency time from them"},
    Fact{"wait_in_an_unknown_context", "{} waits of streams of an unknown device are left out"},
    Fact{"profiler_reports_lost_events",
         "the profiler itself reports lost events ({} messages): sums are too small"},
    Fact{"calls_of_processes_without_gpu_work",
         "{} CUDA calls of processes without work on a GPU are left out"},
    Fact{"ranges_of_processes_without_gpu_work",
         "{} NVTX ranges of processes without work on a GPU are left out"},
    Fact{"nvtx_mark_not_used", "{} NVTX marks have no duration and are left out"},
    Fact{"open_at_the_end", "{} rows were open when the capture ended and end with it"},
    Fact{
        "packet_without_its_state",
        "{} packets refer to texts that were lost before them (a ring buffer that ran over, a lost "
        "chunk) and are left out"},
    Fact{"damaged_packet", "{} packets are damaged: what stands before the damage is read"},
    Fact{"oversized_packet", "{} packets are larger than 64 MiB and are left out"},
    Fact{"too_many_sequences", "{} packets of more than 65536 sequences are left out"},
    Fact{"too_many_tracks", "{} events of more than 262144 tracks are left out"},
    Fact{"not_a_packet",
         "what follows in the file is no packet of a trace: it is read up to there; copy it again"},
    Fact{"unprintable_name",
         "{} names hold control characters or bytes that are no UTF-8: � stands for each"},
    Fact{"clock_out_of_range",
         "a clock snapshot has an impossible time: instants stay on the trace's own clock"},
    Fact{"nccl_events_dropped",
         "NCCL's plugin had no room for {} events, and what they tell is missing: select fewer "
         "with STEPSCOPE_NCCL_EVENTS (docs/reference/nccl-plugin.md)"},
    Fact{"nccl_calls_with_times_of_others",
         "the GPU times of {} calls are not used, because NCCL may have given them those of other "
         "calls: they have the times of its proxy or none (docs/reference/nccl-plugin.md)"},
    Fact{"no_categories",
         "no row of a file has a category (cat): nothing tells operators, calls and kernels apart"},
    Fact{"cut_compression", "a compressed file ends before its data do: what it holds is read"},
    Fact{"damaged_compression",
         "the compressed data of a file are damaged: what stands before the damage is read; copy "
         "it again"},
    Fact{"unterminated_array", "the events of a file have no end: those before it are read"},
    Fact{"metric_of_no_rank", "{} samples of GPU metrics belong to no rank and are left out"},
};

constexpr std::string_view damaged_table = "damaged_table_";

}  // namespace

std::string import_note_in_words(std::string_view reason, std::uint64_t count) {
  const auto known = std::ranges::find(reasons, reason, &Reason::key);
  if (known != reasons.end())
    return fmt::format("events {}: {}; {} ({})", known->which, count, known->consequence, reason);
  const auto fact = std::ranges::find(import_facts, reason, &Fact::key);
  if (fact != import_facts.end()) {
    std::string sentence(fact->sentence);
    if (const std::size_t at = sentence.find("{}"); at != std::string::npos)
      sentence.replace(at, 2, std::to_string(count));
    return sentence;
  }
  if (reason.starts_with(damaged_table))
    return fmt::format(
        "the database is damaged: table {} was read only as far as it goes; export it again",
        reason.substr(damaged_table.size()));
  return fmt::format("the input is damaged: {} ({} times)", reason, count);
}

}  // namespace stepscope
