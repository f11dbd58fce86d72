// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/expected_sentences.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

struct ExpectedSentences : testing::Test, ExpectedRun {};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ExpectedSentences, OneSentenceNamesTheLargestExcesses) {
  const auto sentences = say_all(expected_sentences(made.report));
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_TRUE(holds(sentences[0],
                    "takes 1.67 × what the model expects on H100-80GB SXM (100 ms "
                    "for 60.0 ms)"))
      << sentences[0];
  EXPECT_TRUE(holds(sentences[0],
                    "idle device 20.0 ms for 1 ns; matmul 1.38 × (55.0 ms for 40.0 "
                    "ms); pointwise 1.40 × (14.0 ms for 10.0 ms)"))
      << sentences[0];
  EXPECT_TRUE(holds(sentences[1], "matmul takes 1.50 × what is expected")) << sentences[1];
  EXPECT_TRUE(holds(sentences[1], "aten::mm [[32,64],[64,128]] (30.0 ms for 20.0 ms)"))
      << sentences[1];
  EXPECT_TRUE(holds(sentences[2], "2.50 ×")) << sentences[2];
  EXPECT_TRUE(holds(sentences[2], "waiting included")) << sentences[2];
}

// Nothing runs faster than its machine: the expectation is wrong then, and that is said instead.
TEST_F(ExpectedSentences, ARunThatBeatsTheMachineIsNotComparedWithIt) {
  made.report.expected->collectives[0].measured = 0.00015;
  made.report.expected->ranks[0].classes[0].measured = 0.0134;
  const auto sentences = say_all(expected_sentences(made.report));
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_FALSE(holds(sentences[1], "matmul takes")) << sentences[1];
  EXPECT_TRUE(holds(sentences[1], "the machine's curves are too slow for the shapes of matmul"))
      << sentences[1];
  EXPECT_TRUE(holds(sentences[2], "which is impossible")) << sentences[2];
  EXPECT_TRUE(holds(sentences[2], "--machine FILE")) << sentences[2];
}

}  // namespace
}  // namespace stepscope
