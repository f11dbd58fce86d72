// SPDX-License-Identifier: Apache-2.0
#include "tests/program/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace stepscope::program {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Standard output and error go to files, so neither can fill a pipe while the other is read.
int spawn_and_wait(std::vector<std::string> words, const std::string& out, const std::string& err) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int mode = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), mode, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), mode, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "stepscope-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Outcome run(const std::vector<std::string>& arguments, const std::vector<std::string>& launcher) {
  const ScratchFolder scratch;
  std::vector<std::string> words = launcher;
  const char* const elsewhere = std::getenv("STEPSCOPE_PROGRAM");
  words.emplace_back(elsewhere != nullptr ? elsewhere : STEPSCOPE_PROGRAM);
  words.insert(words.end(), arguments.begin(), arguments.end());
  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  outcome.exit_code = spawn_and_wait(std::move(words), scratch.file("out"), scratch.file("err"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcome.seconds = took.count();
  outcome.printed = text_of(scratch.file("out"));
  outcome.errors = text_of(scratch.file("err"));
  return outcome;
}

Analysis analyze(const std::vector<std::filesystem::path>& files,
                 const std::vector<std::string>& flags) {
  const ScratchFolder scratch;
  std::vector<std::string> words = {"analyze"};
  for (const auto& file : files) words.push_back(file.string());
  words.insert(words.end(), {"--json", scratch.file("answer.json")});
  words.insert(words.end(), flags.begin(), flags.end());
  Analysis analysis;
  analysis.outcome = run(words);
  const std::string text = text_of(scratch.file("answer.json"));
  if (nlohmann::json::accept(text)) analysis.json = nlohmann::json::parse(text);
  return analysis;
}

}  // namespace stepscope::program
