// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/standing.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

// "label: frame" of each process.
std::vector<std::string> standing(std::string_view text) {
  const auto profile = test::profile_of(text, {.format = "thread_dump"});
  const auto rules = make_phase_rules();
  if (!profile || !rules) return {"unread"};
  std::vector<std::string> out;
  for (const Standing& s : standing_of(*profile, *rules, phases_of(*profile, *rules)))
    out.push_back(rules->phases[s.phase].name + ": " + s.frame);
  return out;
}

TEST(Standing, IsWhereTheMainThreadOfEachProcessIs) {
  EXPECT_EQ(
      standing("Process 7: python train.py\nPython v3.11.2 (/usr/bin/python)\n\n"
               "Thread 7 (idle): \"MainThread\"\n    wait (threading.py:324)\n"
               "    get (queue.py:180)\n    _try_get_data (torch/utils/data/dataloader.py:11)\n"
               "    _next_data (torch/utils/data/dataloader.py:13)\n    fit (train.py:9)\n"
               "Thread 8 (active): \"pt_x\"\n    loop (helper.py:1)\n"),
      (std::vector<std::string>{"data_wait: fit (train.py:9)"}));
  EXPECT_EQ(standing("Thread 7 (active): \"MainThread\"\n    all_reduce "
                     "(torch/distributed/distributed_c10d.py:25)\n"
                     "    step (a.py:1)\n"
                     "Thread 9 (active): \"MainThread\"\n    save (b.py:2)\n"),
            (std::vector<std::string>{"collective: step (a.py:1)", "python: save (b.py:2)"}));
}

TEST(Standing, WaitsForTheDeviceOrForData) {
  const std::string main = "Process 1: python a.py\nThread 1 (idle): \"MainThread\"\n";
  EXPECT_EQ(standing(main + "    _value (jax/_src/array.py:642)\n"
                            "    __float__ (jax/_src/array.py:300)\n    step (a.py:9)\n"),
            (std::vector<std::string>{"sync_point: step (a.py:9)"}));
  EXPECT_EQ(standing(main + "    wait (threading.py:312)\n    get (queue.py:171)\n"
                            "    __next__ (library/iterators.py:648)\n    fit (a.py:9)\n"),
            (std::vector<std::string>{"data_wait: __next__ (iterators.py:648)"}));
}

TEST(Standing, IsWhereTheCurrentThreadOfFaulthandlerIs) {
  EXPECT_EQ(
      standing("Thread 0x00007f01 (most recent call first):\n"
               "  File \"/w/watch.py\", line 4 in watch\n\n"
               "Current thread 0x00007f02 (most recent call first):\n"
               "  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", "
               "line 25 in "
               "all_reduce\n"
               "  File \"/w/a.py\", line 7 in step\n"),
      (std::vector<std::string>{"collective: step (a.py:7)"}));
}

}  // namespace
}  // namespace stepscope
