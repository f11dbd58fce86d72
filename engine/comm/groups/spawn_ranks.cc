// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/groups/shm_group.h"
#include "engine/comm/window/window.h"

namespace stepscope {
namespace {

Error system_error(const std::string& what, int reason, const std::string& hint = {}) {
  return Error{.what = what + ": " + std::generic_category().message(reason), .hint = hint};
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

// Blocks the signals that are passed on to the ranks, as long as the object lives.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held_, signal);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  HeldSignals(HeldSignals&&) = delete;
  HeldSignals& operator=(HeldSignals&&) = delete;
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] const sigset_t& before() const { return before_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  sigset_t held_{};
  sigset_t before_{};
  Descriptor descriptor_{-1};
};

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // of one rank
  int segment = -1;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_of(int rank, int ranks, int segment,
                                        std::span<const std::string> more) {
  std::vector<std::string> own(more.begin(), more.end());
  own.push_back("STEPSCOPE_RANK=" + std::to_string(rank));
  own.push_back("STEPSCOPE_RANKS=" + std::to_string(ranks));
  own.push_back("STEPSCOPE_SHM_FD=" + std::to_string(segment));
  const auto replaced = [&own](std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    return std::ranges::any_of(own, [name](const std::string& e) { return e.starts_with(name); });
  };
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    if (!replaced(*entry)) all.emplace_back(*entry);
  }
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

// In the child: from here to exec, only calls that are safe after fork.
[[noreturn]] void become(char* const* argv, char* const* environment, int segment, int report,
                         pid_t parent, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before
  ::fcntl(segment, F_SETFD, 0);           // inherited by the program
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(argv[0], argv, environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t sent = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

struct Child {
  pid_t pid = 0;
  Descriptor end{-1};  // pidfd; closed once it was reaped
};

Result<Child> start(Program& program, const sigset_t& mask) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return system_error("no pipe", errno);
  const Descriptor report_in(pipe_ends[0]);
  Descriptor report_out(pipe_ends[1]);
  const auto argv = pointers(program.argv);
  const auto environment = pointers(program.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a process", errno);
  if (pid == 0) {
    become(argv.data(), environment.data(), program.segment, report_out.get(), parent, mask);
  }
  report_out = Descriptor(-1);
  int reason = 0;
  if (::read(report_in.get(), &reason, sizeof reason) == sizeof reason) {
    ::waitpid(pid, nullptr, 0);
    return Error{.what = "cannot run it: " + std::generic_category().message(reason),
                 .file = program.argv[0]};
  }
  const auto end = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (end < 0) {
    const int why = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return system_error("cannot watch a process", why, "pidfd_open needs Linux 5.3");
  }
  return Child{pid, Descriptor(end)};
}

// The processes of the ranks, from their start to their end.
class Supervisor {
 public:
  Supervisor(const comm::Window& window, std::vector<Child> children, const SpawnOptions& options)
      : window_(window),
        children_(std::move(children)),
        grace_(options.grace),
        stop_(options.stop) {
    for (const Child& child : children_) report_.ranks.push_back({.pid = child.pid});
  }

  SpawnReport watch(int signals) {
    while (std::ranges::any_of(children_, [](const Child& c) { return c.end.get() >= 0; })) {
      std::vector<pollfd> ends{{.fd = signals, .events = POLLIN, .revents = 0}};
      for (const Child& child : children_) {
        ends.push_back({.fd = child.end.get(), .events = POLLIN, .revents = 0});
      }
      ::poll(ends.data(), ends.size(), timeout());
      ++look_;
      if (ends[0].revents != 0) take_signal(signals);
      if (report_.interrupted_by == 0 && stop_ != nullptr && stop_->requested()) {
        interrupt(SIGTERM);
        kill_all(SIGTERM);
      }
      for (std::size_t r = 0; r < children_.size(); ++r) {
        if (children_[r].end.get() >= 0 && ends[r + 1].revents != 0) reap(r);
      }
      if (harsher_at_ && monotonic_now() >= *harsher_at_) harsher();
    }
    return report_;
  }

  void kill_all(int signal) const {
    for (const Child& child : children_) {
      if (child.end.get() >= 0) ::kill(child.pid, signal);
    }
  }

 private:
  [[nodiscard]] int timeout() const {
    constexpr int look_at_stop = 100;  // ms
    if (!harsher_at_) return stop_ != nullptr ? look_at_stop : -1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*harsher_at_ - monotonic_now())
            .count();
    return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 60'000));
  }

  void take_signal(int signals) {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) return;
    if (report_.interrupted_by != 0) return kill_all(SIGKILL);
    interrupt(static_cast<int>(info.ssi_signo));
    // The ranks get a terminal's signals themselves.
    if (info.ssi_code != SI_KERNEL) kill_all(report_.interrupted_by);
  }

  void interrupt(int signal) {
    report_.interrupted_by = signal;
    last_ = SIGTERM;
    harsher_at_ = monotonic_now() + grace_;
  }

  void harsher() {
    last_ = last_ == 0 ? SIGTERM : SIGKILL;
    kill_all(last_);
    harsher_at_.reset();
    if (last_ == SIGTERM) harsher_at_ = monotonic_now() + grace_;
  }

  void reap(std::size_t r) {
    // Report the end before the pid can be used by another process.
    comm::RankControl& control = window_.control(static_cast<int>(r));
    for (auto state : {comm::RankState::absent, comm::RankState::joined}) {
      control.state.compare_exchange_strong(state, comm::RankState::dead);
    }
    int status = 0;
    ::waitpid(children_[r].pid, &status, 0);
    children_[r].end = Descriptor(-1);
    RankExit& exit = report_.ranks[r];
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.status = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    for (int p = 0; p < window_.ranks(); ++p) comm::ring(window_.control(p));
    if (exit.status == 0) return;
    // Among ranks that ended in one poll, a killed rank counts as the first failure, before ranks
    // that gave up.
    const bool takes_over =
        report_.first_failed && exit.signal != 0 && last_ == 0 && failed_at_look_ == look_ &&
        report_.ranks[static_cast<std::size_t>(*report_.first_failed)].signal == 0;
    if (report_.first_failed && !takes_over) return;
    report_.first_failed = static_cast<int>(r);
    failed_at_look_ = look_;
    if (!harsher_at_ && last_ == 0) harsher_at_ = monotonic_now() + grace_;
  }

  const comm::Window& window_;
  std::vector<Child> children_;
  Ns grace_;
  const StopFlag* stop_;
  SpawnReport report_;
  std::optional<Ns> harsher_at_;
  int last_ = 0;  // the harshest signal sent
  std::uint64_t look_ = 0;
  std::uint64_t failed_at_look_ = 0;  // poll at which first_failed was set
};

}  // namespace

Result<SpawnReport> spawn_ranks(std::span<const std::string> argv, int ranks,
                                const SpawnOptions& options) {
  if (argv.empty() || ranks < 1 || ranks > most_sharing_ranks) {
    return Error{.what = "cannot start " + std::to_string(ranks) + " ranks of a program",
                 .hint = "1 to " + std::to_string(most_sharing_ranks) + " ranks"};
  }
  const auto made = comm::make_segment(comm::window_shape(ranks, options.bucket));
  if (!made) return made.error();
  const Descriptor segment(*made);
  const auto window = comm::Window::map(segment.get());
  if (!window) return window.error();
  const HeldSignals held;
  std::vector<Child> children;
  std::optional<Error> fault;
  for (int r = 0; r < ranks && !fault; ++r) {
    Program program{{argv.begin(), argv.end()},
                    environment_of(r, ranks, segment.get(), options.environment),
                    segment.get()};
    auto child = start(program, held.before());
    if (child) {
      children.push_back(std::move(*child));
    } else {
      fault = child.error();
      fault->what = "rank " + std::to_string(r) + " of " + std::to_string(ranks) +
                    " could not be started: " + fault->what;
    }
  }
  Supervisor supervisor(**window, std::move(children), options);
  if (fault) supervisor.kill_all(SIGKILL);
  SpawnReport report = supervisor.watch(held.descriptor());
  if (fault) return *fault;
  return report;
}

}  // namespace stepscope
