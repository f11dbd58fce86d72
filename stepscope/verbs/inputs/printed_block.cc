// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/printed_block.h"

#include <algorithm>
#include <iterator>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

struct BlockMark {
  // The begin of a line; behind "any:" a text anywhere in a line, behind "cells:" the units of two
  // cells of a line whose cells all begin with a digit.
  std::string_view begin;
  PrintedBlock block;
};

constexpr std::string_view anywhere = "any:";
constexpr std::string_view in_cells = "cells:";

constexpr std::string_view give_snapshot =
    R"(stepscope memory reads what torch.cuda.memory._dump_snapshot("snapshot.pickle") writes)";
constexpr PrintedBlock memory_profile = {
    "Memory Profile", "the allocator's blocks",
    R"(stepscope memory reads what torch.cuda.memory._dump_snapshot("snapshot.pickle") writes; )"
    "stepscope analyze has the memory of each phase of a trace with profile_memory=True"};
constexpr PrintedBlock memory_sums = {"Memory by Source",
                                      "the allocator's blocks and their lifetimes", give_snapshot};
constexpr PrintedBlock memory_diagnostic = {"Memory Diagnostic", "the allocator's blocks",
                                            give_snapshot};
constexpr PrintedBlock memory_breakdown = {
    "Memory Breakdown", "the model and the plan that it was computed from",
    "stepscope predict MODEL --machine NAME --gpus N --global-batch N --seq N has the memory of "
    "each part"};
constexpr PrintedBlock bottlenecks = {
    "Bottleneck Analysis", "the times of single steps",
    R"(give stepscope check the recorded lists as JSON ({"forward": […], "backward": […], )"
    R"("allreduce": […]}) with --unit, or give stepscope analyze a trace)"};
constexpr PrintedBlock overlap_sums = {
    "Overlap Efficiency", "the times of single steps",
    "give stepscope check a CSV with compute_ms,comm_ms,step_ms and one line a step"};
constexpr PrintedBlock rounded_fit = {
    "Alpha-Beta Measurement", "sizes and times that are not rounded",
    "give stepscope calibrate MACHINE.json --from a CSV with size_bytes,time_s"};
constexpr PrintedBlock fitted_line = {
    "Alpha-Beta Calibration", "the measured sizes and times",
    "give stepscope calibrate MACHINE.json --from the JSON of the results (measurements with size "
    "and time), or a CSV with size_bytes,time_s"};
constexpr PrintedBlock algorithms = {
    "AllReduce Comparison", "the machine and the number of ranks",
    "stepscope predict --collective all_reduce --bytes SIZE --group N --machine NAME compares the "
    "algorithms"};
constexpr PrintedBlock bucket_means = {
    "Bucket Analysis", "the sizes of the buckets and what ran beside them",
    "stepscope analyze TRACES -v has the buckets of a recorded run"};
constexpr PrintedBlock bucket_sizes = {
    "Bucket Size Optimization", "the times of single steps",
    "stepscope sweep --vary bucket=1,25,100 -- COMMAND {bucket} measures sizes and shows ties; "
    "stepscope compare A B takes the step times of two sizes"};
constexpr PrintedBlock tensor_parallel = {
    "Tensor Parallelism Communication", "what ran beside the calls",
    "stepscope analyze TRACES has the communication of each dimension, exposed and hidden"};
constexpr PrintedBlock bubble = {
    "Pipeline Bubble Analysis", "the times of the stages",
    "stepscope analyze TRACES has the bubble of a recorded run; stepscope predict MODEL --machine "
    "NAME --gpus N --pp STAGES --global-batch N --seq N that of a plan"};
constexpr PrintedBlock zero_stage = {
    "ZeRO Stage Analysis", "the model and the plan",
    "stepscope predict MODEL --machine NAME --gpus N --global-batch N --seq N --vary "
    "zero=0,1,2,3 has the memory and the data sent of each stage"};
constexpr PrintedBlock ab_means = {
    "A/B Comparison", "the times of single steps",
    "stepscope compare A B takes two lists of step times, one number a line"};
constexpr PrintedBlock straggler = {
    "Straggler detected", "the step times of the other ranks",
    "give stepscope check the times of all ranks: [[100.1, 99.8], [100.2, 99.9]] as JSON, one "
    "list a rank"};
constexpr PrintedBlock offsets = {
    "Timeline offsets", "the events of the ranks",
    "stepscope analyze TRACES corrects the clocks of the ranks itself"};
constexpr PrintedBlock checklist = {
    "diagnostic checklist", "answers",
    "stepscope check TRACES --list answers each question with its evidence"};
constexpr PrintedBlock operator_sums = {
    "table of key_averages()", "the time at which each operator ran",
    R"(give stepscope analyze the trace: prof.export_chrome_trace("rank0.json"))"};
constexpr PrintedBlock nsys_sums = {
    "sums of nsys stats", "the time at which each call and kernel ran",
    "give stepscope analyze what nsys export --type sqlite REPORT.nsys-rep writes"};
constexpr PrintedBlock rocprof_rows = {
    "table of rocprof", "the rows of other threads and devices",
    "give stepscope analyze a trace: rocprofv3 --sys-trace --output-format json -- COMMAND"};
constexpr PrintedBlock single_kernels = {
    "report of Nsight Compute", "the time at which each kernel ran",
    "give stepscope analyze a recording of the whole step: nsys profile, then nsys export --type "
    "sqlite"};
constexpr PrintedBlock horovod_timeline = {
    "timeline of Horovod", "operators and kernels",
    "give stepscope analyze a trace of torch.profiler or Nsight Systems"};
constexpr PrintedBlock collective_sums = {
    "summary of a collective", "the sizes and times of single calls",
    "stepscope analyze TRACES -v has the bandwidth of each kind of collective; stepscope calibrate "
    "MACHINE.json --from fits a CSV with size_bytes,time_s"};
constexpr PrintedBlock mfu_figures = {
    "MFU measurement", "the times of single steps",
    "give stepscope check a list of step times, one number a line, with --model NAME "
    "--global-batch N --seq N --machine NAME --gpus N"};
constexpr PrintedBlock statistics = {
    "mean, min and max of a quantity", "the values of the single ranks and steps",
    "give stepscope check the times of all ranks: [[100.1, 99.8], [100.2, 99.9]] as JSON, one "
    "list a rank"};
constexpr PrintedBlock link_efficiency = {
    "Communication efficiency", "the collective, its size and its group",
    "stepscope predict --collective NAME --bytes SIZE --group N --machine NAME has the time that "
    "the links allow; stepscope analyze TRACES -v the measured bandwidth"};
constexpr PrintedBlock profiler_notice = {
    "notice of a finished profile", "the traces",
    "give stepscope analyze the folder that the notice names"};
constexpr PrintedBlock drawing = {
    "drawing of a timeline", "times",
    "stepscope analyze TRACES --html FILE draws the timeline of a recorded run"};

constexpr PrintedBlock nvbandwidth = {
    "nvbandwidth", "sizes and times of collectives, and steps",
    "run nccl-tests, to whose output stepscope calibrate MACHINE.json --from FILE fits the links"};
constexpr PrintedBlock ucc_perftest = {
    "ucc_perftest", "the number of ranks",
    "write a CSV with size_bytes,time_us of its sizes and average times, which stepscope calibrate "
    "MACHINE.json --from FILE --collective NAME --ranks N takes"};
constexpr PrintedBlock ib_perftest = {"ib_write_bw, ib_read_bw or ib_send_bw",
                                      "collectives and steps",
                                      "write its rate into scale_out of a machine file "
                                      "(docs/reference/machines.md), or run nccl-tests "
                                      "for stepscope calibrate MACHINE.json --from FILE"};
constexpr PrintedBlock comms_summary = {
    "DeepSpeed's summary of communication", "the times of steps",
    "give stepscope check the whole log of the job, beside whose steps it shows this table"};
constexpr PrintedBlock dmon = {
    "nvidia-smi dmon", "the time of each reading",
    "give stepscope check TRACES the output of nvidia-smi --query-gpu=timestamp,index,"
    "utilization.gpu,power.draw --format=csv -l 1"};
constexpr PrintedBlock readings = {
    "readings of GPUs by nvidia-smi", "the names of their columns",
    "give stepscope check TRACES the output of nvidia-smi --query-gpu=timestamp,index,"
    "utilization.gpu,power.draw --format=csv -l 1, without noheader"};
constexpr PrintedBlock old_mlperf = {
    "MLPerf before 0.7", "the times of steps",
    "give a log of MLPerf 0.7 or later (:::MLLOG), or what the training program itself printed"};

constexpr BlockMark marks[] = {
    {"nvbandwidth Version:", nvbandwidth},
    {"any:memcpy CE ", nvbandwidth},
    {"Count        Size                Time, us", ucc_perftest},
    {"any:BW peak[", ib_perftest},
    {"any:Comm. Op            Message Size", comms_summary},
    {"# gpu    pwr ", dmon},
    {"# gpu     sm ", dmon},
    {"cells: %, MiB", readings},
    {":::MLPv0.", old_mlperf},
    {"=== Memory Profile ===", memory_profile},
    {"any:\"max_allocated_GB\"", memory_profile},
    {"any:'max_allocated_GB'", memory_profile},
    {"any:\"peak_mb\"", memory_profile},
    {"any:'peak_mb'", memory_profile},
    {"=== Memory by Source ===", memory_sums},
    {"=== Memory Diagnostic ===", memory_diagnostic},
    {"=== Theoretical Memory Breakdown ===", memory_breakdown},
    {"| Component | Memory |", memory_breakdown},
    {"=== Bottleneck Analysis ===", bottlenecks},
    {"=== Overlap Efficiency ===", overlap_sums},
    {"any:\"overlap_efficiency\"", overlap_sums},
    {"any:'overlap_efficiency'", overlap_sums},
    {"=== Alpha-Beta Measurement ===", rounded_fit},
    {"Alpha-Beta Calibration Results", fitted_line},
    {"| α (latency) |", fitted_line},
    {"any:\"alpha_us\"", fitted_line},
    {"any:'alpha_us'", fitted_line},
    {"=== AllReduce Comparison for", algorithms},
    {"=== Bucket Analysis ===", bucket_means},
    {"Bucket Size Optimization Results", bucket_sizes},
    {"| Bucket Size |", bucket_sizes},
    {"any:\"bucket_mb\"", bucket_sizes},
    {"=== Tensor Parallelism Communication ===", tensor_parallel},
    {"=== Pipeline Bubble Analysis ===", bubble},
    {"=== ZeRO Stage ", zero_stage},
    {"=== A/B Comparison ===", ab_means},
    {"Straggler detected: rank", straggler},
    {"any:: Straggler detected!", straggler},
    {"=== Straggler Impact Analysis ===", straggler},
    {"| Mean step time |", straggler},
    {"Timeline offsets (", offsets},
    {"=== Low MFU Diagnostic Checklist ===", checklist},
    {"=== Slow Communication Diagnostic ===", checklist},
    {"any:Self CPU %", operator_sums},
    {"any:Total Time (ns)", nsys_sums},
    {"any:(cuda_gpu_kern_sum)", nsys_sums},
    {"any:TotalDurationNs", rocprof_rows},
    {"any:\"Dispatch_Id\"", rocprof_rows},
    {"any:CPU HIP API", rocprof_rows},
    {"==PROF== ", single_kernels},
    {"any:NEGOTIATE_ALL", horovod_timeline},
    {"any:NEGOTIATE_BROADCAST", horovod_timeline},
    {"any:'avg_bandwidth_GBps'", collective_sums},
    {"any:\"avg_bandwidth_GBps\"", collective_sums},
    {"Time per step: ", mfu_figures},
    {"| Time per step |", mfu_figures},
    {"any:\"time_per_step_ms\"", mfu_figures},
    {"any:'time_per_step_ms'", mfu_figures},
    {"any:\"achieved_tflops\"", mfu_figures},
    {"any:'achieved_tflops'", mfu_figures},
    {"MFU: ", mfu_figures},
    {"any:{'mean': ", statistics},
    {"any:{\"mean\": ", statistics},
    {"Communication efficiency: ", link_efficiency},
    {"Profiling complete. Traces saved to", profiler_notice},
    {"|--Forward--|", drawing},
    {"|--Compute", drawing},
    {"any:: |--Compute--|", drawing},
};

// "64, 0 %, 1 MiB".
bool has_cells(std::string_view line, std::string_view units) {
  bool first = false;
  bool second = false;
  const std::size_t comma = units.find(',');
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(','), line.size());
    const std::string_view cell = trimmed(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
    if (cell.empty() || cell.front() < '0' || cell.front() > '9') return false;
    first = first || cell.ends_with(units.substr(0, comma));
    second = second || cell.ends_with(units.substr(comma + 1));
  }
  return first && second;
}

bool has_mark(std::string_view line, std::string_view mark) {
  if (mark.starts_with(in_cells)) return has_cells(line, mark.substr(in_cells.size()));
  if (!mark.starts_with(anywhere)) return trimmed(line).starts_with(mark);
  return line.find(mark.substr(anywhere.size())) != std::string_view::npos;
}

}  // namespace

const PrintedBlock* printed_block(std::string_view text) {
  const PrintedBlock* found = nullptr;
  std::string_view figure;  // the mark of `found` where it is a line alone
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    // Such lines that repeat are a log.
    if (!figure.empty() && has_mark(line, figure)) return nullptr;
    if (found != nullptr) continue;
    const auto mark =
        std::ranges::find_if(marks, [&](const BlockMark& m) { return has_mark(line, m.begin); });
    if (mark == std::end(marks)) continue;
    if (!mark->begin.ends_with(": ")) return &mark->block;
    found = &mark->block;
    figure = mark->begin;
  }
  return found;
}

Error with_printed_block(Error error) {
  if (error.file.empty() || error.code == ErrorCode::interrupted || !may_be_file(error.file))
    return error;
  if (error.hint.find("give --log-pattern") != std::string::npos) return error;  // repeated lines
  const auto source = open_source(error.file);
  if (!source) return error;
  std::string head(1 << 20, '\0');
  const auto got = (*source)->read(head);
  if (!got) return error;
  const PrintedBlock* block = printed_block(std::string_view(head).substr(0, *got));
  if (block == nullptr) return error;
  error.what = "has a printed block (" + std::string(block->name) + "), which lacks " +
               std::string(block->lacks);
  error.byte.reset();
  error.hint = block->remedy;
  return error;
}

}  // namespace stepscope
