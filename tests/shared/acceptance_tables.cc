// SPDX-License-Identifier: Apache-2.0
// Prints the results of this folder's tests as markdown: all tables, or the named ones.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/shared/exact_reference.h"
#include "tests/shared/run_account.h"

namespace stepscope::shared {
namespace {

void print(const char* title, const std::string& table) {
  std::printf("## %s\n\n%s\n", title, table.c_str());
  std::fflush(stdout);
}

int tables(const std::vector<std::string>& names) {
  const auto wanted = [&](const char* name) {
    if (names.empty()) return true;
    for (const std::string& n : names)
      if (n == name) return true;
    return false;
  };
  if (!std::filesystem::is_directory(folder() / "data")) {
    std::fprintf(stderr, "no trace collections at %s; STEPSCOPE_SHARED names another folder\n",
                 folder().c_str());
    return 1;
  }
  if (wanted("runs")) {
    std::vector<RunAccount> accounts;
    for (const TracedRun& run : runs(folder())) accounts.push_back(account_for(run));
    print("Every run", runs_table(accounts));
  }
  if (!wanted("exact") && !wanted("hta")) return 0;
  const std::vector<ExactRow> rows = exact_rows(folder());
  if (wanted("exact")) print("GPU windows against the exact reference", exact_table(rows));
  if (wanted("hta")) print("HolisticTraceAnalysis against both", hta_table(rows));
  return 0;
}

}  // namespace
}  // namespace stepscope::shared

int main(int argc, char** argv) {
  try {
    return stepscope::shared::tables({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
