// SPDX-License-Identifier: Apache-2.0
// `stepscope mcp`: the server of the Python package, in place of this process.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "stepscope/cli/subcommand.h"
#include "stepscope/face/outputs.h"

namespace stepscope {
namespace {

// The interpreter in the folder of this program, where pip puts both, else the first on the path.
std::string interpreter() {
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto beside = own.parent_path() / "python3";
  return !none && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

int serve() {
  std::string python = interpreter();
  std::string flag = "-c";
  std::string code =
      "import sys\n"
      "try:\n"
      "    from stepscope.mcp_server import main\n"
      "except ImportError as missing:\n"
      "    sys.exit(f\"stepscope: a Python package is missing ({missing}); install the wheel of "
      "stepscope and 'mcp>=2' for {sys.executable}\")\n"
      "main()\n";
  const std::array<char*, 4> words = {python.data(), flag.data(), code.data(), nullptr};
  ::execvp(words[0], words.data());
  return refused({.what = "cannot start " + python,
                  .hint = "install Python 3.10 or later, the wheel of stepscope and 'mcp>=2'"});
}

VerbRun declare_mcp(CLI::App& app) {
  app.description(
      "Serves analyze, whatif, compare, predict and plan to an assistant, as tools of the Model "
      "Context Protocol over standard input and output. Each answer is brief. Needs the wheel "
      "of stepscope and pip install 'mcp>=2'.");
  app.footer("stepscope mcp");
  return {.command = serve};
}

}  // namespace

extern const Verb mcp_verb{"mcp", "Serve the verbs to an assistant (Model Context Protocol)",
                           "This program", "how-to/use-from-python.md", declare_mcp};

}  // namespace stepscope
