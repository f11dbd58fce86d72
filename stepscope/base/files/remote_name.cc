// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/remote_name.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <map>

#include "stepscope/base/files/sha256.h"

namespace stepscope {
namespace {

constexpr std::string_view s3_scheme = "s3://";

bool has_scheme(std::string_view name, std::string_view scheme) {
  return name.size() > scheme.size() &&
         std::ranges::equal(name.substr(0, scheme.size()), scheme, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* name : variables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

// As RFC 3986 has it; a path keeps its slashes.
std::string percent_encoded(std::string_view text, bool keep_slash) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
      continue;
    }
    out += '%';
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string canonical_query(const Query& query) {
  std::vector<std::pair<std::string, std::string>> parts;
  parts.reserve(query.size());
  for (const auto& [name, value] : query)
    parts.emplace_back(percent_encoded(name, false), percent_encoded(value, false));
  std::ranges::sort(parts);
  std::string text;
  for (const auto& [name, value] : parts)
    text.append(text.empty() ? "" : "&").append(name).append("=").append(value);
  return text;
}

// "20130524T000000Z".
std::string instant_text(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return {text.data(), size};
}

// The value of the header Authorization.
std::string authorization(const S3Account& account, const std::string& path,
                          const std::string& query, const std::string& instant,
                          const std::map<std::string, std::string>& headers) {
  std::string names;
  std::string lines;
  for (const auto& [name, value] : headers) {
    names += (names.empty() ? "" : ";") + name;
    lines.append(name).append(":").append(value).append("\n");
  }
  const std::string canonical = "GET\n" + path + '\n' + query + '\n' + lines + '\n' + names + '\n' +
                                headers.at("x-amz-content-sha256");
  const std::string day = instant.substr(0, 8);
  const std::string scope = day + '/' + account.region + "/s3/aws4_request";
  const std::string text =
      "AWS4-HMAC-SHA256\n" + instant + '\n' + scope + '\n' + hex_of(sha256(canonical));
  std::string key = "AWS4" + account.secret;
  for (const std::string& part :
       {day, account.region, std::string("s3"), std::string("aws4_request")})
    key = hmac_sha256(key, part);
  return "AWS4-HMAC-SHA256 Credential=" + account.key_id + '/' + scope + ",SignedHeaders=" + names +
         ",Signature=" + hex_of(hmac_sha256(key, text));
}

}  // namespace

bool is_s3(std::string_view name) { return has_scheme(name, s3_scheme); }

bool is_url(std::string_view name) {
  return is_s3(name) || has_scheme(name, "https://") || has_scheme(name, "http://");
}

std::string shown_name(std::string_view name) {
  if (!is_url(name) || is_s3(name)) return std::string(name);
  name = name.substr(0, name.find_first_of("?#"));
  const std::size_t host = name.find("//") + 2;
  const std::size_t user = name.substr(0, name.find('/', host)).rfind('@');
  if (user == std::string_view::npos || user < host) return std::string(name);
  return std::string(name.substr(0, host)).append(name.substr(user + 1));
}

Result<S3Name> s3_name(const std::string& url) {
  const std::string rest = url.substr(s3_scheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (slash == 0)
    return Error{.what = "names no bucket", .file = url, .hint = "give s3://BUCKET/KEY"};
  return S3Name{rest.substr(0, slash), slash < rest.size() ? rest.substr(slash + 1) : ""};
}

S3Account s3_account() {
  S3Account account;
  account.endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  while (account.endpoint.ends_with('/')) account.endpoint.pop_back();
  if (std::string region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"}); !region.empty())
    account.region = std::move(region);
  account.key_id = first_of({"AWS_ACCESS_KEY_ID"});
  account.secret = first_of({"AWS_SECRET_ACCESS_KEY"});
  account.token = first_of({"AWS_SESSION_TOKEN"});
  return account;
}

RemoteRequest s3_request(const S3Account& account, const S3Name& name, const Query& query,
                         std::chrono::system_clock::time_point now) {
  const std::string aws = account.region == "us-east-1" ? "s3.amazonaws.com"
                                                        : "s3." + account.region + ".amazonaws.com";
  const bool in_path = !account.endpoint.empty() || name.bucket.find('.') != std::string::npos;
  std::string base = !account.endpoint.empty() ? account.endpoint
                     : in_path                 ? "https://" + aws
                                               : "https://" + name.bucket + '.' + aws;
  const std::size_t host_at = base.find("//") == std::string::npos ? 0 : base.find("//") + 2;
  const std::size_t path_at = std::min(base.find('/', host_at), base.size());
  const std::string host = base.substr(host_at, path_at - host_at);
  std::string path = base.substr(path_at);
  base.resize(path_at);
  if (in_path) path.append("/").append(percent_encoded(name.bucket, false));
  if (!in_path || !name.key.empty()) path.append("/").append(percent_encoded(name.key, true));
  const std::string asked = canonical_query(query);
  RemoteRequest request{.url = base + path + (asked.empty() ? "" : "?" + asked)};
  if (account.key_id.empty()) return request;
  const std::string instant = instant_text(now);
  std::map<std::string, std::string> headers = {
      {"host", host}, {"x-amz-content-sha256", hex_of(sha256(""))}, {"x-amz-date", instant}};
  if (!account.token.empty()) headers["x-amz-security-token"] = account.token;
  request.headers.push_back("authorization: " +
                            authorization(account, path, asked, instant, headers));
  headers.erase("host");  // libcurl writes it
  for (const auto& [header, value] : headers) {
    std::string line = header;
    request.headers.push_back(line.append(": ").append(value));
  }
  return request;
}

Result<RemoteRequest> remote_request(const std::string& url) {
  if (!is_s3(url)) return RemoteRequest{.url = url.substr(0, url.find('#'))};
  const auto name = s3_name(url);
  if (!name) return name.error();
  return s3_request(s3_account(), *name, {}, std::chrono::system_clock::now());
}

}  // namespace stepscope
