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

TEST(VisionLog, OfMaskrcnnBenchmark) {
  const JobLog log = expect_steps(
      "2020-06-25 16:26:13,365 maskrcnn_benchmark.trainer INFO: eta: 4:58:35  iter: 40  loss: "
      "1.4253 (2.3632)  loss_mask: 0.6972 (0.8526)  time: 0.2928 (0.4483)  data: 0.0027 (0.0475)  "
      "lr: 0.004000  max mem: 8472\n"
      "2020-06-25 16:26:19,365 maskrcnn_benchmark.trainer INFO: eta: 4:58:35  iter: 60  time: "
      "0.2930 (0.4083)  data: 0.0027 (0.0475)  loss: 1.4 (2.3)  lr: 0.004000  max mem: 8472\n",
      {"maskrcnn_benchmark", {40, 60}, {0.2928, 0.293}});
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 1.4);
}

TEST(VisionLog, OfPaddle) {
  const JobLog log = expect_steps(
      "[2024/08/06 18:03:31] ppocr INFO: epoch: [1/2], global_step: 100, lr: 0.000005, loss: "
      "69.376, avg_reader_cost: 0.00971 s, avg_batch_cost: 0.18 s, avg_samples: 64.0, ips: 355.1 "
      "samples/s, eta: 0:32:33\n"
      "[2024/08/06 18:03:33] ppocr INFO: epoch: [1/2], global_step: 110, lr: 0.000005, loss: "
      "63.99, avg_reader_cost: 0.01 s, avg_batch_cost: 0.19 s, ips: 352.3 samples/s\n",
      {"paddle_vision", {100, 110}, {0.18, 0.19}});
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 69.376);
  EXPECT_EQ(steps_of(log).steps[1].steps, 10);
  expect_steps(
      "[01/05 10:00:00] ppdet.engine INFO: Epoch: [0] [ 20/125] learning_rate: 0.1 loss: 12.3 "
      "eta: 1:02:03 batch_cost: 0.7800 data_cost: 0.0100 ips: 2.5641 images/s\n",
      {"paddle_vision", {20}, {0.78}});
  const JobLog clas = expect_steps(
      "[2024/01/05 10:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: 10/5004]lr: 0.1, top1: 0.1, "
      "loss: 7.0, batch_cost: 2.13s, reader_cost: 1.7, ips: 120.1 images/sec\n"
      "[2024/01/05 10:00:09] ppcls INFO: [Eval][Epoch 1][Iter: 0/98]loss: 7.0, batch_cost: 0.5s\n"
      "[2024/01/05 10:00:30] ppcls INFO: [Train][Epoch 1/120][Iter: 20/5004]lr: 0.1, loss: 6.9, "
      "batch_cost: 2.10s, reader_cost: 1.6, ips: 121.9 images/sec\n",
      {"paddle_vision", {10, 20}, {2.13, 2.1}});
  EXPECT_EQ(steps_of(clas).steps[1].cause, "eval");
  const LogTimer* wait = timer(clas, "reader_cost");
  ASSERT_NE(wait, nullptr);
  EXPECT_DOUBLE_EQ(wait->ms[1], 1600);
}

TEST(VisionLog, OfBasicsr) {
  const JobLog log = expect_steps(
      "2020-08-15 15:50:30,390 INFO: [x..][epoch:207, iter:  20,100, lr:(1.000e-04,)] [eta: 1 day, "
      "18:13:17, time (data): 0.365 (0.002)] l_pix: 3.1516e-04\n",
      {"basicsr", {20100}, {0.365}});
  ASSERT_NE(timer(log, "data"), nullptr);
}

TEST(VisionLog, OfPySlowFast) {
  const JobLog log = expect_steps(
      "[INFO: logging.py: 99]: json_stats: {\"_type\": \"train_iter_\", \"dt\": 0.81, "
      "\"dt_data\": 0.01, \"dt_net\": 0.80, \"epoch\": \"1/200\", \"iter\": \"10/500\", "
      "\"loss\": 2.7}\n"
      "json_stats: {\"_type\": \"train_epoch\", \"dt\": 0.5, \"epoch\": \"1/200\"}\n"
      "json_stats: {\"_type\": \"train_iter_\", \"dt\": 0.82, \"dt_data\": 0.02, \"epoch\": "
      "\"2/200\", \"iter\": \"10/500\", \"loss\": 2.6}\n",
      {"py_slow_fast", {10, 10}, {0.81, 0.82}});
  EXPECT_TRUE(steps_of(log).by_epoch);
  ASSERT_NE(timer(log, "dt_data"), nullptr);
}

TEST(VisionLog, OfTfCnnBenchmarks) {
  const auto log = parse_job_log(
      "Batch size:  960 global\n             960 per device\n"
      "10\timages/sec: 9600.0 +/- 22.0 (jitter = 40.5)\t7.9\n"
      "20\timages/sec: 9600.0 +/- 22.0 (jitter = 40.5)\t7.9\n"
      "30\timages/sec: 7200.0 +/- 22.0 (jitter = 40.5)\t7.9\n",
      "log");
  ASSERT_TRUE(log);
  const LogSteps steps = steps_of(*log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_NEAR(steps.steps[0].wall_ns, 0.1e9, 1);
  EXPECT_NEAR(steps.steps[1].wall_ns, 0.2e9, 1);
  EXPECT_EQ(steps.steps[1].steps, 10);
}

TEST(VisionLog, OfHugectr) {
  const JobLog log = expect_steps(
      "[02d07h54m43s][HUGECTR][INFO]: Iter: 3000 Time(1000 iters): 5.4s Loss: 0.13 lr:9.0\n"
      "[02d07h54m51s][HUGECTR][INFO]: Eval Time for 681 iters: 6.449376s\n"
      "[02d07h54m55s][HUGECTR][INFO]: Iter: 4000 Time(1000 iters): 11.8s Loss: 0.12 lr:12.0\n",
      {"hugectr", {3000, 4000}, {0.0054, 0.0118}});
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.steps[1].steps, 1000);
  EXPECT_EQ(steps.steps[1].cause, "eval");
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
