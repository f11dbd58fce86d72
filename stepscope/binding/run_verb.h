// SPDX-License-Identifier: Apache-2.0
// Runs work of the library for Python: without the GIL, and so that Ctrl-C stops it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "stepscope/base/stop.h"
#include "stepscope/binding/python_error.h"

namespace stepscope::binding {

// work(stop) in a thread of its own, which gives a Result; its value. The calling thread looks for
// signals ten times a second. After one it sets `stop`, waits until the work has ended, and raises
// what the signal's handler raised: KeyboardInterrupt after Ctrl-C. The caller has the GIL. Raises
// the error of the work, in the words of `verb`.
template <class Work>
auto run_verb(std::string_view verb, Work&& work) {
  using Outcome = decltype(work(std::declval<const StopFlag&>()));
  StopFlag stop;
  std::optional<Outcome> outcome;
  std::exception_ptr thrown;
  std::mutex guard;
  std::condition_variable ended;
  bool done = false;
  std::optional<nanobind::python_error> raised;  // by the handler of a signal
  {
    nanobind::gil_scoped_release without_gil;
    std::jthread worker([&] {
      try {
        outcome.emplace(work(static_cast<const StopFlag&>(stop)));
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(guard);
      done = true;
      ended.notify_one();
    });
    std::unique_lock lock(guard);
    while (!ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; })) {
      if (raised) continue;
      lock.unlock();
      {
        nanobind::gil_scoped_acquire with_gil;
        if (PyErr_CheckSignals() != 0) raised.emplace();
      }
      if (raised) stop.request();
      lock.lock();
    }
  }
  if (raised) throw std::move(*raised);
  if (thrown) std::rethrow_exception(thrown);
  if (!*outcome) raise(outcome->error(), verb);
  return std::move(**outcome);
}

}  // namespace stepscope::binding
