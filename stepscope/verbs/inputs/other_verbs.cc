// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/other_verbs.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/read/bytes/document.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/kernels/read_kernel_times.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/read/memory/printed_memory.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "stepscope/read/nccl/comm_files.h"
#include "stepscope/read/nccl/read_comm_benchmark.h"
#include "stepscope/read/nccl/size_time_table.h"
#include "stepscope/stack/nsys_samples.h"
#include "stepscope/stack/read_profile.h"
#include "stepscope/verbs/inputs/printed_block.h"
#include "stepscope/verbs/inputs/step_inputs.h"

namespace stepscope {
namespace {

bool is_profile(const FileHead& head, const std::string& path) {
  if (is_sqlite(head.text)) {
    const auto file = SqliteFile::open(path);
    return file && has_nsys_samples(*file);
  }
  // Their stacks may stand behind long tables.
  const std::string_view format = profile_format_of(head.text);
  if (!head.whole && (format == "speedscope" || format == "pprof")) return true;
  const auto profile = read_profile_from(std::make_unique<TextSource>(head.text), path);
  if (!profile) return false;
  return !may_be_text(*profile);
}

bool is_trace(const std::string& path) {
  const auto head = head_of_file(path);
  return head && beginning_of(head->text) == Beginning::json &&
         contains(head->text, "\"traceEvents\"");
}

constexpr std::uint64_t most_listed_bytes = 16 << 20;  // of a file of a folder that is looked at

// The lines that are whole in the first bytes.
std::string_view whole_lines(const FileHead& head) {
  const std::string_view text = head.text;
  return head.whole ? text : text.substr(0, text.find_last_of("\r\n") + 1);
}

bool has_step_times(const FileHead& head, const std::string& path) {
  const auto kind = step_file_kind(path);
  if (!kind) return false;
  const std::string_view text = whole_lines(head);
  if (is_memory_timeline(text)) return false;
  if (*kind != StepFileKind::trace) return parse_step_times(text, path).has_value();
  if (beginning_of(text) != Beginning::json || has_events(text)) return false;
  const auto log = parse_job_log(text, path);
  return log && !steps_of(*log).steps.empty();
}

bool is_measured(const FileHead& head, const std::string& path) {
  const std::string_view text = whole_lines(head);
  if (looks_like_kernel_times(text)) return static_cast<bool>(parse_kernel_times(text, path));
  if (looks_like_size_times(text) && !has_step_times(head, path))
    return static_cast<bool>(parse_size_times(text, path));
  return static_cast<bool>(parse_comm_benchmark(text, path));
}

// A ds_config.json, by keys that only DeepSpeed has.
bool is_deepspeed_config(std::string_view text) {
  return beginning_of(text) == Beginning::json && !has_events(text) &&
         contains_any(text, {"\"zero_optimization\"", "\"train_micro_batch_size_per_gpu\"",
                             "\"steps_per_print\"", "\"wall_clock_breakdown\""});
}

// A config.json of Hugging Face.
bool is_model_config(std::string_view text) {
  return beginning_of(text) == Beginning::json && contains(text, "\"model_type\"") &&
         contains(text, "\"architectures\"");
}

// What stands in front of the file's name, that of `check` only where `check_too`. They are those
// whose readers take the first bytes of the file.
std::vector<std::string> readers_of(const std::string& path, bool check_too) {
  const auto head = head_of_file(path);
  if (!head) return {};
  std::vector<std::string> verbs;
  if (begins_comm_file(*head, path)) verbs.emplace_back("hang");
  if (begins_memory_snapshot(*head, path) || !printed_checkpoints(whole_lines(*head)).empty())
    verbs.emplace_back("memory");
  if (is_measured(*head, path))
    verbs.emplace_back(looks_like_size_times(head->text)
                           ? "calibrate MACHINE.json --machine NAME --ranks N --from"
                           : "calibrate MACHINE.json --from");
  if (verbs.empty() && is_profile(*head, path)) verbs.emplace_back("stacks");
  if (check_too && has_step_times(*head, path)) verbs.emplace_back("check");
  if (!verbs.empty() || !head->whole || !path.ends_with(".json")) return verbs;
  if (machine_named(path)) verbs.emplace_back("predict MODEL --machine");
  if (find_model(path)) verbs.emplace_back("predict");
  if (is_deepspeed_config(head->text)) verbs.emplace_back("predict MODEL --ds-config");
  return verbs;
}

std::string command_of(const std::string& verb, const std::string& path) {
  return "stepscope " + verb + ' ' + path;
}

std::vector<std::string> commands_of(const std::string& path, bool check_too) {
  std::vector<std::string> commands;
  for (const std::string& verb : readers_of(path, check_too))
    commands.push_back(command_of(verb, path));
  return commands;
}

std::string joined_commands(const std::vector<std::string>& commands) {
  std::string out;
  for (const std::string& command : commands) out += (out.empty() ? "" : ", or ") + command;
  return out;
}

// The regular files of a folder, by name.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) files.push_back(at->path().string());
  }
  std::ranges::sort(files);
  return files;
}

constexpr std::size_t most_files = 16;

// The error about a table of nccl-tests that its reader refuses; absent for another file.
std::optional<Error> refused_benchmark(const std::string& path) {
  const auto head = head_of_file(path);
  if (!head || !has_benchmark_lines(head->text)) return std::nullopt;
  const auto benchmark = parse_comm_benchmark(whole_lines(*head), path);
  if (benchmark) return std::nullopt;
  Error error = benchmark.error();
  error.what = "is output of nccl-tests, and " + error.what;
  error.hint =
      command_of("calibrate MACHINE.json --from", path) + " fits a machine to it: " + error.hint;
  return error;
}

}  // namespace

Error with_analyze(Error error, std::string_view verb) {
  if (error.file.empty() || error.code == ErrorCode::interrupted) return error;
  const std::vector<std::string> one = {error.file};
  const std::vector<std::string> files = find_input_files(one).files;
  if (!files.empty() && is_trace(files.front())) {
    error.what = files.front() == error.file ? "is a trace" : "is a directory of traces";
    error.byte.reset();
    error.hint =
        "stepscope analyze " + error.file + (may_be_file(error.file) ? " reads it" : " reads them");
    return error;
  }
  if (contains(error.hint, "stepscope ")) return error;
  const std::vector<std::string> commands =
      may_be_file(error.file) ? commands_of(error.file, true) : commands_for_folder(error.file);
  const std::string own = command_of(std::string(verb), {});
  if (std::ranges::any_of(commands, [&](const auto& c) { return c.starts_with(own); }))
    return error;
  if (commands.empty()) return with_printed_block(std::move(error));
  error.byte.reset();
  error.hint = joined_commands(commands) + " reads it; or " + error.hint;
  return error;
}

Error with_readers(Error error) {
  if (error.file.empty() || error.code == ErrorCode::interrupted) return error;
  const std::vector<std::string> commands = commands_that_read(error.file);
  if (commands.empty()) return with_model_reason(with_printed_block(std::move(error)));
  error.what = "is no trace";
  error.byte.reset();
  error.hint = joined_commands(commands) + " reads it";
  return error;
}

std::vector<std::string> commands_that_read(const std::string& path) {
  return commands_of(path, true);
}

std::vector<std::string> commands_for_folder(const std::string& folder) {
  constexpr std::size_t most_commands = 3;
  std::vector<std::string> files = files_of(folder);
  if (files.size() > most_files) files.resize(most_files);
  std::vector<std::string> commands;
  const std::string hang = command_of("hang", {});
  for (const std::string& file : files) {
    const auto bytes = file_size(file);
    if (commands.size() == most_commands || !bytes || *bytes > most_listed_bytes) continue;
    std::vector<std::string> of_file = commands_that_read(file);
    if (of_file.empty()) continue;
    // Whatever a job left as it ended is one account.
    const auto same = std::ranges::find_if(
        commands, [&](const std::string& command) { return command.starts_with(hang); });
    if (same != commands.end() && of_file.front().starts_with(hang))
      *same = hang + folder;
    else
      commands.push_back(std::move(of_file.front()));
  }
  return commands;
}

std::vector<std::string> commands_for_others(const std::string& folder,
                                             std::span<const std::string> read) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
  };
  std::set<std::string> known;
  for (const std::string& path : read) known.insert(plain(path));
  std::vector<std::pair<std::string, std::vector<std::string>>> by_verb;
  std::size_t looked = 0;
  for (const std::string& file : files_of(folder)) {
    if (known.contains(plain(file))) continue;
    const auto bytes = file_size(file);
    if (!bytes || *bytes > most_listed_bytes) continue;
    if (++looked > most_files) break;
    for (const std::string& verb : readers_of(file, true)) {
      if (verb.starts_with("predict")) continue;
      auto at = std::ranges::find(by_verb, verb, [](const auto& v) { return v.first; });
      if (at == by_verb.end()) at = by_verb.insert(at, {verb, {}});
      at->second.push_back(file);
    }
  }
  std::vector<std::string> commands;
  for (const auto& [verb, files] : by_verb) {
    // Whatever a job left as it ended is one account.
    const bool whole = verb == "hang" && files.size() > 1;
    commands.push_back(command_of(verb, whole ? folder : files.front()));
    if (!whole && files.size() > 1)
      commands.back() += " (and " + std::to_string(files.size() - 1) + " more)";
  }
  return commands;
}

Error with_model_reason(Error error) {
  const auto head = head_of_file(error.file);
  if (!head || !head->whole || !error.file.ends_with(".json") || !is_model_config(head->text))
    return error;
  const auto model = find_model(error.file);
  if (model) return error;
  error.what = "is the config.json of a model and no trace";
  error.byte.reset();
  error.hint = "stepscope predict does not read it either: " + model.error().what;
  return error;
}

Error with_other_verbs(Error error) {
  if (error.file.empty() || error.code == ErrorCode::interrupted || !may_be_file(error.file))
    return error;
  const std::vector<std::string> others = commands_of(error.file, false);
  if (others.empty()) {
    if (auto refused = refused_benchmark(error.file)) return *std::move(refused);
    return with_printed_block(std::move(error));
  }
  error.hint = joined_commands(others) + " reads it";
  return error;
}

}  // namespace stepscope
