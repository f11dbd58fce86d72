// SPDX-License-Identifier: Apache-2.0
// Class names that an optical reader misread by one letter: "Llamad4TextDecoderLayer" for
// "Llama4TextDecoderLayer". They are offered and never replaced: a job may have a class of that
// name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/stack/profile.h"

namespace stepscope {

struct MisreadName {
  std::string written;
  std::string likely;
  bool operator==(const MisreadName&) const = default;
};

// The layer class of Hugging Face's transformers that has one letter more, less or other than
// `name`, and the same digits. Empty: none, or `name` is one itself.
[[nodiscard]] std::string likely_class(std::string_view name);

// In frames of inputs with repaired rows; each once, in the order of the names.
[[nodiscard]] std::vector<MisreadName> misread_names(const Profile& profile);

}  // namespace stepscope
