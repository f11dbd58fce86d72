// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/perf_script.h"

#include <gtest/gtest.h>

#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using test::Folded;
using test::folded_text;

constexpr std::string_view frames =
    "\t             63c beta (/opt/prog)\n"
    "\t             6f3 main+0x1f (/opt/prog)\n"
    "\tffff804d8598 __libc_start_main@plt+0x98 (/usr/lib/libc.so.6)\n\n";

TEST(PerfScript, ReadsHeadersOfEveryKind) {
  struct Case {
    std::string_view line;
    std::string_view command, pid, tid, event, rest;
    std::int64_t ns;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"prog    10 198792.736893:    1001001 cpu-clock:", "prog", "", "10", "cpu-clock", "",
            198792736893000},
           {"prog     9/10     198791.127353: cycles:u: ", "prog", "9", "10", "cycles:u", "",
            198791127353000},
           {"my prog     9 [000] 2.000000001:    1 task-clock:ppp: ", "my prog", "", "9",
            "task-clock:ppp", "", 2000000001},
           {":-1    -1 [003] 5.5: sched:sched_switch: prev=x", ":-1", "", "-1",
            "sched:sched_switch", "prev=x", 5500000000},
           {"p 1 3.25: cycles:  ffff81 do_idle ([kernel.kallsyms])", "p", "", "1", "cycles",
            "ffff81 do_idle ([kernel.kallsyms])", 3250000000},
       }) {
    PerfHeader h;
    ASSERT_TRUE(parse_perf_header(c.line, h)) << c.line;
    EXPECT_EQ(h.command, c.command) << c.line;
    EXPECT_EQ(h.pid, c.pid) << c.line;
    EXPECT_EQ(h.tid, c.tid) << c.line;
    EXPECT_EQ(h.event, c.event) << c.line;
    EXPECT_EQ(h.rest, c.rest) << c.line;
    EXPECT_EQ(h.time, Ns{c.ns}) << c.line;
  }
  for (const std::string_view line :
       {"", "prog", "prog 10 cycles:", "10 5.5: cycles:", "prog x 5.5: cycles:",
        "prog 1 5.5 cycles:", "prog 1 99999999999.5: cycles:", "prog 1 .5: cycles:"}) {
    PerfHeader h;
    EXPECT_FALSE(parse_perf_header(line, h)) << line;
  }
}

TEST(PerfScript, ReadsSamplesInnermostFirst) {
  std::string text = "# captured on: today\n";
  for (const char* who :
       {"prog 9 1.5: 1 cycles: \n", "prog 9 1.6: 1 cycles: \n", "other 9/8 1.7: 1 cycles: \n"})
    text += std::string(who) + std::string(frames);
  EXPECT_EQ(folded_text(text),
            (Folded{{"prog-9;__libc_start_main@plt (libc.so.6);main (prog);beta (prog)", 2},
                    {"other-9/8;__libc_start_main@plt (libc.so.6);main (prog);beta (prog)", 1}}));
}

TEST(PerfScript, ReadsSamplesWithoutCallChains) {
  EXPECT_EQ(
      folded_text("            prog    12 5.5:  1 cycles:  ffff81 do_idle ([kernel.kallsyms])\n"
                  "              dd    13 5.6:  1 cycles:      7f12 f+0x1 (/a)\n"),
      (Folded{{"prog-12;do_idle ([kernel.kallsyms])", 1}, {"dd-13;f (a)", 1}}));
}

TEST(PerfScript, SaysWhatIsDamaged) {
  const auto p = test::profile_of(
      "prog 9 1.5: 1 cycles: \n\t  12 f (/a)\n\nprog 9 1.6: 1 branches: \n\n\t 13 g "
      "(/a)\nnonsense\n"
      "prog 9 1.7: 1 cycles: \n\t  14 [unknown] ([unknown])\n\t 15 py::run:/x/y.py "
      "(/tmp/perf.map)\n"
      "\t 16 op::call(int (*)(char)) (/lib/z.so)\n  z.cc:12");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(
      test::folded(*p),
      (Folded{{"prog-9;f (a)", 1},
              {"prog-9", 1},
              {"prog-9;op::call(int (*)(char)) (z.so);run (/x/y.py);[unknown] ([unknown])", 1}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{{"events counted together: branches, cycles", 2},
                                                  {"frames_outside_a_sample", 1},
                                                  {"lines_that_are_no_frame_or_sample", 1},
                                                  {"samples_without_a_stack", 1}}));
}

TEST(PerfScript, KeepsInstantsWhereAsked) {
  const auto p = test::profile_of(
      "prog 9 2.5: 1 cycles: \n\t 12 f (/a)\n\nprog 9 1.5: 1 cycles: \n\t 12 g (/a)\n",
      {.keep_samples = true});
  ASSERT_TRUE(p);
  ASSERT_EQ(p->samples.size(), 2U);
  EXPECT_EQ(p->samples[0].start, Ns{1500000000});
  EXPECT_EQ(p->strings[p->tree.frame[p->samples[0].node]], "g (a)");
}

TEST(PerfScript, IsRecognised) {
  EXPECT_TRUE(is_perf_script("prog 9 1.5: 1 cycles: \n\t 12 f (/a)\n"));
  EXPECT_FALSE(is_perf_script("a;b 1\n"));
  EXPECT_FALSE(is_perf_script(""));
}

}  // namespace
}  // namespace stepscope
