// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/output_file.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/say/format.h"
#include "stepscope/write/chakra_trace.h"
#include "stepscope/write/goal_schedule.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

struct NamedPath {
  std::string flag;  // "--json", or "INPUT"
  fs::path path;
};

constexpr std::array<std::string_view, 8> written_files = {
    "--json",          "--html",   "--perfetto", "--goal",
    "--write-machine", "--export", "--metrics",  "--reproducer"};
// Directories that are written, or whose drive is used: nothing is read from the files in them.
constexpr std::array<std::string_view, 8> other_places = {
    "--csv", "--chakra", "--trace", "--checkpoint", "--live", "--keep", "--drive", "--offload"};

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored) ||
         fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

// Devices and pipes hold nothing that could be lost.
bool can_be_lost(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status);
}

// Whether the verb reads the existing `file` when it reads `input`: a file, a directory or a
// pattern.
bool reads(const fs::path& input, const fs::path& file) {
  std::error_code ignored;
  if (is_url(input.string())) return false;
  if (fs::is_regular_file(input, ignored)) return same_file(input, file);
  const std::vector<std::string> one = {input.string()};
  return std::ranges::any_of(find_input_files(one).files,
                             [&](const std::string& found) { return same_file(found, file); });
}

}  // namespace

Result<Done> check_outputs(const CLI::App& verb) {
  std::error_code ignored;
  std::vector<NamedPath> outputs;
  std::vector<NamedPath> inputs;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string flag = option->get_name();
    if (std::ranges::find(other_places, flag) != other_places.end()) continue;
    const bool machine_file = verb.get_name() == "calibrate" && !flag.starts_with('-');
    const bool written = std::ranges::find(written_files, flag) != written_files.end();
    for (const std::string& value : option->results())
      if (!value.empty() && value != "-" && can_be_lost(value))
        (written || machine_file ? outputs : inputs).push_back({flag, value});
      else if (!written && fs::is_directory(value, ignored))
        inputs.push_back({flag, value});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath& out = outputs[i];
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(out.path, outputs[j].path))
        return Error{.what = fmt::format("{} and {} name one file: {}", outputs[j].flag, out.flag,
                                         out.path.string()),
                     .hint = "give each output a file of its own"};
    if (!fs::exists(out.path, ignored)) continue;
    for (const NamedPath& in : inputs)
      if (reads(in.path, out.path))
        return Error{.what = fmt::format("{} {} would overwrite a file that {} {} reads", out.flag,
                                         out.path.string(), in.flag, in.path.string()),
                     .hint = "choose another place for the output, or delete that file first"};
  }
  return Done{};
}

void Failures::add(const Error& error) {
  if (error.code == ErrorCode::interrupted)
    interrupted_ = true;
  else
    say("stepscope: {}\n", printable(error.message()));
  any_ = true;
  said_.insert(error.message());
}

void Failures::keep_repeated(const std::string& path, const Result<Done>& result) {
  if (result) {
    if (failing_.erase(path) > 0) say("stepscope: {}: is written again\n", printable(path));
  } else if (failing_.insert(path).second) {
    add(result.error());
  }
}

void write_page(const std::string& path, const Json& tree, Failures& failures) {
  if (!path.empty()) failures.keep(write_report(path, render_html(json_text(tree))));
}

void write_json_text(const std::string& path, const std::string& json, Failures& failures) {
  if (path == "-")
    std::fwrite(json.data(), 1, json.size(), stdout);
  else if (!path.empty())
    failures.keep(write_report(path, json));
}

void write_tree(const OutputPaths& paths, const Json& tree, Failures& failures) {
  const std::string json = json_text(tree);
  write_json_text(paths.json, json, failures);
  if (!paths.html.empty()) failures.keep(write_report(paths.html, render_html(json)));
}

void write_programs(const ProgramPaths& paths, const std::optional<JobProgram>& program,
                    Failures& failures) {
  if (paths.chakra.empty() && paths.goal.empty()) return;
  if (!program)
    return failures.add({.what = "the traces have no step to replay, so there is no program of one",
                         .file = paths.chakra.empty() ? paths.goal : paths.chakra,
                         .hint = "record whole steps"});
  for (const std::string& note : program->notes) say("note: {}\n", note);
  if (!paths.chakra.empty()) failures.keep(write_chakra(*program, paths.chakra));
  if (!paths.goal.empty())
    failures.keep(write_goal(*program, paths.goal, {.recorded_times = paths.goal_recorded_times}));
}

void write_tables(const std::string& directory, std::span<const TreeTable> tables,
                  Failures& failures) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  if (code)
    return failures.add({.what = "cannot make the directory: " + code.message(),
                         .file = directory,
                         .hint = "choose a place that you may write to"});
  const std::vector<CsvFile> files = csv_files(tables);
  if (files.empty())
    failures.add({.what = "--csv: there is no table with a row to write",
                  .file = directory,
                  .hint = "leave --csv out; the text and the JSON say what is missing"});
  for (const CsvFile& file : files)
    failures.keep(write_file((std::filesystem::path(directory) / file.name).string(), file.text));
}

void print_text(std::string_view text) {
  if (is_quiet()) return;
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
  progress.show = [line = std::make_shared<ProgressLine>()](
                      std::string_view what, std::uint64_t done, std::uint64_t total) {
    line->show(what, done, total);
  };
  progress.launching = [](std::size_t number, std::size_t all, const std::string& name) {
    if (::isatty(STDERR_FILENO) == 1) say("launch {} of {}: {}\n", number, all, name);
  };
  progress.failed = [&failures](const Error& error) { failures.add(error); };
  progress.stop = &stop_on_signals();
  return progress;
}

int run_command(const OutputPaths& out,
                const std::function<Result<Answer>(const Progress&)>& answer) {
  Failures failures;
  const auto found = answer(progress_of(failures));
  if (!found) return ended(found.error(), failures);
  if (out.prints()) print_text(found->text(text_options(out.html)));
  if (out.has_tree() || !out.csv.empty()) {
    const Json tree = found->tree();
    if (out.has_tree()) write_tree(out, tree, failures);
    if (!out.csv.empty()) write_tables(out.csv, found->tables(tree), failures);
  }
  if (found->write) found->write(failures);
  flush_output(failures);
  if (failures.interrupted()) return exit_interrupted;
  if (found->lacking) failures.add(*found->lacking);
  return failures.any() ? exit_failed : found->exit;
}

int ended(const Error& error, const Failures& failures) {
  if (error.code == ErrorCode::interrupted || failures.interrupted()) return exit_interrupted;
  const int code = failures.has(error) ? exit_failed : refused(error);
  return failures.any() ? static_cast<int>(exit_failed) : code;
}

}  // namespace stepscope
