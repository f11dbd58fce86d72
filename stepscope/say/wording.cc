// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/wording.h"

namespace stepscope {
namespace {

thread_local const Wording* current = nullptr;

}  // namespace

WordingScope::WordingScope(const Wording& wording) : before_(current) { current = &wording; }
WordingScope::~WordingScope() { current = before_; }

std::string worded(std::string_view text) {
  return current == nullptr ? std::string(text) : current->prose(text);
}

std::string worded_command(std::string_view line) {
  return current == nullptr ? std::string(line) : current->command(line);
}

}  // namespace stepscope
