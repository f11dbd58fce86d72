// SPDX-License-Identifier: Apache-2.0
// `stepscope digest`: a small file for each trace file, which the verbs that take traces read
// instead. One process may make all, or one each: nothing is shared between files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct DigestRequest {
  std::vector<std::string> inputs{};  // traces: files, directories or patterns
  std::string folder{};               // of the digests; it is made
  unsigned threads = 0;               // 0: all cores
};

struct DigestRow {
  std::string input{};
  std::string output{};
  std::vector<int> ranks{};         // that the file's metadata names
  std::optional<int> world_size{};  // of the metadata
  std::uint64_t text_bytes = 0;     // of the trace, inflated; 0: it was not read
  std::uint64_t bytes = 0;          // of the digest
  bool kept = false;                // the digest was there and is of this file as it is now
};

struct DigestResult {
  std::string version{};
  std::string folder{};
  std::vector<DigestRow> digests{};  // in the order of the files
  std::vector<int> missing{};  // ranks of the world without a digest, if every file names its own
  std::vector<Error> failures{};  // files that gave no digest
  double seconds = 0;
};

// Whether a file's name is that of a digest.
[[nodiscard]] inline bool is_digest_name(std::string_view name) {
  return name.ends_with(".digest");
}

// Writes FOLDER/NAME.digest for each file NAME, below the folders in which a directory among the
// inputs has it. Each is written into the same folder under another name and then renamed. A digest
// that was made by this version from the file as it is now is kept. Errors: no digest is there at
// the end (the first of the failures); interrupted.
[[nodiscard]] Result<DigestResult> digest(const DigestRequest& request,
                                          const Progress& progress = {});

}  // namespace stepscope
