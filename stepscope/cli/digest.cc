// SPDX-License-Identifier: Apache-2.0
// `stepscope digest`: small files that stand for traces.
#include "stepscope/pipeline/digest.h"

#include <memory>

#include "stepscope/cli/flags/digest_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/digest/digest_json.h"
#include "stepscope/report/digest/digest_text.h"

namespace stepscope {
namespace {

int answer(const DigestFlags& flags) {
  Failures failures;
  const auto result = digest(flags.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (flags.out.prints()) print_text(digest_text(*result, text_options()));
  if (flags.out.has_tree()) write_tree(flags.out, digest_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_digest(CLI::App& app) {
  auto flags = std::make_shared<DigestFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
