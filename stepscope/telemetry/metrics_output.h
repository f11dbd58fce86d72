// SPDX-License-Identifier: Apache-2.0
// Where OpenMetrics text goes while a job runs: a port of this host that answers GET /metrics, or a
// file that is replaced as a whole. One thread serves it, asleep until there is something to do;
// publish() hands a text over without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "stepscope/base/result.h"

namespace stepscope {

struct MetricsTarget {
  std::optional<std::uint16_t> port{};  // 0: any free one
  std::string address = "127.0.0.1";    // IPv4, of a port: who may ask
  std::string file{};                   // where there is no port
};
// "9400", "0.0.0.0:9400", or a file name. Errors: a number that is no port.
[[nodiscard]] Result<MetricsTarget> metrics_target(std::string_view text);

class MetricsOutput {
 public:
  // Errors: the port is taken or not allowed, the file cannot be written; each says which and what
  // to do. Until the first publish() the text is an empty one.
  [[nodiscard]] static Result<std::unique_ptr<MetricsOutput>> open(const MetricsTarget& target);
  ~MetricsOutput();  // the last text is still written to a file
  MetricsOutput(const MetricsOutput&) = delete;
  MetricsOutput& operator=(const MetricsOutput&) = delete;

  // The text from now on. Never waits for whoever reads; one thread at a time.
  void publish(std::string text);
  // Of an endpoint.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Why the last text could not be written to the file, once; later texts are still tried.
  [[nodiscard]] std::optional<Error> take_error();

 private:
  MetricsOutput() = default;
  void serve();
  void answer(int connection);
  void take_fresh();

  int listener_ = -1;
  int wake_ = -1;
  std::uint16_t port_ = 0;
  std::string file_;
  std::string text_;  // the thread's own
  std::atomic<std::string*> fresh_{nullptr};
  std::atomic<Error*> error_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace stepscope
