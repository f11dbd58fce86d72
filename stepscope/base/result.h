// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the reason why an input or the system failed. The names are a subset of
// std::expected's. A bug of ours is not an Error but a failed check(), which throws a Bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace stepscope {

// Kinds of failure that a caller may need to distinguish. Control flow reads the code, never the
// text.
enum class ErrorCode : std::uint8_t {
  failed,
  interrupted,   // the user asked to stop; nothing is wrong with the input
  refused,       // the request is wrong; nothing was begun
  group_failed,  // the ranks of a group can no longer communicate
  other_rank,    // another rank failed and knows the reason
  reported,      // another rank reports the failure; nothing is left to print
  other_model    // the checkpoint is of another model
};

// Says what went wrong, in which file, at which byte of its (inflated) text, and what the user can
// do about it.
struct Error {
  std::string what;
  std::string file{};
  std::optional<std::uint64_t> byte{};
  std::string hint{};
  ErrorCode code = ErrorCode::failed;

  // "file: byte N: what; hint" on one line.
  [[nodiscard]] std::string message() const;
};

// The error of a command that the user stopped while it was working on `file`.
[[nodiscard]] inline Error interrupted(std::string file = {}) {
  return {.what = "interrupted", .file = std::move(file), .code = ErrorCode::interrupted};
}

// A failed check(). Who works on several inputs refuses the one that it names and goes on with the
// others.
class Bug : public std::exception {
 public:
  explicit Bug(std::string text) : text_(std::move(text)) {}
  // "stepscope/analysis/budget/time_budget.cc:120: the categories of a step sum to its wall time"
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

  std::optional<std::size_t> input{};  // its position, if the work was about one input

 private:
  std::string text_;
};

// Throws a Bug with the place in the source tree and the text if `ok` is false. Only for our own
// bugs.
void check(bool ok, std::string_view what,
           std::source_location where = std::source_location::current());

// The error of a file on which a check failed.
[[nodiscard]] Error refused_for(const Bug& bug, std::string file);

// The Result of work() on a file. The file is refused if a check fails.
template <class Work>
auto or_refused(const std::string& file, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Bug& bug) {
    return refused_for(bug, file);
  }
}

// Runs work(). A check that fails in it is about this input.
template <class Work>
void work_on_input(std::size_t input, Work&& work) {
  try {
    work();
  } catch (Bug& bug) {
    if (!bug.input) bug.input = input;
    throw;
  }
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value.
struct Done {};

}  // namespace stepscope
