// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// A capture of six steps. Each step has more host time and less compute than the one before it, so
// what bounds the mean step depends on which steps are in it.
class Capture {
 public:
  enum class Order { host_first, by_time, device_last };

  static std::string text(Order order) {
    std::string host;
    std::string device;
    std::string both;
    std::uint32_t id = 1;
    for (int step = 0; step < 6; ++step) {
      const int begin = 20'000 * step;
      host += annotation(step, begin);
      both += annotation(step, begin);
      int free = begin + 100;
      for (int op = 0; op < 10; ++op, ++id) {
        const int at = begin + 50 + op * (300 + 250 * step);
        const std::string product = row("cpu_op", "aten::mm", at, 40, "1", 0);
        const std::string call = row("cuda_runtime", "cudaLaunchKernel", at + 5, 10, "1", id);
        const int start = std::max(free, at + 30);
        free = start + 1200 - 100 * step;
        const std::string kernel =
            row("kernel", "ampere_sgemm_128x64_nn", start, free - start, "7", id);
        host += product;
        (order == Order::device_last ? host : device) += call;
        device += kernel;
        both += product + call + kernel;
      }
    }
    std::string events = order == Order::by_time ? both : host + device;
    events.pop_back();
    return R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-80GB"}],)"
           "\"traceEvents\":[" +
           events + "]}";
  }

 private:
  static std::string annotation(int step, int begin) {
    return row("user_annotation", fmt::format("ProfilerStep#{}", step), begin, 19'900, "1", 0);
  }
  static std::string row(const char* category, const std::string& name, int start, int dur,
                         const char* track, std::uint32_t correlation) {
    const bool device = std::string_view(category) == "kernel";
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                       R"("args":{{"device":0,"stream":7,"correlation":{}}}}},)",
                       category, name, device ? 0 : 1000, track, start, dur, correlation);
  }
};

class CutCapture : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("cut-{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  AnalyzeResult analyzed(const std::string& text, std::optional<std::int64_t> first = {},
                         std::optional<std::int64_t> last = {}, AnalyzeRequest request = {}) {
    const std::string path = folder_ / "trace.json";
    std::ofstream(path) << text;
    request.traces.inputs = {path};
    request.traces.first_step = first;
    request.traces.last_step = last;
    request.traces.threads = 1;
    auto result = analyze(request);
    EXPECT_TRUE(result);
    return std::move(*result);
  }

  std::filesystem::path folder_;
};

// The verdict of a cut capture is that of the same steps of the whole capture, or it is missing.
TEST_F(CutCapture, HasTheVerdictOfItsWholeStepsOrNone) {
  for (const auto order :
       {Capture::Order::host_first, Capture::Order::by_time, Capture::Order::device_last}) {
    const std::string text = Capture::text(order);
    int verdicts = 0;
    for (std::size_t end = 300; end + 2 < text.size(); end += 331) {
      const AnalyzeResult cut = analyzed(text.substr(0, end));
      const Analysis& a = cut.analysis;
      if (a.job.ranks.empty()) continue;
      EXPECT_NE(say_stopped(a.answer.sentence).find(" is cut off at byte "), std::string::npos)
          << end;
      EXPECT_TRUE(a.inputs.front().cut_at && *a.inputs.front().cut_at <= end);
      if (a.job.steps.common.empty()) {
        EXPECT_TRUE(say_stopped(a.answer.sentence).ends_with("what bounds a step is not known."))
            << end;
        EXPECT_TRUE(a.findings.empty());
        continue;
      }
      ++verdicts;
      const AnalyzeResult whole =
          analyzed(text, a.job.steps.common.front().index, a.job.steps.common.back().index);
      ASSERT_EQ(whole.analysis.job.steps.common.size(), a.job.steps.common.size()) << end;
      EXPECT_EQ(whole.analysis.job.steps.mean.time, a.job.steps.mean.time) << end;
      EXPECT_EQ(whole.analysis.answer.bound_by, a.answer.bound_by) << end;
      EXPECT_TRUE(
          say_stopped(a.answer.sentence).ends_with(say_stopped(whole.analysis.answer.sentence)))
          << end;
    }
    EXPECT_GT(verdicts, 10);
  }
}

TEST_F(CutCapture, NamesTheStepsThatAreLeftOut) {
  const std::string text = Capture::text(Capture::Order::by_time);
  const Analysis a = analyzed(text.substr(0, text.size() / 2)).analysis;
  ASSERT_EQ(a.job.steps.cut.size(), 1U);
  EXPECT_EQ(a.job.steps.cut.front().whole, a.job.steps.common.size());
  EXPECT_NE(say_stopped(a.answer.sentence)
                .find(": step 2 of rank 0 is incomplete and left out. A step takes "),
            std::string::npos)
      << say_stopped(a.answer.sentence);
}

// Model FLOPs beyond the peak give no MFU, and the answer begins with that.
TEST_F(CutCapture, ImpossibleModelFlopsAreSaidFirst) {
  AnalyzeRequest request;
  request.job.model_flops_per_step = 1e20;
  request.job.peak_tflops = 100;
  const Analysis a = analyzed(Capture::text(Capture::Order::by_time), {}, {}, request).analysis;
  EXPECT_FALSE(a.mfu);
  EXPECT_TRUE(
      say_stopped(a.answer.sentence).starts_with("The model FLOPs cannot be right: they need "))
      << say_stopped(a.answer.sentence);
  ASSERT_FALSE(a.warnings.empty());
  EXPECT_TRUE(say(a.warnings.front()).starts_with("The model FLOPs cannot be right"));
  EXPECT_EQ(say_stopped(a.answer.sentence).find("(MFU"), std::string::npos);
}

// All traces of a folder are named by the folder in a command to paste, others one by one.
TEST_F(CutCapture, ACommandNamesTheFolderOfItsTraces) {
  const auto named = [this](std::initializer_list<const char*> names) {
    AnalyzeRequest request;
    request.traces.threads = 1;
    for (const char* name : names) request.traces.inputs.push_back(folder_ / name);
    const auto result = analyze(request);
    return result ? result->analysis.traces : result.error().message();
  };
  for (const char* name : {"a.json", "b.json"})
    std::ofstream(folder_ / name) << Capture::text(Capture::Order::by_time);
  EXPECT_EQ(named({"a.json", "b.json"}), folder_.string());
  EXPECT_EQ(named({"b.json", "a.json"}), folder_.string());
  EXPECT_EQ(named({"a.json"}), (folder_ / "a.json").string());
}

}  // namespace
}  // namespace stepscope
