// SPDX-License-Identifier: Apache-2.0
// An HTTP endpoint on a port of this host that answers GET /metrics with the last text. GNU
// libmicrohttpd serves all clients at once from one thread, so clients that say nothing delay
// nobody. They are disconnected after 10 s.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "stepscope/base/result.h"

struct MHD_Daemon;

namespace stepscope {

class MetricsEndpoint {
 public:
  // `address` is an IPv4 address of this host, `port` 0 any free port. Errors: the address is none
  // of this host, the port is taken or not allowed; the error gives a remedy.
  [[nodiscard]] static Result<std::unique_ptr<MetricsEndpoint>> open(const std::string& address,
                                                                     std::uint16_t port,
                                                                     std::string text);
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // Replaces the text. Never waits for clients. One thread at a time.
  void publish(std::unique_ptr<std::string> text);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // The text of the next answer. Only for the server's thread.
  [[nodiscard]] const std::string& text();

 private:
  explicit MetricsEndpoint(std::string text) : text_(std::move(text)) {}

  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
  std::string text_;  // owned by the server's thread
  std::atomic<std::string*> fresh_{nullptr};
};

}  // namespace stepscope
