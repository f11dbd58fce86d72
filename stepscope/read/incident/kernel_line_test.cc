// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/kernel_line.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace stepscope {
namespace {

TEST(KernelLine, NamesTheProgramThatAFaultEnded) {
  const auto fault = parse_kernel_line(
      "Nov 30 12:00:00 n3 kernel: pt_main_thread[812]: segfault at 7f79 ip 00007f7c sp 00007f7c "
      "error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, IncidentKind::signal);
  EXPECT_EQ(fault->code, 11);
  EXPECT_EQ(fault->pid, 812);
  EXPECT_EQ(fault->host, "n3");
  EXPECT_EQ(fault->where, "libnccl.so.2 of program pt_main_thread");
  const auto trap = parse_kernel_line("[  9.5] traps: python3[77] trap invalid opcode ip:7f sp:7e");
  ASSERT_TRUE(trap);
  EXPECT_EQ(trap->code, 4);
  EXPECT_EQ(trap->where, "program python3");
  EXPECT_EQ(parse_kernel_line("traps: python[7] general protection fault ip:7f in x.so[7f]")->code,
            11);
  EXPECT_FALSE(parse_kernel_line("sshd[7]: segfault at 0 ip 7f sp 7f error 4 in sshd[7f+1]"));
  for (const char* line : {"a segfault at night", "x[y]: segfault at 0", "traps: a trap int3"})
    EXPECT_FALSE(parse_kernel_line(line)) << line;
}

TEST(KernelLine, NamesTheTaskThatDoesNotComeOutOfTheKernel) {
  const auto task =
      parse_kernel_line("[9.5] INFO: task python3:77 blocked for more than 241 seconds.");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->kind, IncidentKind::blocked);
  EXPECT_EQ(task->pid, 77);
  EXPECT_EQ(task->code, 241'000);
  EXPECT_EQ(task->text, "python3:77");
  EXPECT_EQ(parse_kernel_line("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:9]")->pid,
            9);
  // Hosts have other programs.
  EXPECT_FALSE(parse_kernel_line("INFO: task epilog.sh:77 blocked for more than 120 seconds."));
  EXPECT_FALSE(parse_kernel_line("INFO: task python blocked for more than 120 seconds."));
  constexpr std::array<std::string_view, 4> frames = {
      "Call Trace:", "[Mon Nov 30 12:00:00 2026]  __schedule+0x2d1/0x860",
      "[Mon Nov 30 12:00:00 2026]  ll_file_write+0x208/0x330 [lustre]",
      "vfs_write+0x1/0x2 [other]"};
  EXPECT_EQ(module_of_frames(frames), "lustre");
  EXPECT_EQ(module_of_frames(std::span(frames).first(2)), "");
}

TEST(KernelLine, HasErrorsOfTheKernelItself) {
  const auto oops = parse_kernel_line(
      "<1>[  201.65] BUG: unable to handle kernel NULL pointer dereference at   0");
  ASSERT_TRUE(oops);
  EXPECT_EQ(oops->kind, IncidentKind::error);
  EXPECT_EQ(oops->text, "BUG: unable to handle kernel NULL pointer dereference at 0");
  EXPECT_EQ(oops->where, "kernel");
  EXPECT_TRUE(parse_kernel_line("Nov 30 12:00:00 n1 kernel: Kernel panic - not syncing: Fatal"));
  EXPECT_FALSE(parse_kernel_line("we saw a Kernel panic - not syncing last week"));
}

}  // namespace
}  // namespace stepscope
