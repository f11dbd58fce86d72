// SPDX-License-Identifier: Apache-2.0
// One GET request through libcurl, with retries, and what its answer means.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/files/curl_library.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/result.h"

namespace stepscope {

// A part of a file by its first byte and size, which is not 0.
struct BytePart {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

struct HttpAnswer {
  long code = 0;
  std::string body{};
  std::string etag{};
  std::string last_modified{};
  std::string content_range{};
  std::string region{};   // x-amz-bucket-region
  bool too_long = false;  // the body had more bytes than asked for; the first are there
};

// A connection that its requests share. One thread at a time uses it.
class HttpConnection {
 public:
  // Error: there is no libcurl.
  [[nodiscard]] static Result<HttpConnection> open();

  // The answer to a GET of `url`, with any code. Temporary failures (429, 500, 502, 503, 504, a
  // lost connection, a body that ends early) are tried again twice. `match` is an ETag that the
  // file must still have. At most `most_bytes` of the body are kept. Redirects are followed, not
  // for s3://, whose signature is for one host. Errors: the transfer failed; `stop` became true.
  [[nodiscard]] Result<HttpAnswer> get(const std::string& url, const RemoteRequest& request,
                                       std::optional<BytePart> part, const std::string& match,
                                       std::uint64_t most_bytes,
                                       const std::atomic<bool>* stop = nullptr);

 private:
  struct Close {
    void operator()(void* easy) const;
  };
  explicit HttpConnection(std::unique_ptr<void, Close> easy) : easy_(std::move(easy)) {}

  std::unique_ptr<void, Close> easy_;
};

// Why an answer with this code is no success: status, cause and remedy.
[[nodiscard]] Error http_error(const std::string& url, const HttpAnswer& answer);

}  // namespace stepscope
