// SPDX-License-Identifier: Apache-2.0
// For tests: a test's own directory, files in it, and a tiny file system that fills up.
#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::zero {

// Each test has a directory of its own, because ctest runs tests in parallel.
class DiskTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static std::string name() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->test_suite_name()) + "." + test->name() + "." +
           std::to_string(::getpid());
  }
  [[nodiscard]] std::string path(std::string_view file) const {
    return dir_ + "/" + std::string(file);
  }
  std::string write(std::string_view file, std::string_view bytes) const {
    const std::string at = path(file);
    std::ofstream(at, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return at;
  }
  template <class T>
  std::string write_words(std::string_view file, const std::vector<T>& words) const {
    return write(file, {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(T)});
  }
  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void flip(const std::string& file, std::uint64_t byte, char mask = 1) {
    std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
    f.seekg(static_cast<std::streamoff>(byte));
    const char c = static_cast<char>(f.get());
    f.seekp(static_cast<std::streamoff>(byte));
    f.put(static_cast<char>(c ^ mask));
  }

  // In memory if possible, because tests flush many files.
  static std::string place() {
    const std::string memory = "/dev/shm/";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir();
  }

  std::string dir_ = place() + "stepscope_" + name();
};

// A file system of `bytes` bytes in memory, if the test may mount one.
class TinyDisk {
 public:
  TinyDisk(std::string at, std::size_t bytes) : at_(std::move(at)) {
    std::filesystem::create_directories(at_);
    mounted_ = ::mount("stepscope_test", at_.c_str(), "tmpfs", 0,
                       ("size=" + std::to_string(bytes)).c_str()) == 0;
  }
  TinyDisk(const TinyDisk&) = delete;
  TinyDisk& operator=(const TinyDisk&) = delete;
  ~TinyDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string at_;
  bool mounted_ = false;
};

}  // namespace stepscope::zero
