// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/error_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

bool is_name_char(char c) { return is_word_letter(c) || c == '.'; }

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> month_at(std::string_view text) {
  for (std::size_t m = 0; m < months.size(); ++m)
    if (text.starts_with(months[m])) return static_cast<int>(m) + 1;
  return std::nullopt;
}

// "05:06:30.9" at the front, as time of the day. Sets `rest` behind it.
std::optional<Ns> day_time(std::string_view text, std::string_view& rest) {
  int part[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (text.size() < 2 || !is_digit(text[0]) || !is_digit(text[1])) return std::nullopt;
    part[i] = (text[0] - '0') * 10 + (text[1] - '0');
    text.remove_prefix(2);
    if (i == 2) break;
    if (!text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (part[0] > 23 || part[1] > 59 || part[2] > 60) return std::nullopt;
  Ns out =
      std::chrono::hours(part[0]) + std::chrono::minutes(part[1]) + std::chrono::seconds(part[2]);
  if (text.size() > 1 && text.front() == '.' && is_digit(text[1])) {
    text.remove_prefix(1);
    for (Ns unit{100'000'000}; !text.empty() && is_digit(text.front()); unit /= 10) {
      out += unit * (text.front() - '0');
      text.remove_prefix(1);
    }
  }
  rest = text;
  return out;
}

std::optional<WrittenTime> on_day(std::optional<int> year, int month, int day, Ns time) {
  const std::chrono::year_month_day date{std::chrono::year(year.value_or(1972)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || (year && (*year < 1970 || *year > 2200))) return std::nullopt;
  return WrittenTime{.time = std::chrono::sys_days(date).time_since_epoch() + time,
                     .no_year = !year};
}

// "E626 05:06:30.9", "W1218 20:27:21.4", at the front: month and day without a separator (c10's
// logging writes no leading zero), then the time.
std::optional<WrittenTime> glog_time(std::string_view text) {
  if (text.empty() || !contains("EWIF", text.substr(0, 1))) return std::nullopt;
  text.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits < 3 || digits > 4 || digits >= text.size() || text[digits] != ' ') return std::nullopt;
  const int number = *leading_number<int>(text);
  std::string_view rest;
  const auto time = day_time(text.substr(digits + 1), rest);
  if (!time) return std::nullopt;
  return on_day(std::nullopt, number / 100, number % 100, *time);
}

// "Nov 30 12:00:00", "Nov 30 12:00:00 2026", at the front.
std::optional<WrittenTime> syslog_time(std::string_view text) {
  const auto month = month_at(text);
  if (!month || text.size() < 15 || text[3] != ' ') return std::nullopt;
  text.remove_prefix(4);
  if (text.starts_with(' ')) text.remove_prefix(1);
  const auto day = take_number<int>(text);
  if (!day || *day < 1 || !text.starts_with(' ')) return std::nullopt;
  std::string_view rest;
  const auto time = day_time(text.substr(1), rest);
  if (!time) return std::nullopt;
  std::optional<int> year;
  if (rest.starts_with(' ')) {
    std::string_view digits = rest.substr(1, 4);
    if (digits.size() == 4 && std::ranges::all_of(digits, is_digit))
      year = leading_number<int>(digits);
    if (year && (*year < 1990 || *year > 2200)) year.reset();
  }
  return on_day(year, *month, *day, *time);
}

// "ERROR 11-30 12:00:00" of vLLM, at the front.
std::optional<WrittenTime> level_time(std::string_view text) {
  const std::size_t end = text.substr(0, 9).find(' ');
  if (end == std::string_view::npos || !is_level_word(text.substr(0, end))) return std::nullopt;
  text.remove_prefix(end + 1);
  const auto month = take_number<int>(text);
  if (!month || *month < 1 || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto day = take_number<int>(text);
  if (!day || *day < 1 || !text.starts_with(' ')) return std::nullopt;
  std::string_view rest;
  const auto time = day_time(text.substr(1), rest);
  return time ? on_day(std::nullopt, *month, *day, *time) : std::nullopt;
}

}  // namespace

bool is_level_word(std::string_view word) {
  constexpr std::array<std::string_view, 6> levels = {"DEBUG",   "INFO",  "WARN",
                                                      "WARNING", "ERROR", "CRITICAL"};
  return std::ranges::find(levels, word) != levels.end();
}

bool is_exception_line(std::string_view text) {
  if (text.empty() || is_digit(text.front()) || text.front() == '.') return false;
  std::size_t end = 0;
  while (end < text.size() && is_name_char(text[end])) ++end;
  const std::string_view name = text.substr(0, end);
  if (name.size() < 3 || (end < text.size() && !text.substr(end).starts_with(":"))) return false;
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (last.empty() || last.front() < 'A' || last.front() > 'Z') return false;
  return contains_any(last, {"Error", "Exception", "Interrupt", "Exit", "Fault", "Timeout",
                             "StopIteration", "Failure", "Died"});
}

bool is_consequence(std::string_view text) {
  return contains_any(text, {"Connection closed by peer",
                             "Connection reset by peer",
                             "Connection refused",
                             "Broken pipe",
                             "ConnectionResetError",
                             "BrokenPipeError",
                             "ncclRemoteError",
                             "remote process exit",
                             "communicator was aborted",
                             "ChildFailedError",
                             "SignalException",
                             "CalledProcessError",
                             "DistNetworkError",
                             "DistStoreError",
                             "RayActorError",
                             "ActorDiedError",
                             "WorkerCrashedError",
                             "ProcessExitedException",
                             "ProcessRaisedException",
                             "retrieving ncclUniqueId",
                             "Timed out initializing process group",
                             "Remote Rank did not send",
                             "Socket Timeout",
                             "recvValue failed",
                             "sendBytes failed",
                             "recvVector failed",
                             "Watchdog caught collective operation",
                             "watchdog thread terminated",
                             "failed to pass monitoredBarrier",
                             "successfully reached monitoredBarrier",
                             "Timed out waiting",
                             "Barrier timed out",
                             "heartbeat timeout",
                             "RendezvousConnectionError",
                             "RendezvousClosedError",
                             "Some NCCL operations have failed or timed out",
                             "EngineDeadError",
                             "destroyed or aborted",
                             "SIGTERM"});
}

bool is_of_device_or_group(std::string_view text) {
  return contains_any(text, {"CUDA error",
                             "CUDA driver error",
                             "Cuda failure",
                             "cuda runtime error",
                             "cudaError",
                             "CUBLAS_STATUS_",
                             "CUDNN_STATUS_",
                             "HIP error",
                             "hipError",
                             "NCCL error",
                             "NCCL communicator",
                             "c10d",
                             "HCCL error",
                             "Hccl",
                             "torch_npu/",
                             "NPU function error",
                             "gloo",
                             "oneCCL",
                             "RCCL",
                             "MPI_",
                             "Horovod",
                             "DistStoreError",
                             "DistNetworkError",
                             "DistBackendError",
                             "TCPStore",
                             "RayOutOfMemoryError",
                             "ProcessGroup",
                             "process group",
                             "between collectives"});
}

std::optional<WrittenTime> written_time(std::string_view line) {
  line = line.substr(0, 400);
  if (const auto at = stamp_of_line(line)) return WrittenTime{.time = *at};
  for (std::size_t at = 0; at < line.size() && at < 200; ++at) {
    const bool begins =
        at == 0 || line[at - 1] == '[' || line[at - 1] == ' ' || line[at - 1] == ':';
    if (!begins) continue;
    std::string_view rest = line.substr(at);
    if (const auto time = glog_time(rest)) return time;
    if (const auto time = syslog_time(rest)) return time;
    if (const auto time = level_time(rest)) return time;
  }
  return std::nullopt;
}

bool is_cann_code(std::string_view text) {
  return text.size() > 8 && text[0] == 'E' && std::isupper(static_cast<unsigned char>(text[1])) &&
         std::ranges::all_of(text.substr(2, 4), is_digit) && text.substr(6, 2) == ": ";
}

}  // namespace stepscope
