// SPDX-License-Identifier: Apache-2.0
// An HTTP endpoint on a port of this host that answers GET with the last texts: the one server of
// the program. GNU libmicrohttpd serves all clients at once from one thread, so clients that say
// nothing delay nobody. They are disconnected after 10 s, and sooner where there are many clients.
// Memory: the texts, those that clients still read, and 8 KiB a client; longer requests are
// refused.
//
// Without a token the endpoint is for this host alone: it takes only loopback addresses, and
// requests for "localhost" or an IP address. A page of another site could otherwise read it under a
// name of its own that it has resolve to this host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

struct MHD_Daemon;
struct MHD_Response;

namespace stepscope {

inline constexpr std::string_view openmetrics_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct ServedText {
  std::string path;  // "/metrics"
  std::string type;  // of the content
  std::string text{};
};

struct EndpointOptions {
  std::string address = "127.0.0.1";  // an IPv4 address of this host
  std::uint16_t port = 0;             // 0: any free one
  // Asked of clients, as "Authorization: Bearer TOKEN" or "?token=TOKEN"; empty: of nobody.
  std::string token{};
  unsigned most_clients = 256;  // at once; of more, the one that has been silent longest has to go
};

// The first line of the file, at least 16 characters.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

class TextEndpoint {
 public:
  static constexpr std::chrono::seconds longest_request{20};

  // Errors: the address needs a token, or does not belong to this host; the port is taken or not
  // allowed. The error gives a remedy.
  [[nodiscard]] static Result<std::unique_ptr<TextEndpoint>> open(const EndpointOptions& options,
                                                                  std::vector<ServedText> texts);
  ~TextEndpoint();
  TextEndpoint(const TextEndpoint&) = delete;
  TextEndpoint& operator=(const TextEndpoint&) = delete;

  // Replaces all texts, and disconnects clients that have had no answer for `longest_request`: they
  // send their requests too slowly. Never waits for clients. One thread at a time.
  void publish(std::vector<ServedText> texts);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& place() const { return place_; }  // ADDRESS:PORT

  // The rest is only for the server's thread.
  // The answer for this path; null without one.
  [[nodiscard]] MHD_Response* response(std::string_view path);
  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] std::string paths();
  void connected(int socket);
  void asked(int socket);
  void answered(int socket);
  void disconnected(int socket);

 private:
  struct Served {
    ServedText text;
    MHD_Response* response = nullptr;  // made when it is asked for; clients share it
  };
  TextEndpoint() = default;
  void take(std::vector<ServedText> texts);
  void take_fresh();
  void disconnect_slow();
  void make_room();

  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
  std::string place_;
  std::string token_;
  std::vector<Served> served_;  // owned by the server's thread
  std::atomic<std::vector<ServedText>*> fresh_{nullptr};
  struct Client {
    std::chrono::steady_clock::time_point since{};  // when it connected or had its last answer
    bool answering = false;                         // its request is whole
    bool leaving = false;                           // its socket is shut down
  };
  std::mutex guard_;
  std::map<int, Client> clients_;  // by socket, under guard_
  std::size_t most_clients_ = 0;
};

}  // namespace stepscope
