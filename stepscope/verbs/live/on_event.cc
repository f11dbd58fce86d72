// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/on_event.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "stepscope/say/say.h"
#include "stepscope/verbs/live/live_sentence.h"

extern char** environ;

namespace stepscope {
namespace {

bool asked(std::string_view name, LiveEventKind kind) {
  using enum LiveEventKind;
  if (name == "any") return true;
  if (name == "slowdown") return kind == late || kind == slower || kind == longer_transfers;
  if (name == "silence") return kind == silent || kind == stands_still;
  if (name == "stuck" && kind == unresponsive) return true;
  return name == live_event_names[static_cast<std::size_t>(kind)];
}

std::string list_of(const std::vector<int>& ranks) {
  std::string out;
  for (const int rank : ranks) {
    if (rank < 0) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(rank);
  }
  return out;
}

Result<pid_t> start(const std::string& command, const LiveEvent& event) {
  std::vector<std::string> own = {
      "STEPSCOPE_EVENT=" + std::string(live_event_names[static_cast<std::size_t>(event.kind)]),
      "STEPSCOPE_SENTENCE=" + say(event_in_words(event)), "STEPSCOPE_RANKS=" + list_of(event.ranks),
      "STEPSCOPE_HOST=" + event.host,
      "STEPSCOPE_STEP=" + (event.step >= 0 ? std::to_string(event.step) : std::string())};
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  for (std::string& text : own) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  std::array<char*, 4> words = {shell.data(), flag.data(), text.data(), nullptr};
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  // What it prints must not mix with the view or with JSON on standard output.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  pid_t child = 0;
  const int code =
      ::posix_spawn(&child, shell.c_str(), &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return Error{.what = "cannot start '" + command + "': " + std::generic_category().message(code),
                 .hint = "check the command behind --on"};
  return child;
}

}  // namespace

Result<EventCommands> EventCommands::make(
    std::vector<std::pair<std::string, std::string>> commands) {
  for (const auto& [name, command] : commands) {
    constexpr std::array<std::string_view, 5> names = {"slowdown", "silence", "stuck", "restarted",
                                                       "any"};
    if (std::ranges::find(names, name) == names.end())
      return Error{.what = "--on " + name + " is no event",
                   .hint = "write slowdown, silence, stuck, restarted or any",
                   .code = ErrorCode::refused};
  }
  EventCommands made;
  made.commands_ = std::move(commands);
  return made;
}

std::vector<Error> EventCommands::run(std::span<const LiveEvent> events) {
  std::erase_if(running_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
  std::vector<Error> errors;
  for (const LiveEvent& event : events)
    for (const auto& [name, command] : commands_) {
      if (!asked(name, event.kind)) continue;
      if (running_.size() >= most_running) {
        errors.push_back({.what = "the command of --on " + name +
                                  " was not run for an event, because " +
                                  std::to_string(most_running) + " commands have not ended",
                          .hint = "give a command that ends soon"});
        continue;
      }
      auto started = start(command, event);
      if (started)
        running_.push_back(*started);
      else
        errors.push_back(started.error());
    }
  return errors;
}

}  // namespace stepscope
