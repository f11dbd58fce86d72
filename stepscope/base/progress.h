// SPDX-License-Identifier: Apache-2.0
// How a verb reports its progress to its caller, and how the caller stops it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

namespace stepscope {

inline constexpr std::string_view reading = "reading";

struct Progress {
  // What the verb does now, and how much of it is done: bytes while it is `reading`, else parts of
  // the work. Called from any thread, often. May be empty.
  std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)> show{};
  // A command is launched, as the second of six: "B 1". May be empty.
  std::function<void(std::size_t number, std::size_t all, const std::string& name)> launching{};
  // An input that could not be used while the work goes on with the others. The verb's result lists
  // them as well. Called from the thread that called the verb. May be empty.
  std::function<void(const Error& error)> failed{};
  // The caller sets it from any thread or signal handler. The verb then returns an Error whose
  // `interrupted` is true. May be null.
  const StopFlag* stop = nullptr;

  void report(std::span<const Error> errors) const {
    if (!failed) return;
    for (const Error& error : errors) failed(error);
  }
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->requested(); }
};

// Keeps `error` in `failures` and reports it to the caller at once.
inline void fail(const Progress& progress, std::vector<Error>& failures, Error error) {
  if (progress.failed) progress.failed(error);
  failures.push_back(std::move(error));
}

}  // namespace stepscope
