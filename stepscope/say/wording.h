// SPDX-License-Identifier: Apache-2.0
// How a face writes flags and commands. Catalogue and remedies have the words of the command line
// ("--steps 3:5", "stepscope whatif TRACES"). Python writes them as its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace stepscope {

struct Wording {
  std::function<std::string(std::string_view text)> prose;      // a sentence that names flags
  std::function<std::string(std::string_view line)> command{};  // a whole command line
};

// While it lives, say(), worded() and worded_command() of this thread write with `wording`, which
// outlives it.
class WordingScope {
 public:
  explicit WordingScope(const Wording& wording);
  ~WordingScope();
  WordingScope(const WordingScope&) = delete;
  WordingScope& operator=(const WordingScope&) = delete;

 private:
  const Wording* before_;
};

// The text as the face of this thread writes it; without a scope as it is.
[[nodiscard]] std::string worded(std::string_view text);
[[nodiscard]] std::string worded_command(std::string_view line);

}  // namespace stepscope
