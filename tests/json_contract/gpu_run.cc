// SPDX-License-Identifier: Apache-2.0
#include "tests/json_contract/gpu_run.h"

#include <nlohmann/json.hpp>

namespace stepscope::contract {
namespace {

using Json = nlohmann::json;

class RunWriter {
 public:
  explicit RunWriter(int rank) : rank_(rank) {}

  std::string text() {
    for (int step = 1; step <= 3; ++step) add_step(step, 1000.0 + 20'000.0 * step);
    return finished();
  }
  std::string stage_text() {
    for (int step = 1; step <= 2; ++step) add_stage_step(step, 1000.0 + 20'000.0 * step);
    return finished();
  }

 private:
  std::string finished() {
    Json trace = {
        {"schemaVersion", 1},
        {"stepscope_unrecorded_step_ns", 1000},
        {"record_shapes", 1},
        {"profile_memory", 1},
        {"host_name", "node" + std::to_string(rank_)},
        {"baseTimeNanoseconds", 1'700'000'000'000'000'000},
        {"distributedInfo",
         {{"rank", rank_},
          {"world_size", 2},
          {"backend", "nccl"},
          {"pg_config",
           {{{"pg_name", "0"},
             {"pg_desc", "default_pg"},
             {"backend_config", "cuda:nccl"},
             {"pg_size", 2},
             {"ranks", {0, 1}}}}}}},
        {"deviceProperties",
         {{{"id", 0}, {"name", "NVIDIA H100 80GB HBM3"}, {"totalGlobalMem", 85899345920}}}},
        {"traceEvents", events_}};
    return trace.dump();
  }

  void row(const char* cat, const std::string& name, int pid, int tid, double ts, double dur,
           Json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", cat},
                       {"name", name},
                       {"pid", pid},
                       {"tid", tid},
                       {"ts", ts},
                       {"dur", dur},
                       {"args", std::move(args)}});
  }
  void host(const char* cat, const std::string& name, double ts, double dur,
            Json args = Json::object()) {
    row(cat, name, 100 + rank_, 100 + rank_, ts, dur, std::move(args));
  }
  // An operator, its launch, and its device work.
  void work(const std::string& op, const char* cat, const std::string& kernel, int stream,
            double ts, double start, double dur, Json op_args, Json device_args = Json::object()) {
    ++correlation_;
    op_args["External id"] = correlation_;
    host("cpu_op", op, ts, 30, std::move(op_args));
    host("cuda_runtime", cat == std::string("kernel") ? "cudaLaunchKernel" : "cudaMemcpyAsync",
         ts + 5, 10, {{"correlation", correlation_}, {"External id", correlation_}});
    device_args.update({{"device", 0},
                        {"stream", stream},
                        {"correlation", correlation_},
                        {"External id", correlation_}});
    row(cat, kernel, 0, stream, start, dur, std::move(device_args));
  }
  void product(double ts, double start, double dur) {
    work("aten::mm", "kernel", "sm90_xmma_gemm_bf16bf16_bf16f32_tn_n", 7, ts, start, dur,
         {{"Input Dims", Json::parse("[[1024, 1024], [1024, 1024]]")},
          {"Input type", {"c10::BFloat16", "c10::BFloat16"}}});
  }
  void all_reduce(double ts, double start, double end, int elements, int seq) {
    work("record_param_comms", "kernel",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, ts,
         start, end - start, Json::object(),
         {{"Collective name", "allreduce"},
          {"dtype", "BFloat16"},
          {"In msg nelems", elements},
          {"Out msg nelems", elements},
          {"Group size", 2},
          {"Process Group Name", "0"},
          {"Process Group Description", "default_pg"},
          {"Process Group Ranks", "[0, 1]"},
          {"Seq", seq}});
  }
  // A send to the other stage, or a receive from it.
  void message(bool send, double ts, double start, double end) {
    work("record_param_comms", "kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
         send ? 21 : 22, ts, start, end - start, Json::object(),
         {{"Collective name", send ? "send" : "recv"},
          {"dtype", "BFloat16"},
          {"In msg nelems", 4096},
          {"Out msg nelems", 4096},
          {"Group size", 2},
          {"Process Group Name", "1"},
          {"Process Group Description", "mesh_pp"},
          {"Process Group Ranks", "[0, 1]"},
          {send ? "Dst Rank" : "Src Rank", 1 - rank_}});
  }
  // Two micro-batches one after the other. Each forward and backward takes 1 ms on either stage.
  void add_stage_step(int step, double t) {
    host("user_annotation", "ProfilerStep#" + std::to_string(step), t, 19'000);
    for (int batch = 0; batch < 2; ++batch) {
      const double ts = t + 100 + 500 * batch;
      const double start = t + 2000 + 4100 * batch;
      if (rank_ == 0) {
        product(ts, start, 1000);
        message(true, ts + 50, start + 1000, start + 1020);
        message(false, ts + 100, start + 1000, start + 3060);
        product(ts + 150, start + 3060, 1000);
      } else {
        message(false, ts, batch == 0 ? t + 2000 : start - 1040, start + 1020);
        product(ts + 50, start + 1020, 1000);
        product(ts + 100, start + 2020, 1000);
        message(true, ts + 150, start + 3020, start + 3060);
      }
    }
  }
  void memory(double ts, std::int64_t address, std::int64_t bytes, std::int64_t total) {
    events_.push_back({{"ph", "i"},
                       {"cat", "cpu_instant_event"},
                       {"name", "[memory]"},
                       {"s", "t"},
                       {"pid", 100 + rank_},
                       {"tid", 100 + rank_},
                       {"ts", ts},
                       {"args",
                        {{"Addr", address},
                         {"Bytes", bytes},
                         {"Device Type", 1},
                         {"Device Id", 0},
                         {"Total Allocated", total},
                         {"Total Reserved", 1 << 24}}}});
  }

  void add_step(int step, double t) {
    const double late = rank_ == 1 ? 3000 : 0;  // delay of rank 1 before it communicates
    host("user_annotation", "ProfilerStep#" + std::to_string(step), t, 19'000);
    host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", t + 10,
         500);
    memory(t + 600, 4096, 1 << 20, (1 << 20) * step);
    work("aten::copy_", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, t + 600, t + 650, 200,
         Json::object(), {{"bytes", 1 << 20}});
    for (int i = 0; i < 6; ++i) product(t + 1000 + 40 * i, t + 1100 + 300 * i, 250);
    host("python_function", "gc.py(1): collect", t + 3000, late + 1);
    host("cpu_op", "aten::item", t + 3100, late + 20);
    const double arrived = t + 3500 + late;
    all_reduce(arrived, arrived + 100, t + 8000, 1 << 20, 3 * step);
    all_reduce(t + 8100, t + 8150, t + 8250, 1 << 14, 3 * step + 1);
    all_reduce(t + 8300, t + 8350, t + 8650, 1 << 17, 3 * step + 2);
    for (int i = 0; i < 6; ++i) product(t + 7000 + 40 * i, t + 7100 + 320 * i, 300);
    host("cuda_runtime", "cudaMalloc", t + 9200, 100);
    host("user_annotation", "Optimizer.step#AdamW.step", t + 10'000, 1000);
    product(t + 10'100, t + 10'300, 250);
    memory(t + 11'500, 4096, -(1 << 20), (1 << 20) * (step - 1));
    host("cuda_runtime", "cudaDeviceSynchronize", t + 12'000, 2000);
    row("cuda_profiler_range", "sm90_xmma_gemm_bf16bf16_bf16f32_tn_n", 0, 7, t + 1100, 250,
        {{"dram__bytes.sum", 1.5},
         {"dram__bytes_read.sum", 4e6},
         {"dram__bytes_write.sum", 2e6},
         {"dram__throughput.avg.pct_of_peak_sustained_elapsed", 12.5},
         {"sm__throughput.avg.pct_of_peak_sustained_elapsed", 50},
         {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 62.5},
         {"sm__inst_executed_pipe_tensor.sum", 4096},
         {"lts__t_sector_hit_rate.pct", 75},
         {"l1tex__t_sector_hit_rate.pct", 25},
         {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1},
         {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
         {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1},
         {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1},
         {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1},
         {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 1}});
    events_.push_back({{"ph", "C"},
                       {"cat", "hardware_counters"},
                       {"name", "GPU 0 Counters"},
                       {"pid", 0},
                       {"tid", 0},
                       {"ts", t + 2000},
                       {"args",
                        {{"Tensor Active [Throughput %]", 40},
                         {"SMs Active [Throughput %]", 80},
                         {"DRAM Read Bandwidth [Throughput %]", 20},
                         {"DRAM Write Bandwidth [Throughput %]", 10},
                         {"GPC Clock Frequency [MHz]", 1.98e9}}}});
  }

  int rank_;
  int correlation_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string gpu_rank(int rank) { return RunWriter(rank).text(); }
std::string smi_log() {
  std::string text =
      "timestamp, index, uuid, clocks.current.sm [MHz], clocks.max.sm [MHz], clocks.current.memory "
      "[MHz], power.draw [W], power.limit [W], temperature.gpu, clocks_event_reasons.active, "
      "utilization.gpu [%]\n";
  for (int ms = 0; ms < 100; ms += 5) {
    std::string millis = std::to_string(ms);
    millis.insert(0, 3 - millis.size(), '0');
    text += "2023/11/14 22:13:20." + millis +
            ", 0, GPU-0, 1980 MHz, 1980 MHz, 2619 MHz, 500.00 W, 700.00 W, 60, "
            "0x0000000000000000, 100 %\n";
  }
  return text + "yesterday, 0, GPU-0, 1, 1, 1, 1, 1, 1, 0x0, 1 %\n";
}

std::string dcgm_log() {
  std::string text;
  for (int ms = 0; ms < 100; ms += 5)
    for (const char* metric : {"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_PROF_SM_ACTIVE",
                               "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE"})
      text += std::string(metric) + "{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"node1\"} " +
              (std::string(metric).find("PROF") == std::string::npos ? "1980 " : "0.5 ") +
              std::to_string(1'700'000'000'000 + ms) + "\n";
  return text;
}
std::string gpu_stage(int stage) { return RunWriter(stage).stage_text(); }

}  // namespace stepscope::contract
