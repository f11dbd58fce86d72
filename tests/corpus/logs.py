# SPDX-License-Identifier: Apache-2.0
"""What jobs and benchmarks print while they run, for logs.table: lines in the formats of their tools, with made-up
values."""

INPUTS = {}


def text(name, lines):
    INPUTS[name] = lambda path: path.write_text(lines, encoding="utf-8")


# DeepSpeed before 0.9 writes whole words, and a progress bar whose mean lags behind stands on the same lines. A second
# passes between two lines, and the parts have 174 ms.
BAR = "  3%|x         | {0}/345 [00:07<06:50,  1.23s/it]"
TIMES = ("[2023-06-21 07:39:{0:02},626] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | forward{1}: 27.50 | "
         "backward{1}: 73.50 | backward_inner{1}: 51.00 | backward_allreduce{1}: 22.50 | step{1}: 73.00\n")
text("deepspeed_words.log",
     "".join(BAR.format(n) + TIMES.format(n, "_microstep") + TIMES.format(n, "") for n in range(12, 40)))

# Steps that become slower after a third of the run.
text("slower_after_a_third.log",
     "".join(f"step:{n + 1}/1600 train_time:{91 * min(n, 600) + 94 * max(n - 600, 0) + n % 3}ms step_avg:92.00ms\n" for n in range(1600)))
text("faster_at_first.log",
     "".join(f"step:{n + 1}/1600 train_time:{91 * min(n, 90) + 94 * max(n - 90, 0) + n % 3}ms step_avg:92.00ms\n" for n in range(1600)))
text("slower_at_first.log",
     "".join(f"step:{n + 1}/1600 train_time:{94 * min(n, 90) + 91 * max(n - 90, 0) + n % 3}ms step_avg:92.00ms\n" for n in range(1600)))
text("slower_for_a_while.log",
     "".join(f"step:{n + 1}/1600 train_time:{91 * n + 3 * max(0, min(n, 900) - 600) + n % 3 + (4000 if n >= 1199 else 0)}ms step_avg:92.00ms\n"
             for n in range(1600)))

# MLPerf: epochs with a rate and no number of steps.
MLLOG = ':::MLLOG {{"namespace": "", "time_ms": {0}, "event_type": "X", "key": "{1}", "value": {2}, "metadata": {{}}}}\n'
text("epochs_of_mlperf.log",
     MLLOG.format(0, "global_batch_size", 320) + MLLOG.format(1000, "run_start", "null") +
     "".join(MLLOG.format(10000 + 500000 * n, "epoch_start", n) + MLLOG.format(487000 + 500000 * n, "epoch_stop", n) +
             MLLOG.format(487000 + 500000 * n, "tracked_stats", f'{{"throughput": {306.5 + n % 2 / 10}}}') for n in range(4)))

# Tables whose times are the time since the begin.
text("clock.csv", "step,time,loss\n" + "".join(f"{20 * n},{10 * n + n % 2 / 5},{9 - n}\n" for n in range(1, 6)))
text("epochs.csv", "epoch,time,loss\n" + "".join(f"{n},{12 * n + 3},{9 - n}\n" for n in range(1, 6)))

# The rate of a short run has few digits.
text("run_of_two_steps.log", "{'train_runtime': 273.01, 'train_samples_per_second': 3.663, 'train_steps_per_second': 0.007, 'epoch': 1.0}\n")

# Two processes print the same bar into one file, one after the other.
text("equal_bars.log", "".join(f" {10 * n}%|#   | {n}/10 [{58 * n // 60:02}:{58 * n % 60:02}<09:00, 58.0{rank}s/it]\n"
                               for rank in range(2) for n in range(1, 11)))

# DeepSpeed-Chat's third stage, and the rows of LLaMA-Factory.
text("chat_of_deepspeed.log",
     "".join(f"epoch: 0|step: {n}|ppo_ep: 1|act_loss: 0.1|cri_loss: 0.01|unsuper_loss: 0.0\n"
             f"|E2E latency={3.75 + n % 3 / 20:.2f}s |Gather latency=0.00s (0.00%) |Generate time=2.50s (65.79%) |Training time=1.08s (28.42%) "
             "|Others=0.22 (5.79%)|CurSamplesPerSec=16.84 |AvgSamplesPerSec=16.54\n" for n in range(30)))
text("rows_of_a_trainer.jsonl",
     "".join(f'{{"current_steps": {10 * n}, "total_steps": 900, "loss": 1.5, "epoch": 0.1, "elapsed_time": "0:0{n}:00"}}\n' for n in range(4)))

# Bars with a unit of their own, and without a total.
text("bar_of_batches.log", "Epoch 0: 100%|####| 994/994 [03:44<00:00,  4.43batch/s]\nEpoch 1: 100%|####| 994/994 [03:58<00:00,  4.18batch/s]\n"
                           "Training: 100%|####| 2/2 [07:42<00:00, 231.2s/epoch]\n")
text("bar_without_total.log", "Epoch 0: :   0%|          | 614/? [23:53<00:00, v_num=, reduced_train_loss=, global_step=]\n")

# Lines of two kinds of work that share marks, a running mean behind a tab, and modded-nanogpt in seconds.
text("train_and_val.log",
     "".join(f"runner - INFO - Epoch(train)  [1][{20 * n:>3}/333]  lr: 1e-03  time: 0.6{n * 3 % 7}  loss: 4.5\n" for n in range(1, 9)) +
     "".join(f"runner - INFO - Epoch(val)  [1][{20 * n:>3}/167]  time: 0.1{n * 3 % 7}\n" for n in range(1, 5)))
text("tabs.log", "".join(f"iter {n}\tavg_step_time: 0.{40 + n * 3 % 7}\n" for n in range(1, 9)))
text("seconds_of_nanogpt.log",
     "".join(f"step:{125 * n}/3225 val_loss:4.6 train_time:{4 + 19.875 * n:.3f}s step_avg:{(4 + 19.875 * n) * 8 / n:.2f}ms\n" for n in range(1, 13)))

# Times that only two lines give, and a level that drifts before it jumps.
text("stamps_of_batches.log", "".join(f"2026-01-05 00:{n // 60:02}:{n % 60:02} - root - [Epoch 0 Batch={2 * n}/34064] loss=10.3\n" for n in range(0, 300, 5)))
text("used_time.log", "".join(f"Step {25 * n}, total used time {7.178 * n:.3f} (s), loss {9 - n}\n" for n in range(1, 8)))
text("drift_and_jump.log",
     "".join(f"step_time_ms={(95.0 if n < 50 else 97.5) - 0.005 * (n % 50) + n * 7 % 5 / 100:.3f}\n" for n in range(130)))

# A program that measures two kinds of work one after the other.
text("two_benchmarks.log",
     "".join(f"round={10 * (n % 9)} took={0.136 if n < 9 else 0.448}\n" for n in range(18)))

# A program of its own.
text("own_words.log", "".join(f"pass={n},ran={0.25 + n % 2 / 100:.2f}s\n" for n in range(40)))

# nccl-tests 2.0 to 2.12 leave the column of an absent reduction blank.
text("alltoall.log",
     "# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validation: 0\n" +
     "".join(f"#   Rank  {r} Pid 7 on h device  {r} [0x00] A100-SXM4-40GB\n" for r in range(8)) +
     "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
     "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n" +
     "".join(f"  {1 << k}  {1 << (k - 5)}   float     {t:.1f}  {(1 << k) / t / 1e3:.2f}  {0.875 * (1 << k) / t / 1e3:.2f}    N/A   "
             f" {t:.1f}  {(1 << k) / t / 1e3:.2f}  {0.875 * (1 << k) / t / 1e3:.2f}    N/A\n"
             for k, t in ((10, 88.0), (16, 88.0), (20, 90.0), (24, 160.0), (28, 1190.0), (32, 16860.0))))

# fairseq on a TPU counts lines as updates.
text("fairseq_tpu.log",
     "".join(f"2020-07-17 07:{11 + n // 2}:{n % 2 * 29:02} | INFO | train_inner | epoch 001:   {100 * n} / 160368 loss=9.2, wps=57.3, ups=0.04, "
             f"wpb=1613, bsz=80, num_updates={100 * n}, lr=2.8e-05, gnorm=3.2, train_wall=13, wall={1236 + 29 * n}\n" for n in range(1, 9)))

# DeepSpeed's lines of steps, and parts of steps alone.
text("deepspeed_progress.log",
     "".join(f"[2022-03-11 02:{6 + n:02}:08,985] [INFO] [logging.py:69:log_dist] [Rank 0] step={10 * n}, skipped=2, lr=[5e-05], mom=[[0.9, 0.999]]\n"
             for n in range(8)))
text("deepspeed_micro_steps.log",
     "time (ms) | forward_microstep: 193.65 | backward_microstep: 329.25 | step_microstep: 0.92\n" * 7)
text("verl_sft.log", "".join(f"step:{n} - train/loss:0.723 - train/lr(1e-3):0.0096 - train/time(s):{2.8 + n % 3 / 100:.2f}\n" for n in range(1, 20)))

# Progress bars: two epochs whose bars show their last line, bars of other work, bars of several ranks, a slow first step,
# a terminal's edge.
YOLO = "      {0}/400      17.9G      1.720         10       1280: 100%|####| 60/60 [{1}<00:00,  {2}]\n"
CLASS = "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|####| 7/7 [09:01<00:00,  {0}]\n"
text("bars_of_epochs.log", YOLO.format(1, "00:37", "1.61it/s") + CLASS.format("77.30s/it") + YOLO.format(2, "06:06", "6.11s/it"))
text("validation_bar.log",
     "".join(f"2026-06-14 22:33:{6 * n:02},424 - INFO: validation progress: {6 * n}%|##3 | {n}/17 [00:{6 * n:02}<01:20, 6.17s/it]\n"
             for n in range(1, 9)) +
     "Loading checkpoint shards: 100%|####| 8/8 [00:19<00:00,  2.36s/it]\n")
text("mixed_bars.log",
     "".join(f"| epoch 001:   0%| | {n + 39}/11265 [01:{55 + late}<9:15:41,  2.9{n + 2}s/it, loss=0.100]\n"
             for n, late in ((0, 0), (-1, 1), (0, 2), (1, 4), (0, 3))))
text("slow_first_step.log",
     "".join(f"Epoch 0:   6%|5 | {n}/18 [00:{5 + 3 * n:02}<02:29,  {3 + 5.77 / n:.2f}s/it, v_num=7]\r" for n in range(1, 16)))
text("cut_bars.log",
     "".join(f"  1%|#     | {n}/203 [{n // 6:02}:{10 * n % 60:02}<16:46,  1{n % 10}.0{'1s/it'[:n % 6]}\n" for n in range(1, 30)))

# The Hugging Face Trainer: the mean of a run, dicts without a time, and those of ms-swift.
text("run_of_a_trainer.json",
     '{"global_step": 768, "max_steps": 768, "log_history": [{"epoch": 1.0, "step": 768, "train_runtime": 5980.69, '
     '"train_steps_per_second": 0.128}]}\n')
text("dicts_without_a_time.log",
     "".join(f"{{'loss': 1.{99 - n}, 'learning_rate': 6.3e-06, 'epoch': 0.{n:02}}}\n" for n in range(1, 30)))
text("dicts_of_swift.log",
     "".join(f"{{'loss': 1.{99 - n}, 'epoch': 0.{n:02}, 'global_step/max_steps': '{10 * n}/1000', 'elapsed_time': "
             f"'{(30 * n + 50) // 60}m {(30 * n + 50) % 60}s', 'train_speed(iter/s)': {10 * n / (30 * n + 50):.6f}}}\n"
             for n in range(1, 30)))

# Each epoch counts its steps anew.
text("epochs_of_words.log",
     "".join(f"epoch={epoch} pass={n},ran={0.25 + n % 2 / 100:.2f}s\n" for epoch in (1, 2) for n in range(1, 21)))
text("words_anew.log", "".join(f"pass={n},ran={0.25 + n % 2 / 100:.2f}s\n" for run in (1, 2) for n in range(1, 21)))
# Lines of JSON: a time since the begin in whole seconds, and times in seconds with evaluation rows between them.
text("elapsed.jsonl",
     "".join('{"current_steps": %d, "total_steps": 900, "loss": 2.5, "eval_loss": null, "epoch": 0.25, "elapsed_time": '
             '"0:%02d:%02d", "remaining_time": "0:09:00"}\n' % (10 * n, n // 2, n % 2 * 30) for n in range(12)))
text("modes.log.json",
     "".join('{"mode": "train", "epoch": %d, "iter": %d, "data_time": 0.01, "loss": 2.5, "time": %.2f}\n' % (e, i, 0.5 + i / 5000) +
             ('{"mode": "val", "epoch": %d, "iter": 20, "bbox_mAP": 0.1}\n' % e if i == 250 else "")
             for e in (1, 2, 3) for i in range(50, 300, 50)))

# One row of such lines alone, and one whose time may be a clock.
text("first_row.jsonl", '{"current_steps": 10, "total_steps": 900, "loss": 2.5, "epoch": 0.25, "elapsed_time": "0:00:42"}\n')
text("time_of_a_row.json", '{"step": 10, "loss": 2.3, "time": 0.512}\n')

# A logger that pads its level within brackets.
text("padded_level.log",
     "".join(f"[    INFO] - loss: 2.5, learning_rate: 2e-06, global_step: {20 * n}, interval_runtime: 30.0, "
             f"interval_samples_per_second: 5.333, interval_steps_per_second: 0.667, epoch: 0.01\n" for n in range(1, 12)))

# The wait for data, under a name that other programs give to the whole step.
text("wait_for_data.log",
     "".join(f"[gpu1:0/2] 2026-01-05 08:{n + 10}:04,080 (trainer:464) INFO: 1epoch:train:{n * 500 + 1}-{n * 500 + 500}batch: "
             f"iter_time=0.001, forward_time=0.120, loss=10.5, backward_time=0.110, optim_step_time=0.030, train_time=1.250\n"
             for n in range(12)))

# A step time without a unit, whose time stamps show seconds.
text("time_without_a_unit.log",
     "".join(f"2026-01-05 10:{n // 12:02}:{n % 12 * 5:02},000 step {10 * n}: step_time=0.49\n" for n in range(20)))

# Tools that train on images.
text("mmengine.log",
     "".join(f"02/20 14:{20 * e + i // 100:02}:11 - mmengine - INFO - Epoch(train)   [{e}][{i:4}/1000]  lr: 1.0000e-01  eta: 6:12:01  "
             f"time: 0.61{i % 3}0  data_time: 0.0053  memory: 214  loss: 2.0611\n"
             for e in (1, 2) for i in range(100, 1001, 100)))
text("detectron2.log",
     "".join(f"[11/24 17:{n:02}:38 d2.utils.events]:  eta: 0:03:49  iter: {20 * n - 1}  total_loss: 2.457  loss_cls: 0.767  time: 0.8217  "
             f"last_time: 0.79{n % 4}4  data_time: 0.7038  last_data_time: 0.0050   lr: 7.9922e-05  max_mem: 1966M\n" for n in range(1, 20)))
text("timm.log",
     "".join(f"Train: {e} [{i:>4d}/1251 ({i * 100 // 1250:>3d}%)]  Loss: 6.93 (6.94)  Time: 0.55{i // 50 % 3}s, 2004.00/s  "
             f"(0.560s, 1858.00/s)  LR: 1.000e-05  Data: 0.011 (0.036)\n" for e in (0, 1) for i in range(0, 1251, 50)))
text("metric_logger.log",
     "".join(f"Epoch: [{e}]  [{i:>4}/3065]  eta: 0:34:19  lr: 0.000010  loss: 1.6727 (1.6722)  time: 0.67{i // 10 % 3}0  data: 0.3446  "
             f"max mem: 8010\n" for e in (0, 1) for i in range(0, 200, 10)))

# The bar of newer versions of Ultralytics.
def clock(seconds):
    return f"{seconds:.1f}s" if seconds < 60 else "%d:%02d" % divmod(round(seconds), 60)


text("ultralytics.log",
     "".join(f"\r\x1b[K      1/3      11.4G      1.398       4.03         59        640: {n}% {chr(0x2501) * (n // 9) or chr(0x2500)} "
             f"{n}/100 1.1s/it {clock(1.5 * n)}{'<1:22' if n < 100 else ''}" for n in range(1, 101)) + "\n")

# Bars of Keras: two epochs, whose lines overwrite each other, and an evaluation.
KERAS = "{0:>3}/100 {1} {2}s {3}ms/step - accuracy: 0.9 - loss: 0.{3}{4}"
text("keras.log",
     "".join(f"Epoch {e}/2\n" +
             "".join(KERAS.format(n, "\u2501" * 20, (100 - n) * 6 // 10, 614, "") + "\r" for n in range(1, 101)) +
             KERAS.format(100, "\u2501" * 20, 70, 690, " - val_loss: 0.4") + "\n" for e in (1, 2)) +
     KERAS.format(20, "\u2501" * 20, 4, 200, "") .replace("/100", "/20") + "\n")

# A number of the source's line stands in front of the step's, and steps begin again in each epoch.
text("line_of_source.log",
     "".join(f"2026-01-05 10:0{e}:{i // 10:02} | core.trainer:after_iter:238 - epoch: {e}/9, iter: {i}/100, iter_time: 0.57{i % 3}s\n"
             for e in (4, 5) for i in range(10, 101, 10)))

# Lines of programs that are not known: a rate, the time of 300 batches, steps of two iterations.
text("rate_alone.log",
     "".join(f"step: {10 * n}         train loss: 2.{64 - n}        tokens/gpu/sec: {10331.91 + n % 3:.2f}        MFU: 70.41%\n" for n in range(9)))
text("cost_of_many.log",
     "".join(f"2026-01-05 00:{n * 90 // 60 + 10}:{n * 90 % 60:02},464 - root - INFO - Epoch: 1, Batch: {300 * n}/8164, Loss=0.95, "
             f"LR=0.00001868. Time cost={90 + n % 3 / 10:.2f}, Throughput=52.94 samples/s ETA=1.70h\n" for n in range(9)))
text("two_iterations.log",
     "".join(f"iter {n} step {n // 2}: loss 10.8259, iter time: {197 + n % 3}.10ms{' (optimizer.step)' if n % 2 else ''}\n" for n in range(70, 90)))

# Tables of nccl-tests without the name of the test: an all-reduce of eight by its ratio, and one that may be two tests.
TITLES = ("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")
text("ratio_of_eight.log", TITLES + "".join(
    f"  {1 << k}  {1 << (k - 2)}  float  sum  -1  {t:.2f}  {(1 << k) / t / 1e3:.2f}  {1.75 * (1 << k) / t / 1e3:.2f}  0"
    f"  {t:.2f}  {(1 << k) / t / 1e3:.2f}  {1.75 * (1 << k) / t / 1e3:.2f}  0\n"
    for k, t in ((10, 88.0), (16, 88.0), (20, 90.0), (24, 160.0), (28, 1190.0), (32, 16860.0))))


def nccl_rows(factor, redop, share=1, sizes=(20, 22, 24, 26)):
    """Rows of floats on links of 20 us and 200 GB/s of bus bandwidth; `share`: ranks that share the count."""
    lines = ""
    for k in sizes:
        us = 20 + (1 << k) * factor / 200e3
        times = f"  {us:.2f}  {(1 << k) / us / 1e3:.2f}  {factor * (1 << k) / us / 1e3:.2f}  0"
        lines += f"  {1 << k}  {(1 << k) // 4 // share}  float  {redop}  -1{times}{times}\n"
    return lines


def nccl_ranks(count, on_each):
    return "".join(f"#  Rank {r:2} Group  0 Pid {700 + r} on n{r // on_each} device  {r % on_each} [0000:1b:00] NVIDIA H100 80GB HBM3\n"
                   for r in range(count))


def announced(test, ranks, on_each, rows):
    return (f"# nccl-tests version 2.17.8\n# Collective test starting: {test}_perf\n# Using devices\n" + nccl_ranks(ranks, on_each) +
            TITLES + rows + f"# Collective test concluded: {test}_perf\n\n")


FIVE = (announced("all_reduce", 8, 8, nccl_rows(1.75, "sum")) + announced("all_gather", 8, 8, nccl_rows(0.875, "none", 8)) +
        announced("sendrecv", 8, 8, nccl_rows(1, "sum")))
text("three_tests.log", FIVE)
text("without_titles.log", nccl_rows(1.75, "sum"))
text("footer_of_all_to_all.log", nccl_rows(0.5, "none", 2) + "# Collective test concluded: alltoall_perf\n")
text("gather_without_titles.log", nccl_rows(0.875, "none", 8))
text("last_rank.log", nccl_ranks(72, 4).splitlines()[-1] + "\n" + TITLES + nccl_rows(142 / 72, "sum"))
text("ratio_of_sixteen.log", TITLES + nccl_rows(1.875, "sum"))
text("launched_gather.log", "mpirun -np 16 ./build/all_gather_perf -b 64 -e 1M -f 2 -g 1\n" + TITLES + nccl_rows(15 / 16, "none", 16, (7, 8, 9)))


def osu_reduce(command, start):
    return command + "\n\n# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n" + "".join(
        f"{1 << k}    {start + (1 << k) / 4e3:.2f}\n" for k in range(2, 18))


text("osu_of_two_places.log", osu_reduce("", 1.2) + osu_reduce("", 20))
text("osu_with_commands.log", osu_reduce("mpirun -np 2 ./osu_allreduce", 1.2) +
     osu_reduce("mpirun -np 2 --map-by ppr:1:node ./osu_allreduce", 20))
ARGUMENTS = ("using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4\n"
             "  fp16 ............................................ True\n  hidden_size ..................................... 8192\n"
             "  num_attention_heads ............................. 32\n  num_layers ...................................... 64\n"
             "  seq_length ...................................... 1024\n  padded_vocab_size ............................... 50688\n"
             "  world_size ...................................... 64\n")
text("world_of_deepspeed.log", ARGUMENTS + "[2021-06-10 20:47:51,887] [INFO] [config.py:904:print]   world_size ................... 1\n" + "".join(
    f" iteration {n:8}/    1000 | consumed samples: {1024 * n} | elapsed time per iteration (ms): {136000.0 + n % 3} | "
    f"global batch size:  1024 | lm-loss: {12.5 - n / 10:.4f} | number of skipped iterations:   0 |\n" for n in range(1, 13)))
text("rate_beyond_tokens.log",
     "".join(f"2020-07-17 07:{11 + n // 2}:{n % 2 * 29:02} | INFO | train_inner | epoch 001:   {100 * n} / 160368 loss=9.2, wps=57.3, ups=0.04, "
             f"wpb=1613, bsz=80, num_updates={100 * n}, lr=2.8e-05, gnorm=3.2, train_wall=13, wall={1236 + 29 * n}\n" for n in range(1, 9)))


def mlperf(ms, key, value, more=""):
    return (f':::MLLOG {{"namespace": "", "time_ms": {1700000000000 + ms}, "event_type": "POINT_IN_TIME", "key": "{key}", "value": {value}, '
            f'"metadata": {{"file": "train.py", "lineno": 12{more}}}}}\n')


text("rate_of_mlperf.log", mlperf(0, "global_batch_size", "16") + mlperf(1, "run_start", "null") + "".join(
    mlperf(11000 * n, "block_start", "null", f', "samples_count": {160 * n}') +
    mlperf(11000 * n + 10000, "tracked_stats", '{"throughput": 12.0}', f', "step": {160 * n + 160}') +
    mlperf(11000 * n + 10000, "block_stop", "null", f', "samples_count": {160 * n + 160}') for n in range(10)))
text("nvbandwidth.txt", "nvbandwidth Version: v0.7\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     26.10\n\n")
text("ucc.txt", "Collective:             Allgather\n       Count        Size                Time, us                           Bandwidth, GB/s\n"
     "       65536      262144       76.00       72.00       82.00       24.00       25.00       22.00\n")
text("ib_write_bw.txt", " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             196.5              196.4             0.374\n")
text("comms_summary.txt", "Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)    \n"
     "all_reduce\n                    2.0 MB              10                  1.00                0.10                160.00              280.00              \n")
text("dmon.txt", "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
     + "    0    300     60      -     97     40      0      0   9500   1700\n" * 4)
text("gpu_cells.csv", "61, 12 %, 900 MiB\n62, 97 %, 15100 MiB\n" * 3)
text("gpu_alone.csv", "timestamp, index, utilization.gpu [%], power.draw [W]\n" +
     "".join(f"2024/05/01 10:00:{s:02}.000, 0, 95 %, 300.00 W\n" for s in range(5)))
text("mlperf_of_2018.txt", "".join(f":::MLPv0.5.0 resnet {1541720273 + n}.5 (train.py:{n}) train_epoch: {n}\n" for n in range(8)))
text("two_tests.log", TITLES + "  1048576  262144  float  none  -1  20.0  52.43  45.88  0  21.0  49.93  43.69  0\n")

# Lines of tools that train on images and on clicks.
text("ocr_of_paddle.log",
     "".join(f"[2026/01/05 18:{n:02}:31] ppocr INFO: epoch: [1/2], global_step: {10 * n}, lr: 0.1, loss: 69.3, avg_reader_cost: 0.0{n % 3 + 1} s, "
             f"avg_batch_cost: 0.1{80 + n % 3} s, avg_samples: 64.0, ips: 355.1 samples/s, eta: 0:32:33\n" for n in range(1, 20)))
text("super_resolution.log",
     "".join(f"2026-01-05 15:{n:02}:30,390 INFO: [x..][epoch:207, iter:  20,{n}00, lr:(1.000e-04,)] [eta: 1 day, 18:13:17, time (data): "
             f"0.37{n % 3} (0.002)] l_pix: 3.1e-04\n" for n in range(1, 10)))

# MLPerf: an epoch has more samples than its lines say, and the tool prints the time of a step.
text("images_of_mlperf.log",
     mlperf(0, "global_batch_size", "64") + mlperf(0, "train_samples", "40000") + mlperf(1, "run_start", "null") + "".join(
         mlperf(1 + 600000 * e, "epoch_start", "null", f', "epoch_num": {e + 1}') +
         "".join(f"2026-01-05 16:26:13,365 maskrcnn_benchmark.trainer INFO: eta: 4:58:35  iter: {20 * (90 * e + n)}  loss: 1.4 (2.3)  time: 0.31{n % 5} "
                 "(0.4)  data: 0.0027 (0.0475)  lr: 0.004  max mem: 8472\n" for n in range(1, 91)) +
         mlperf(560001 + 600000 * e, "epoch_stop", "null", f', "epoch_num": {e + 1}') for e in range(3)))
# Epochs of one step each.
text("steps_of_mlperf.log",
     mlperf(0, "global_batch_size", "440") + mlperf(0, "opt_learning_rate_training_steps", "8103") + mlperf(0, "train_samples", "3565320") +
     mlperf(1, "run_start", "null") + "".join(
         mlperf(1 + 1927000 * e, "block_start", "null", f', "first_epoch_num": {1137 * e}, "epoch_count": 1137') +
         mlperf(1927001 + 1927000 * e, "block_stop", "null", f', "first_epoch_num": {1137 * e}') for e in range(6)))

# verl keeps lengths among its timers.
text("lengths_of_verl.log",
     "".join(f"step:{n} - actor/pg_loss:0.1 - timing_s/agent_loop/slowest/response_length:512 - timing_s/gen:2.5 - timing_s/step:9.{n % 3}\n"
             for n in range(1, 12)))

# A loss that falls and rises again, and fairseq before 0.6, which counts in each epoch anew.
text("rising_loss.log", "".join(f"iter {n}: loss {12.4 - n / 40 if n < 40 else 11.4 + (n - 40) / 8:.4f}, time 12{n % 3}.00ms\n" for n in range(100)))
text("epochs_of_fairseq.log", "".join(f"| epoch {9 + n // 4:03}:   {1000 * (n % 4 + 1)} / 4223 loss=1.27 (1.50), wps=962, wpb=90{n % 4}, bsz=20\n" for n in range(10)))

# A level that changes in the middle, with slow steps before it.
text("slow_steps_of_a_level.log",
     "".join(f"step_time_ms={(200.0 if n % 50 == 24 else 100.0 if n < 200 else 150.0) + n * 7 % 5 / 10:.1f}\n" for n in range(400)))

# Images of several sizes, whose steps take as long as their size says, until each takes longer.
text("sizes_of_images.log",
     "".join(f"epoch: {n // 20 + 1}/99, iter: {10 * (n % 20 + 1)}/200, iter_time: {0.05 + size / 10000:.4f}s, size: {size}, ETA: 1:00\n"
             for n in range(400) for size in [480 + 32 * (n * 7 % 5 + (5 if n >= 240 else 0))]))
text("sizes_and_a_slower_step.log",
     "".join(f"epoch: {n // 20 + 1}/99, iter: {10 * (n % 20 + 1)}/200, iter_time: {(0.05 + size / 10000) * (1.2 if n >= 200 else 1):.4f}s, size: {size}, ETA: 1:00\n"
             for n in range(400) for size in [480 + 32 * (n * 7 % 5)]))

# Pairs of ranks: rates of messages, not of a collective.
text("message_rates.txt", "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7.1\n# [ pairs: 48 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"
                          "1                      58.09       58086503.51\n2                     115.00       57500814.69\n")

# tf_cnn_benchmarks prints the mean rate of all steps so far.
text("rates_of_tensorflow.log", "TensorFlow:  1.15\nBatch size:  128 global\n             64 per device\n" + "".join(
    f"{n}\timages/sec: {128 * n / (0.25 * n + n % 3 / 1000):.1f} +/- 1.4 (jitter = 2.8)\t7.9\n" for n in (1, *range(10, 201, 10))))

# Four short runs in one log, whose bars show their last line only.
text("short_runs.log", "".join(f"{{'train_runtime': {r}.3417, 'train_samples_per_second': 0.857, 'train_steps_per_second': 0.857, 'epoch': 1.0}}\n"
                               f"100% 8/8 [00:{r:02}<00:00,  {r / 8 + 0.03:.2f}s/it]\n" for r in (11, 9, 9, 9)))

# A batch that counts tokens.
text("batch_of_tokens.log", mlperf(0, "global_batch_size", "61440") + mlperf(1, "run_start", "null") + "".join(
    f"| epoch 001:   {1000 * n} / 9184 loss=5.1, wps=176776, ups=3.1, wpb=56091, bsz=485, num_updates={1000 * n}, lr=0.001, wall={323 * n}\n" for n in range(1, 9)))

# Two jobs in one log whose epochs begin at 0.
text("two_jobs_of_epochs.log", "".join(
    f"Epoch: [{e}]  [{n:>4}/100]  eta: 0:12:43  lr: 0.0001  loss: 8.58 (8.58)  time: {(0.5 if job == 0 else 0.15 if n + 100 * e < 150 else 0.18) + n % 3 / 1000:.4f}  data: 0.0100\n"
    for job in range(2) for e in range(4) for n in range(0, 100, 2)))

# A part of a step has a longer name than the step.
text("videos.log", "".join(f'[INFO: logging.py: 99]: json_stats: {{"_type": "train_iter_", "dt": 0.8{n % 3}, "dt_data": 0.1{n % 3}, "dt_net": 0.7, '
                           f'"epoch": "1/200", "eta": "10:47:18", "iter": "{10 * n}/500", "loss": 2.7}}\n' for n in range(1, 30)))
