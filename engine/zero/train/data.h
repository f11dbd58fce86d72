// SPDX-License-Identifier: Apache-2.0
// The training tokens. They are read from files at offsets; no file is held in memory or mapped. A
// sample is T + 1 consecutive tokens of one file: inputs are the first T, targets the last T.
// Samples are numbered over all files. The sample at a place of the run depends only on the seed
// and the place. Any number of ranks therefore reads the same samples, and a restart needs only the
// number of consumed samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/zero/drive/disk_file.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

enum class TokenFormat : std::uint8_t {
  text,  // bytes through the byte-level tokenizer; end_of_text after the last if the vocabulary
         // has it (257 or more)
  u16,   // raw little-endian tokens
  u32,
  llmc,  // 256 int32 (magic, version, count), then uint16 (GPT-2) or uint32 (Llama 3) tokens
};
// "text", "u16", "u32", "llmc".
[[nodiscard]] std::optional<TokenFormat> token_format(std::string_view name);

struct DataConfig {
  std::vector<std::string> paths{};     // none: built_in_text()
  std::optional<TokenFormat> format{};  // absent: llmc if the magic number fits, else text
  std::int64_t sample_tokens = 0;       // T
  std::int64_t vocabulary = 0;          // a larger or equal token is an error
  double validation = 0;                // share of the samples, from the end of the data; [0, 1)
  std::int64_t least_samples = 1;       // needed for training: those of one step
  std::uint64_t seed = 0;
  bool shuffle = true;
};

enum class Split : std::uint8_t { train, validation };

// The project's pages of explanation, to train on where no file is named. As text, whatever
// DataConfig::format is.
[[nodiscard]] const std::string& built_in_text();

class TokenData {
 public:
  // Errors: a file that is unreadable or truncated, compressed text, too few tokens (the error
  // states the needed number), a vocabulary too small for the format.
  [[nodiscard]] static Result<TokenData> open(const DataConfig& config);

  [[nodiscard]] std::int64_t samples(Split split) const;
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }  // of all files
  // Reads consecutive samples from place `first` on: sample i fills inputs and targets [i·T,
  // (i+1)·T). Training uses all its samples once per epoch, in a different order in each epoch.
  // Validation starts again at its first sample. Threads may call it concurrently. Errors: a token
  // outside the vocabulary, a file that has shrunk; both name the byte.
  [[nodiscard]] Result<Done> read(Split split, std::uint64_t first, std::span<std::int32_t> inputs,
                                  std::span<std::int32_t> targets) const;
  // The sample of this split at a place of the run: 0 <= result < samples(split).
  [[nodiscard]] std::int64_t sample_at(Split split, std::uint64_t place) const;

 private:
  struct File {
    DiskFile file;
    TokenFormat format = TokenFormat::text;
    int width = 1;            // bytes per token
    std::uint64_t data = 0;   // offset of the first token
    std::int64_t tokens = 0;  // including end_of_text
    bool ends = false;        // has end_of_text
    std::int64_t first_sample = 0;
  };
  explicit TokenData(const DataConfig& config) : config_(config) {}
  [[nodiscard]] static Result<File> open_file(DiskFile opened, const DataConfig& config);
  [[nodiscard]] Result<Done> count_samples();
  [[nodiscard]] Result<Done> read_tokens(const File& file, std::int64_t first,
                                         std::span<std::int32_t> tokens) const;

  DataConfig config_;
  std::vector<File> files_;
  std::int64_t tokens_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t validation_samples_ = 0;
};

}  // namespace stepscope::zero
