// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/curl_library.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace stepscope {
namespace {

#ifdef __APPLE__
constexpr const char* curl_file = "libcurl.4.dylib";
#else
constexpr const char* curl_file = "libcurl.so.4";
#endif

Result<CurlLibrary> load_curl() {
  void* const library = ::dlopen(curl_file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{.what = std::string("URLs are read through libcurl, which cannot be loaded: ") +
                         ::dlerror(),
                 .hint = "install it (Debian: libcurl4, Fedora: libcurl), or download the file"};
  CurlLibrary curl;
  std::string missing;
  const auto load = [&](auto& function, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address == nullptr && missing.empty()) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  int (*global_init)(long) = nullptr;
  load(global_init, "curl_global_init");
  load(curl.easy_init, "curl_easy_init");
  load(curl.easy_cleanup, "curl_easy_cleanup");
  load(curl.easy_setopt, "curl_easy_setopt");
  load(curl.easy_perform, "curl_easy_perform");
  load(curl.easy_getinfo, "curl_easy_getinfo");
  load(curl.easy_strerror, "curl_easy_strerror");
  load(curl.slist_append, "curl_slist_append");
  load(curl.slist_free_all, "curl_slist_free_all");
  constexpr long all_parts = 3;  // TLS, and sockets where they need it
  if (!missing.empty() || global_init(all_parts) != curl::ok)
    return Error{.what = missing.empty() ? std::string("libcurl cannot start")
                                         : "libcurl has no function " + missing,
                 .hint = "install a newer libcurl, or download the file"};
  return curl;
}

}  // namespace

const Result<CurlLibrary>& curl_library() {
  static const Result<CurlLibrary> library = load_curl();
  return library;
}

}  // namespace stepscope
