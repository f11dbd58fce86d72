// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/zero/train/permutation.h"
#include "engine/zero/train/tokenizer.h"

namespace stepscope::zero {
namespace {

// The header of llm.c's token files: 256 int32; the first three are used.
constexpr std::uint64_t llmc_header_bytes = 1024;
struct LlmcKind {
  std::int32_t magic;
  std::int32_t version;
  int width;
};
constexpr std::array<LlmcKind, 2> llmc_kinds = {{{20240520, 1, 2}, {20240801, 7, 4}}};

constexpr std::array<std::pair<std::string_view, TokenFormat>, 4> format_names = {
    {{"text", TokenFormat::text},
     {"u16", TokenFormat::u16},
     {"u32", TokenFormat::u32},
     {"llmc", TokenFormat::llmc}}};

struct Start {
  std::array<std::int32_t, 3> words{};
  std::uint64_t bytes = 0;  // of the file
};

Result<Start> read_start(const DiskFile& file) {
  const auto size = file.size();
  if (!size) return size.error();
  Start start{.bytes = *size};
  const auto words = std::as_writable_bytes(std::span(start.words));
  const std::size_t n = std::min<std::size_t>(words.size(), *size);
  if (auto read = file.read(0, words.first(n)); !read) return read.error();
  return start;
}

const LlmcKind* llmc_kind(const Start& start) {
  const auto* kind = std::ranges::find(llmc_kinds, start.words[0], &LlmcKind::magic);
  return kind == llmc_kinds.end() ? nullptr : kind;
}

// gzip and zstd files are not text.
bool is_compressed(const Start& start) {
  const auto first = static_cast<std::uint32_t>(start.words[0]);
  return start.bytes >= 4 && ((first & 0xffffU) == 0x8b1fU || first == 0xfd2fb528U);
}

struct LlmcTokens {
  int width = 0;
  std::int64_t count = 0;
};
Result<LlmcTokens> llmc_tokens(const std::string& path, const Start& start) {
  const LlmcKind* kind = llmc_kind(start);
  if (start.bytes < llmc_header_bytes || kind == nullptr) {
    return Error{.what = "is not a token file of llm.c",
                 .file = path,
                 .byte = 0,
                 .hint = "say its format: text, u16 or u32"};
  }
  if (start.words[1] != kind->version) {
    return Error{.what = "version " + std::to_string(start.words[1]) +
                         " of llm.c's token files is not known",
                 .file = path,
                 .byte = 4,
                 .hint = "write version " + std::to_string(kind->version)};
  }
  const LlmcTokens tokens{.width = kind->width, .count = start.words[2]};
  const std::int64_t there =
      static_cast<std::int64_t>(start.bytes - llmc_header_bytes) / tokens.width;
  if (tokens.count < 0 || tokens.count > there) {
    return Error{.what = "the file ends after " + std::to_string(there) + " of " +
                         std::to_string(tokens.count) + " tokens",
                 .file = path,
                 .byte = start.bytes,
                 .hint = "the file is cut: write or copy it again"};
  }
  return tokens;
}

Error too_small_vocabulary(const std::string& path, std::int64_t vocabulary) {
  return {.what = "text needs a vocabulary of 256, one token a byte; the model's has " +
                  std::to_string(vocabulary),
          .file = path,
          .hint = "choose a model with a larger vocabulary, or say the format of the tokens"};
}

// At least one if any are requested.
std::int64_t validation_of(std::int64_t samples, double share) {
  if (share <= 0) return 0;
  const double part = static_cast<double>(samples) * share;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(part));
}

// The smallest number of samples that leaves enough for training.
std::int64_t samples_needed(const DataConfig& config) {
  const double about = static_cast<double>(config.least_samples - 1) / (1 - config.validation);
  std::int64_t n = std::max<std::int64_t>(1, static_cast<std::int64_t>(about) - 2);
  while (n - validation_of(n, config.validation) < config.least_samples) ++n;
  return n;
}

}  // namespace

std::optional<TokenFormat> token_format(std::string_view name) {
  const auto* it =
      std::ranges::find(format_names, name, &std::pair<std::string_view, TokenFormat>::first);
  if (it == format_names.end()) return std::nullopt;
  return it->second;
}

Result<TokenData::File> TokenData::open_file(const std::string& path, const DataConfig& config) {
  auto opened = DiskFile::open(path);
  if (!opened) return opened.error();
  File file{.file = *std::move(opened)};
  const auto start = read_start(file.file);
  if (!start) return start.error();
  file.format = config.format.value_or(
      start->bytes >= llmc_header_bytes && llmc_kind(*start) != nullptr ? TokenFormat::llmc
                                                                        : TokenFormat::text);
  switch (file.format) {
    case TokenFormat::text:
      if (is_compressed(*start)) {
        return Error{
            .what = "is compressed", .file = path, .byte = 0, .hint = "decompress it first"};
      }
      if (config.vocabulary < end_of_text) return too_small_vocabulary(path, config.vocabulary);
      file.ends = config.vocabulary > end_of_text;
      file.tokens = static_cast<std::int64_t>(start->bytes) + (file.ends ? 1 : 0);
      break;
    case TokenFormat::u16:
    case TokenFormat::u32: {
      file.width = file.format == TokenFormat::u16 ? 2 : 4;
      const auto width = static_cast<std::uint64_t>(file.width);
      if (start->bytes % width != 0) {
        return Error{.what = "the last token is cut: " + std::to_string(start->bytes) +
                             " bytes are no multiple of " + std::to_string(width),
                     .file = path,
                     .byte = start->bytes / width * width,
                     .hint = "check the width of the tokens"};
      }
      file.tokens = static_cast<std::int64_t>(start->bytes / width);
      break;
    }
    case TokenFormat::llmc: {
      const auto tokens = llmc_tokens(path, *start);
      if (!tokens) return tokens.error();
      file.width = tokens->width;
      file.tokens = tokens->count;
      file.data = llmc_header_bytes;
      break;
    }
  }
  return file;
}

Result<Done> TokenData::count_samples() {
  const std::int64_t t = config_.sample_tokens;
  for (File& file : files_) {
    file.first_sample = samples_;
    tokens_ += file.tokens;
    samples_ += std::max<std::int64_t>(file.tokens - 1, 0) / t;
  }
  validation_samples_ = validation_of(samples_, config_.validation);
  if (samples_ - validation_samples_ >= config_.least_samples) return Done{};
  const std::int64_t needed = samples_needed(config_);
  return Error{.what = "too few tokens: " + std::to_string(tokens_) + " in " +
                       std::to_string(files_.size()) + (files_.size() == 1 ? " file" : " files") +
                       " hold " + std::to_string(samples_) + " samples of " + std::to_string(t) +
                       " tokens; " + std::to_string(config_.least_samples) +
                       " are needed for a step and " +
                       std::to_string(validation_of(needed, config_.validation)) +
                       " for validation, at least " + std::to_string(needed * t + 1) + " tokens",
               .file = config_.paths.front(),
               .hint = "use more text, a smaller batch or a shorter sequence"};
}

Result<TokenData> TokenData::open(const DataConfig& config) {
  check(config.sample_tokens > 0 && config.least_samples > 0, "a step reads something");
  check(config.validation >= 0 && config.validation < 1, "a share of the samples");
  if (config.paths.empty()) {
    return Error{.what = "no file of tokens is named", .hint = "give --data FILE"};
  }
  TokenData data(config);
  for (const std::string& path : config.paths) {
    auto file = open_file(path, config);
    if (!file) return file.error();
    data.files_.push_back(*std::move(file));
  }
  if (auto counted = data.count_samples(); !counted) return counted.error();
  return data;
}

std::int64_t TokenData::samples(Split split) const {
  return split == Split::validation ? validation_samples_ : samples_ - validation_samples_;
}

std::int64_t TokenData::sample_at(Split split, std::uint64_t place) const {
  const auto n = static_cast<std::uint64_t>(samples(split));
  check(n > 0, "the split has samples");
  const std::uint64_t epoch = place / n;
  std::uint64_t sample = place % n;
  if (split == Split::train && config_.shuffle) {
    const std::uint64_t key = config_.seed * 0x9e3779b97f4a7c15ULL ^ epoch;
    sample = Permutation(n, key)(sample);
  }
  return static_cast<std::int64_t>(sample);
}

Result<Done> TokenData::read_tokens(const File& file, std::int64_t first,
                                    std::span<std::int32_t> tokens) const {
  std::array<std::byte, 8192> part{};
  const auto width = static_cast<std::size_t>(file.width);
  std::int64_t at = first;
  while (!tokens.empty()) {
    if (file.ends && at == file.tokens - 1) {
      tokens.front() = end_of_text;
      return Done{};
    }
    const std::int64_t in_file = file.tokens - (file.ends ? 1 : 0) - at;
    const std::size_t n =
        std::min({tokens.size(), part.size() / width, static_cast<std::size_t>(in_file)});
    const std::uint64_t offset = file.data + static_cast<std::uint64_t>(at) * width;
    if (auto read = file.file.read(offset, std::span(part).first(n * width)); !read)
      return read.error();
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t token = 0;
      std::memcpy(&token, part.data() + i * width, width);  // little-endian, as the file
      if (token >= static_cast<std::uint64_t>(config_.vocabulary)) {
        return Error{.what = "token " + std::to_string(token) + " is not below the vocabulary of " +
                             std::to_string(config_.vocabulary),
                     .file = file.file.path(),
                     .byte = offset + i * width,
                     .hint =
                         "choose the model whose tokenizer wrote the file, and check the width "
                         "of the tokens"};
      }
      tokens[i] = static_cast<std::int32_t>(token);
    }
    tokens = tokens.subspan(n);
    at += static_cast<std::int64_t>(n);
  }
  return Done{};
}

Result<Done> TokenData::read(Split split, std::uint64_t first, std::span<std::int32_t> inputs,
                             std::span<std::int32_t> targets) const {
  const auto t = static_cast<std::size_t>(config_.sample_tokens);
  check(inputs.size() == targets.size() && inputs.size() % t == 0, "whole samples are read");
  for (std::size_t i = 0; i * t < inputs.size(); ++i) {
    std::int64_t sample = sample_at(split, first + i);
    if (split == Split::validation) sample += samples(Split::train);
    // The last file that begins at or before the sample. A file without samples begins at the same
    // number.
    const auto after = std::ranges::upper_bound(files_, sample, {}, &File::first_sample);
    const File& file = *std::prev(after);
    const std::int64_t token = (sample - file.first_sample) * config_.sample_tokens;
    const auto in = inputs.subspan(i * t, t);
    const auto out = targets.subspan(i * t, t);
    if (auto read = read_tokens(file, token, in); !read) return read.error();
    std::copy(in.begin() + 1, in.end(), out.begin());
    if (auto read = read_tokens(file, token + config_.sample_tokens, out.last(1)); !read)
      return read.error();
  }
  return Done{};
}

}  // namespace stepscope::zero
