// SPDX-License-Identifier: Apache-2.0
// libcurl, loaded when a URL is read for the first time: stepscope neither links nor contains it.
// Every libcurl since 7.32 (2013) has this interface. The numbers of the options are part of it;
// they are those of curl/curl.h.
#pragma once

#include <cstddef>

#include "stepscope/base/result.h"

namespace stepscope {

struct CurlLibrary {
  void* (*easy_init)() = nullptr;
  void (*easy_cleanup)(void* easy) = nullptr;
  int (*easy_setopt)(void* easy, int option, ...) = nullptr;
  int (*easy_perform)(void* easy) = nullptr;
  int (*easy_getinfo)(void* easy, int info, ...) = nullptr;
  const char* (*easy_strerror)(int code) = nullptr;
  void* (*slist_append)(void* list, const char* text) = nullptr;
  void (*slist_free_all)(void* list) = nullptr;
};

namespace curl {

enum Option : int {
  write_data = 10001,
  url = 10002,
  range = 10007,
  error_buffer = 10010,  // of 256 characters
  user_agent = 10018,
  http_header = 10023,
  header_data = 10029,
  progress_data = 10057,
  ca_file = 10065,
  write_function = 20011,
  header_function = 20079,
  progress_function = 20219,
  low_speed_limit = 19,
  low_speed_seconds = 20,
  no_progress = 43,
  netrc = 51,
  follow_location = 52,
  most_redirects = 68,
  connect_seconds = 78,
  no_signal = 99,
  protocols = 181,
  redirect_protocols = 182,
};
inline constexpr long http_protocol = 1;
inline constexpr long https_protocol = 2;
inline constexpr int response_code = 0x200002;  // of easy_getinfo, a long

enum Code : int {
  ok = 0,
  unsupported_protocol = 1,
  malformed_url = 3,
  no_proxy_host = 5,
  no_host = 6,
  no_connection = 7,
  partial_file = 18,
  write_refused = 23,
  timed_out = 28,
  tls_failed = 35,
  aborted = 42,
  too_many_redirects = 47,
  no_answer = 52,
  send_failed = 55,
  receive_failed = 56,
  untrusted_peer = 60,
  bad_ca_file = 77,
};

}  // namespace curl

// Loads it once. Error: there is no libcurl, or it lacks a function.
[[nodiscard]] const Result<CurlLibrary>& curl_library();

}  // namespace stepscope
