// SPDX-License-Identifier: Apache-2.0
// What the program says in the place of the engine, where it is built without one.
#include <string>
#include <utility>

#include "stepscope/cli/flags/calibrate_flags.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"

namespace stepscope {
namespace {

int refused_without_engine(std::string what) {
  return refused({.what = std::move(what) + ": this build of stepscope has no engine",
                  .hint = "build it with -DSTEPSCOPE_ENGINE=ON"});
}

}  // namespace

std::function<int()> declare_train(CLI::App& app) {
  app.description("This build of stepscope has no engine, so it trains nothing.");
  app.prefix_command();
  return [] { return refused_without_engine("train"); };
}

int calibrate_here(const CalibrateFlags& /*flags*/) {
  return refused_without_engine("calibrate without --from measures this machine");
}

}  // namespace stepscope
