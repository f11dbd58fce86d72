// SPDX-License-Identifier: Apache-2.0
// Test cases of every collective with the right answers. The answers come from plain loops over all
// ranks' inputs, in rank order; they use none of the product's code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"

namespace stepscope::comm_test {

struct Case {
  CollectiveKind kind = CollectiveKind::none;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  std::size_t elements = 0;  // of S
  bool in_place = false;
  int root = 0;
  std::uint64_t seed = 0;
};

inline std::uint64_t scrambled(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// Values of such different magnitudes that the order of a sum shows in its bits.
inline double real_value(std::uint64_t random) {
  const double mantissa = static_cast<double>(random >> 11U) / 9007199254740992.0 - 0.5;
  return std::ldexp(mantissa, static_cast<int>(random % 21U) - 10);
}

inline void put_value(ElementType type, std::uint64_t random, std::byte* to) {
  switch (type) {
    case ElementType::f32: {
      const auto value = static_cast<float>(real_value(random));
      std::memcpy(to, &value, sizeof value);
      break;
    }
    case ElementType::bf16: {
      const Bf16 value = to_bf16(static_cast<float>(real_value(random)));
      std::memcpy(to, &value, sizeof value);
      break;
    }
    case ElementType::f64: {
      const double value = real_value(random);
      std::memcpy(to, &value, sizeof value);
      break;
    }
    case ElementType::i64:
      std::memcpy(to, &random, sizeof random);
      break;
    case ElementType::u8:
      *to = static_cast<std::byte>(random);
      break;
  }
}

// A rank's data: blocks × S bytes.
inline std::vector<std::byte> data_of(const Case& c, int rank, std::size_t blocks) {
  const std::size_t size = element_bytes(c.type);
  std::vector<std::byte> bytes(blocks * c.elements * size);
  for (std::size_t i = 0; i < blocks * c.elements; ++i) {
    const std::uint64_t key = c.seed * 1000003 + static_cast<std::uint64_t>(rank);
    put_value(c.type, scrambled(scrambled(key) + i), bytes.data() + i * size);
  }
  return bytes;
}

template <class T>
T pick(Reduction reduction, T a, T b) {
  if (reduction == Reduction::max) return a < b ? b : a;
  return b < a ? b : a;
}

// One element reduced over the ranks; at[r] points to rank r's.
inline void reduce_element(const Case& c, const std::vector<const std::byte*>& at, std::byte* to) {
  const auto fold = [&](auto first, auto load, auto add) {
    auto total = first;
    for (std::size_t r = 1; r < at.size(); ++r) {
      const auto next = load(at[r]);
      total = c.reduction == Reduction::sum ? add(total, next) : pick(c.reduction, total, next);
    }
    return total;
  };
  const auto plain = [&]<class T>(T /*type*/) {
    const auto load = [](const std::byte* from) {
      T value{};
      std::memcpy(&value, from, sizeof value);
      return value;
    };
    const T total = fold(load(at[0]), load, [](T a, T b) { return static_cast<T>(a + b); });
    std::memcpy(to, &total, sizeof total);
  };
  const auto load_bf16 = [](const std::byte* from) {
    Bf16 value{};
    std::memcpy(&value, from, sizeof value);
    return to_float(value);
  };
  const auto load_i64 = [](const std::byte* from) {
    std::int64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  switch (c.type) {
    case ElementType::f32:
      return plain(0.0F);
    case ElementType::f64:
      return plain(0.0);
    case ElementType::u8:
      return plain(std::uint8_t{0});
    case ElementType::bf16: {
      const float total = fold(load_bf16(at[0]), load_bf16, [](float a, float b) { return a + b; });
      const Bf16 rounded = to_bf16(total);
      std::memcpy(to, &rounded, sizeof rounded);
      return;
    }
    case ElementType::i64: {
      const std::int64_t total =
          fold(load_i64(at[0]), load_i64, [](std::int64_t a, std::int64_t b) {
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                             static_cast<std::uint64_t>(b));
          });
      std::memcpy(to, &total, sizeof total);
      return;
    }
  }
}

inline std::vector<std::byte> reduced(const Case& c, int ranks, std::size_t blocks,
                                      std::size_t first, std::size_t count) {
  std::vector<std::vector<std::byte>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(data_of(c, r, blocks));
  const std::size_t size = element_bytes(c.type);
  std::vector<std::byte> out(count * size);
  std::vector<const std::byte*> at(inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < at.size(); ++r) at[r] = inputs[r].data() + (first + i) * size;
    reduce_element(c, at, out.data() + i * size);
  }
  return out;
}

inline void append(std::vector<std::byte>& to, const std::vector<std::byte>& from,
                   std::size_t begin, std::size_t count) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
  to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
}

// The right contents of `out` of `rank`.
inline std::vector<std::byte> expected(const Case& c, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t block = c.elements * element_bytes(c.type);
  std::vector<std::byte> out;
  switch (c.kind) {
    case CollectiveKind::all_reduce:
      return reduced(c, ranks, 1, 0, c.elements);
    case CollectiveKind::reduce_scatter:
      return reduced(c, ranks, n, r * c.elements, c.elements);
    case CollectiveKind::all_gather:
      for (int from = 0; from < ranks; ++from) append(out, data_of(c, from, 1), 0, block);
      return out;
    case CollectiveKind::broadcast:
      return data_of(c, c.root, 1);
    case CollectiveKind::all_to_all:
      for (int from = 0; from < ranks; ++from) append(out, data_of(c, from, n), r * block, block);
      return out;
    default:
      return out;
  }
}

// The memory and the ticket of a case that one rank has submitted.
struct Running {
  Case c;
  std::vector<std::byte> in;   // empty when out holds it
  std::vector<std::byte> out;  // all of in for in-place calls
  std::size_t result = 0;      // begin of the answer in `out`
  std::size_t result_bytes = 0;
  Result<Ticket> ticket = Ticket{};
};

// Fills `run` and submits it. `run` must not move afterwards.
inline void start(Communicator& comm, const Case& c, Running& run) {
  const auto n = static_cast<std::size_t>(comm.size());
  const auto r = static_cast<std::size_t>(comm.rank());
  const std::size_t block = c.elements * element_bytes(c.type);
  const bool many_in =
      c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::all_to_all;
  const bool many_out =
      c.kind == CollectiveKind::all_gather || c.kind == CollectiveKind::all_to_all;
  run.c = c;
  run.in = data_of(c, comm.rank(), many_in ? n : 1);
  run.result_bytes = many_out ? n * block : block;
  CollectiveRequest request;
  request.kind = c.kind;
  request.type = c.type;
  request.reduction = c.reduction;
  request.peer = c.kind == CollectiveKind::broadcast ? c.root : -1;
  request.what = "case";
  if (c.in_place && c.kind == CollectiveKind::all_gather) {
    run.out.assign(n * block, std::byte{0xEE});
    std::ranges::copy(run.in, run.out.begin() + static_cast<std::ptrdiff_t>(r * block));
    request.in = std::span(run.out).subspan(r * block, block);
    request.out = run.out;
  } else if (c.in_place && c.kind != CollectiveKind::all_to_all) {
    run.out = run.in;
    run.result = c.kind == CollectiveKind::reduce_scatter ? r * block : 0;
    request.in = run.out;
    request.out = std::span(run.out).subspan(run.result, block);
  } else {
    run.out.assign(run.result_bytes, std::byte{0xEE});
    request.in = run.in;
    request.out = run.out;
  }
  run.ticket = comm.submit(request);
}

// Returns an empty text when the answer is right.
inline std::string fault_of(Communicator& comm, const Running& run) {
  const auto right = expected(run.c, comm.rank(), comm.size());
  const auto* begin = run.out.data() + run.result;
  std::string at = std::string(collective_kind_names[static_cast<std::size_t>(run.c.kind)]) + " " +
                   std::string(element_name(run.c.type)) + " " +
                   std::string(reduction_names[static_cast<std::size_t>(run.c.reduction)]) + " " +
                   std::to_string(run.c.elements) + " elements, rank " +
                   std::to_string(comm.rank()) + " of " + std::to_string(comm.size());
  if (right.size() != run.result_bytes) return at + ": wrong size";
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (right[i] != begin[i]) return at + ": byte " + std::to_string(i) + " differs";
  }
  return {};
}

// Every collective × type × size, and every reduction where it makes a difference.
inline std::vector<Case> all_cases(const std::vector<std::size_t>& sizes, int ranks) {
  std::vector<Case> cases;
  std::uint64_t seed = 1;
  for (const std::size_t elements : sizes) {
    for (const auto kind :
         {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
          CollectiveKind::broadcast, CollectiveKind::all_to_all, CollectiveKind::barrier}) {
      for (const auto type : {ElementType::f32, ElementType::bf16, ElementType::f64,
                              ElementType::i64, ElementType::u8}) {
        const bool reduces =
            kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
        for (int reduction = 0; reduction < (reduces ? 3 : 1); ++reduction) {
          Case c;
          c.kind = kind;
          c.type = type;
          c.reduction = static_cast<Reduction>(reduction);
          c.elements = kind == CollectiveKind::barrier ? 0 : elements;
          c.in_place = seed % 2 == 0;
          c.root = static_cast<int>(seed % static_cast<std::uint64_t>(ranks));
          c.seed = seed++;
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

}  // namespace stepscope::comm_test
