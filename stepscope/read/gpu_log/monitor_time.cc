// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/gpu_log/monitor_time.h"

#include <chrono>
#include <cstdint>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// Takes the parts of an instant off the front of a text.
class TimeParts {
 public:
  explicit TimeParts(std::string_view text) : rest_(text) {}

  // `digits` digits.
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    value = 0;
    for (const char c : rest_.substr(0, digits)) {
      if (!is_digit(c)) return false;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The digits behind a point, as nanoseconds; those below are dropped.
  bool fraction(Ns& value) {
    std::int64_t unit = 1'000'000'000;
    std::int64_t sum = 0;
    bool any = false;
    while (!rest_.empty() && is_digit(rest_.front())) {
      unit /= 10;
      sum += unit * (rest_.front() - '0');
      rest_.remove_prefix(1);
      any = true;
    }
    value = Ns{sum};
    return any;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<Ns> zone_offset(std::string_view text) {
  text = trimmed(text);
  if (text == "Z" || text == "z" || text == "UTC" || text == "utc") return Ns{0};
  if (text.starts_with("UTC")) text.remove_prefix(3);
  TimeParts parts(text);
  const bool east = !text.empty() && text.front() == '+';
  if (!parts.one_of("+-")) return std::nullopt;
  int hours = 0;
  int minutes = 0;
  const bool one_digit = parts.rest().size() == 1 || parts.rest().find(':') == 1;
  if (!parts.number(one_digit ? 1 : 2, hours)) return std::nullopt;
  if (!parts.rest().empty()) {
    parts.one_of(":");
    if (!parts.number(2, minutes) || !parts.rest().empty()) return std::nullopt;
  }
  if (minutes > 59 || hours * 60 + minutes > 14 * 60) return std::nullopt;
  const Ns offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return east ? offset : -offset;
}

std::optional<MonitorTime> monitor_time(std::string_view text) {
  TimeParts parts(trimmed(text));
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!parts.number(4, year)) return std::nullopt;
  const bool divided = parts.one_of("/-");
  if (!parts.number(2, month) || (divided && !parts.one_of("/-")) || !parts.number(2, day))
    return std::nullopt;
  if (!parts.one_of(" T")) return std::nullopt;
  while (parts.one_of(" ")) {
  }
  if (!parts.number(2, hour) || !parts.one_of(":") || !parts.number(2, minute) ||
      !parts.one_of(":") || !parts.number(2, second))
    return std::nullopt;
  Ns fraction{};
  if (parts.one_of(".,") && !parts.fraction(fraction)) return std::nullopt;
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
                                    chrono::day{static_cast<unsigned>(day)}};
  if (year < 1971 || year > 2200 || !date.ok() || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  MonitorTime found{.time = chrono::sys_days(date).time_since_epoch() + chrono::hours{hour} +
                            chrono::minutes{minute} + chrono::seconds{second} + fraction};
  if (const std::string_view zone = trimmed(parts.rest()); !zone.empty()) {
    const auto offset = zone_offset(zone);
    if (!offset) return std::nullopt;
    found.time -= *offset;
    found.zoned = true;
  }
  return found;
}

}  // namespace stepscope
