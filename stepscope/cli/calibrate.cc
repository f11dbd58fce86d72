// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate`: measures the cores, links and drives of this machine on all ranks at once,
// or takes what benchmarks of collectives measured, and writes a machine file. Rank processes are
// copies of this command (comm/groups/shm_group.h), or what an MPI launcher has started.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/rank_processes.h"
#include "stepscope/cli/rank_transport.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/comm/communicator/cores.h"
#include "stepscope/comm/groups/shm_group.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/fit/benchmark_fit.h"
#include "stepscope/fit/calibration.h"
#include "stepscope/fit/time_collectives.h"
#include "stepscope/fit/time_core.h"
#include "stepscope/nn/kernels/fma_peak.h"
#include "stepscope/read/nccl/read_comm_benchmark.h"
#include "stepscope/report/calibration_report.h"
#include "stepscope/zero/drive/offload_file.h"

namespace stepscope {
namespace {

struct CalibrateFlags {
  std::string file;
  int ranks = 0;
  std::string transport;  // as train's
  std::string drive;
  bool quick = false;
  std::vector<std::string> from;  // outputs of benchmarks, instead of measuring
  std::string machine;            // whose links those are
  int hosts = 0;
};

// Of Linux's list of processors; empty where it says nothing.
std::string processor_line(std::string_view key) {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

// The mean over ranks, at every rank: they share caches and memory, so one alone says too much.
Result<Done> mean_over_ranks(Communicator* comm, std::vector<double>& values) {
  if (comm == nullptr || values.empty()) return Done{};
  const auto summed = wait_for(*comm, all_reduce(*comm, values, "calibrate: means"));
  if (!summed) return summed.error();
  for (double& v : values) v /= comm->size();
  return Done{};
}

Result<Done> together(Communicator* comm) {
  if (comm == nullptr) return Done{};
  const auto met = wait_for(*comm, barrier(*comm));
  if (!met) return met.error();
  return Done{};
}

Result<Done> measure_core(Communicator* comm, bool quick, ElementType type, Dtype dtype,
                          Calibration& c) {
  const Ns loop = quick ? Ns{100'000'000} : Ns{500'000'000};
  if (auto met = together(comm); !met) return met.error();
  const auto peak = nn::fma_peak(type, loop);
  if (!peak) return Done{};  // an instruction that this CPU lacks: no peak of that format
  if (auto met = together(comm); !met) return met.error();
  const CoreSweep sweep{.time_an_operation = quick ? Ns{2'000'000} : Ns{20'000'000},
                        .quick = quick};
  std::vector<OperationTiming> timings = time_core(type, sweep);
  std::vector<double> values = {peak->rate.value};
  for (const OperationTiming& t : timings) values.push_back(t.time.count());
  if (auto mean = mean_over_ranks(comm, values); !mean) return mean.error();
  double most = 0;
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].time = Seconds{values[i + 1]};
    if (timings[i].operation.kind == OperationClass::matmul)
      most = std::max(most, timings[i].operation.forward.matrix.value / values[i + 1]);
  }
  c.peaks[index(dtype)] = FlopRate{values[0]};
  c.matmul_max[index(dtype)] = FlopRate{most};
  c.operations.insert(c.operations.end(), timings.begin(), timings.end());
  return Done{};
}

Result<Done> measure_drive(Communicator* comm, const CalibrateFlags& f, Calibration& c) {
  if (f.drive.empty()) return Done{};
  if (auto met = together(comm); !met) return met.error();
  const Bytes size{(f.quick ? std::int64_t{64} : std::int64_t{512}) << 20};
  const auto rate = zero::measure_offload(f.drive, size, Bytes{4 << 20});
  // Whether it failed on any rank has to be known on all, or the others would wait.
  std::vector<double> values = {rate ? 0.0 : 1.0, rate ? rate->read.value : 0.0,
                                rate ? rate->write.value : 0.0};
  if (auto mean = mean_over_ranks(comm, values); !mean) return mean.error();
  if (!rate) return rate.error();
  if (values[0] > 0) return Error{.what = "another rank could not measure the drive"};
  c.drive = Nvme{.read = ByteRate{values[1]}, .write = ByteRate{values[2]}, .capacity = {}};
  c.sources.push_back("drive: " + rate->description);
  return Done{};
}

Result<Calibration> measure(Communicator* comm, const CalibrateFlags& f) {
  Calibration c;
  c.ranks = comm == nullptr ? 1 : comm->size();
  c.name = processor_line("model name");
  if (c.name.empty()) c.name = "this machine";
  c.vendor = processor_line("vendor_id");
  c.memory = Bytes{static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)};
  c.sources = {fmt::format("stepscope calibrate, {} ranks at once ({}), oneDNN and own kernels",
                           c.ranks, f.transport)};
  const ElementType types[] = {ElementType::f32, ElementType::bf16};
  for (const ElementType type : types) {
    const Dtype dtype = type == ElementType::f32 ? Dtype::fp32 : Dtype::bf16;
    if (auto core = measure_core(comm, f.quick, type, dtype, c); !core) return core.error();
  }
  if (auto met = together(comm); !met) return met.error();
  std::vector<double> memory = {time_memory(f.quick ? Ns{50'000'000} : Ns{500'000'000}).value};
  if (auto mean = mean_over_ranks(comm, memory); !mean) return mean.error();
  c.memory_rate = ByteRate{memory[0]};
  if (comm != nullptr) {
    LinkSweep sweep;
    if (f.quick) sweep = {.to = Bytes{4 << 20}, .time_a_size = Ns{3'000'000}, .most = 50};
    auto timings = time_collectives(*comm, sweep);
    if (!timings) return timings.error();
    c.collectives = std::move(*timings);
  }
  if (auto drive = measure_drive(comm, f, c); !drive) return drive.error();
  return c;
}

int calibrate_rank(const CalibrateFlags& flags, Communicator* comm) {
  Failures failures;
  const auto measured = measure(comm, flags);
  const bool first = comm == nullptr || comm->rank() == 0;
  if (!measured) {
    if (first) failures.add(measured.error());
    return exit_failed;
  }
  if (!first) return exit_done;
  const auto made = calibrated_machine(*measured);
  if (!made) {
    failures.add(made.error());
    return exit_failed;
  }
  failures.keep(write_file(flags.file, machine_text(made->machine)));
  if (failures.any()) return exit_failed;
  fmt::print("{}\n{}: a machine for --machine of predict, plan, analyze and train\n",
             calibration_text(*measured, *made, static_cast<std::size_t>(terminal_width())),
             flags.file);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

// One of the processes that a launcher has started.
int calibrate_launched(const CalibrateFlags& flags, RankTransport transport) {
  return run_as_mpi_rank(transport, [&](const std::unique_ptr<Communicator>& comm) {
    if (mpi_ranks_of_host() == comm->size())
      return calibrate_rank(flags, comm->size() == 1 ? nullptr : comm.get());
    if (comm->rank() != 0) return static_cast<int>(exit_usage);
    return refused({.what = "calibrate: the ranks are on several hosts, a machine file is of one",
                    .hint = "start all ranks on one host, and calibrate each kind of host"});
  });
}

// The machine that the benchmarks ran on: as given, else as the first that names its device.
Result<Machine> benchmarked_machine(const CalibrateFlags& f,
                                    std::span<const CommBenchmark> benchmarks) {
  if (!f.machine.empty()) return machine_named(f.machine);
  for (const CommBenchmark& b : benchmarks) {
    if (b.device.empty()) continue;
    if (const Machine* found = find_machine(b.device)) return *found;
    return Error{.what = "is of a " + b.device + ", which no machine of the catalogue is",
                 .file = b.path,
                 .hint = "give --machine FILE"};
  }
  return Error{.what = "--from: no file says on which machine it was measured",
               .hint = "give --machine NAME or FILE"};
}

int calibrate_from(const CalibrateFlags& f) {
  Failures failures;
  std::vector<CommBenchmark> read;
  for (const std::string& path : f.from) {
    auto benchmark = read_comm_benchmark(path);
    if (benchmark)
      read.push_back(std::move(*benchmark));
    else
      failures.add(benchmark.error());
  }
  if (read.empty()) return exit_failed;
  const auto base = benchmarked_machine(f, read);
  if (!base) return refused(base.error());
  const auto given = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  std::vector<PlacedBenchmark> placed;
  std::string source = "stepscope calibrate --from";
  for (CommBenchmark& benchmark : read) {
    auto one = place_benchmark(std::move(benchmark), *base,
                               {.ranks = given(f.ranks), .hosts = given(f.hosts)});
    if (!one) {
      failures.add(one.error());
      continue;
    }
    source +=
        fmt::format(" {} ({}, {} ranks)", one->benchmark.path, one->benchmark.tool, one->ranks);
    placed.push_back(std::move(*one));
  }
  if (placed.empty()) return exit_failed;
  const auto fit = fit_benchmarks(*base, placed, source);
  if (!fit) {
    failures.add(fit.error());
    return exit_failed;
  }
  failures.keep(write_file(f.file, machine_text(fit->machine)));
  fmt::print("{}", benchmark_text(placed, *fit, static_cast<std::size_t>(terminal_width())));
  if (!failures.any())
    fmt::print("\n{}: {} with these links, for --machine of predict, plan and analyze\n", f.file,
               fit->machine.name);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

int calibrate(CalibrateFlags flags) {
  if (!flags.from.empty()) return calibrate_from(flags);
  if (!flags.machine.empty() || flags.hosts > 0)
    return refused({.what = "--machine and --hosts are of benchmarks", .hint = "give --from FILE"});
  const int ranks = flags.ranks > 0 ? flags.ranks : comm::usable_cores();
  const bool spawned = is_spawned_rank();
  const auto launched = spawned ? std::nullopt : launched_rank();
  const auto transport = rank_transport(spawned ? "shm" : flags.transport, flags.ranks, launched);
  if (!transport) {
    const bool speaks = !launched || launched->rank == 0;
    return speaks ? refused(transport.error()) : exit_usage;
  }
  flags.transport = transport_name(*transport);
  if (*transport != RankTransport::shm) return calibrate_launched(flags, *transport);
  if (spawned)
    return run_as_rank([&](const std::unique_ptr<Communicator>& comm) {
      return calibrate_rank(flags, comm.get());
    });
  if (ranks == 1) return calibrate_rank(flags, nullptr);
  return run_rank_processes({.ranks = ranks, .restarts = 0, .again = {}});
}

}  // namespace

std::function<int()> declare_calibrate(CLI::App& app) {
  auto flags = std::make_shared<CalibrateFlags>();
  app.add_option("FILE", flags->file, "Machine file to write")->required();
  app.add_option(
         "--ranks", flags->ranks,
         "Processes that measure at once (default: the cores); with --from the ranks of files "
         "that do not say")
      ->check(CLI::Range(1, 4096));
  app.add_option("--transport", flags->transport,
                 "shm, or over what mpirun or srun has started: mpi (the default there), "
                 "mpi-messages (no shared memory)")
      ->check(CLI::IsMember({"shm", "mpi", "mpi-messages"}));
  app.add_option("--drive", flags->drive, "Measure the drive of this directory too")
      ->type_name("DIR");
  app.add_option("--from", flags->from,
                 "Instead of measuring: outputs of nccl-tests or OSU micro-benchmarks, whose times "
                 "the machine's links are fitted to")
      ->type_name("FILE");
  app.add_option("--machine", flags->machine,
                 "With --from: the machine they ran on (default: the device they name)")
      ->type_name("NAME|FILE");
  app.add_option("--hosts", flags->hosts, "With --from: hosts, where a file does not say (1)")
      ->check(CLI::Range(1, 100000));
  app.add_flag("--quick", flags->quick, "Seconds instead of half a minute, and coarser");
  app.footer(
      "Example: stepscope calibrate here.json && stepscope predict gpt2 --machine here.json "
      "--gpus 2 --global-batch 16 --seq 128 --dtype fp32");
  return [flags] { return calibrate(*flags); };
}

}  // namespace stepscope
