// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/launched.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "stepscope/crew/process_crew.h"
#include "stepscope/face/help/exit_code.h"
#include "stepscope/face/terminal.h"

namespace stepscope {
namespace {

// The other processes of the crew notice that this one has ended.
void end_crew(const Error& error) {
  const bool stopped = stop_flag().requested();
  if (!stopped) say("stepscope: the processes cannot share the work: {}\n", error.message());
  leave_crew();
  std::_Exit(stopped ? exit_interrupted : exit_failed);
}

void write_nowhere() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

}  // namespace

bool is_silent() {
  static const bool silent = [] {
    const bool other = launched_number() > 0;
    if (other) write_nowhere();
    return other;
  }();
  return silent;
}

Result<JoinedCrew> join_launched(TracesRequest& request) {
  std::string work;
  for (const std::string& input : request.inputs) work.append(input).push_back('\n');
  auto launched = launched_crew(work, end_crew);
  if (!launched) return launched.error();
  if (launched->crew != nullptr) {
    request.crew = launched->crew.get();
    request.threads =
        request.threads == 0 ? launched->cores : request.threads * launched->processes;
  }
  return JoinedCrew{std::move(launched->crew), launched->lent};
}

}  // namespace stepscope
