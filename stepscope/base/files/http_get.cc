// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/http_get.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

constexpr int most_tries = 3;
constexpr long default_timeout_s = 30;

// A slower transfer is of no use: a trace of 100 MB would take a day.
constexpr long least_bytes_per_second = 1024;

// Seconds below this rate, and for a connection, after which a transfer is given up.
long timeout_seconds() {
  const char* text = std::getenv("STEPSCOPE_URL_TIMEOUT");
  const auto seconds = text == nullptr ? std::nullopt : leading_number<long>(text);
  return seconds && *seconds > 0 ? *seconds : default_timeout_s;
}

// The file of CURL_CA_BUNDLE; AWS_CA_BUNDLE is for S3 alone. Null: those of the system.
const char* trusted_certificates(bool s3) {
  for (const char* variable : {"CURL_CA_BUNDLE", "AWS_CA_BUNDLE"}) {
    const char* file = std::getenv(variable);
    if (file != nullptr && *file != '\0') return file;
    if (!s3) break;
  }
  return nullptr;
}

struct Transfer {
  HttpAnswer answer{};
  std::uint64_t most_bytes = 0;
  std::uint64_t likely_bytes = 0;  // of the body; 0: not known
  const std::atomic<bool>* stop = nullptr;
};

std::size_t take_body(const char* data, std::size_t size, std::size_t count, void* into) {
  auto& transfer = *static_cast<Transfer*>(into);
  const std::size_t bytes = size * count;
  if (transfer.answer.body.empty()) transfer.answer.body.reserve(transfer.likely_bytes);
  const std::size_t room = transfer.most_bytes - transfer.answer.body.size();
  transfer.answer.body.append(data, std::min(bytes, room));
  transfer.answer.too_long = bytes > room;
  return transfer.answer.too_long ? 0 : bytes;
}

// The value of the header line if it has this name (in lower case), without blanks around it.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  if (!std::ranges::equal(line.substr(0, name.size()), name, same)) return std::nullopt;
  line.remove_prefix(name.size() + 1);
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  if (first == std::string_view::npos || last == std::string_view::npos) return "";
  return line.substr(first, last - first + 1);
}

std::size_t take_header(const char* data, std::size_t size, std::size_t count, void* into) {
  HttpAnswer& answer = static_cast<Transfer*>(into)->answer;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) answer = {};  // of a redirect, or of a proxy
  if (const auto etag = value_of(line, "etag")) answer.etag = *etag;
  if (const auto modified = value_of(line, "last-modified")) answer.last_modified = *modified;
  if (const auto range = value_of(line, "content-range")) answer.content_range = *range;
  if (const auto region = value_of(line, "x-amz-bucket-region")) answer.region = *region;
  return line.size();
}

int asked_to_end(void* transfer, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  const std::atomic<bool>* stop = static_cast<Transfer*>(transfer)->stop;
  return stop != nullptr && *stop ? 1 : 0;
}

bool is_temporary(int code) {
  switch (code) {
    case curl::no_connection:
    case curl::partial_file:
    case curl::no_answer:
    case curl::send_failed:
    case curl::receive_failed:
      return true;
    default:
      return false;
  }
}

bool is_temporary(const HttpAnswer& answer) {
  constexpr std::array<long, 5> busy = {429, 500, 502, 503, 504};
  return std::ranges::find(busy, answer.code) != busy.end();
}

std::string remedy_of(int code) {
  switch (code) {
    case curl::no_host:
    case curl::no_proxy_host:
      return "check the name of the host, and the proxy (https_proxy, no_proxy)";
    case curl::no_connection:
      return "check host and port, and that its server runs";
    case curl::timed_out:
      return "check the network; STEPSCOPE_URL_TIMEOUT=SECONDS waits longer (now " +
             std::to_string(timeout_seconds()) + ")";
    case curl::tls_failed:
    case curl::untrusted_peer:
    case curl::bad_ca_file:
      return "name the certificates that you trust: CURL_CA_BUNDLE=FILE.pem";
    case curl::too_many_redirects:
      return "give the URL that they lead to";
    case curl::unsupported_protocol:
    case curl::malformed_url:
      return "check the URL; a redirect must not lead from https to another protocol";
    case curl::partial_file:
    case curl::no_answer:
    case curl::send_failed:
    case curl::receive_failed:
      return "try again; it was tried 3 times";
    default:
      return "check the URL, or download the file";
  }
}

// The text of <Name>…</Name> in an error of S3.
std::string element(std::string_view xml, std::string_view name) {
  const std::string open = '<' + std::string(name) + '>';
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = xml.find('<', begin + open.size());
  if (end == std::string_view::npos) return {};
  return std::string(xml.substr(begin + open.size(), end - begin - open.size()));
}

std::string_view reason_of(long code) {
  switch (code) {
    case 400:
      return " (bad request)";
    case 401:
      return " (not logged in)";
    case 403:
      return " (forbidden)";
    case 404:
      return " (not found)";
    case 410:
      return " (gone)";
    case 429:
      return " (too many requests)";
    default:
      return code >= 500 ? " (the server failed)" : "";
  }
}

}  // namespace

void HttpConnection::Close::operator()(void* easy) const { curl_library()->easy_cleanup(easy); }

Result<HttpConnection> HttpConnection::open() {
  const Result<CurlLibrary>& curl = curl_library();
  if (!curl) return curl.error();
  void* const easy = curl->easy_init();
  if (easy == nullptr) return Error{.what = "libcurl has no memory", .hint = "free some memory"};
  return HttpConnection(std::unique_ptr<void, Close>(easy));
}

Result<HttpAnswer> HttpConnection::get(const std::string& url, const RemoteRequest& request,
                                       std::optional<BytePart> part, const std::string& match,
                                       std::uint64_t most_bytes, const std::atomic<bool>* stop) {
  const CurlLibrary& curl = *curl_library();
  void* const easy = easy_.get();
  const auto set = [&](int option, auto value) { curl.easy_setopt(easy, option, value); };
  void* list = nullptr;
  for (const std::string& line : request.headers) list = curl.slist_append(list, line.c_str());
  if (!match.empty()) list = curl.slist_append(list, ("if-match: " + match).c_str());
  const std::unique_ptr<void, void (*)(void*)> headers(list, curl.slist_free_all);
  const std::string range =
      part ? std::to_string(part->begin) + '-' + std::to_string(part->begin + part->size - 1) : "";
  const bool secure = !request.url.starts_with("http://");
  const long allowed = secure ? curl::https_protocol : curl::http_protocol | curl::https_protocol;
  std::array<char, 256> why{};
  set(curl::url, request.url.c_str());
  set(curl::http_header, headers.get());
  set(curl::range, range.empty() ? static_cast<const char*>(nullptr) : range.c_str());
  set(curl::user_agent, "stepscope");
  set(curl::error_buffer, why.data());
  set(curl::no_signal, 1L);
  set(curl::netrc, 1L);  // the user's logins, if there is such a file
  set(curl::follow_location, is_s3(url) ? 0L : 1L);
  set(curl::most_redirects, 5L);
  set(curl::protocols, allowed);
  set(curl::redirect_protocols, allowed);
  set(curl::connect_seconds, timeout_seconds());
  set(curl::low_speed_limit, least_bytes_per_second);
  set(curl::low_speed_seconds, timeout_seconds());
  set(curl::no_progress, 0L);
  set(curl::progress_function, &asked_to_end);
  set(curl::write_function, &take_body);
  set(curl::header_function, &take_header);
  if (const char* file = trusted_certificates(is_s3(url))) set(curl::ca_file, file);
  for (int tries = 1;; ++tries) {
    Transfer transfer{.most_bytes = most_bytes,
                      .likely_bytes = part && part->begin > 0 ? part->size : 0,
                      .stop = stop};
    set(curl::progress_data, &transfer);
    set(curl::write_data, &transfer);
    set(curl::header_data, &transfer);
    why[0] = '\0';
    const int code = curl.easy_perform(easy);
    if (stop != nullptr && *stop) return interrupted(shown_name(url));
    curl.easy_getinfo(easy, curl::response_code, &transfer.answer.code);
    const bool whole = code == curl::ok || transfer.answer.too_long;
    if (whole && (tries == most_tries || !is_temporary(transfer.answer)))
      return std::move(transfer.answer);
    if (!whole && (tries == most_tries || !is_temporary(code)))
      return Error{.what = std::string("cannot be read: ") +
                           (why[0] != '\0' ? why.data() : curl.easy_strerror(code)),
                   .file = shown_name(url),
                   .byte = part && part->begin > 0 ? std::optional(part->begin) : std::nullopt,
                   .hint = remedy_of(code)};
    std::this_thread::sleep_for(std::chrono::milliseconds(200 * tries * tries));
  }
}

Error http_error(const std::string& url, const HttpAnswer& answer) {
  Error error{.what = "cannot be read: HTTP " + std::to_string(answer.code) +
                      std::string(reason_of(answer.code)),
              .file = shown_name(url)};
  const bool s3 = is_s3(url);
  if (const std::string told = element(answer.body, "Code"); !told.empty())
    error.what += ", " + told;
  const S3Account account = s3 ? s3_account() : S3Account{};
  const bool elsewhere = !answer.region.empty() && answer.region != account.region;
  if (s3 && elsewhere) {
    error.what += "; the bucket is in the region " + answer.region;
    error.hint = "set AWS_REGION=" + answer.region;
  } else if (answer.code == 404 || answer.code == 410) {
    error.hint = s3 ? "check bucket, key and AWS_ENDPOINT_URL" : "check the URL";
  } else if (s3 && account.key_id.empty()) {
    error.hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  } else if (s3 && answer.code < 500) {
    error.hint =
        "check the permissions of this key, the clock of this machine, and AWS_REGION (now " +
        account.region + ')';
  } else if (answer.code == 401 || answer.code == 403) {
    error.hint = "put the login into ~/.netrc, or give a URL that is signed and has not expired";
  } else if (answer.code == 429 || answer.code >= 500) {
    error.hint = "try again later; it was tried 3 times";
  } else {
    error.hint = "check the URL";
  }
  return error;
}

}  // namespace stepscope
