// SPDX-License-Identifier: Apache-2.0
#include "tests/shared/raw_window.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/roundtrip/file_text.h"

namespace stepscope::shared {
namespace {

// "12.3456" microseconds → 12346 ns, rounded at the fourth decimal; exponents go through a double.
std::int64_t nanoseconds(const std::string& text) {
  if (text.find_first_of("eE") != std::string::npos)
    return static_cast<std::int64_t>(std::stold(text) * 1000);
  const std::size_t dot = text.find('.');
  const std::int64_t whole = std::stoll(text.substr(0, dot));
  if (dot == std::string::npos) return whole * 1000;
  std::string decimals = text.substr(dot + 1, 4);
  decimals.resize(4, '0');
  const std::int64_t fraction = (std::stoll(decimals) + 5) / 10;
  return text[0] == '-' ? whole * 1000 - fraction : whole * 1000 + fraction;
}

class WindowHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return take(""); }
  bool boolean(bool) override { return take(""); }
  bool number_integer(number_integer_t value) override { return take(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return take(text); }
  bool string(string_t& text) override { return take(text); }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override {
    if (depth_ == 0 || (depth_ == 1 && key_ == "traceEvents")) events_at_ = depth_ + 1;
    ++depth_;
    return true;
  }
  bool end_array() override {
    if (events_at_ == depth_) events_at_ = none;
    --depth_;
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == events_at_ + 1) event_ = {};
    return true;
  }
  bool end_object() override {
    if (depth_ == events_at_ + 1) finish();
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    throw std::runtime_error("byte " + std::to_string(at) + ": " + e.what());
  }

  [[nodiscard]] RawWindow window() const {
    if (window_.rows == 0) return window_;
    RawWindow shifted = window_;
    shifted.first_ns += base_;
    shifted.last_ns += base_;
    return shifted;
  }

 private:
  static constexpr int none = -10;

  struct Event {
    std::string phase;
    std::string ts;
    std::string dur;
  };

  bool take(const std::string& text) {
    if (depth_ == 1 && key_ == "baseTimeNanoseconds") base_ = std::stoll(text);
    if (depth_ == events_at_ + 1) {
      if (key_ == "ph") event_.phase = text;
      if (key_ == "ts") event_.ts = text;
      if (key_ == "dur") event_.dur = text;
    }
    return true;
  }

  void finish() {
    ++window_.events;
    const bool complete = event_.phase == "X";
    if ((!complete && event_.phase != "B" && event_.phase != "E") || event_.ts.empty()) return;
    const std::int64_t start = nanoseconds(event_.ts);
    const std::int64_t dur = complete && !event_.dur.empty() ? nanoseconds(event_.dur) : 0;
    if (window_.rows == 0) window_.first_ns = window_.last_ns = start;
    window_.first_ns = std::min(window_.first_ns, start);
    window_.last_ns = std::max(window_.last_ns, start + dur);
    ++window_.rows;
  }

  int depth_ = 0;
  int events_at_ = none;  // depth inside the array of events
  std::string key_;
  Event event_;
  std::int64_t base_ = 0;
  RawWindow window_;
};

}  // namespace

RawWindow raw_window(const std::string& path) {
  std::string text = roundtrip::file_text(path);
  // Bytes beyond ASCII do not matter here, and some files have invalid UTF-8.
  std::ranges::replace_if(text, [](char c) { return static_cast<signed char>(c) < 0; }, '?');
  WindowHandler handler;
  if (!nlohmann::json::sax_parse(text, &handler)) throw std::runtime_error(path + ": no JSON");
  return handler.window();
}

}  // namespace stepscope::shared
