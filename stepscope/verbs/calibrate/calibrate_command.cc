// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/output_file.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/calibrate/calibrate_flags.h"
#include "stepscope/verbs/calibrate/calibrate_from.h"
#include "stepscope/verbs/calibrate/calibrate_views.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

int (*measuring)(const CalibrateFlags& flags) = nullptr;

int fit_benchmarks_of(const CalibrateFlags& flags) {
  const auto given = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  const auto kind = flags.collective.empty() ? std::nullopt : collective_named(flags.collective);
  if (!kind && !flags.collective.empty())
    return refused({.what = fmt::format("--collective: {} is no collective", flags.collective),
                    .hint = "give all_reduce, all_gather, reduce_scatter, all_to_all, …"});
  Failures failures;
  const auto result = calibrate_from(
      {.files = flags.from,
       .machine = flags.machine,
       .place = {.ranks = given(flags.ranks), .hosts = given(flags.hosts)},
       .table = {.kind = kind.value_or(CollectiveKind::all_reduce), .unit = *time_unit(flags.unit)},
       .kind = kind,
       .gpus_per_node = given(flags.gpus_per_node)},
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

// Whatever else the named file holds stays: an input may stand where the output is expected.
std::optional<Error> kept_file(const std::string& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code) || std::filesystem::is_empty(file, code) ||
      read_machine(file))
    return std::nullopt;
  return Error{.what = "exists and is no machine file",
               .file = file,
               .hint = "name the machine file to write first; --from FILE reads a benchmark"};
}

int answer(const CalibrateFlags& flags) {
  if (const auto kept = kept_file(flags.file)) return refused(*kept);
  if (!flags.from.empty()) return fit_benchmarks_of(flags);
  if (!flags.machine.empty() || flags.hosts > 0 || flags.gpus_per_node > 0)
    return refused({.what = "--machine, --nodes and --gpus-per-node are of benchmarks",
                    .hint = "give --from FILE"});
  if (measuring == nullptr)
    return refused(
        {.what = "calibrate without --from measures this machine: this build has no engine",
         .hint = "build it with -DSTEPSCOPE_ENGINE=ON"});
  return measuring(flags);
}

void declare(CLI::App& app, CalibrateFlags& f) {
  const char* measuring = "Measuring";
  const char* benchmarks = "Benchmarks";
  app.description(
      "Writes a machine file for --machine: measures the cores, links and drives of this machine, "
      "or fits what was measured elsewhere. Links are fitted to benchmarks of collectives, compute "
      "curves to times of a GPU's kernels.");
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
                 "Outputs of nccl-tests or OSU micro-benchmarks, or tables of sizes and times "
                 "(CSV, JSON), to which the machine's links are fitted instead of measuring, and "
                 "of python -m stepscope.torch.kernels, to which its compute curves are fitted")
      ->type_name("FILE")
      ->group(benchmarks);
  declare_machine(app, f.machine,
                  "Machine that the files of --from were measured on. Without it the device that "
                  "they name.",
                  benchmarks);
  as_count(app.add_option("--nodes,--hosts", f.hosts,
                          "Nodes of the benchmarks, where a file does not say"),
           1, 100000)
      ->default_str("the fewest")
      ->group(benchmarks);
  as_count(app.add_option("--gpus-per-node", f.gpus_per_node,
                          "Devices that share the fast links, where the machine does not say"),
           1, 100000)
      ->group(benchmarks);
  app.add_option("--collective", f.collective,
                 "Collective of a table of --from that names none. Only for tables of sizes and "
                 "times there is a default.")
      ->type_name("NAME")
      ->default_str("all_reduce")
      ->group(benchmarks);
  as_choice(app.add_option("--unit", f.unit, "Unit of a table's times whose header names none"),
            {"ns", "us", "ms", "s"})
      ->group(benchmarks);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--ranks", "--drive", "--quick", "--from", "--machine", "--json", "--html"});
  app.footer(
      "stepscope calibrate here.json && stepscope predict gpt2 --machine here.json "
      "--gpus 2 --global-batch 16 --seq 128 --dtype fp32\n"
      "stepscope calibrate cluster.json --from nccl_tests.txt --machine h100_sxm_80gb\n"
      "stepscope calibrate cluster.json --from sizes.csv --machine h100_sxm_80gb --ranks 8\n"
      "stepscope calibrate gpu.json --from kernels.jsonl");
}

VerbRun declare_calibrate(CLI::App& app) {
  auto flags = std::make_shared<CalibrateFlags>();
  declare(app, *flags);
  return {.command = [flags] { return answer(*flags); }};
}

}  // namespace

void offer_measuring(int (*here)(const CalibrateFlags& flags)) { measuring = here; }

extern const Verb calibrate_verb{"calibrate",
                                 "Measure this machine, or fit benchmarks, into a machine file",
                                 "Plan ahead", "how-to/calibrate-a-machine.md", declare_calibrate};

}  // namespace stepscope
