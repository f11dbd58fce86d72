// SPDX-License-Identifier: Apache-2.0
// Bars of Keras (keras_log.cc).
#include <gtest/gtest.h>

#include <string>

#include "stepscope/read/log/log_test_steps.h"

namespace stepscope {
namespace {

using test::expect_steps;

TEST(KerasLog, ABarIsTheMeanOfItsEpoch) {
  const JobLog log = expect_steps(
      "Epoch 1/2\n"
      "\x08\x08\r\x1b[1m  1/101\x1b[0m \x1b[37m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m9:12\x1b[0m "
      "6s/step"
      " - loss: 2.3\x08\x08\r\x1b[1m100/101\x1b[0m "
      "\x1b[32m━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m━\x1b[0m "
      "\x1b[1m0s\x1b[0m 509ms/step - accuracy: 0.9 - loss: 0.2"
      "\r\x1b[1m101/101\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m0s\x1b[0m 510ms/step - "
      "accuracy: 0.9 - loss: 0.1035"
      "\r\x1b[1m101/101\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m73s\x1b[0m 650ms/step - "
      "accuracy: 0.9699 - loss: 0.1035 - val_accuracy: 0.9962 - val_loss: 0.0117\n"
      "Epoch 2/2\n"
      "101/101 ━━━━━━━━━━━━━━━━━━━━ 62s 419ms/step - accuracy: 0.9989 - loss: 0.0067 - "
      "val_accuracy: 0.9978 - val_loss: 0.0082\n"
      "26/26 ━━━━━━━━━━━━━━━━━━━━ 9s 340ms/step - accuracy: 0.9 - loss: 0.1\n",
      {"keras", {101, 101}, {0.51, 0.419}});
  EXPECT_EQ(log.records[0].epoch, 1);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 0.1035);
  const LogSteps steps = steps_of(log);
  EXPECT_TRUE(steps.by_epoch);
  EXPECT_EQ(steps.launches.size(), 1U);
  EXPECT_EQ(steps.steps[0].steps, 101);
  EXPECT_EQ(steps.steps[0].cause, "") << "shown before the validation";
  EXPECT_EQ(steps.steps[1].cause, "eval");
}

TEST(KerasLog, BeforeKeras3) {
  expect_steps(
      "Epoch 1/10\n"
      "   1/1563 [..............................] - ETA: 2:27 - loss: 1.6145\r"
      "1563/1563 [==============================] - 29s 14ms/step - loss: 2.3034 - accuracy: "
      "0.0991\n"
      "Epoch 2/10\n"
      "1563/1563 [==============================] - 20s 13ms/step - loss: 2.3028 - accuracy: "
      "0.0988\n",
      {"keras", {1563, 1563}, {0.014, 20.0 / 1563}});
  expect_steps(
      "Epoch 1/5\n938/938 - 2s - loss: 0.2541 - accuracy: 0.9251 - 2s/epoch - 2ms/step\n"
      "Epoch 2/5\n938/938 - 2s - loss: 0.1077 - accuracy: 0.9664 - 2s/epoch - 2ms/step\n",
      {"keras", {938, 938}, {0.002, 0.002}});
}

TEST(KerasLog, SlowStepsAreReadFromTheTimeSinceTheBegin) {
  expect_steps(
      "Epoch 1/5\n103/103 [==============================] - 168s 2s/step - loss: 0.8566\n"
      "Epoch 2/5\n103/103 [==============================] - 166s 2s/step - loss: 0.6535\n"
      "Epoch 3/5\n103/103 [==============================] - 366s 2s/step - loss: 0.6535\n",
      {"keras", {103, 103, 103}, {168.0 / 103, 166.0 / 103, 2}});
}

TEST(KerasLog, WithoutEpochsTheLongestBarIsThatOfTraining) {
  const JobLog log = expect_steps(
      "6867/6867 ━━━━━━━━━━━━━━━━━━━━ 49s 7ms/step - accuracy: 0.5944 - loss: 0.8679\n"
      "614/614 ━━━━━━━━━━━━━━━━━━━━ 2s 3ms/step - accuracy: 0.7676 - loss: 0.5742\n",
      {"keras", {6867}, {49.0 / 6867}});
  EXPECT_EQ(log.notes.at("lines_of_validation_bars"), 1U);
}

TEST(KerasLog, TheFirstEpochMayHaveAnUnknownLength) {
  expect_steps(
      "Epoch 1/2\n      1/Unknown 3s 3s/step - loss: 2.5\r     40/Unknown 20s 412ms/step - loss: "
      "1.5\r"
      "Epoch 2/2\n40/40 ━━━━━━━━━━━━━━━━━━━━ 16s 401ms/step - loss: 1.2\n",
      {"keras", {40, 40}, {0.412, 0.401}});
}

TEST(KerasLog, ADownloadIsNoStep) {
  EXPECT_FALSE(parse_job_log("11490434/11490434 ━━━━━━━━━━━━━━━━━━━━ 0s 0us/step\n", "log"));
  EXPECT_FALSE(parse_job_log("Epoch 1/2\n12/100 took 3.5s/step\n", "log"));
}

}  // namespace
}  // namespace stepscope
