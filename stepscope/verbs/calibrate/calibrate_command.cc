// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "stepscope/base/output_file.h"
#include "stepscope/comm/communicator/cores.h"
#include "stepscope/comm/groups/mpi_group.h"
#include "stepscope/comm/groups/rank_processes.h"
#include "stepscope/comm/groups/rank_transport.h"
#include "stepscope/comm/groups/shm_group.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/calibrate/calibrate.h"
#include "stepscope/verbs/calibrate/calibrate_from.h"
#include "stepscope/verbs/calibrate/calibrate_views.h"
#include "stepscope/verbs/inputs/traces_flags.h"

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
  OutputPaths out;
};

int calibrate_rank(const CalibrateFlags& flags, Communicator* comm) {
  Failures failures;
  const auto result = calibrate(
      {.comm = comm, .transport = flags.transport, .drive = flags.drive, .quick = flags.quick});
  const bool first = comm == nullptr || comm->rank() == 0;
  if (!result) {
    if (first) failures.add(result.error());
    return exit_failed;
  }
  if (!first) return exit_done;
  failures.keep(write_file(flags.file, machine_text(result->made.machine)));
  if (failures.any()) return exit_failed;
  if (flags.out.has_tree()) write_tree(flags.out, calibrate_tree(*result, flags.file), failures);
  if (flags.out.prints())
    print_text(fmt::format("{}\n{}: a machine for --machine of predict, plan, analyze and train\n",
                           calibration_text(*result, text_options(flags.out.html)), flags.file));
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

// What kept ranks from measuring, unless another process says it; the exit code.
int failed(const Error& error) {
  if (error.code == ErrorCode::interrupted) return exit_interrupted;
  Failures failures;
  if (error.code != ErrorCode::reported) failures.add(error);
  return exit_failed;
}

// One of the processes that a launcher has started.
int calibrate_launched(const CalibrateFlags& flags, RankTransport transport) {
  const auto comm = join_launched(transport);
  if (!comm) return failed(comm.error());
  const int rank = (*comm)->rank();
  const int ranks = (*comm)->size();
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (rank == 0 && mpi_ranks_of_host() > cores)
    say("stepscope: {} ranks share {} cores: times show the sharing\n", mpi_ranks_of_host(), cores);
  if (mpi_ranks_of_host() != ranks) {
    if (rank != 0) return exit_usage;
    return refused({.what = "calibrate: the ranks are on several hosts, a machine file is of one",
                    .hint = "start all ranks on one host, and calibrate each kind of host"});
  }
  const int code = calibrate_rank(flags, ranks == 1 ? nullptr : comm->get());
  if (code == exit_failed) abandon_mpi();  // else all ranks end alike
  return code;
}

int calibrate_spawned(const CalibrateFlags& flags) {
  const auto comm = join_shm_group();
  if (comm) return calibrate_rank(flags, comm->get());
  (void)failed(comm.error());
  return lost_peer_status;
}

int fit_benchmarks_of(const CalibrateFlags& flags) {
  const auto given = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  Failures failures;
  const auto result =
      calibrate_from({.files = flags.from,
                      .machine = flags.machine,
                      .place = {.ranks = given(flags.ranks), .hosts = given(flags.hosts)}},
                     progress_of(failures));
  if (!result) return refused(result.error());
  if (!result->machine) return exit_failed;
  failures.keep(write_file(flags.file, machine_text(*result->machine)));
  if (flags.out.has_tree()) write_tree(flags.out, calibrate_tree(*result, flags.file), failures);
  if (flags.out.prints()) print_text(benchmark_text(*result, text_options(flags.out.html)));
  if (!failures.any() && flags.out.prints())
    print_text(fmt::format("\n{}: {} as measured, for --machine of predict, plan and analyze\n",
                           flags.file, result->machine->name));
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

int answer(CalibrateFlags flags) {
  if (!flags.from.empty()) return fit_benchmarks_of(flags);
  if (!flags.machine.empty() || flags.hosts > 0)
    return refused({.what = "--machine and --nodes are of benchmarks", .hint = "give --from FILE"});
  const int ranks = flags.ranks > 0 ? flags.ranks : comm::usable_cores();
  const bool spawned = is_spawned_rank();
  const auto launched = spawned ? std::nullopt : launched_rank();
  const auto transport = rank_transport(spawned ? "shm" : flags.transport, flags.ranks, launched);
  if (!transport) return speaks_for_launched() ? refused(transport.error()) : exit_usage;
  flags.transport = transport_name(*transport);
  if (*transport != RankTransport::shm) return calibrate_launched(flags, *transport);
  if (spawned) return calibrate_spawned(flags);
  if (ranks == 1) return calibrate_rank(flags, nullptr);
  const auto done = run_rank_processes({.ranks = ranks});
  return done ? static_cast<int>(exit_done) : failed(done.error());
}

void declare(CLI::App& app, CalibrateFlags& f) {
  const char* measuring = "Measuring";
  const char* benchmarks = "Benchmarks";
  app.description(
      "Measures the cores, links and drives of this machine, or fits a machine to what was "
      "measured "
      "elsewhere (links to benchmarks of collectives, compute curves to times of a GPU's kernels), "
      "and writes a machine file for --machine.");
  app.add_option("FILE", f.file, "Machine file to write")->required()->type_name("FILE");
  as_count(app.add_option("--ranks", f.ranks,
                          "Processes that measure at once. With --from the ranks of files that do "
                          "not say."),
           1, 4096)
      ->default_str("the cores")
      ->group(measuring);
  as_choice(app.add_option("--transport", f.transport,
                           "Transport of the ranks: shm, or over what mpirun or srun has started "
                           "mpi (the default there) or mpi-messages (no shared memory)"),
            {"shm", "mpi", "mpi-messages"})
      ->group(measuring);
  app.add_option("--drive", f.drive, "Measure the drive of this directory too")
      ->type_name("DIR")
      ->group(measuring);
  app.add_flag("--quick", f.quick, "Take seconds instead of half a minute, and be coarser")
      ->group(measuring);
  app.add_option("--from", f.from,
                 "Outputs of nccl-tests or OSU micro-benchmarks, to which the machine's links are "
                 "fitted instead of measuring, and of python -m stepscope.torch.kernels, to which "
                 "its compute curves are fitted")
      ->type_name("FILE")
      ->group(benchmarks);
  declare_machine(app, f.machine,
                  "Machine that the files of --from were measured on. Without it the device that "
                  "they name.",
                  benchmarks);
  as_count(app.add_option("--nodes,--hosts", f.hosts,
                          "Nodes of the benchmarks, where a file does not say"),
           1, 100000)
      ->default_str("1")
      ->group(benchmarks);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--ranks", "--drive", "--quick", "--from", "--machine", "--json", "--html"});
  app.footer(
      "stepscope calibrate here.json && stepscope predict gpt2 --machine here.json "
      "--gpus 2 --global-batch 16 --seq 128 --dtype fp32\n"
      "stepscope calibrate cluster.json --from nccl_tests.txt --machine h100_sxm_80gb\n"
      "stepscope calibrate gpu.json --from kernels.jsonl");
}

VerbRun declare_calibrate(CLI::App& app) {
  auto flags = std::make_shared<CalibrateFlags>();
  declare(app, *flags);
  return {.command = [flags] { return answer(*flags); }};
}

}  // namespace

extern const Verb calibrate_verb{"calibrate",
                                 "Measure this machine, or fit benchmarks, into a machine file",
                                 "Plan ahead", "how-to/calibrate-a-machine.md", declare_calibrate};

}  // namespace stepscope
