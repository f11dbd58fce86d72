// SPDX-License-Identifier: Apache-2.0
// Rules that say to which phase of training a stack belongs: data/phases/*.json, and files of the
// same shape that users add (docs/reference/phase-rules.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/stack/frame_pattern.h"

namespace stepscope {

// What a thread does in a phase, as far as it matters to the device.
enum class PhaseKind : std::uint8_t {
  work,           // computes, or runs code of the model
  submit,         // gives work to the device
  communication,  // prepares or does communication
  wait,           // stands still until something else is done
  memory,         // allocates, copies, offloads
  data,           // loads samples
  io,             // files and logs
  overhead,       // Python, compiler, garbage
  idle,           // a thread with nothing to do
  hidden,         // the profile does not show it
};
constexpr std::array<std::string_view, 10> phase_kind_names = {
    "work", "submit", "communication", "wait", "memory",
    "data", "io",     "overhead",      "idle", "hidden"};

struct HostPhase {
  std::string name;   // "zero3_fetch_throttle"
  std::string label;  // "ZeRO-3 fetch throttle"
  PhaseKind kind = PhaseKind::work;
  std::string explanation;  // one sentence: what the thread does or waits for there
  bool fallback = false;    // only where no other phase is recognised
};

// The part of a step a stack belongs to.
struct StepPass {
  std::string name;
  std::string label;
};

struct PassRule {
  std::uint32_t pattern = 0;
  std::uint32_t pass = 0;
  std::vector<std::uint32_t> inside{};  // only within these passes; empty: anywhere
};

// A path of patterns, outermost first, other frames between them.
struct PhaseRule {
  std::vector<std::uint32_t> path;
  std::uint32_t phase = 0;
};

struct PhaseRules {
  std::vector<HostPhase> phases;  // the last are those of stacks without a rule
  std::vector<StepPass> passes;   // the last is "other"
  std::vector<PhaseRule> rules;
  std::vector<PassRule> pass_rules;
  FramePatterns patterns;
  std::uint32_t python = 0;  // phases of stacks that no rule knows, by their innermost frame
  std::uint32_t native = 0;
  std::uint32_t unknown = 0;
  std::uint32_t hidden = 0;
  std::uint32_t other_pass = 0;
};

struct RuleFile {
  std::string_view path;  // in messages
  std::string_view json;
};

// The rules of `files`, then the program's own: where both match equally deep, the former hold.
// Errors name file, line and field.
[[nodiscard]] Result<PhaseRules> make_phase_rules(std::span<const RuleFile> files = {});

}  // namespace stepscope
