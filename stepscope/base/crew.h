// SPDX-License-Identifier: Apache-2.0
// Runs body(i) for i in [0, count) on up to `threads` threads, the caller among them. Indices are
// handed out in order, one at a time, so each needs enough work. Returns when all have run. What
// body throws first is thrown to the caller; the indices that are left are then not run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stepscope/base/plain_bytes.h"
#include "stepscope/base/result.h"

namespace stepscope {

// A body of parallel_for() without its type, so that threads are compiled once.
struct IndexBody {
  void* its;
  void (*call)(void* its, std::size_t i);
};
void run_indices(std::size_t count, unsigned threads, IndexBody body);

template <class Body>
void parallel_for(std::size_t count, unsigned threads, Body&& body) {
  run_indices(count, threads,
              {const_cast<void*>(static_cast<const void*>(&body)), [](void* its, std::size_t i) {
                 (*static_cast<std::remove_reference_t<Body>*>(its))(i);
               }});
}

// Runs body(first, last) for stretches [first, last) of [0, count), each of 65,536 or fewer.
template <class Body>
void parallel_stretches(std::size_t count, unsigned threads, Body&& body) {
  constexpr std::size_t longest = std::size_t{1} << 16;
  parallel_for((count + longest - 1) / longest, threads,
               [&](std::size_t i) { body(i * longest, std::min(count, (i + 1) * longest)); });
}

// Processes that share one piece of work. All of them run the same program on the same data, and
// each computes its share of the loops that shared_for() runs; the results go to all of them. What
// follows from the results is therefore the same everywhere, bit by bit, as in one process alone.

// What each process gave, by rank.
struct Exchanged {
  std::vector<std::byte> memory;     // of all
  std::vector<std::string_view> of;  // in it
};

class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  virtual ~Crew() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  // All processes call it the same number of times, from one thread. It does not return where a
  // process has failed.
  [[nodiscard]] virtual Exchanged exchange(std::string own) = 0;
};

// Who computes: the threads of this process, and other processes where there is a crew. A function
// that takes only the number of threads does all of its work in each process.
struct Workers {
  unsigned threads = 1;
  Crew* crew = nullptr;

  Workers() = default;
  Workers(unsigned count, Crew* others = nullptr)  // NOLINT(google-explicit-constructor)
      : threads(count), crew(others) {}
  operator unsigned() const { return threads; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool alone() const { return crew == nullptr || crew->size() < 2; }
};

// Which process computes which results: one block each, or in turns where later ones take longer.
enum class Distribution : std::uint8_t { blocks, turns };

// The process, of `crew`, that computes result i of `count`.
[[nodiscard]] inline std::size_t owner_of(std::size_t i, std::size_t count, std::size_t crew,
                                          Distribution distribution) {
  return distribution == Distribution::turns ? i % crew : (i * crew + crew - 1) / count;
}

// Runs body(i), which fills results[i] and nothing else that other processes need, for each result.
template <class T, class Body>
void shared_for(std::vector<T>& results, const Workers& workers, Distribution distribution,
                Body&& body) {
  const std::size_t count = results.size();
  if (workers.alone()) {
    parallel_for(count, workers.threads, body);
    return;
  }
  Crew& crew = *workers.crew;
  std::vector<std::vector<std::size_t>> of(crew.size());
  for (std::size_t i = 0; i < count; ++i)
    of[std::min(owner_of(i, count, crew.size(), distribution), crew.size() - 1)].push_back(i);
  const std::vector<std::size_t>& own = of[crew.rank()];
  parallel_for(own.size(), workers.threads, [&](std::size_t k) { body(own[k]); });
  std::string bytes;
  for (const std::size_t i : own) append_plain(bytes, results[i]);
  const Exchanged all = crew.exchange(std::move(bytes));
  for (std::size_t r = 0; r < all.of.size(); ++r) {
    if (r == crew.rank()) continue;
    std::string_view rest = all.of[r];
    for (const std::size_t i : of[r])
      check(take_plain(rest, results[i]), "another process of the crew sent too few bytes");
    check(rest.empty(), "another process of the crew sent too many bytes");
  }
}

// Runs body(first, count) for stretches of at most `most` results, which are computed together and
// filled by it.
template <class T, class Body>
void shared_stretches(std::vector<T>& results, const Workers& workers, std::size_t most,
                      Body&& body) {
  const std::size_t all = workers.threads * (workers.alone() ? 1 : workers.crew->size());
  const std::size_t at_once = std::clamp<std::size_t>((results.size() + all - 1) / all, 1, most);
  std::vector<std::vector<T>> stretches((results.size() + at_once - 1) / at_once);
  shared_for(stretches, workers, Distribution::turns, [&](std::size_t i) {
    const std::size_t first = i * at_once;
    const std::size_t count = std::min(at_once, results.size() - first);
    body(first, count);
    const auto begin = results.begin() + static_cast<std::ptrdiff_t>(first);
    stretches[i].assign(std::move_iterator(begin),
                        std::move_iterator(begin + static_cast<std::ptrdiff_t>(count)));
  });
  auto at = results.begin();
  for (std::vector<T>& stretch : stretches) at = std::ranges::move(stretch, at).out;
}

// A question whose answer no other question of the list needs.
struct SharedQuestion {
  std::function<void()> ask;
  std::function<void(std::string&)> append;
  std::function<bool(std::string_view&)> take;
};

// `ask()` gives the answer. It meets no other process.
template <class T, class Ask>
[[nodiscard]] SharedQuestion shared_question(T& answer, Ask ask) {
  return {[&answer, ask] { answer = ask(); },
          [&answer](std::string& bytes) { append_plain(bytes, answer); },
          [&answer](std::string_view& bytes) { return take_plain(bytes, answer); }};
}

// Asks all of them: on the threads of a process that works alone, else in turns by the processes.
// The longest questions should come first.
inline void ask_shared(std::span<const SharedQuestion> questions, const Workers& workers) {
  if (workers.alone()) {
    parallel_for(questions.size(), workers.threads, [&](std::size_t i) { questions[i].ask(); });
    return;
  }
  const std::size_t processes = workers.crew->size();
  std::string bytes;
  for (std::size_t i = workers.crew->rank(); i < questions.size(); i += processes) {
    questions[i].ask();
    questions[i].append(bytes);
  }
  const Exchanged all = workers.crew->exchange(std::move(bytes));
  for (std::size_t r = 0; r < processes; ++r) {
    if (r == workers.crew->rank()) continue;
    std::string_view rest = all.of[r];
    for (std::size_t i = r; i < questions.size(); i += processes)
      check(questions[i].take(rest), "another process of the crew sent too few bytes");
    check(rest.empty(), "another process of the crew sent too many bytes");
  }
}

}  // namespace stepscope
