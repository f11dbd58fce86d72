// SPDX-License-Identifier: Apache-2.0
#include "tests/shared/shared_data.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace stepscope::shared {

std::filesystem::path folder() {
  const char* named = std::getenv("STEPSCOPE_SHARED");
  if (named != nullptr && *named != '\0') return named;
  return std::filesystem::path(STEPSCOPE_SOURCE_DIR) / ".." / "shared";
}

std::vector<TracedRun> runs(const std::filesystem::path& folder) {
  std::ifstream in(folder / "data" / "runs.tsv");
  std::vector<TracedRun> runs;
  std::string line;
  std::getline(in, line);  // header line
  while (std::getline(in, line)) {
    std::istringstream columns(line);
    std::string ranks;
    std::string files;
    TracedRun run;
    std::getline(columns, run.name, '\t');
    std::getline(columns, ranks, '\t');
    std::getline(columns, files, '\t');
    std::istringstream names(files);
    for (std::string name; names >> name;) {
      run.files.push_back(folder / "data" / "traces" / name);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace stepscope::shared
