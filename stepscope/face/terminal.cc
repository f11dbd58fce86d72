// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/terminal.h"

#include <fmt/format.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "stepscope/base/output_file.h"
#include "stepscope/base/progress.h"
#include "stepscope/face/help/exit_code.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// Signal handlers reach nothing but statics.
StopFlag asked_to_stop;

// Posted by the first signal.
sem_t asked_to_end;

// How long polled loops have to end by themselves.
constexpr std::chrono::milliseconds time_to_stop{600};

void end_slow() {
  while (::sem_wait(&asked_to_end) != 0) {
  }
  std::this_thread::sleep_for(time_to_stop);
  if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
  end_process(exit_interrupted);
}

// Without room for a thread the polled loops have to do.
bool end_when_slow() try {
  std::thread(end_slow).detach();
  return true;
} catch (const std::system_error&) {
  return false;
}

void on_signal(int signal) {
  if (asked_to_stop.requested()) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  asked_to_stop.request();
  ::sem_post(&asked_to_end);
}

bool asked_to_be_quiet = false;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool wants_colour() {
  const char* off = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0');
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, 60, 160);
  return 100;
}

std::size_t terminal_height() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
    return std::clamp<std::size_t>(size.ws_row, 12, 200);
  return 24;
}

std::size_t help_width() {
  constexpr int widest = 100;
  constexpr std::size_t without_terminal = 80;
  return ::isatty(STDOUT_FILENO) == 1 ? static_cast<std::size_t>(std::min(terminal_width(), widest))
                                      : without_terminal;
}

TextOptions text_options(std::string details) {
  return {.width = terminal_width(), .colour = wants_colour(), .details = std::move(details)};
}

const StopFlag& stop_on_signals(WhenSlow when_slow) {
  [[maybe_unused]] static const int initialised = ::sem_init(&asked_to_end, 0, 0);
  if (when_slow == WhenSlow::ends) {
    [[maybe_unused]] static const bool ends = end_when_slow();
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGXFSZ, SIG_IGN);
  return asked_to_stop;
}

const StopFlag& stop_flag() { return asked_to_stop; }

void be_quiet() { asked_to_be_quiet = true; }
bool is_quiet() { return asked_to_be_quiet; }

ProgressLine::ProgressLine()
    : begin_(now()), terminal_(::isatty(STDERR_FILENO) == 1 && !is_quiet()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || total == 0) return;
  const std::lock_guard lock(drawing_);
  if (what_ != what) {
    what_ = what;
    part_begin_ = now();
  }
  constexpr double between = 0.05;  // seconds from drawing to drawing
  if (now() - begin_ < 1 || now() - drawn_at_ < between) return;
  drawn_at_ = now();
  const double elapsed = now() - part_begin_;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double left = share > 0 ? elapsed * (1 - share) / share : 0;
  const auto filled = static_cast<std::size_t>(share * 30);
  std::string bar(filled, '=');
  bar.resize(30, ' ');
  const std::string rate =
      what == reading && elapsed > 0
          ? fmt::format("  {}/s", format_bytes(static_cast<double>(done) / elapsed))
          : std::string();
  fmt::print(stderr, "\r{} [{}] {:3.0f} %{}  {:.0f} s left \033[K", what_, bar, share * 100, rate,
             left);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace stepscope
