// SPDX-License-Identifier: Apache-2.0
// Publishes OpenMetrics text while a job runs, on a port of this host that answers GET /metrics
// (text_endpoint.h), or in a file that is replaced as a whole by a thread of its own. publish()
// passes a text without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "stepscope/base/result.h"
#include "stepscope/metrics/text_endpoint.h"

namespace stepscope {

struct MetricsTarget {
  std::optional<std::uint16_t> port{};  // 0: any free one
  std::string address = "127.0.0.1";    // IPv4 address that the port listens on
  std::string file{};                   // used without a port
  std::string token{};                  // asked of clients of the port; empty: of nobody
};
// Parses "9400", "0.0.0.0:9400", or a file name. Error: a number that is not a port.
[[nodiscard]] Result<MetricsTarget> metrics_target(std::string_view text);

class MetricsOutput {
 public:
  // Errors: the port is taken or not allowed, the file cannot be written; the error gives a remedy.
  // Before the first publish() the text is empty.
  [[nodiscard]] static Result<std::unique_ptr<MetricsOutput>> open(const MetricsTarget& target);
  ~MetricsOutput();  // still writes the last text to the file
  MetricsOutput(const MetricsOutput&) = delete;
  MetricsOutput& operator=(const MetricsOutput&) = delete;

  // Replaces the text. Never waits for readers. One thread at a time.
  void publish(std::string text);
  // The port of the endpoint; 0 for a file.
  [[nodiscard]] std::uint16_t port() const { return endpoint_ ? endpoint_->port() : 0; }
  // The error of the first write to the file since one succeeded, once. Later texts are still
  // written.
  [[nodiscard]] std::optional<Error> take_error();

 private:
  MetricsOutput() = default;
  void write();
  void write_fresh();

  std::unique_ptr<TextEndpoint> endpoint_;  // without it the text goes to the file
  int wake_ = -1;
  std::string file_;
  std::atomic<std::string*> fresh_{nullptr};
  std::atomic<Error*> error_{nullptr};
  std::atomic<bool> stop_{false};
  bool failing_ = false;  // the writer's: the last write failed
  std::thread thread_;
};

}  // namespace stepscope
