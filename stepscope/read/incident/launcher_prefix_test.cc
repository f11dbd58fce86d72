// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/launcher_prefix.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/read/incident/error_text.h"

namespace stepscope {
namespace {

TEST(LauncherPrefix, HasTheRankInTheNameOfAWorker) {
  struct Case {
    std::string_view line;
    std::optional<int> rank;
    std::string_view text;
  };
  const std::vector<Case> cases = {
      {"PolicyWorker[rank=12]: moved in 5133.73s", 12, "moved in 5133.73s"},
      {"(PolicyWorker[rank=3] pid=77, ip=10.0.0.3) ValueError: x", 3, "ValueError: x"},
      {"(VllmWorker rank=5 pid=77) ERROR 11-30 12:00:00 w.py:9]   File \"a.py\"", 5,
       "  File \"a.py\""},
      {"(Worker_TP2 pid=77) ERROR 11-30 12:00:00 [v1/core.py:718] ValueError: x", 2,
       "ValueError: x"},
      {"(Worker_PP1_TP2 pid=77) text", std::nullopt, "text"},
      {"(EngineCore_DP0 pid=77) ERROR 11-30 12:00:00 [core.py:718] Traceback (most recent",
       {},
       "Traceback (most recent"},
      {"INFO 11-30 12:00:00 [core.py:7] ready", {}, "ready"},
      {"INFO 11-30 12:00:00 reads [a.py:7] now", {}, "INFO 11-30 12:00:00 reads [a.py:7] now"},
      {"a sum over [rank=3]: 7", {}, "a sum over [rank=3]: 7"},
      {"mesh rank=4", {}, "mesh rank=4"}};
  for (const Case& c : cases) {
    EXPECT_EQ(launcher_rank(c.line), c.rank) << c.line;
    EXPECT_EQ(without_launcher(c.line), c.text) << c.line;
  }
  EXPECT_TRUE(written_time("(Worker_TP2 pid=7) ERROR 11-30 06:05:04 [core.py:1] x")->no_year);
  EXPECT_FALSE(written_time("ERROR 11-31 06:05:04 [core.py:1] x"));
}

}  // namespace
}  // namespace stepscope
