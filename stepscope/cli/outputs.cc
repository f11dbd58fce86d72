// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/say.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/page/html.h"
#include "stepscope/words/format.h"

namespace stepscope {

void Failures::add(const Error& error) {
  if (error.code == ErrorCode::interrupted)
    interrupted_ = true;
  else
    say("stepscope: {}\n", printable(error.message()));
  any_ = true;
  said_.insert(error.message());
}

void declare_json(CLI::App& app, std::string& path) {
  app.add_option("--json", path, "Write everything as JSON to this file, - for standard output")
      ->type_name("FILE")
      ->group("Outputs");
}

void declare_html(CLI::App& app, std::string& path) {
  app.add_option("--html", path, "Write one self-contained page to this file")
      ->type_name("FILE")
      ->group("Outputs");
}

void declare_csv(CLI::App& app, std::string& directory) {
  app.add_option("--csv", directory, "Write the tables as CSV files into this directory")
      ->type_name("DIR")
      ->group("Outputs");
}

void write_json_text(const std::string& path, const std::string& json, Failures& failures) {
  if (path == "-")
    std::fwrite(json.data(), 1, json.size(), stdout);
  else if (!path.empty())
    failures.keep(write_file(path, json));
}

void write_tree(const OutputPaths& paths, const Json& tree, Failures& failures) {
  const std::string json = json_text(tree);
  write_json_text(paths.json, json, failures);
  if (!paths.html.empty()) failures.keep(write_file(paths.html, render_html(json)));
}

void write_tables(const std::string& directory, std::span<const CsvFile> files,
                  Failures& failures) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  if (code)
    return failures.add({.what = "cannot make the directory: " + code.message(),
                         .file = directory,
                         .hint = "choose a place that you may write to"});
  for (const CsvFile& file : files)
    failures.keep(write_file((std::filesystem::path(directory) / file.name).string(), file.text));
}

void print_text(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stdout);  // ferror() keeps what went wrong
}

void flush_output(Failures& failures) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    failures.add(
        {.what = "cannot write to standard output", .hint = "free space or choose another place"});
}

int refused(const Error& error) {
  if (error.code == ErrorCode::interrupted) return exit_interrupted;
  say("stepscope: {}\n", printable(error.message()));
  return error.file.empty() ? exit_usage : exit_failed;
}

Progress progress_of(Failures& failures) {
  Progress progress;
  progress.show = [line = std::make_shared<ProgressLine>("reading")](
                      std::string_view, std::uint64_t done, std::uint64_t total) {
    line->show(done, total);
  };
  progress.failed = [&failures](const Error& error) { failures.add(error); };
  progress.stop = &stop_on_signals();
  return progress;
}

int ended(const Error& error, const Failures& failures) {
  if (error.code == ErrorCode::interrupted || failures.interrupted()) return exit_interrupted;
  const int code = failures.has(error) ? exit_failed : refused(error);
  return failures.any() ? static_cast<int>(exit_failed) : code;
}

void show_launch(std::size_t number, std::size_t all, const std::string& name) {
  if (::isatty(STDERR_FILENO) == 1) say("launch {} of {}: {}\n", number, all, name);
}

}  // namespace stepscope
