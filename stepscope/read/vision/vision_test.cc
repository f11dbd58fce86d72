// SPDX-License-Identifier: Apache-2.0
// Lines as each tool's source formats them (named in the tool's own file).
#include <gtest/gtest.h>

#include <string>

#include "stepscope/read/log/log_test_steps.h"

namespace stepscope {
namespace {

using test::expect_steps;
using test::timer;

TEST(VisionLog, OfMmengine) {
  const JobLog log = expect_steps(
      "02/20 14:43:11 - mmengine - INFO - Epoch(train)   [1][3000/3125]  lr: 1.0000e-01  eta: "
      "6:12:01  time: 0.0149  data_time: 0.0003  memory: 214  loss: 2.0611\n"
      "02/20 14:43:13 - mmengine - INFO - Epoch(train)   [1][3100/3125]  lr: 1.0000e-01  eta: "
      "4:23:08  time: 0.0154  data_time: 0.0003  memory: 214  loss: 2.0963  loss_cls: 1.0\n"
      "02/20 14:43:18 - mmengine - INFO - Epoch(val)   [1][ 50/200]    eta: 0:00:00  time: 0.0558  "
      "data_time: 0.0147  memory: 191\n"
      "02/20 14:43:23 - mmengine - INFO - Epoch(train)   [2][ 100/3125]  lr: 1.0000e-01  memory: "
      "214  data_time: 0.0100  loss: 1.9  time: 0.0160\n",
      {"mmengine", {3000, 3100, 100}, {0.0149, 0.0154, 0.016}});
  EXPECT_EQ(log.records[2].epoch, 2);
  EXPECT_DOUBLE_EQ(*log.records[2].loss, 1.9);
  EXPECT_DOUBLE_EQ(*log.records[0].memory_bytes, 214.0 * 1024 * 1024);
  const LogSteps steps = steps_of(log);
  EXPECT_TRUE(steps.by_epoch);
  EXPECT_EQ(steps.launches.size(), 1U);
  EXPECT_EQ(steps.steps[1].steps, 100);
  EXPECT_EQ(steps.steps[2].cause, "eval");
  const LogTimer* data = timer(log, "data_time");
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->ms.size(), 3U);
  expect_steps(
      "2024/05/13 22:58:17 - mmengine - INFO - Iter(train) [   50/40000]  lr: 9.9891e-03  eta: "
      "16:31:08  time: 0.8793  data_time: 0.0053  memory: 10445  loss: 2.1633  decode.loss_ce: "
      "1.4961\n"
      "2024/05/13 22:59:01 - mmengine - INFO - Iter(train) [  100/40000]  lr: 9.9779e-03  eta: "
      "13:05:37  time: 0.8761  data_time: 0.0055  memory: 6112  loss: 2.1990\n",
      {"mmengine", {50, 100}, {0.8793, 0.8761}});
}

TEST(VisionLog, OfMmcv) {
  const JobLog log = expect_steps(
      "2021-01-05 10:00:30,123 - mmdet - INFO - Epoch [1][950/1000]\tlr: 2.000e-02, eta: 1 day, "
      "1:02:03, time: 0.612, data_time: 0.012, memory: 4000, loss_cls: 0.3000, loss: 0.5000\n"
      "2021-01-05 10:01:00,123 - mmdet - INFO - Epoch [2][50/1000]\tlr: 2.000e-02, eta: 1:02:03, "
      "time: 0.600, data_time: 0.000, memory: 4000, loss_cls: 0.3000, loss: 0.4000\n",
      {"mmengine", {950, 50}, {0.612, 0.6}});
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 0.4);
  expect_steps(
      "2021-01-05 10:00:30,123 - mmseg - INFO - Iter [50/160000]\tlr: 1.000e-02, eta: 1:02:03, "
      "time: 0.612, data_time: 0.012, memory: 4000, decode.loss_ce: 0.3, loss: 0.5\n",
      {"mmengine", {50}, {0.612}});
  EXPECT_FALSE(parse_job_log("Epoch [1][50/1000] lr: 0.02, time: 612\n", "log"));
}

TEST(VisionLog, OfDetectron2) {
  const std::string before = "[11/24 17:17:38 d2.utils.events]:  eta: 0:03:49  iter: ";
  const JobLog log = expect_steps(
      before +
          "19  total_loss: 5.922  loss_cls: 1.709  time: 0.8241  last_time: 0.7914  "
          "data_time: 0.8461  last_data_time: 0.0050   lr: 3.9962e-05  max_mem: 1966M\n" +
          "[11/24 17:17:40 d2.evaluation.evaluator]: Start inference on 22 batches\n" + before +
          "39  total_loss: 2.457  loss_cls: 0.767  time: 0.8217  last_time: 0.8100  data_time: "
          "0.7038  last_data_time: 0.0060   lr: 7.9922e-05  max_mem: 1966M\n",
      {"detectron2", {19, 39}, {0.7914, 0.81}});
  EXPECT_DOUBLE_EQ(*log.records[0].memory_bytes, 1966.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 5.922);
  EXPECT_EQ(steps_of(log).steps[1].cause, "eval");
  expect_steps(before +
                   "19  total_loss: 5.922  loss_cls: 1.709  loss_rpn_loc: 1.211  time: 0.8241  "
                   "data_time: 0.8461  lr: 3.9962e-05  max_mem: 1966M\n",
               {"detectron2", {19}, {0.8241}});
  EXPECT_FALSE(
      parse_job_log(before + "699  total_loss: 1.731  lr: 0.0003  max_mem: 18496M\n", "log"));
}

TEST(VisionLog, OfTimm) {
  const JobLog log = expect_steps(
      "Train: 0 [10000/10009 (100%)]  Loss:  6.926911 (6.9269)  Time: 1.820s,   70.32/s  (1.820s,  "
      " "
      "70.32/s)  LR: 1.000e-06  Data: 1.382 (1.382)\n"
      "Test: [   0/29]  Time: 0.560 (0.560)  Loss:  0.6912 (0.6912)  Acc@1: 87.5000 (87.5000)\n"
      "Train: 1 [   0/10009 (  0%)]  Loss: 6.91 (6.92)  Time: 0.316s,  405.65/s  (0.344s,  "
      "371.84/s)  "
      "LR: 1.000e-06  Data: 0.006 (0.033)\n",
      {"timm", {10000, 0}, {1.82, 0.316}});
  EXPECT_EQ(log.records[1].epoch, 1);
  EXPECT_DOUBLE_EQ(*log.records[1].samples_per_s, 405.65);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 6.91);
  EXPECT_EQ(steps_of(log).steps[1].cause, "eval");
  EXPECT_EQ(steps_of(log).launches.size(), 1U);
}

TEST(VisionLog, OfMetricLogger) {
  const JobLog log = expect_steps(
      "Epoch: [0]  [3060/3065]  eta: 0:34:19  lr: 0.000010  loss: 1.6727 (1.6722)  grad_norm: 2.4 "
      "(2.4)  time: 0.6740  data: 0.3446  max mem: 8010\n"
      "Test:  [  0/100]  eta: 0:01:00  loss: 0.9 (0.9)  time: 0.6000  data: 0.5000  max mem: 8010\n"
      "Epoch: [1]  [   0/3065]  eta: 1:34:19  lr: 0.000010  loss: 1.6  (1.6)  time: 4.6849  data: "
      "3.0511  max mem: 8010\n",
      {"metric_logger", {3060, 0}, {0.674, 4.6849}});
  EXPECT_EQ(log.records[1].epoch, 1);
  EXPECT_DOUBLE_EQ(*log.records[0].memory_bytes, 8010.0 * 1024 * 1024);
  ASSERT_NE(timer(log, "data"), nullptr);
}

}  // namespace
}  // namespace stepscope
