// SPDX-License-Identifier: Apache-2.0
// comm_rank spawn RANKS BUCKET GRACE_MS MODE: starts RANKS copies of itself as `comm_rank MODE` and
// prints how each ended. MODE is the behaviour of a rank, correct or faulty. Each line that a rank
// prints begins with its number.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "engine/comm/collectives/collectives_test_cases.h"
#include "engine/comm/groups/mpi_group.h"
#include "engine/comm/groups/shm_group.h"

namespace stepscope {
namespace {

// Writes a line at once, so that lines of several ranks do not mix.
void say(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t sent = ::write(STDOUT_FILENO, text.data(), text.size());
}

std::string name_of(const Communicator& comm) {
  return "rank " + std::to_string(comm.rank()) + ": ";
}

int say_error(const Communicator& comm, const Error& error) {
  say(name_of(comm) + "error " + error.message());
  std::string record = comm.flight_record();
  std::ranges::replace(record, '\n', ' ');
  say(name_of(comm) + "record " + record);
  return 7;
}

// The exit status of a rank after these tickets.
int wait_all(Communicator& comm, const std::vector<Result<Ticket>>& tickets) {
  for (const auto& ticket : tickets) {
    if (const auto done = wait_for(comm, ticket); !done) return say_error(comm, done.error());
  }
  say(name_of(comm) + "done");
  return 0;
}

int run_cases(Communicator& comm) {
  std::size_t right = 0;
  for (const std::size_t elements : {0UL, 1UL, 37UL, 4999UL, 30011UL}) {
    for (const auto& c : comm_test::all_cases({elements}, comm.size())) {
      if (elements > 5000 && (c.type != ElementType::f32 || c.reduction != Reduction::sum))
        continue;
      comm_test::Running run;
      comm_test::start(comm, c, run);
      if (const auto done = wait_for(comm, run.ticket); !done) {
        return say_error(comm, done.error());
      }
      const std::string fault = comm_test::fault_of(comm, run);
      if (!fault.empty()) return say(name_of(comm) + fault), 1;
      ++right;
    }
  }
  say(name_of(comm) + std::to_string(right) + " cases right");
  return 0;
}

int run_shuffled(Communicator& comm) {
  std::mt19937 random(static_cast<unsigned>(comm.rank()) + 3);
  const auto cases = comm_test::all_cases({5, 3001}, comm.size());
  std::deque<comm_test::Running> runs;
  for (const auto& c : cases) comm_test::start(comm, c, runs.emplace_back());
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  for (const std::size_t i : order) {
    if (const auto done = wait_for(comm, runs[i].ticket); !done) {
      return say_error(comm, done.error());
    }
    const std::string fault = comm_test::fault_of(comm, runs[i]);
    if (!fault.empty()) return say(name_of(comm) + fault), 1;
  }
  say(name_of(comm) + std::to_string(runs.size()) + " cases right");
  return 0;
}

// Runs odd and even ranks, then a pair of messages within each half, then all again.
int run_subgroups(Communicator& comm) {
  std::vector<int> even;
  std::vector<int> odd;
  for (int r = 0; r < comm.size(); ++r) (r % 2 == 0 ? even : odd).push_back(r);
  auto first = comm.subgroup(even, "even");
  auto second = comm.subgroup(odd, "odd");
  if (!first || !second) return say_error(comm, !first ? first.error() : second.error());
  Communicator& own = comm.rank() % 2 == 0 ? **first : **second;
  if (run_cases(own) != 0) return 1;
  std::vector<float> mine(2000, static_cast<float>(comm.rank()));
  std::vector<float> theirs(2000);
  const int next = (own.rank() + 1) % own.size();
  const int before = (own.rank() + own.size() - 1) % own.size();
  const auto sent = send(own, mine, next, "to the next");
  const int status = wait_all(own, {recv(own, theirs, before, "from the one before"), sent});
  const int from = (comm.rank() % 2 == 0 ? even : odd)[static_cast<std::size_t>(before)];
  if (theirs.back() != static_cast<float>(from)) return say(name_of(comm) + "wrong message"), 1;
  return status != 0 ? status : wait_all(comm, {barrier(comm)});
}

// One rank misbehaves after two good collectives.
int run_fault(Communicator& comm, std::string_view mode) {
  std::vector<float> data(1000, 1.0F);
  if (wait_all(comm, {all_reduce(comm, data, "first"), all_reduce(comm, data, "second")}) != 0) {
    return 1;
  }
  if (mode == "stop" || mode == "deadlock") comm.set_deadline(std::chrono::milliseconds(400));
  const bool culprit = comm.rank() == 1;
  std::vector<float> large(1 << 20, 1.0F);
  if (culprit && mode == "die") ::raise(SIGKILL);
  if (culprit && mode == "stop") ::raise(SIGSTOP);
  if (culprit && mode == "leave") return 0;
  if (culprit && mode == "exit") ::_exit(5);
  if (culprit && mode == "mismatch") {
    std::vector<float> all(1000 * static_cast<std::size_t>(comm.size()));
    return wait_all(comm, {all_gather(comm, data, all, "wrong one")});
  }
  if (culprit && mode == "size") return wait_all(comm, {all_reduce(comm, large, "wrong size")});
  if (mode == "inside") {
    const auto ticket = all_reduce(comm, large, "large");
    if (culprit) ::raise(SIGKILL);
    return wait_all(comm, {ticket});
  }
  if (mode == "deadlock") {  // all receive, none sends
    return wait_all(comm, {recv(comm, data, (comm.rank() + 1) % comm.size(), "never sent")});
  }
  return wait_all(comm, {all_reduce(comm, data, "third")});
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Runs under mpirun: `comm_rank mpi MODE`, or `comm_rank mpi-messages MODE` without shared memory.
int run_mpi(bool shared_memory, std::string_view mode) {
  MpiOptions options;
  options.bucket = {64 << 10};
  options.shared_memory = shared_memory;
  auto made = make_mpi_group(options);
  if (!made) return say("error " + made.error().message()), 6;
  Communicator& comm = **made;
  if (mode == "cases") return run_cases(comm);
  if (mode == "shuffled") return run_shuffled(comm);
  if (mode == "subgroups") return run_subgroups(comm);
  run_fault(comm, mode);  // MPI requires that all ranks end alike
  return 0;
}

int run_rank(std::string_view mode) {
  if (mode == "absent" && std::string_view(std::getenv("STEPSCOPE_RANK")) == "1") return 3;
  const std::size_t before = open_descriptors();
  int status = 0;
  {
    auto joined = join_shm_group(std::chrono::seconds(60));
    if (!joined) return say("error " + joined.error().message()), 6;
    Communicator& comm = **joined;
    say(name_of(comm) + "pid " + std::to_string(::getpid()));
    if (mode == "cases") {
      status = run_cases(comm);
    } else if (mode == "shuffled") {
      status = run_shuffled(comm);
    } else if (mode == "subgroups") {
      status = run_subgroups(comm);
    } else if (mode == "sleep") {
      std::this_thread::sleep_for(std::chrono::seconds(200));
    } else {
      status = run_fault(comm, mode);
    }
  }
  // The segment's descriptor was already open.
  if (open_descriptors() + 1 != before) return say("descriptors left open"), 8;
  return status;
}

int spawn(const std::vector<std::string>& arguments, const std::string& self) {
  SpawnOptions options;
  options.bucket = {std::atoll(arguments[1].c_str())};
  options.grace = std::chrono::milliseconds(std::atoi(arguments[2].c_str()));
  const std::vector<std::string> argv{arguments[3] == "nowhere" ? "/no/such/program" : self,
                                      arguments[3]};
  const auto report = spawn_ranks(argv, std::atoi(arguments[0].c_str()), options);
  if (!report) return say("error " + report.error().message()), 9;
  for (std::size_t r = 0; r < report->ranks.size(); ++r) {
    say("rank " + std::to_string(r) + ": ended " + std::to_string(report->ranks[r].status));
  }
  if (report->interrupted_by != 0) say("interrupted " + std::to_string(report->interrupted_by));
  if (!report->first_failed) return 0;
  say("first " + std::to_string(*report->first_failed));
  return 1;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 5 && arguments[0] == "spawn") {
    return stepscope::spawn({arguments.begin() + 1, arguments.end()}, argv[0]);
  }
  if (arguments.size() == 2) return stepscope::run_mpi(arguments[0] == "mpi", arguments[1]);
  return arguments.size() == 1 ? stepscope::run_rank(arguments[0]) : 2;
}
