// SPDX-License-Identifier: Apache-2.0
#include "bench/scaled_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

namespace stepscope::bench {
namespace {

class Text {
 public:
  explicit Text(const std::string& path) : path_(path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    file_ = std::fopen(path.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() {
    flush();
    if (std::fclose(file_) != 0) fail();
  }

  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
    if (text_.size() > (1U << 20U)) flush();
  }
  // The same as an element of a list.
  template <class... Values>
  void item(fmt::format_string<Values...> form, Values&&... values) {
    if (std::exchange(any_, true)) text_ += ",\n";
    add(form, std::forward<Values>(values)...);
  }
  void begin_list() { any_ = false; }

 private:
  [[noreturn]] void fail() const {
    std::fprintf(stderr, "scaling: cannot write %s\n", path_.c_str());
    std::exit(1);
  }
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) fail();
    text_.clear();
  }

  std::string path_;
  std::FILE* file_ = nullptr;
  std::string text_;
  bool any_ = false;
};

using Int = std::int64_t;

struct Shape {
  Int steps = 10;
  Int kernels = 1000;  // a step
  Int rank = 0;
  Int world = 1;
  Int groups = 1;
  Int streams = 1;
  Int threads = 1;
  Int devices = 1;
  Int names = 20;
  bool device_bound = false;  // launches run ahead; else each kernel waits for its launch
  bool mesh = false;          // four ranks, every second collective over the other dimension
  bool operators = false;     // an operator around each launch
  Int job = 0;                // another start, other group names
};

// The collective at the end of ten kernels.
void add_collective(Text& out, const Shape& s, Int number, Int call, double start, double end) {
  std::string name = fmt::format("{}{}", s.job, number % s.groups);
  std::string ranks;
  Int size = s.world;
  if (s.mesh) {
    const bool row = number % 2 == 0;
    const Int first = row ? s.rank / 2 * 2 : s.rank % 2;
    name = fmt::format("{}{}", row ? "tp" : "dp", first);
    ranks = fmt::format("[{}, {}]", first, first + (row ? 1 : 2));
    size = 2;
  }
  out.item(
      R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":20,"ts":{:.3f},"dur":{:.3f},"args":{{"correlation":{},"stream":20,"device":0,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"Group size":{},"dtype":"Float","Process Group Name":"{}","Process Group Ranks":"{}"}}}})",
      start, end - start, call, size, name, ranks);
}

// One kernel is launched each 10 µs, on a launch-bound rank 3 µs before it runs.
void write_trace(const std::string& path, const Shape& s) {
  Text out(path);
  out.add(
      R"({{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85000000000,"computeMajor":9,"computeMinor":0,"numSms":132}}],"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}},"baseTimeNanoseconds":0,"traceEvents":[)",
      s.rank, s.world);
  const double begin = 1.7e15 + 1e10 * static_cast<double>(s.job);
  Int call = 1;
  for (Int step = 0; step < s.steps; ++step) {
    const auto length = 10.0 * static_cast<double>(s.kernels);
    const double at = begin + static_cast<double>(step) * length;
    out.item(
        R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":100,"tid":100,"ts":{:.3f},"dur":{:.3f}}})",
        step, at, length);
    for (Int k = 0; k < s.kernels; ++k, ++call) {
      const auto place = static_cast<double>(k);
      const double late = static_cast<double>((call * 7919 + s.rank * 104729) % 16) / 16;
      const double launch = at + late + place * (s.device_bound ? 6 : 10);
      const double start = at + 4 + late + place * 10;
      if (s.operators)
        out.item(
            R"({{"ph":"X","cat":"cpu_op","name":"aten::op{}","pid":100,"tid":{},"ts":{:.3f},"dur":4,"args":{{"External id":{}}}}})",
            k % 20, 100 + call % s.threads, launch - 0.5, call);
      out.item(
          R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":{},"ts":{:.3f},"dur":3,"args":{{"correlation":{},"External id":{}}}}})",
          100 + call % s.threads, launch, call, call);
      if (s.world > 1 && k % 10 == 9) {
        add_collective(out, s, call / 10, call, start, at + place * 10 + 9);
        continue;
      }
      const Int stream = 7 + call % s.streams;
      out.item(
          R"({{"ph":"X","cat":"kernel","name":"gemm_kernel_{}","pid":{},"tid":{},"ts":{:.3f},"dur":{},"args":{{"correlation":{},"stream":{},"device":{}}}}})",
          call % s.names, call % s.devices, stream, start, s.device_bound ? 8 : 5, call, stream,
          call % s.devices);
    }
  }
  out.add("\n]}}");
}

void write_job(const std::string& folder, Shape shape) {
  for (shape.rank = 0; shape.rank < shape.world; ++shape.rank)
    write_trace(fmt::format("{}/rank{}.json", folder, shape.rank), shape);
}

// Each step runs the range `depth` times, one in another.
void write_nested(const std::string& path, Int depth) {
  Text out(path);
  out.add(R"({{"traceEvents":[)");
  for (Int step = 0; step < 4; ++step) {
    const auto at = static_cast<double>(step * (10 + 3 * depth));
    out.item(
        R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{:.3f},"dur":{}}})",
        step, at, 10 + 3 * depth);
    for (Int d = 0; d < depth; ++d)
      out.item(
          R"({{"ph":"X","cat":"cpu_op","name":"aten::op{}","pid":1,"tid":1,"ts":{:.3f},"dur":{},"args":{{"External id":{}}}}})",
          d % 20, at + 1 + static_cast<double>(d), 3 * depth - 2 * d, step * depth + d + 1);
    out.item(
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{:.3f},"dur":5,"args":{{"device":0,"stream":7,"External id":{}}}}})",
        at + 2 + static_cast<double>(2 * depth), step * depth + depth);
  }
  out.add("]}}");
}

// Allocations of a trace, each with a name of its own size.
void write_memory_events(const std::string& path, Int count) {
  Text out(path);
  out.add(R"({{"traceEvents":[)");
  out.item(
      R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":{}}})",
      count + 10);
  for (Int i = 0; i < count; ++i)
    out.item(
        R"({{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":{},"args":{{"Total Reserved":{},"Total Allocated":{},"Bytes":{},"Addr":{},"Device Id":0,"Device Type":1}}}})",
        i, count * 1024, i % 2 == 0 ? 1024 * (i + 1) : 1024 * i, i % 2 == 0 ? 2048 : -1024,
        4096 + i / 2 * 2048);
  out.add("]}}");
}

// Captures of graphs, each with launches that run nothing.
void write_graph_captures(const std::string& path, Int count) {
  Text out(path);
  out.add(R"({{"traceEvents":[)");
  out.item(
      R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":{}}})",
      count * 20);
  for (Int i = 0; i < count; ++i) {
    const Int at = i * 20;
    const auto call = [&](std::string_view name, Int shift, Int correlation) {
      out.item(
          R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":1,"tid":1,"ts":{},"dur":2,"args":{{"correlation":{}}}}})",
          name, at + shift, correlation);
    };
    call("cudaStreamBeginCapture", 0, 4 * i + 1);
    call("cudaLaunchKernel", 3, 4 * i + 2);
    call("cudaStreamEndCapture", 6, 4 * i + 3);
    call("cudaLaunchKernel", 9, 4 * i + 4);
    out.item(
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":5,"args":{{"correlation":{},"device":0,"stream":7}}}})",
        at + 12, 4 * i + 4);
  }
  out.add("]}}");
}

void write_communicators(const std::string& path, Int count, Int calls) {
  Text out(path);
  for (Int i = 0; i < count; ++i) {
    out.add("node{}:{}:{} [0] NCCL INFO comm 0x{:x} rank {} nRanks 8 - Init COMPLETE\n", i, i + 1,
            i + 1, i + 1, i % 8);
    for (Int c = 0; c < calls; ++c)
      out.add(
          "node{}:{}:{} [0] NCCL INFO AllReduce: opCount {:x} sendbuff 0x1 recvbuff 0x2 count 10 "
          "datatype 7 op 0 root 0 comm 0x{:x} [nranks=8] stream 0x3\n",
          i, i + 1, i + 1, c, i + 1);
  }
}

void write_watchdogs(const std::string& path, Int ranks, bool named) {
  Text out(path);
  for (Int r = 0; r < ranks; ++r) {
    out.add(
        "[rank{}]:[E ProcessGroupNCCL.cpp:607] [Rank {}] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum={}, OpType=ALLREDUCE, NumelIn=16, NumelOut=16, "
        "Timeout(ms)=600000) ran for {} milliseconds before timing out.\n",
        r, r, 57, 600000 + r);
    if (named)
      out.add(
          "[rank{}]:[E ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {}] "
          "Exception "
          "(either an error or timeout) detected by watchdog at work: 57, last enqueued NCCL work: "
          "57, last completed NCCL work: 56.\n",
          r, r);
    out.add("[rank{}]: torch.distributed.DistBackendError: NCCL error {}\n", r, r);
  }
}

void write_barriers(const std::string& path, Int ranks) {
  Text out(path);
  for (Int r = 1; r <= ranks; ++r)
    out.add("[Rank 0]: Rank {} failed to pass monitoredBarrier in 2000 ms\n", r);
}

void write_flight_dump(const std::string& path, Int ranks, Int entries, bool stacks) {
  Text out(path);
  out.add(R"({{"version":"2.5","pg_config":{{"0":{{"name":"0","desc":"default_pg","ranks":"[)");
  for (Int r = 0; r < ranks; ++r) out.add("{}{}", r > 0 ? ", " : "", r);
  out.add(R"(]"}}}},"entries":[)");
  for (Int i = 0; i < entries; ++i)
    out.item(
        R"({{"process_group":["0","default_pg"],"pg_id":0,"profiling_name":"nccl:all_reduce","collective_seq_id":{},"p2p_seq_id":0,"input_sizes":[[3,4]],"input_dtypes":["Float"],"state":"{}","frames":[{{"name":"f{}","filename":"a.py","line":7}}]}})",
        i, i + 1 < entries ? "completed" : "started", stacks ? i : 0);
  out.add("]}}");
}

void write_snapshot(const std::string& path, Int segments, Int events, Int stacks) {
  Text out(path);
  out.add(R"({{"segments":[)");
  for (Int i = 0; i < segments; ++i)
    out.item(
        R"({{"device":0,"address":{},"total_size":2097152,"allocated_size":1048576,"active_size":1048576,"stream":0,"segment_type":"large","blocks":[{{"address":{},"size":1048576,"requested_size":1048576,"state":"active_allocated","frames":[{{"name":"f{}","filename":"a.py","line":1}}]}},{{"address":{},"size":1048576,"requested_size":0,"state":"inactive","frames":[]}}]}})",
        4194304 * (i + 1), 4194304 * (i + 1), i % stacks, 4194304 * (i + 1) + 1048576);
  out.begin_list();
  out.add(R"(],"device_traces":[[)");
  for (Int i = 0; i < events; ++i)
    out.item(
        R"({{"action":"{}","addr":{},"size":1024,"stream":0,"time_us":{},"frames":[{{"name":"g{}","filename":"a.py","line":1}}]}})",
        i % 2 == 0 ? "alloc" : "free_completed", 4194304 + 2048 * (i / 2), 1000 + i,
        i / 2 % stacks);
  out.add("]]}}");
}

void write_profile(const std::string& path, Int stacks, Int depth) {
  Text out(path);
  for (Int i = 0; i < stacks; ++i) {
    out.add("main (train.py:1)");
    for (Int d = 1; d < depth; ++d) out.add(";f{} (m{}.py:{})", (i >> d) % 64, i % 7, d);
    out.add(";leaf{} (k.py:{}) {}\n", i, i % 50, 1 + i % 9);
  }
}

void write_training_log(const std::string& path, Int lines) {
  Text out(path);
  for (Int i = 1; i <= lines; ++i)
    out.add(
        " [2025-03-01 10:{:02}:{:02}] iteration {:8}/ {:8} | consumed samples: {:12} | elapsed "
        "time per iteration (ms): {:.1f} | learning rate: 1.000E-04 | global batch size: 256 | lm "
        "loss: {:.6E} | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations: 0 | "
        "number of nan iterations: 0 |\n",
        i / 60 % 60, i % 60, i, lines, 256 * i, 500 + static_cast<double>(i * 7919 % 97) / 10,
        2 + 1 / static_cast<double>(i));
}

void write_step_times(const std::string& path, Int steps) {
  Text out(path);
  out.add("step,step_time_ms\n");
  for (Int i = 0; i < steps; ++i)
    out.add("{},{:.3f}\n", i, 500 + static_cast<double>(i * 7919 % 9973) / 1000);
}

// nvidia-smi each second, of eight GPUs.
void write_gpu_log(const std::string& path, Int lines) {
  Text out(path);
  out.add("timestamp, index, name, clocks.current.sm [MHz], power.draw [W], temperature.gpu\n");
  for (Int i = 0; i < lines; ++i)
    out.add("2023/11/14 {:02}:{:02}:{:02}.000, {}, NVIDIA H100 80GB HBM3, {} MHz, 500.00 W, 60\n",
            i / 28800 % 24, i / 480 % 60, i / 8 % 60, i % 8, 1800 + i % 50);
}

void write_incident(const std::string& path, Int processes) {
  Text out(path);
  for (Int i = 0; i < processes; ++i)
    out.add(
        "[rank{}]: Traceback (most recent call last):\n[rank{}]:   File \"/a/train.py\", line {}, "
        "in main\n[rank{}]:     step()\n[rank{}]: ValueError: bad value {}\n",
        i, i, 10 + i % 50, i, i, i);
}

const std::vector<Dimension>& all_dimensions() {
  static const std::vector<Dimension> all = {
      {"events",
       20000,
       {"analyze @", "whatif @", "check @", "compare @ @", "digest @ --out @/d", "runs @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.kernels = n / 10, .operators = true});
       },
       true},
      {"ranks",
       32,
       {"analyze @", "whatif @", "check @", "project @ --gpus 512"},
       [](const std::string& folder, Int n) { write_job(folder, {.kernels = 100, .world = n}); },
       true},
      {"steps",
       400,
       {"analyze @", "whatif @", "check @", "compare @ @", "project @ --gpus 4"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.steps = n, .kernels = 20, .world = 2});
       },
       true},
      {"launch-bound",
       20000,
       {"analyze @", "whatif @", "project @ --gpus 4"},
       [](const std::string& folder, Int n) { write_job(folder, {.kernels = n / 10, .world = 2}); },
       true},
      {"device-bound",
       20000,
       {"analyze @", "whatif @", "project @ --gpus 4"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.kernels = n / 10, .world = 2, .device_bound = true});
       },
       true},
      {"steps of a mesh",
       200,
       {"analyze @", "whatif @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.steps = n, .kernels = 40, .world = 4, .mesh = true});
       }},
      {"groups",
       4000,
       {"analyze @", "whatif @", "check @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.steps = 4, .kernels = n * 10 / 4, .world = 2, .groups = n});
       },
       true},
      {"devices",
       20000,
       {"analyze @", "check @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.kernels = n / 10, .devices = n});
       },
       true},
      {"streams",
       20000,
       {"analyze @", "whatif @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.kernels = n / 10, .streams = n});
       },
       true},
      {"threads",
       20000,
       {"analyze @", "whatif @"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.kernels = n / 10, .threads = n, .operators = true});
       },
       true},
      {"names",
       20000,
       {"analyze @", "whatif @", "compare @ @", "digest @ --out @/d"},
       [](const std::string& folder, Int n) { write_job(folder, {.kernels = n / 10, .names = n}); },
       true},
      {"depth of operators",
       4000,
       {"analyze @", "whatif @"},
       [](const std::string& folder, Int n) { write_nested(folder + "/a.json", n); }},
      {"memory events",
       50000,
       {"analyze @"},
       [](const std::string& folder, Int n) { write_memory_events(folder + "/a.json", n); }},
      {"captures of graphs",
       10000,
       {"analyze @"},
       [](const std::string& folder, Int n) { write_graph_captures(folder + "/a.json", n); }},
      {"files",
       500,
       {"check @", "digest @ --out @/d"},
       [](const std::string& folder, Int n) {
         write_job(folder, {.steps = 2, .kernels = 10, .world = n});
       }},
      {"captures of jobs",
       200,
       {"analyze @", "runs @"},
       [](const std::string& folder, Int n) {
         for (Int job = 0; job < n; ++job)
           write_job(fmt::format("{}/job{}", folder, job),
                     {.steps = 3, .kernels = 20, .world = 2, .job = job});
       }},
      {"communicators",
       10000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_communicators(folder + "/a.log", n, 1); },
       true},
      {"calls of communicators",
       4000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_communicators(folder + "/a.log", 8, n); }},
      {"ranks of a watchdog",
       4000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_watchdogs(folder + "/a.log", n, true); },
       true},
      {"watchdogs without groups",
       4000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_watchdogs(folder + "/a.log", n, false); }},
      {"ranks behind a barrier",
       10000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_barriers(folder + "/a.log", n); }},
      {"errors",
       4000,
       {"hang @"},
       [](const std::string& folder, Int n) { write_incident(folder + "/a.log", n); }},
      {"flight recorders",
       50,
       {"hang @"},
       [](const std::string& folder, Int n) {
         for (Int r = 0; r < n; ++r)
           write_flight_dump(fmt::format("{}/nccl_trace_rank_{}", folder, r), n, 100, false);
       }},
      {"calls of a recorder",
       10000,
       {"hang @"},
       [](const std::string& folder, Int n) {
         write_flight_dump(folder + "/nccl_trace_rank_0", 8, n, true);
       }},
      {"segments",
       10000,
       {"memory @"},
       [](const std::string& folder, Int n) { write_snapshot(folder + "/a.json", n, n, 20); },
       true},
      {"history of memory",
       20000,
       {"memory @"},
       [](const std::string& folder, Int n) { write_snapshot(folder + "/a.json", 1, n, 20); }},
      {"places in the code",
       10000,
       {"memory @"},
       [](const std::string& folder, Int n) { write_snapshot(folder + "/a.json", n, n, n); }},
      {"stacks",
       20000,
       {"stacks @/a.txt", "stacks @/a.txt --top-down"},
       [](const std::string& folder, Int n) { write_profile(folder + "/a.txt", n, 12); },
       true},
      {"depth of stacks",
       200,
       {"stacks @/a.txt"},
       [](const std::string& folder, Int n) { write_profile(folder + "/a.txt", 500, n); }},
      {"lines of a log",
       20000,
       {"check @/a.log", "runs @", "compare @/a.log @/a.log"},
       [](const std::string& folder, Int n) { write_training_log(folder + "/a.log", n); },
       true},
      {"step times",
       50000,
       {"check @/a.csv", "compare @/a.csv @/a.csv"},
       [](const std::string& folder, Int n) { write_step_times(folder + "/a.csv", n); }},
      {"runs",
       50,
       {"runs @"},
       [](const std::string& folder, Int n) {
         for (Int run = 0; run < n; ++run)
           write_step_times(fmt::format("{}/run{:05}.csv", folder, run), 200);
       }},
      {"lines of GPUs",
       40000,
       {"check @/steps.csv @/gpu.csv"},
       [](const std::string& folder, Int n) {
         write_step_times(folder + "/steps.csv", 100);
         write_gpu_log(folder + "/gpu.csv", n);
       }},
  };
  return all;
}

}  // namespace

std::span<const Dimension> dimensions() { return all_dimensions(); }

}  // namespace stepscope::bench
