// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/standing.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/stack/flame.h"

namespace stepscope {
namespace {

// Files of libraries in which a program waits. Dumps shorten their paths to the package.
bool is_waiting_library(std::string_view file) {
  constexpr std::array<std::string_view, 10> alone = {
      "threading.py", "queue.py", "selectors.py",  "socket.py",     "connection.py",
      "queues.py",    "ssl.py",   "contextlib.py", "popen_fork.py", "process.py"};
  if (contains_any(
          file, {"torch/", "jax/", "-packages/", "/lib/python", "multiprocessing/", "concurrent/"}))
    return true;
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::ranges::find(alone, name) != alone.end();
}

// The only stack of a thread of a dump: its innermost node. Absent without frames.
std::optional<std::uint32_t> innermost(const Profile& profile, std::uint32_t thread) {
  const CallTree& tree = profile.tree;
  const std::uint32_t first = profile.threads[thread].node;
  for (std::uint32_t n = tree.end[first]; n-- > first + 1;)
    if (tree.self[n] > 0) return n;
  return std::nullopt;
}

std::string program_frame(const Profile& profile, const NodePhases& phases, std::uint32_t node) {
  const CallTree& tree = profile.tree;
  for (std::uint32_t n = node; n != 0 && tree.parent[n] != 0; n = tree.parent[n]) {
    const Frame& frame = phases.frames[index(tree.frame[n])].frame;
    if (frame.kind != FrameKind::python || frame.file.empty()) continue;
    if (!is_waiting_library(frame.file)) return frame_words(profile, phases, tree.frame[n]);
  }
  return {};
}

// The innermost function of a stack without frames of Python, except those of the system, in which
// the thread waits or began.
std::string native_frame(const Profile& profile, const NodePhases& phases, std::uint32_t node) {
  constexpr std::array<std::string_view, 12> of_system = {
      "pthread_", "__pthread_", "futex", "__futex", "poll",         "__poll",
      "ppoll",    "__GI_",      "epoll", "clone",   "start_thread", "__libc_"};
  const CallTree& tree = profile.tree;
  std::string found;
  for (std::uint32_t n = node; n != 0 && tree.parent[n] != 0; n = tree.parent[n]) {
    const Frame& frame = phases.frames[index(tree.frame[n])].frame;
    if (frame.kind == FrameKind::python) return {};
    const std::string_view name = frame.function;
    const bool system = std::ranges::any_of(
        of_system, [&](std::string_view begin) { return name.starts_with(begin); });
    if (found.empty() && !system && !name.empty() && name != "??")
      found = frame_words(profile, phases, tree.frame[n]);
  }
  return found;
}

// faulthandler names no threads. Its "Current thread" is the one that a signal interrupted. gdb
// counts threads from the main thread on.
bool is_main(const ProfileThread& thread) {
  return contains(thread.name, "MainThread") || thread.name.starts_with("Current thread") ||
         thread.name == "Thread 1";
}

}  // namespace

std::vector<Standing> standing_of(const Profile& profile, const PhaseRules& rules,
                                  const NodePhases& phases) {
  struct Candidate {
    Standing standing;
    bool main = false;
    bool backward = false;  // waits for backward
  };
  std::map<std::pair<std::uint32_t, std::string>, Candidate> best;
  const auto better = [&](const Candidate& a, const Candidate& b) {
    const auto idle = [&](const Candidate& c) {
      const PhaseKind kind = rules.phases[c.standing.phase].kind;
      return kind == PhaseKind::idle || kind == PhaseKind::hidden;
    };
    if (b.main && b.backward && !a.main && !idle(a)) return true;
    if (a.main && a.backward && !b.main && !idle(b)) return false;
    if (a.main != b.main) return a.main;
    return !idle(a) && idle(b);
  };
  // Without "Process …" lines several main threads are of several processes.
  std::map<std::uint32_t, int> unnamed_mains;
  for (const ProfileThread& thread : profile.threads)
    if (thread.process.empty() && is_main(thread)) ++unnamed_mains[thread.input];
  for (std::uint32_t t = 0; t < profile.threads.size(); ++t) {
    const ProfileThread& thread = profile.threads[t];
    if (profile.inputs[thread.input].format != "thread_dump") continue;
    const auto mains = unnamed_mains.find(thread.input);
    const bool several = mains != unnamed_mains.end() && mains->second > 1;
    if (several && thread.process.empty() && !is_main(thread)) continue;
    const auto node = innermost(profile, t);
    if (!node) continue;
    const std::uint32_t phase = phases.self[*node];
    Candidate c{.standing = {.input = thread.input,
                             .thread = t,
                             .phase = phase,
                             .frame = program_frame(profile, phases, *node)},
                .main = is_main(thread),
                .backward = rules.phases[phase].name == "backward_call"};
    if (c.standing.frame.empty()) c.standing.frame = native_frame(profile, phases, *node);
    const auto [at, fresh] = best.try_emplace(
        {thread.input, several ? thread.process + thread.name : thread.process}, c);
    if (!fresh && better(c, at->second)) at->second = std::move(c);
  }
  std::vector<Standing> out;
  for (auto& [key, c] : best) out.push_back(std::move(c.standing));
  return out;
}

}  // namespace stepscope
