// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using test::Folded;

TEST(ThreadDump, ReadsPySpy) {
  const auto p = test::profile_of(
      "Process 12: python train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
      "Thread 12 (active+gil): \"MainThread\"\n    train (megatron/training.py:915)\n"
      "        Arguments:\n            model: \"x (y)\"\n    <module> (pretrain.py:239)\n"
      "Thread 0x7F12 (idle): \"pt_data_pin\"\n    wait (threading.py:324)\nThread 15 (idle)\n");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(test::folded(*p),
            (Folded{{"Process 12|Thread 12 \"MainThread\";<module> (pretrain.py:239);train "
                     "(megatron/training.py:915)",
                     1},
                    {"Process 12|Thread 0x7F12 \"pt_data_pin\";wait (threading.py:324)", 1},
                    {"Process 12|Thread 15", 1}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{{"lines_of_local_variables", 2},
                                                  {"lines_that_are_no_frame", 1},
                                                  {"threads_without_frames", 1}}));
}

TEST(ThreadDump, KeepsDumpsOfEqualNumbersApart) {
  const std::string dump =
      "Process 1: python a.py\nThread 1 (idle): \"MainThread\"\n    f (a.py:1)\n";
  EXPECT_EQ(test::folded_text(dump + dump +
                              "# the other\nThread 1 (idle): \"MainThread\"\n    g (a.py:2)\n"
                              "Thread 2 (idle): \"x\"\n    h (a.py:3)\n"),
            (Folded{{"Process 1 (2)|Thread 1 \"MainThread\";f (a.py:1)", 1},
                    {"Process 1 (3)|Thread 1 \"MainThread\";g (a.py:2)", 1},
                    {"Process 1 (3)|Thread 2 \"x\";h (a.py:3)", 1},
                    {"Process 1|Thread 1 \"MainThread\";f (a.py:1)", 1}}));
}

TEST(ThreadDump, ReadsGdb) {
  EXPECT_EQ(test::folded_text(
                "(gdb) thread apply all bt\n\nThread 2 (Thread 0x7f (LWP 78)):\n"
                "#0  0x00007f in poll () from /lib64/libc.so.6\n"
                "#1  proxy (args=0x56) at proxy.cc:7\n\n"
                "Thread 1 (Thread 0x8f (LWP 77)):\n#0  0x1 in ?? () from /usr/lib/libcuda.so.1\n"
                "#1  0x2 in ncclGroupEnd () from /usr/lib/libnccl.so.2\n#2  0x3 in main ()\n"),
            (Folded{{"Thread 2;proxy (proxy.cc:7);poll (libc.so.6)", 1},
                    {"Thread 1;main;ncclGroupEnd (libnccl.so.2);?? (libcuda.so.1)", 1}}));
}

TEST(ThreadDump, ReadsFaulthandler) {
  EXPECT_EQ(
      test::folded_text(
          "Fatal Python error: Aborted\n\nThread 0x00007f (most recent call first):\n"
          "  File \"/a/b.py\", line 12 in run\n  File \"<frozen x>\", line 3 in <module>\n\n"
          "Current thread 0x00008f (most recent call first):\n  File \"c.py\", line 1 in f\n"),
      (Folded{{"Thread 0x00007f;<module> (<frozen x>:3);run (/a/b.py:12)", 1},
              {"Current thread 0x00008f;f (c.py:1)", 1}}));
}

}  // namespace
}  // namespace stepscope
