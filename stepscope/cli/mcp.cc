// SPDX-License-Identifier: Apache-2.0
// `stepscope mcp`: the server of the Python package, in place of this process.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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

struct McpFlags {
  std::vector<std::string> folders;
  bool urls = false;
};

int serve(const McpFlags& flags) {
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
  std::string allow_urls = "--allow-urls";
  std::string folders_follow = "--";
  std::vector<char*> words = {python.data(), flag.data(), code.data()};
  if (flags.urls) words.push_back(allow_urls.data());
  words.push_back(folders_follow.data());
  std::vector<std::string> folders = flags.folders;
  for (std::string& folder : folders) words.push_back(folder.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return refused({.what = "cannot start " + python,
                  .hint = "install Python 3.10 or later, the wheel of stepscope and 'mcp>=2'"});
}

VerbRun declare_mcp(CLI::App& app) {
  auto flags = std::make_shared<McpFlags>();
  app.description(
      "Serves analyze, whatif, compare, predict, plan and live to an assistant, as tools of the "
      "Model Context Protocol over standard input and output. Each answer is brief. The tools read "
      "files below the folders only. Needs the wheel of stepscope and pip install 'mcp>=2'.");
  app.add_option("FOLDER", flags->folders,
                 "Folders that the assistant may read; without any it reads no files")
      ->type_name("FOLDER")
      ->group("Inputs");
  app.add_flag("--allow-urls", flags->urls,
               "The assistant may also read URLs and ask HOST:PORT of NCCL's RAS service")
      ->group("Inputs");
  app.footer("stepscope mcp traces/");
  return {.command = [flags] { return serve(*flags); }};
}

}  // namespace

extern const Verb mcp_verb{"mcp", "Serve the verbs to an assistant (Model Context Protocol)",
                           "This program", "how-to/use-from-python.md", declare_mcp};

}  // namespace stepscope
