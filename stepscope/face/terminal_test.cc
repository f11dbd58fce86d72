// SPDX-License-Identifier: Apache-2.0
// Signals, in processes of their own.
#include "stepscope/face/terminal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "stepscope/base/output_file.h"
#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

// The status of a process that does this and nothing else.
int status_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    work();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

[[noreturn]] void work_without_polling() {
  for (;;) ::pause();
}

TEST(StopOnSignals, EndsWorkThatDoesNotPollAndLeavesNoTemporaryFile) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const test::Folder folder;
    const std::string launches = folder.file("launches");
    const int status = status_of([&] {
      (void)stop_on_signals();
      auto file = OutputFile::create(folder.file("report.json"));
      file->write("{");
      std::filesystem::create_directory(launches);
      note_folder(launches);
      (void)write_file(launches + "/out", "1");
      (void)write_file(folder.file("whole.json"), "{}");
      std::raise(signal);
      work_without_polling();
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    std::string left;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path))
      left += entry.path().filename().string() + ' ';
    EXPECT_EQ(left, "whole.json ");
  }
}

TEST(StopOnSignals, WaitsForWhatMustNotBeBrokenOff) {
  const test::Folder folder;
  const int status = status_of([&] {
    (void)stop_on_signals();
    std::raise(SIGTERM);
    {
      const Unbroken transaction;
      ::sleep(2);  // longer than unpolled work may take
      (void)write_file(folder.file("written"), "all");
    }
    work_without_polling();
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(std::filesystem::exists(folder.file("written")));
}

TEST(StopOnSignals, LetsAJobFinishWhatItHasBegun) {
  const int status = status_of([] {
    const StopFlag& stop = stop_on_signals(WhenSlow::finishes);
    std::raise(SIGINT);
    ::sleep(2);
    ::_exit(stop.requested() ? 3 : 4);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace stepscope
