// SPDX-License-Identifier: Apache-2.0
// Where results go: one line on standard error for each input or output that failed, JSON, pages
// and tables to files.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/face/help/answer.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

class Failures {
 public:
  void add(const Error& error);
  // Whether add() has had this very error.
  [[nodiscard]] bool has(const Error& error) const { return said_.contains(error.message()); }
  void keep(const Result<Done>& result) {
    if (!result) add(result.error());
  }
  // For an output that is written again and again: says a failure when it begins and when it is
  // over.
  void keep_repeated(const std::string& path, const Result<Done>& result);
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  [[nodiscard]] bool any() const { return any_; }

 private:
  bool any_ = false;
  bool interrupted_ = false;
  std::set<std::string> said_;
  std::set<std::string> failing_;  // repeated outputs
};

// The files that a parsed verb would write, compared with each other and with the files that it
// would read, those of directories and patterns included. Error: one file is two of them.
[[nodiscard]] Result<Done> check_outputs(const CLI::App& verb);

// The page of `tree`; nothing where the path is empty.
void write_page(const std::string& path, const Json& tree, Failures& failures);
// `tree` as JSON and as a page.
void write_tree(const OutputPaths& paths, const Json& tree, Failures& failures);
// To `path`, or to standard output where it is "-"; nothing where it is empty.
void write_json_text(const std::string& path, const std::string& json, Failures& failures);
// Into the directory, which is made.
void write_tables(const std::string& directory, std::span<const TreeTable> tables,
                  Failures& failures);
// Files for simulators; nothing where a path is empty.
struct ProgramPaths {
  std::string chakra{};  // a directory, which is made
  std::string goal{};
  bool goal_recorded_times = false;
};
void write_programs(const ProgramPaths& paths, const std::optional<JobProgram>& program,
                    Failures& failures);
// To standard output; flush_output() says whether it arrived.
void print_text(std::string_view text);
// What was printed has to arrive.
void flush_output(Failures& failures);

// Runs a verb that answers: its text to standard output, its tree, page and tables to `out`.
[[nodiscard]] int run_command(const OutputPaths& out,
                              const std::function<Result<Answer>(const Progress&)>& answer);
// Declares the flags of such a verb. REQUIRES: declare(app, flags), and flags.out.
template <class Flags>
VerbRun declare_answering(CLI::App& app,
                          Result<Answer> (*answer)(const Flags& flags, const Progress& progress)) {
  const auto flags = std::make_shared<Flags>();
  declare(app, *flags);
  const auto ask = [flags, answer](const Progress& progress) { return answer(*flags, progress); };
  return {.command = [flags, ask] { return run_command(flags->out, ask); }, .answer = ask};
}

// The error of a verb on standard error, and its exit code: failed where a file is at fault, else
// wrong usage; of an interruption its code alone.
[[nodiscard]] int refused(const Error& error);

// Says each failure at once, shows what is read on a terminal, and stops on Ctrl-C.
[[nodiscard]] Progress progress_of(Failures& failures);
// What a verb returned instead of a result: the error on standard error unless it is one of the
// failures, and its exit code.
[[nodiscard]] int ended(const Error& error, const Failures& failures);
}  // namespace stepscope
