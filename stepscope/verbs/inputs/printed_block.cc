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
  std::string_view begin;  // of a line, or what follows one of the words below
  PrintedBlock block;
};

constexpr std::string_view anywhere = "any:";  // a text anywhere in a line
// Keys that the first object of JSON has. "*.py" is a key that ends so.
constexpr std::string_view with_keys = "keys:";
constexpr std::string_view with_numbers = "numbers:";  // and no list
// The units of two cells of a line whose cells all begin with a digit.
constexpr std::string_view in_cells = "cells:";

constexpr std::string_view single_steps = "the times of single steps";
constexpr std::string_view give_snapshot =
    "stepscope memory FILE reads what "
    R"(torch.cuda.memory._dump_snapshot("snapshot.pickle") writes)";
constexpr std::string_view predict_parts =
    "stepscope predict MODEL --machine NAME --gpus N --global-batch N --seq N has the memory of "
    "each part";
constexpr std::string_view fit_measured =
    "stepscope calibrate MACHINE.json --from FILE --machine NAME --ranks N fits a CSV with "
    "size_bytes,time_s";
constexpr std::string_view compare_lists =
    "stepscope compare A B takes two lists of step times, one number a line";
constexpr std::string_view all_ranks =
    "stepscope check FILE takes the times of all ranks: [[100.1, 99.8], [100.2, 99.9]] as JSON, "
    "one list a rank";
constexpr std::string_view check_lists =
    R"(stepscope check FILE --unit UNIT takes the recorded lists as JSON ({"forward": […], )"
    R"("backward": […], "allreduce": […]}); stepscope analyze TRACES has them of a trace)";
constexpr std::string_view trace_buckets =
    "stepscope analyze TRACES -v has the buckets of a recorded run";
constexpr std::string_view trace_dimensions =
    "stepscope analyze TRACES has the communication of each dimension, exposed and hidden";
constexpr std::string_view trace_clocks =
    "stepscope analyze TRACES corrects the clocks of the ranks itself";

constexpr PrintedBlock memory_profile = {
    "Memory Profile", "the allocator's blocks",
    R"(stepscope memory FILE reads what torch.cuda.memory._dump_snapshot("snapshot.pickle") )"
    "writes; stepscope analyze TRACES has the memory of each phase of a trace with "
    "profile_memory=True"};
constexpr PrintedBlock memory_sums = {"Memory by Source",
                                      "the allocator's blocks and their lifetimes", give_snapshot};
constexpr PrintedBlock memory_diagnostic = {"Memory Diagnostic", "the allocator's blocks",
                                            give_snapshot};
constexpr PrintedBlock memory_breakdown = {
    "Memory Breakdown", "the model and the plan that it was computed from", predict_parts};
constexpr PrintedBlock bottlenecks = {"Bottleneck Analysis", single_steps, check_lists};
constexpr PrintedBlock bound_verdict = {"Diagnosis of a bottleneck", "the times behind the verdict",
                                        check_lists};
constexpr PrintedBlock overlap_sums = {
    "Overlap Efficiency", single_steps,
    "stepscope check FILE takes a CSV with compute_ms,comm_ms,step_ms and one line a step"};
constexpr PrintedBlock rounded_fit = {"Alpha-Beta Measurement",
                                      "sizes and times that are not rounded", fit_measured};
constexpr PrintedBlock fitted_line = {
    "Alpha-Beta Calibration", "the measured sizes and times",
    "stepscope calibrate MACHINE.json --from FILE --machine NAME --ranks N fits the JSON of the "
    "results (measurements with size and time), or a CSV with size_bytes,time_s"};
constexpr PrintedBlock fit_notice = {
    "notice of a saved plot", "the measured sizes and times",
    "stepscope calibrate MACHINE.json --from FILE --machine NAME --ranks N --html PAGE draws its "
    "own"};
constexpr PrintedBlock algorithms = {
    "AllReduce Comparison", "the machine and the number of ranks",
    "stepscope predict --collective all_reduce --bytes SIZE --group N --machine NAME compares the "
    "algorithms"};
constexpr PrintedBlock bucket_means = {
    "Bucket Analysis", "the sizes of the buckets and what ran with them", trace_buckets};
constexpr PrintedBlock no_buckets = {"Bucket Analysis", "buckets", trace_buckets};
constexpr PrintedBlock bucket_sizes = {
    "Bucket Size Optimization", single_steps,
    "stepscope sweep --vary bucket=1,25,100 -- COMMAND {bucket} measures sizes and shows ties; "
    "stepscope compare A B takes the step times of two sizes"};
constexpr PrintedBlock tensor_parallel = {"Tensor Parallelism Communication",
                                          "what ran with the calls", trace_dimensions};
constexpr PrintedBlock total_alone = {"total of a time", "the calls and what ran with them",
                                      trace_dimensions};
constexpr PrintedBlock bubble = {
    "Pipeline Bubble Analysis", "the times of the stages",
    "stepscope analyze TRACES has the bubble of a recorded run; stepscope predict MODEL --machine "
    "NAME --gpus N --pp STAGES --global-batch N --seq N that of a plan"};
constexpr PrintedBlock stage_sums = {"times of a pipeline's stage",
                                     "the other stages and the order of the calls",
                                     "stepscope analyze TRACES has the bubble of a recorded run"};
constexpr PrintedBlock gather_sums = {
    "times of ZeRO-3", "the calls and what ran with them",
    "stepscope analyze TRACES says which parameters did not arrive in time"};
constexpr PrintedBlock zero_stage = {
    "ZeRO Stage Analysis", "the model and the plan",
    "stepscope predict MODEL --machine NAME --gpus N --global-batch N --seq N --vary "
    "zero=0,1,2,3 has the memory and the data sent of each stage"};
constexpr PrintedBlock model_sizes = {
    "configuration of a model", "the times of a run",
    "stepscope predict FILE --machine NAME --gpus N --global-batch N --seq N takes the model as "
    "stepscope's or Hugging Face's config.json"};
constexpr PrintedBlock ab_means = {"A/B Comparison", single_steps, compare_lists};
constexpr PrintedBlock ab_lacks = {"A/B Comparison", "results", compare_lists};
constexpr PrintedBlock throughputs = {"rates of two runs", single_steps,
                                      "stepscope compare A B takes two lists of step times, one "
                                      "number a line: 1 / rate, not the rate"};
constexpr PrintedBlock two_runs = {"times of two runs", "a file for each run", compare_lists};
constexpr PrintedBlock straggler = {"Straggler detected", "the step times of the other ranks",
                                    all_ranks};
constexpr PrintedBlock offsets = {"Timeline offsets", "the events of the ranks", trace_clocks};
constexpr PrintedBlock checklist = {
    "diagnostic checklist", "answers",
    "stepscope check TRACES --list answers each question with its evidence"};
constexpr PrintedBlock operator_sums = {
    "table of key_averages()", "the time at which each operator ran",
    R"(stepscope analyze FILE reads the trace: prof.export_chrome_trace("rank0.json"))"};
constexpr PrintedBlock nsys_sums = {
    "sums of nsys stats", "the time at which each call and kernel ran",
    "stepscope analyze FILE reads what nsys export --type sqlite REPORT.nsys-rep writes"};
constexpr PrintedBlock nvprof_print = {
    "print of nvprof", "the calls that launch each kernel",
    "stepscope analyze FILE reads a recording of the step: nsys profile, then nsys export --type "
    "sqlite"};
constexpr PrintedBlock cprofile_sums = {
    "sums of cProfile", "whole stacks, and the times of steps",
    "stepscope stacks FILE reads what py-spy record -f raw -o FILE -- COMMAND writes"};
constexpr PrintedBlock lightning_sums = {
    "report of Lightning's profiler", single_steps,
    R"(stepscope analyze FILE reads a trace: Trainer(profiler="pytorch"))"};
constexpr std::string_view of_ascend =
    "stepscope check FILE takes a CSV with compute_ms,comm_ms,step_ms and one line a step; traces "
    "of Ascend NPUs are not read";
constexpr PrintedBlock ascend_kernels = {"kernels of Ascend's profiler", "the rows of the host",
                                         of_ascend};
constexpr PrintedBlock ascend_steps = {"sums of Ascend's profiler", "the times of many steps",
                                       of_ascend};
constexpr std::string_view record_rocprof =
    "stepscope analyze FILE reads a trace: rocprofv3 --sys-trace --output-format json -- COMMAND";
constexpr PrintedBlock rocprof_sums = {"sums of rocprof", "the time at which each call ran",
                                       record_rocprof};
constexpr PrintedBlock rocprof_kernels = {"kernels of rocprof", "the rows of the host",
                                          record_rocprof};
constexpr PrintedBlock rocprof_trace = {"trace of rocprof v1", "the categories of its rows",
                                        record_rocprof};
constexpr PrintedBlock single_kernels = {
    "report of Nsight Compute", "the time at which each kernel ran",
    "stepscope analyze FILE reads a recording of the whole step: nsys profile, then nsys export "
    "--type sqlite"};
constexpr PrintedBlock horovod_timeline = {
    "timeline of Horovod", "operators and kernels",
    "stepscope analyze TRACES reads traces of torch.profiler or Nsight Systems"};
constexpr PrintedBlock collective_sums = {
    "summary of a collective", "the sizes and times of single calls",
    "stepscope analyze TRACES -v has the bandwidth of each kind of collective; stepscope calibrate "
    "MACHINE.json --from FILE --machine NAME --ranks N fits a CSV with size_bytes,time_s"};
constexpr PrintedBlock mfu_figures = {
    "MFU measurement", single_steps,
    "stepscope check FILE --model NAME --global-batch N --seq N --machine NAME --gpus N takes a "
    "list of step times, one number a line"};
constexpr PrintedBlock statistics = {"mean, min and max of a quantity",
                                     "the values of the single ranks and steps", all_ranks};
constexpr PrintedBlock link_efficiency = {
    "Communication efficiency", "the collective, its size and its group",
    "stepscope predict --collective NAME --bytes SIZE --group N --machine NAME has the time that "
    "the links allow; stepscope analyze TRACES -v the measured bandwidth"};
constexpr PrintedBlock profiler_notice = {
    "notice of a finished profile", "the traces",
    "stepscope analyze FOLDER reads the folder that the notice names"};
constexpr PrintedBlock drawing = {
    "drawing of a timeline", "times",
    "stepscope analyze TRACES --html FILE draws the timeline of a recorded run"};

constexpr PrintedBlock nvbandwidth = {
    "nvbandwidth", "sizes and times of collectives, and steps",
    "run nccl-tests, to whose output stepscope calibrate MACHINE.json --from FILE fits the links"};
constexpr PrintedBlock ucc_perftest = {
    "ucc_perftest", "the number of ranks",
    "write a CSV with size_bytes,time_us of its sizes and average times, which stepscope calibrate "
    "MACHINE.json --from FILE --collective NAME --machine NAME --ranks N takes"};
constexpr PrintedBlock ib_perftest = {"ib_write_bw, ib_read_bw or ib_send_bw",
                                      "collectives and steps",
                                      "write its rate into scale_out of a machine file "
                                      "(docs/reference/machines.md), or run nccl-tests "
                                      "for stepscope calibrate MACHINE.json --from FILE"};
constexpr PrintedBlock osu_rates = {
    "osu_mbw_mr", "collectives and steps",
    "write its rate into scale_out of a machine file (docs/reference/machines.md), or run "
    "osu_allreduce for stepscope calibrate MACHINE.json --from FILE"};
constexpr PrintedBlock comms_summary = {
    "DeepSpeed's summary of communication", "the times of steps",
    "give stepscope check FILE the whole log of the job, beside whose steps it shows this table"};
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

constexpr std::string_view output_of_job =
    "stepscope hang FILES takes the output of the ranks and of their launcher, with dmesg -T of "
    "their "
    "hosts";
constexpr PrintedBlock smi_table = {"table of nvidia-smi", "an error and the work of the ranks",
                                    output_of_job};
constexpr PrintedBlock fabric_manager = {
    "log of NVIDIA's fabric manager", "an error of a switch or a GPU (Xid, SXid)", output_of_job};
constexpr PrintedBlock slurm_accounts = {"states of jobs and partitions by Slurm",
                                         "what the processes of a job wrote", output_of_job};
constexpr PrintedBlock process_list = {
    "list of processes", "the place where each process stands",
    "stepscope hang FILES takes what py-spy dump writes of each process"};
constexpr PrintedBlock cuda_gdb = {
    "session of cuda-gdb", "the stacks of the host's threads",
    "stepscope hang FILES takes what gdb writes for thread apply all bt, or py-spy dump"};
constexpr PrintedBlock kernel_log = {
    "log of the Linux kernel",
    "an error of a GPU, of memory, of a program of the job or of the kernel itself", output_of_job};

constexpr BlockMark marks[] = {
    {"| NVIDIA-SMI ", smi_table},
    {"any: nv-fabricmanager[", fabric_manager},
    {"any: nvidia-fabricmanager-start.sh[", fabric_manager},
    {"any:Received an inband message", fabric_manager},
    {"JobID|", slurm_accounts},
    {"PartitionName=", slurm_accounts},
    {"any: <defunct>", process_list},
    {"(cuda-gdb)", cuda_gdb},
    {"any:] Linux version ", kernel_log},
    {"kern  :", kernel_log},
    {"<6>[", kernel_log},
    {"any:,-;nvidia", kernel_log},
    {"nvbandwidth Version:", nvbandwidth},
    {"any:memcpy CE ", nvbandwidth},
    {"Count        Size                Time, us", ucc_perftest},
    {"any:BW peak[", ib_perftest},
    {"any: Message Rate Test v", osu_rates},
    {"any:Comm. Op            Message Size", comms_summary},
    {"# gpu    pwr ", dmon},
    {"# gpu     sm ", dmon},
    {"cells: %, MiB", readings},
    {":::MLPv0.", old_mlperf},
    {"numbers:*.py", memory_sums},
    {"numbers:parameters,gradients,optimizer,activations", memory_breakdown},
    {"keys:forward_times,backward_times,idle_time", stage_sums},
    {"numbers:gather_time,compute_time", gather_sums},
    {"keys:allreduce_times", tensor_parallel},
    {"keys:bucket_times", bucket_means},
    {"keys:normal,straggler", throughputs},
    {"keys:rank,z_score", straggler},
    {"keys:results_a,results_b", two_runs},
    {"keys:A,B", two_runs},
    {"keys:model_flops_per_sample,step_time_seconds", mfu_figures},
    {"keys:bytes_communicated,comm_time_seconds", link_efficiency},
    {"keys:hidden_dim,num_layers", model_sizes},
    {"numbers:0,1", offsets},
    {"numbers:total_time", total_alone},
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
    {"any:\"mean_ms\"", bottlenecks},
    {"any:'mean_ms'", bottlenecks},
    {"=== Diagnosis ===", bound_verdict},
    {"=== Overlap Efficiency ===", overlap_sums},
    {"any:\"overlap_efficiency\"", overlap_sums},
    {"any:'overlap_efficiency'", overlap_sums},
    {"=== Alpha-Beta Measurement ===", rounded_fit},
    {"Alpha-Beta Calibration Results", fitted_line},
    {"| α (latency) |", fitted_line},
    {"any:\"alpha_us\"", fitted_line},
    {"any:'alpha_us'", fitted_line},
    {"Saved plot to ", fit_notice},
    {"=== AllReduce Comparison for", algorithms},
    {"=== Bucket Analysis ===", bucket_means},
    {"No bucket timing data collected", no_buckets},
    {"Bucket Size Optimization Results", bucket_sizes},
    {"| Bucket Size |", bucket_sizes},
    {"any:\"bucket_mb\"", bucket_sizes},
    {"=== Tensor Parallelism Communication ===", tensor_parallel},
    {"=== Pipeline Bubble Analysis ===", bubble},
    {"=== ZeRO Stage ", zero_stage},
    {"=== A/B Comparison ===", ab_means},
    {"Need both A and B results", ab_lacks},
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
    {"any:NVPROF is profiling process", nvprof_print},
    {"any:ncalls  tottime  percall", cprofile_sums},
    {"\xfb\x29\x03", cprofile_sums},  // pstats, as marshal writes it
    {"any:|  Mean duration (s)", lightning_sums},
    {"any:,Accelerator Core,Start Time", ascend_kernels},
    {"any:,Communication(Not Overlapped),", ascend_steps},
    {"any:TotalDurationNs", rocprof_sums},
    {"any:\"Dispatch_Id\"", rocprof_kernels},
    {"any:CPU HIP API", rocprof_trace},
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
  if (mark.starts_with(with_keys) || mark.starts_with(with_numbers)) return false;
  if (mark.starts_with(in_cells)) return has_cells(line, mark.substr(in_cells.size()));
  if (!mark.starts_with(anywhere)) return line.starts_with(mark);
  return line.find(mark.substr(anywhere.size())) != std::string_view::npos;
}

// The keys of the first object of JSON, or of Python's print of it.
struct FirstKeys {
  explicit FirstKeys(std::string_view text) : json(text.substr(0, 1 << 16)) {
    std::ranges::replace(json, '\'', '"');
    keys = first_keys(json);
    lists = json.find('[', 1) != std::string::npos;
  }
  std::string json;
  std::vector<std::string_view> keys{};  // of json
  bool lists = false;
};

bool has_keys(const FirstKeys& first, std::string_view mark) {
  const bool numbers = mark.starts_with(with_numbers);
  if ((numbers && first.lists) || (!numbers && !mark.starts_with(with_keys))) return false;
  std::vector<std::string_view> wanted;
  split_cells(mark.substr(mark.find(':') + 1), ',', wanted);
  return std::ranges::all_of(wanted, [&](std::string_view w) {
    return std::ranges::any_of(first.keys, [&](std::string_view key) {
      return w.starts_with('*') ? key.ends_with(w.substr(1)) : key == w;
    });
  });
}

}  // namespace

std::vector<PrintedBlock> printed_blocks() {
  std::vector<PrintedBlock> blocks;
  for (const BlockMark& m : marks) blocks.push_back(m.block);
  return blocks;
}

const PrintedBlock* printed_block(std::string_view text) {
  const FirstKeys first(text);
  if (!first.keys.empty())
    for (const BlockMark& m : marks)
      if (has_keys(first, m.begin)) return &m.block;
  const PrintedBlock* found = nullptr;
  std::string_view figure;  // the mark of `found` where it is a line alone
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trimmed(behind_rank(line));
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
  error.what = "lacks " + std::string(block->lacks) + " (it has: " + std::string(block->name) + ")";
  error.byte.reset();
  error.hint = block->remedy;
  return error;
}

}  // namespace stepscope
