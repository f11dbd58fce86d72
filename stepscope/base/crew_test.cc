// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <numeric>
#include <span>
#include <thread>
#include <tuple>

namespace stepscope {
namespace {

// Threads that stand for the processes of a crew.
struct Meeting {
  explicit Meeting(std::size_t size) : given(size), all(static_cast<std::ptrdiff_t>(size)) {}
  std::vector<std::string> given;
  std::barrier<> all;
};

class ThreadCrew final : public Crew {
 public:
  ThreadCrew(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return meeting_.given.size(); }
  [[nodiscard]] Exchanged exchange(std::string own) override {
    meeting_.given[rank_] = std::move(own);
    meeting_.all.arrive_and_wait();
    Exchanged all;
    for (const std::string& text : meeting_.given) {
      const auto bytes = std::as_bytes(std::span(text));
      all.memory.insert(all.memory.end(), bytes.begin(), bytes.end());
    }
    std::size_t at = 0;
    for (const std::string& text : meeting_.given) {
      all.of.emplace_back(reinterpret_cast<const char*>(all.memory.data()) + at, text.size());
      at += text.size();
    }
    meeting_.all.arrive_and_wait();
    return all;
  }

 private:
  Meeting& meeting_;
  std::size_t rank_;
};

TEST(Crew, EachProcessComputesItsShareAndHasAllResults) {
  for (const std::size_t size : {1U, 2U, 3U, 5U})
    for (const std::size_t count : {0U, 1U, 3U, 10U})
      for (const Distribution distribution : {Distribution::blocks, Distribution::turns}) {
        Meeting meeting(size);
        std::vector<std::size_t> computed(size);
        std::vector<std::vector<std::string>> results(size, std::vector<std::string>(count));
        {
          std::vector<std::jthread> processes;
          for (std::size_t r = 0; r < size; ++r)
            processes.emplace_back([&, r] {
              ThreadCrew crew(meeting, r);
              shared_for(results[r], {1, &crew}, distribution, [&](std::size_t i) {
                ++computed[r];
                results[r][i] = std::string(i, 'x');
              });
            });
        }
        EXPECT_EQ(std::reduce(computed.begin(), computed.end()), count);
        EXPECT_LE(*std::ranges::max_element(computed), (count + size - 1) / size);
        for (const auto& of : results)
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(of[i].size(), i);
      }
}

TEST(Crew, EachQuestionIsAskedOnceAndAllHaveTheAnswers) {
  for (const std::size_t size : {1U, 2U, 3U, 5U}) {
    Meeting meeting(size);
    std::vector<int> asked(size);
    std::vector<std::tuple<std::string, std::vector<int>, int>> answers(size);
    {
      std::vector<std::jthread> processes;
      for (std::size_t r = 0; r < size; ++r)
        processes.emplace_back([&, r] {
          ThreadCrew crew(meeting, r);
          auto& [text, numbers, number] = answers[r];
          const auto count = [&](auto answer) {
            ++asked[r];
            return answer;
          };
          const std::vector<SharedQuestion> questions = {
              shared_question(text, [&] { return count(std::string("late")); }),
              shared_question(numbers, [&] { return count(std::vector<int>{1, 2, 3}); }),
              shared_question(number, [&] { return count(4); })};
          ask_shared(questions, {1, &crew});
        });
    }
    EXPECT_EQ(std::reduce(asked.begin(), asked.end()), 3);
    for (const auto& own : answers)
      EXPECT_EQ(own, std::tuple(std::string("late"), std::vector<int>{1, 2, 3}, 4));
  }
}

TEST(Crew, WithoutOthersTheThreadsComputeAll) {
  std::vector<int> results(100);
  shared_for(results, 4, Distribution::turns,
             [&](std::size_t i) { results[i] = static_cast<int>(i); });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i);
}

TEST(ParallelFor, ThrowsWhatAnIndexThrewAndRunsNoFurtherOnes) {
  for (const unsigned threads : {1U, 4U}) {
    std::atomic<int> ran{0};
    const auto body = [&](std::size_t i) {
      ++ran;
      work_on_input(i, [&] { check(i != 7, "seven is impossible"); });
    };
    try {
      parallel_for(100, threads, body);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Bug& bug) {
      const std::string_view what = bug.what();
      EXPECT_EQ(bug.input, 7U);
      EXPECT_TRUE(what.starts_with("stepscope/base/crew_test.cc:")) << what;
      EXPECT_TRUE(what.ends_with(": seven is impossible")) << what;
    }
    if (threads == 1) {
      EXPECT_EQ(ran, 8);
    }
  }
}

}  // namespace

}  // namespace stepscope
