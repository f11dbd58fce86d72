// SPDX-License-Identifier: Apache-2.0
// What the program says in the place of the engine, where it is built without one.
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"

namespace stepscope {
namespace {

int refuse_to_train() {
  return refused({.what = "train: this build of stepscope has no engine",
                  .hint = "build it with -DSTEPSCOPE_ENGINE=ON"});
}

VerbRun declare_train(CLI::App& app) {
  app.description("This build of stepscope has no engine, so it trains nothing.");
  app.prefix_command();
  return {.command = refuse_to_train};
}

}  // namespace

extern const Verb train_verb{"train", "Not in this build: it has no engine", "Train",
                             "how-to/train-with-zero.md", declare_train};

}  // namespace stepscope
