// SPDX-License-Identifier: Apache-2.0
#include "written_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

constexpr double epoch_us = 1.75e15;

std::string text_of(std::int64_t n) { return std::to_string(n); }

}  // namespace

WrittenJobSetting drawn_setting(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0, 1);
  constexpr std::array<std::pair<int, int>, 9> meshes = {
      {{1, 2}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {4, 2}, {2, 8}, {4, 4}, {8, 2}}};
  WrittenJobSetting s;
  std::tie(s.tensor, s.data) = meshes[random() % meshes.size()];
  s.layers = 2 + static_cast<int>(random() % 3);
  s.step_s = 0.05 * std::pow(100, share(random));
  s.lognormal = random() % 2 == 0;
  s.white = 0.002 + 0.018 * share(random);
  s.lasting = 0.008 * share(random);
  s.keeps = 0.8 * share(random);
  s.bias = 0.006 * share(random);
  s.pause_rate = 0.005 * share(random);
  s.files_of_steps = random() % 5 < 2;
  s.verbose = random() % 2 == 0;
  return s;
}

WrittenJobSetting drawn_fault(std::mt19937_64& random) {
  WrittenJobSetting s = drawn_setting(random);
  std::uniform_real_distribution<double> share(0, 1);
  constexpr std::array<WrittenFault, 3> kinds = {WrittenFault::compute, WrittenFault::compute,
                                                 WrittenFault::intermittent};
  s.fault = kinds[random() % kinds.size()];
  s.slow_rank = static_cast<int>(random() % static_cast<std::uint64_t>(s.ranks()));
  s.slow_from = 60 + static_cast<std::int64_t>(random() % 240);
  s.slow = 0.12 + 0.4 * share(random);
  return s;
}

WrittenJob::WrittenJob(const WrittenJobSetting& setting, std::uint64_t seed, std::string folder)
    : s_(setting), random_(seed), folder_(std::move(folder)) {
  const auto n = static_cast<std::size_t>(s_.ranks());
  for (auto* values : {&bias_, &lasting_, &clock_us_, &own_us_, &wait_us_, &begin_us_})
    values->resize(n);
  lines_.resize(n);
  for (double& b : bias_) b = s_.bias * normal_(random_);
}

double WrittenJob::now_s() const { return *std::ranges::max_element(clock_us_) / 1e6; }

std::string WrittenJob::path_of(int rank) const {
  return folder_ + (s_.files_of_steps ? "/steps-rank" + text_of(rank) + ".jsonl"
                                      : "/node0-pid" + text_of(pid_of(rank)) + ".log");
}

// A share of the step's work on all ranks.
void WrittenJob::work(double share) {
  for (std::size_t r = 0; r < bias_.size(); ++r) {
    const double noise = s_.white / std::sqrt(share) * normal_(random_);
    double work =
        (s_.lognormal ? std::exp(noise) : std::max(0.1, 1 + noise)) + bias_[r] + lasting_[r];
    const bool faulty = s_.fault == WrittenFault::compute || s_.fault == WrittenFault::intermittent;
    if (faulty && slow_now_ && static_cast<int>(r) == s_.slow_rank) work += s_.slow;
    const double us = std::max(work, 0.05) * share * s_.step_s * 1e6;
    clock_us_[r] += us;
    own_us_[r] += us;
  }
}

void WrittenJob::meet(const std::vector<int>& ranks, const std::string& id, const char* name,
                      const char* function, std::uint64_t bytes, double transfer_us) {
  double last = 0;
  for (const int r : ranks) last = std::max(last, clock_us_[static_cast<std::size_t>(r)]);
  const std::string key = id + function;
  auto number = std::ranges::find(numbers_, key, &Number::id);
  if (number == numbers_.end()) number = numbers_.insert(numbers_.end(), {.id = key});
  transfer_us *= 1 + 0.03 * uniform_(random_);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    const auto r = static_cast<std::size_t>(rank);
    const double began = clock_us_[r];
    const double inside = last - began + transfer_us * (1 + 0.01 * uniform_(random_));
    clock_us_[r] = last + transfer_us;
    wait_us_[r] += inside;
    if (s_.files_of_steps) continue;
    std::array<char, 768> line{};
    const int length = std::snprintf(
        line.data(), line.size(),
        R"({"header":{"id":"%s","comm_name":"%s","rank":%zu,"n_ranks":%zu,"nnodes":1},)"
        R"("metadata":{"inspector_output_format_version":"v4.2","git_rev":"",)"
        R"("rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":%.0f,)"
        R"("hostname":"node0","pid":%d},"coll_perf":{"coll":"%s","coll_sn":%llu,)"
        R"("coll_msg_size_bytes":%llu,"coll_exec_time_us":%.0f,)"
        R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0)",
        id.c_str(), name, i, ranks.size(), epoch_us + jump_us_ + clock_us_[r], pid_of(rank),
        function, static_cast<unsigned long long>(number->next),
        static_cast<unsigned long long>(bytes), inside);
    lines_[r].append(line.data(), static_cast<std::size_t>(length));
    if (s_.verbose)
      lines_[r] += R"(,"event_trace_ts":{"coll_start_ts":)" +
                   text_of(std::llround(epoch_us + jump_us_ + began)) + "}";
    lines_[r] += "}}\n";
  }
  ++number->next;
}

void WrittenJob::step() {
  if (step_ == s_.jump_at) jump_us_ += s_.jump_s * 1e6;
  slow_now_ =
      step_ >= s_.slow_from && (s_.fault != WrittenFault::intermittent || uniform_(random_) < 0.9);
  const double innovation = std::sqrt(1 - s_.keeps * s_.keeps);
  for (double& l : lasting_) l = s_.keeps * l + innovation * s_.lasting * normal_(random_);
  own_us_.assign(own_us_.size(), 0);
  wait_us_.assign(wait_us_.size(), 0);
  begin_us_ = clock_us_;
  for (std::size_t r = 0; r < clock_us_.size(); ++r) {
    if (uniform_(random_) >= s_.pause_rate) continue;
    const double pause = std::min(0.05 * std::pow(1 - uniform_(random_), -1 / 1.5), 20.0);
    clock_us_[r] += pause * s_.step_s * 1e6;
    own_us_[r] += pause * s_.step_s * 1e6;
  }
  const int parts = s_.layers + 1;
  std::vector<int> group;
  for (int layer = 0; layer < s_.layers; ++layer) {
    work(1.0 / parts);
    for (int d = 0; s_.tensor > 1 && d < s_.data; ++d) {
      group.clear();
      for (int t = 0; t < s_.tensor; ++t) group.push_back(d * s_.tensor + t);
      meet(group, "0x1" + text_of(d), "TP", "AllReduce", 4 << 20, 0.01e6 * s_.step_s);
    }
  }
  work(1.0 / parts);
  for (int t = 0; t < s_.tensor; ++t) {
    group.clear();
    for (int d = 0; d < s_.data; ++d) group.push_back(d * s_.tensor + t);
    const bool slow_link =
        s_.fault == WrittenFault::link && slow_now_ && s_.slow_rank % s_.tensor == t;
    const double transfer = (0.05 + (slow_link ? s_.slow : 0)) * 1e6 * s_.step_s / 2;
    meet(group, "0x2" + text_of(t), "DP", "ReduceScatter", 64 << 20, transfer);
    meet(group, "0x2" + text_of(t), "DP", "AllGather", 64 << 20, transfer);
  }
  for (std::size_t r = 0; r < lines_.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (s_.files_of_steps) {
      const auto ns = [](double us) { return text_of(std::llround(us * 1e3)); };
      lines_[r] = R"({"stepscope":"step","rank":)" + text_of(rank) + R"(,"world":)" +
                  text_of(s_.ranks()) + R"(,"host":"node0","pid":)" + text_of(pid_of(rank)) +
                  R"(,"run":1,"step":)" + text_of(step_) + R"(,"end_us":)" +
                  text_of(std::llround(epoch_us + jump_us_ + clock_us_[r])) + R"(,"wall_ns":)" +
                  ns(std::max(1.0, clock_us_[r] - begin_us_[r])) + R"(,"wait_ns":)" +
                  ns(std::min(wait_us_[r], clock_us_[r] - begin_us_[r])) + R"(,"phases_ns":{}})" +
                  "\n";
    }
    if (std::FILE* file = std::fopen(path_of(rank).c_str(), "a")) {
      std::fwrite(lines_[r].data(), 1, lines_[r].size(), file);
      std::fclose(file);
    }
    lines_[r].clear();
  }
  ++step_;
}

}  // namespace stepscope
