// SPDX-License-Identifier: Apache-2.0
// Which verb a file belongs to that is no trace, for the error about it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

// The commands that read the file: "stepscope hang FILE". The readers are given the
// first 64 KiB of the file. Empty: none takes them.
[[nodiscard]] std::vector<std::string> commands_that_read(const std::string& path);

// For the first three files of a folder, by name, that some verb reads: one command each, and one
// for the folder in place of several of hang. Looks at 16 files of at most 16 MiB.
[[nodiscard]] std::vector<std::string> commands_for_folder(const std::string& folder);

// Commands for the files of a folder that are not among `read`: one a verb, with the number of its
// further files. Looks at the first 16 such files of at most 16 MiB.
[[nodiscard]] std::vector<std::string> commands_for_others(const std::string& folder,
                                                           std::span<const std::string> read);

// The error of a verb that reads step times: where other verbs read its file, it names them.
[[nodiscard]] Error with_other_verbs(Error error);

// The error about a file that is a model's config.json and that no verb reads says why.
[[nodiscard]] Error with_model_reason(Error error);

// The error of `verb`, which reads no traces: where its file is a trace, or a directory whose first
// file is one, it names `analyze`, else the verbs that read the file.
[[nodiscard]] Error with_analyze(Error error, std::string_view verb);

// The error about a file that is no trace: it names the verbs that read it, or what it is.
[[nodiscard]] Error with_readers(Error error);

}  // namespace stepscope
