// SPDX-License-Identifier: Apache-2.0
// `stepscope train`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "engine/comm/groups/rank_processes.h"
#include "engine/comm/groups/rank_transport.h"
#include "engine/comm/groups/shm_group.h"
#include "engine/train/train.h"
#include "engine/train/train_flags.h"
#include "engine/train/train_plan_views.h"
#include "engine/train/train_views.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/say/format.h"

namespace stepscope {

namespace {

// "late: rank 1 by 31.0 ms, costs 1.20 k tokens/s"
std::string late_words(const PersistentStraggler& late) {
  std::string words = fmt::format("late: rank {} by {}", late.rank, format_time(late.latest));
  if (late.tokens_per_second && late.tokens_per_second_without)
    words += fmt::format(", costs {} tokens/s",
                         format_count(*late.tokens_per_second_without - *late.tokens_per_second));
  return words;
}

void say_step(const TrainedStep& step) {
  const double wall = seconds(step.wall).count();
  std::string line =
      fmt::format("step {:>5}  loss {:.4f}  norm {:.3f}  lr {:.2e}  {:>10.3f} ms  {:>7} tokens/s",
                  step.index, step.loss, step.gradient_norm, step.learning_rate, wall * 1e3,
                  format_count(static_cast<double>(step.tokens) / wall));
  if (step.mfu) line += fmt::format("  {:>5.1f} % MFU", 100 * *step.mfu);
  if (step.validation_loss) line += fmt::format("  validation {:.4f}", *step.validation_loss);
  for (const PersistentStraggler& late : step.late) line += "  " + late_words(late);
  if (!step.skipped.empty()) line += "  SKIPPED: " + step.skipped;
  say("{}\n", line);
}

void say_note(const TrainNote& note) {
  const bool of_the_command =
      note.kind == TrainNote::Kind::shared_cores || note.kind == TrainNote::Kind::restarting;
  say("{}{}\n", of_the_command ? "stepscope: " : "", printable(note.text));
}

TrainProgress train_progress_of(Failures& failures) {
  TrainProgress progress;
  if (!is_quiet()) progress.step = say_step;
  progress.note = [](const TrainNote& note) {
    if (!is_quiet() || note.kind != TrainNote::Kind::offload) say_note(note);
  };
  progress.failed = [&failures](const Error& error) { failures.add(error); };
  progress.begins = [] { (void)stop_on_signals(WhenSlow::finishes); };
  progress.stop = &stop_flag();
  return progress;
}

int ended(const Error& error) {
  switch (error.code) {
    case ErrorCode::refused:
      return speaks_for_launched() ? refused(error) : exit_usage;
    case ErrorCode::interrupted:
      return exit_interrupted;
    case ErrorCode::reported:
      return exit_failed;
    case ErrorCode::other_rank:  // says why the group did not form
      if (is_spawned_rank()) return lost_peer_status;
      break;
    default:
      break;
  }
  Failures failures;
  failures.add(error);
  const bool lost = error.code == ErrorCode::group_failed && is_spawned_rank();
  return lost ? lost_peer_status : static_cast<int>(exit_failed);
}

int write_plan(const OutputPaths& out, const TrainResult& result, Failures& failures) {
  const bool has_tree = out.has_tree() || !out.csv.empty();
  const Json tree = has_tree ? train_plan_tree(result) : Json();
  write_json_text(out.json, tree.dump(2, ' ', false, Json::error_handler_t::replace) + '\n',
                  failures);
  if (!out.csv.empty()) write_tables(out.csv, train_plan_tables(tree), failures);
  if (out.prints()) print_text(train_plan_text(result, text_options()));
  flush_output(failures);
  return failures.any() ? static_cast<int>(exit_failed) : static_cast<int>(exit_done);
}

// `failures` of the run: what was asked for and could not be written.
int write(const TrainFlags& flags, const TrainResult& result, Failures& failures) {
  const int code = result.interrupted ? exit_interrupted : exit_done;
  if (!result.has_results) return failures.any() ? static_cast<int>(exit_failed) : code;
  const OutputPaths& out = flags.out;
  if (result.plan) return write_plan(out, result, failures);
  const bool prints = out.prints();
  if (flags.request.generate > 0) fmt::print(prints ? stdout : stderr, "{}\n\n", result.generated);
  const bool has_tree = out.has_tree() || !out.csv.empty();
  const Json tree = has_tree ? train_tree(result) : Json();
  if (!out.json.empty())
    write_json_text(out.json, tree.dump(2, ' ', false, Json::error_handler_t::replace) + '\n',
                    failures);
  if (!out.html.empty()) write_page(out.html, train_page_tree(tree), failures);
  if (!out.csv.empty()) write_tables(out.csv, train_tables(tree), failures);
  if (prints) print_text(train_text(result, text_options(out.html)));
  flush_output(failures);
  if (failures.any()) failures.add({.what = "rank 0: not everything could be written"});
  return failures.any() ? static_cast<int>(exit_failed) : code;
}

int answer(const TrainFlags& flags) {
  const auto request = request_of(flags);
  if (!request) return speaks_for_launched() ? refused(request.error()) : exit_usage;
  Failures failures;
  const auto result = train(*request, train_progress_of(failures));
  return result ? write(flags, *result, failures) : ended(result.error());
}

VerbRun declare_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  declare(app, *flags);
  return {.command = [flags] { return answer(*flags); }};
}

}  // namespace

extern const Verb train_verb{"train", "Train a network with ZeRO on this machine's cores", "Train",
                             "how-to/train-with-zero.md", declare_train};

}  // namespace stepscope
