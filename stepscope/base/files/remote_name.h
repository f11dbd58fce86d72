// SPDX-License-Identifier: Apache-2.0
// Names of inputs on other machines: https://HOST/PATH, http://HOST/PATH and s3://BUCKET/KEY. A URL
// becomes a request here. Requests to S3 are signed as AWS describes it ("Signature Version 4",
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

// Whether the name is a URL with one of the schemes http, https and s3.
[[nodiscard]] bool is_url(std::string_view name);
[[nodiscard]] bool is_s3(std::string_view name);
// The URL without what may be secret or is no part of the name: user, query and fragment. Other
// names stay as they are.
[[nodiscard]] std::string shown_name(std::string_view name);

struct S3Name {
  std::string bucket;
  std::string key;
};
// Error: no bucket.
[[nodiscard]] Result<S3Name> s3_name(const std::string& url);

// Where buckets are and who asks.
struct S3Account {
  std::string endpoint{};  // "https://host:port"; empty: that of AWS in the region
  std::string region = "us-east-1";
  std::string key_id{};  // empty: requests are not signed
  std::string secret{};
  std::string token{};  // of a session; may be empty
};
// From AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION,
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
[[nodiscard]] S3Account s3_account();

// A GET request: its URL and the headers that belong to it.
struct RemoteRequest {
  std::string url;
  std::vector<std::string> headers{};  // "name: value"
};

using Query = std::vector<std::pair<std::string, std::string>>;
// A GET of an object, or with an empty key of the bucket with a query. An endpoint and a bucket
// with a dot have the bucket in the path; otherwise it is in the host's name.
[[nodiscard]] RemoteRequest s3_request(const S3Account& account, const S3Name& name,
                                       const Query& query,
                                       std::chrono::system_clock::time_point now);

// The request for a URL of any scheme.
[[nodiscard]] Result<RemoteRequest> remote_request(const std::string& url);

}  // namespace stepscope
