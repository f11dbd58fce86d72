// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/run_sort.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace stepscope {
namespace {

struct Row {
  int key;
  int place;  // index before sorting
  bool operator==(const Row&) const = default;
};

bool by_key(const Row& a, const Row& b) { return a.key < b.key; }

std::vector<Row> rows_of(const std::vector<int>& keys) {
  std::vector<Row> rows;
  for (const int key : keys) rows.push_back({key, static_cast<int>(rows.size())});
  return rows;
}

void expect_sorted_like_stable_sort(const std::vector<int>& keys) {
  std::vector<Row> rows = rows_of(keys);
  std::vector<Row> expected = rows;
  std::stable_sort(expected.begin(), expected.end(), by_key);
  run_sort(rows, by_key);
  EXPECT_EQ(rows, expected);
}

TEST(RunSort, SortsWhatIsEmptyOrOneRow) {
  expect_sorted_like_stable_sort({});
  expect_sorted_like_stable_sort({1});
}

TEST(RunSort, KeepsEqualRowsInOrderWhereTheyMovedAndWhereRunsMeet) {
  expect_sorted_like_stable_sort({2, 2, 1, 1, 2, 1, 0, 0});
  std::vector<int> keys;
  for (int run = 0; run < 5; ++run)
    for (int i = 0; i < 100; ++i) keys.push_back(i / 7);
  expect_sorted_like_stable_sort(keys);
}

TEST(RunSort, MovesRowsThatAreAFewPlacesLateAndOneThatIsFarAhead) {
  std::vector<int> keys{5000};
  for (int i = 0; i < 1000; ++i) keys.push_back(i ^ 7);
  expect_sorted_like_stable_sort(keys);
}

TEST(RunSort, MergesAnyNumberOfRuns) {
  for (int runs = 1; runs <= 9; ++runs) {
    std::vector<int> keys;
    for (int run = runs; run > 0; --run)
      for (int i = 0; i < 40; ++i) keys.push_back(3 * i + run);
    expect_sorted_like_stable_sort(keys);
  }
}

TEST(RunSort, SortsRowsWithoutAnyOrder) {
  std::mt19937 random(7);
  for (const int size : {2, 16, 17, 18, 33, 1000, 10000}) {
    std::vector<int> keys(static_cast<std::size_t>(size));
    for (int& key : keys) key = static_cast<int>(random() % 1000);
    expect_sorted_like_stable_sort(keys);
    std::ranges::sort(keys, std::greater{});
    expect_sorted_like_stable_sort(keys);
  }
}

TEST(RunSort, ComparesRowsInOrderOnce) {
  std::vector<Row> rows = rows_of(std::vector<int>(1000, 1));
  std::size_t comparisons = 0;
  run_sort(rows, [&](const Row& a, const Row& b) {
    ++comparisons;
    return a.key < b.key;
  });
  EXPECT_EQ(comparisons, rows.size() - 1);
}

}  // namespace
}  // namespace stepscope
