// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/benchmark_figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

struct PrintedType {
  std::string_view name;
  int bytes;
};
constexpr std::array<PrintedType, 15> element_types = {{{"int8", 1},
                                                        {"uint8", 1},
                                                        {"char", 1},
                                                        {"f8e4m3", 1},
                                                        {"f8e5m2", 1},
                                                        {"fp8_e4m3", 1},
                                                        {"fp8_e5m2", 1},
                                                        {"half", 2},
                                                        {"bfloat16", 2},
                                                        {"int32", 4},
                                                        {"uint32", 4},
                                                        {"float", 4},
                                                        {"int64", 8},
                                                        {"uint64", 8},
                                                        {"double", 8}}};

constexpr std::array<std::string_view, 7> reductions = {"sum", "prod", "max",   "min",
                                                        "avg", "none", "mulsum"};

constexpr int most_ranks = 1 << 20;

// Half of the last printed digit.
double half_digit(std::string_view number) {
  const std::size_t point = number.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : number.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(std::min<std::size_t>(decimals, 9)));
}

bool agrees(std::int64_t size, std::string_view time, std::string_view algbw) {
  constexpr double enough = 0.01;  // the time is rounded, too
  const auto us = clean_number(time);
  const auto rate = clean_number(algbw);
  if (!us || !rate || !(*us > 0) || !(*rate >= 0)) return false;
  const double right = static_cast<double>(size) / *us / 1e3;
  return std::fabs(*rate - right) <= 1.02 * half_digit(algbw) + enough * right;
}

// Each rank's count is a share of the buffer.
bool shares_buffer(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == all_gather || kind == reduce_scatter || kind == all_to_all || kind == gather ||
         kind == scatter;
}

bool has_factor(const BenchmarkFigures& f) { return std::isfinite(f.most); }

}  // namespace

int printed_type_bytes(std::string_view type) {
  const auto* const found = std::ranges::find(element_types, type, &PrintedType::name);
  return found == element_types.end() ? 0 : found->bytes;
}

void take_shares(std::int64_t size, std::int64_t count, int element, BenchmarkFigures& figures) {
  if (element == 0 || count <= figures.largest_count || count > size / element) return;
  figures.largest_count = count;
  figures.shares = size % (count * element) == 0 ? size / (count * element) : 0;
}

void take_factor(std::string_view algbw, std::string_view busbw, BenchmarkFigures& figures) {
  const auto a = clean_number(algbw);
  const auto b = clean_number(busbw);
  const double of_a = half_digit(algbw);
  const double of_b = half_digit(busbw);
  if (!a || !b || !(*a > of_a) || !(*b > 0)) return;
  const double least = (*b - of_b) / (*a + of_a);
  const double most = (*b + of_b) / (*a - of_a);
  if (has_factor(figures) && most - least >= figures.most - figures.least) return;
  figures.least = least;
  figures.most = most;
}

RowPlaces places_in_row(std::span<const std::string_view> words) {
  RowPlaces places;
  if (words.size() < 9 || printed_type_bytes(words[2]) == 0) return places;
  const auto size = clean_integer(words[0]);
  if (!size || *size <= 0 || !clean_integer(words[1])) return places;
  std::size_t next = 3;
  if (std::ranges::find(reductions, words[next]) != reductions.end()) places.redop = next++;
  const std::size_t rest = words.size() - next;
  if (rest == 9 || rest == 7) places.root = next++;
  const std::size_t figures = (words.size() - next) / 2;
  if (figures < 3 || figures > 4 || words.size() != next + 2 * figures) return {};
  for (const std::size_t at : {next, next + figures})
    if (!agrees(*size, words[at], words[at + 1]) || !clean_number(words[at + 2])) return {};
  places.times[0] = next;
  places.times[1] = next + figures;
  return places;
}

CollectiveKind kind_by_figures(const BenchmarkFigures& f, int ranks) {
  using enum CollectiveKind;
  constexpr double near_one = 0.05;
  if (!has_factor(f)) return unknown;
  const auto told = [&](CollectiveKind kind) { return ranks > 2 && may_be_of(f, kind, ranks); };
  // Only all-to-all and send and receive once had a column for a reduction that they leave blank.
  if (f.blank) return told(all_to_all) ? all_to_all : told(send_recv) ? send_recv : unknown;
  if (f.rooted && f.reduces) return reduce;
  if (f.rooted) return f.shares > 1 ? unknown : broadcast;
  if (!f.reduces) return unknown;
  if (f.least > 1 + near_one || told(all_reduce)) return all_reduce;
  const int n = f.shares > 1 && f.shares < most_ranks ? static_cast<int>(f.shares) : ranks;
  if (f.most < 1 - near_one || (n > 2 && may_be_of(f, reduce_scatter, n))) return reduce_scatter;
  return unknown;  // all-reduce of two ranks, and send and receive
}

bool may_be_of(const BenchmarkFigures& f, CollectiveKind kind, int ranks) {
  constexpr double slack = 1e-3;
  if (shares_buffer(kind) && f.shares > 1 && f.shares != ranks) return false;
  const auto factor = busbw_factor(kind, ranks);
  return !factor || !has_factor(f) || (*factor >= f.least - slack && *factor <= f.most + slack);
}

int ranks_by_figures(const BenchmarkFigures& f, CollectiveKind kind) {
  if (!has_factor(f)) return 0;
  if (shares_buffer(kind) && f.shares > 1) {
    const int n = f.shares > most_ranks ? 0 : static_cast<int>(f.shares);
    return n > 0 && may_be_of(f, kind, n) ? n : 0;
  }
  const auto two = busbw_factor(kind, 2);
  if (!two || (*two != 0.5 && kind != CollectiveKind::all_reduce)) return 0;
  const double all = 2 * *two;  // the factor of a group without end
  if (f.most >= all) return 0;
  const double least = all / (all - f.least);
  const double most = all / (all - f.most);
  const double whole = std::ceil(least);
  return whole >= 2 && whole == std::floor(most) && whole <= most_ranks ? static_cast<int>(whole)
                                                                        : 0;
}

}  // namespace stepscope
