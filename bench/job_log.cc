// SPDX-License-Identifier: Apache-2.0
// The reading speed of logs of training jobs, compared with memchr over the lines of the same
// bytes. One line in ten or every line reports on a step, in each tool's dialect. Usage: job_log
// [MB [TOOL|FILE]...]. A FILE is repeated up to MB.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

std::string megatron(std::size_t i) {
  return fmt::format(
      " [2026-01-01 12:00:00.123456] iteration {:8}/  100000 | consumed samples: {:12} | elapsed "
      "time per iteration (ms): {}.5 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: "
      "1.000000E-04 | global batch size:   256 | lm loss: 2.345678E+00 | loss scale: 1.0 | grad "
      "norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
      i, i * 256, 1200 + i % 7);
}
std::string deepspeed(std::size_t i) {
  return fmt::format(
      "[2022-08-29 {:02}:{:02}:{:02},500] [INFO] [timer.py:198:stop] epoch=0/micro_step={}/"
      "global_step={}, RunningAvgSamplesPerSec=230.812345678, CurrSamplesPerSec=227.412345678, "
      "MemAllocated=0.36GB, MaxMemAllocated=15.06GB\n",
      i / 3600 % 24, i / 60 % 60, i % 60, i, i);
}
std::string torchtitan(std::size_t i) {
  return fmt::format(
      "[rank0]:[titan] 2025-03-06 {:02}:{:02}:{:02},808 - root - INFO - step: {}  loss:  9.8934  "
      "grad_norm:  1.2345  memory: 47.61GiB(60.15%)  tps: 2,793  tflops: 161.76  mfu: 51.85%\n",
      i / 3600 % 24, i / 60 % 60, i % 60, i);
}
std::string hugging_face(std::size_t i) {
  return fmt::format("  1%|1         | {}/100000000 [00:02<01:20,  1.2{}it/s]\r", i, i % 10);
}
std::string other() {
  return "worker-0: 2026-01-01 12:00:00 loading shard 17 of 512 from the data set, 3 files are "
         "behind it; tokenizer is warm, the queue holds 96 batches and nothing waits\n";
}

template <class Line>
std::string made_log(std::size_t bytes, std::size_t every, Line line) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += i % every == 0 ? line(i + 1) : other();
  return out;
}

std::size_t lines_of(std::string_view text) {
  std::size_t lines = 0;
  for (const char* at = text.data(); at < text.data() + text.size(); ++lines) {
    const void* end =
        std::memchr(at, '\n', static_cast<std::size_t>(text.data() + text.size() - at));
    if (end == nullptr) break;
    at = static_cast<const char*>(end) + 1;
  }
  return lines;
}

template <class Work>
void report(const std::string& what, std::size_t bytes, Work work) {
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rates.push_back(static_cast<double>(bytes) / 1e6 / seconds);
  }
  std::ranges::sort(rates);
  fmt::print("{:<44} {:8.0f} {:8.0f} {:8.0f} MB/s (min, median, max)\n", what, rates.front(),
             rates[rates.size() / 2], rates.back());
}

template <class Line>
void measure(const char* tool, std::size_t bytes, Line line) {
  for (const std::size_t every : {std::size_t{10}, std::size_t{1}}) {
    const std::string log = made_log(bytes, every, line);
    report(fmt::format("{}, {}", tool, every == 1 ? "every line" : "one line in ten"), log.size(),
           [&] {
             TextSource source(log);
             if (!read_job_log(source, "made")) std::abort();
           });
  }
}

void measure_file(const std::string& path, std::size_t bytes) {
  const auto text = read_text(path);
  if (!text || text->empty()) std::abort();
  std::string log;
  while (log.size() < bytes) log += *text;
  report(path, log.size(), [&] {
    TextSource source(log);
    if (!read_job_log(source, path)) std::abort();
  });
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  using namespace stepscope;
  const std::size_t bytes =
      (argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 100) * 1'000'000;
  const std::vector<std::string_view> only(argv + std::min(argc, 2), argv + argc);
  const auto one = [&](const char* tool, auto line) {
    if (only.empty() || std::ranges::find(only, tool) != only.end()) measure(tool, bytes, line);
  };
  one("Megatron-LM", megatron);
  one("DeepSpeed", deepspeed);
  one("torchtitan", torchtitan);
  one("Hugging Face Trainer", hugging_face);
  for (const std::string_view file : only)
    if (std::filesystem::exists(file)) measure_file(std::string(file), bytes);
  const std::string log = made_log(bytes, 10, megatron);
  report("memchr over the lines", log.size(), [&] {
    if (lines_of(log) == 0) std::abort();
  });
  return 0;
}
