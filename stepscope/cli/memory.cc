// SPDX-License-Identifier: Apache-2.0
// `stepscope memory`: what holds a GPU's memory, from PyTorch's memory snapshots.
#include "stepscope/cli/memory.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/memory_snapshot_report.h"

namespace stepscope {
namespace {

struct MemoryFlags {
  std::vector<std::string> files;
  std::size_t top = 10;
  std::string json;
  std::string html;
};

void declare(CLI::App& app, MemoryFlags& f) {
  app.add_option("SNAPSHOT", f.files,
                 "Snapshots of PyTorch's allocator: pickles of torch.cuda.memory._dump_snapshot, "
                 "JSON, or pages of torch.cuda._memory_viz; of as many ranks as there are, or "
                 "directories")
      ->required();
  app.add_option("--top", f.top, "Places that the terminal lists (default 10)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->type_name("N");
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.html, "Write one self-contained page with the memory over time")
      ->type_name("FILE");
  app.footer("Example: stepscope memory snapshot.pickle --html memory.html");
}

int memory(const MemoryFlags& flags) {
  const StopFlag& stop = stop_on_signals();
  const SnapshotFiles files = read_memory_snapshots(flags.files, &stop);
  if (stop.requested()) return exit_interrupted;
  Failures failures;
  for (const Error& error : files.errors) failures.add(error);
  if (files.snapshots.empty()) return exit_failed;
  std::vector<std::string> paths;
  for (const MemorySnapshot& s : files.snapshots) paths.push_back(s.path);
  const auto ranks = ranks_from_names(paths, std::nullopt);
  std::vector<MemoryAccount> accounts;
  for (const MemorySnapshot& s : files.snapshots) {
    accounts.push_back(memory_account(s));
    if (stop.requested()) return exit_interrupted;
  }
  MemoryReport report{.version = STEPSCOPE_VERSION, .top = flags.top};
  for (std::size_t i = 0; i < accounts.size(); ++i)
    report.snapshots.push_back(
        {&files.snapshots[i], &accounts[i], paths.size() > 1 ? ranks[i] : std::nullopt});
  if (flags.json != "-")
    fmt::print("{}", memory_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  if (!flags.json.empty() || !flags.html.empty()) {
    const std::string json = json_text(memory_tree_json(report));
    write_json_text(flags.json, json, failures);
    if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
  }
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_memory(CLI::App& app) {
  auto flags = std::make_shared<MemoryFlags>();
  declare(app, *flags);
  return [flags] { return memory(*flags); };
}

}  // namespace stepscope
