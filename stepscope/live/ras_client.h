// SPDX-License-Identifier: Apache-2.0
// Asks the RAS service of a running NCCL job for its status, again and again, in a thread of its
// own: the service takes seconds to gather it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/live/live_event.h"
#include "stepscope/read/nccl/ras_status.h"

namespace stepscope {

struct RasAddress {
  std::string host;
  std::string port = "28028";  // NCCL's default
};
// "HOST:PORT", "ras://HOST" or "ras://HOST:PORT"; absent for other texts.
[[nodiscard]] std::optional<RasAddress> ras_address(std::string_view text);

// One question. Waits up to 20 s. Errors: nobody listens, or what answers is not RAS.
[[nodiscard]] Result<RasStatus> ask_ras(const RasAddress& address);

class RasClient {
 public:
  static constexpr double pause_s = 5;  // between an answer and the next question

  explicit RasClient(RasAddress address);
  ~RasClient();  // waits for the question that runs
  RasClient(const RasClient&) = delete;
  RasClient& operator=(const RasClient&) = delete;

  // The answer or error since the last call, if there is one.
  [[nodiscard]] std::optional<Result<RasStatus>> take();

 private:
  void run();

  RasAddress address_;
  std::mutex guard_;
  std::condition_variable ended_;
  bool stop_ = false;                        // under guard_
  std::optional<Result<RasStatus>> answer_;  // under guard_
  std::thread thread_;
};

// What successive statuses of NCCL's RAS show of a running job: ranks that do not answer, and
// communicators in which some ranks have called a collective that others have not, and nothing has
// changed for some time.

class RasWatch {
 public:
  // Events that are new; `stuck_s` as in LiveLimits. An event is reported once until its cause
  // ends.
  [[nodiscard]] std::vector<LiveEvent> take(const RasStatus& status, double now, double stuck_s);

 private:
  struct Communicator {
    std::vector<std::array<std::uint64_t, collective_kind_count>> calls{};  // by answering rank
    double changed = 0;
    bool told_stuck = false;
    std::vector<std::int32_t> told_missing{};
    double seen = 0;
  };
  std::map<std::string, Communicator> communicators_;
};

}  // namespace stepscope
