// SPDX-License-Identifier: Apache-2.0
// Rules that assign stacks to phases of training: data/phases/*.json, and files of the same form
// that users add (docs/reference/phase-rules.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/frame_pattern.h"

namespace stepscope {

// The kind of a thread's activity in a phase, as seen from the device.
enum class PhaseKind : std::uint8_t {
  work,           // computes, or runs model code
  submit,         // gives work to the device
  communication,  // prepares or does communication
  wait,           // blocked until something else is done
  memory,         // allocates, copies, offloads
  data,           // loads samples
  io,             // files and logs
  overhead,       // Python, compiler, garbage collection
  idle,           // an idle thread
  hidden,         // the profile does not show it
};
constexpr auto phase_kind_names = enum_names<PhaseKind::hidden>;

struct HostPhase {
  std::string name;   // "zero3_fetch_throttle"
  std::string label;  // "ZeRO-3 fetch throttle"
  PhaseKind kind = PhaseKind::work;
  std::string explanation;  // one sentence: what the thread does or waits for there
  bool fallback = false;    // only if no other phase matches
};

// The part of a step that a stack belongs to.
struct StepPass {
  std::string name;
  std::string label;
};

struct PassRule {
  std::uint32_t pattern = 0;
  std::uint32_t pass = 0;
  std::vector<std::uint32_t> inside{};  // only within these passes; empty: anywhere
};

// A path of patterns, outermost first. Other frames may be in between.
struct PhaseRule {
  std::vector<std::uint32_t> path;
  std::uint32_t phase = 0;
};

struct PhaseRules {
  std::vector<HostPhase> phases;  // the last ones are for stacks without a rule
  std::vector<StepPass> passes;   // the last is "other"
  std::vector<PhaseRule> rules;
  std::vector<PassRule> pass_rules;
  FramePatterns patterns;
  std::uint32_t python = 0;  // phases of stacks without a rule, by their innermost frame
  std::uint32_t native = 0;
  std::uint32_t unknown = 0;
  std::uint32_t hidden = 0;
  std::uint32_t other_pass = 0;
};

struct RuleFile {
  std::string_view path;  // for messages
  std::string_view json;
};

// Joins the rules of `files` and the program's own. If both match equally deep, those of `files`
// win. A file with "sources" holds for one version of a package and takes part only if `sources`
// names it ("deepspeed 0.16.7"). Errors name file, line and field.
[[nodiscard]] Result<PhaseRules> make_phase_rules(std::span<const RuleFile> files = {},
                                                  std::span<const std::string> sources = {});

}  // namespace stepscope
