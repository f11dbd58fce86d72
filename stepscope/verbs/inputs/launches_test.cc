// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/launches.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/verbs/inputs/launch_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

void make_an_hour_old(const std::string& path) {
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  const timespec then{.tv_sec = about.st_mtim.tv_sec - 3600, .tv_nsec = 0};
  const timespec both[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
}

TEST(LaunchFolder, RemovesWhatKilledProcessesLeft) {
  const test::Folder place;
  const char* const before = std::getenv("TMPDIR");
  const std::string restored = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("TMPDIR", place.path.c_str(), 1), 0);
  const std::string left = place.path.string() + "/stepscope-launches-left";
  const std::string fresh = place.path.string() + "/stepscope-launches-fresh";
  const std::string other = place.path.string() + "/of-another-program";
  for (const std::string& folder : {left, fresh, other}) fs::create_directory(folder);
  fs::create_directory(left + "/out");
  auto used = LaunchFolder::make({});
  ASSERT_TRUE(used) << used.error().message();
  for (const std::string& folder : {left, other, used->path()}) make_an_hour_old(folder);
  {
    const auto next = LaunchFolder::make({});
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(fresh)) << "its process may not have locked it yet";
    EXPECT_TRUE(fs::exists(other));
    EXPECT_TRUE(fs::exists(used->path())) << "it is in use";
  }
  if (restored.empty())
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", restored.c_str(), 1);
}

}  // namespace
}  // namespace stepscope
