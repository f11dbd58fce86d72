// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bars/bar_work.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

struct WorkWord {
  std::string_view word;
  const char* note;
  bool whole = false;  // else a word that begins so
};

constexpr const char* of_validation = "lines_of_validation_bars";
constexpr const char* of_loading = "lines_of_loading_bars";
constexpr const char* of_data = "lines_of_data_bars";
constexpr const char* of_saving = "lines_of_saving_bars";

// Lightning (tqdm_progress.py), transformers ("Loading checkpoint shards"), huggingface_hub
// ("Fetching 5 files"), datasets ("Map (num_proc=8)", "Generating train split"), TRL ("Packing
// train dataset"), Ultralytics ("Class Images Instances Box(P R mAP50").
constexpr std::array work_words = {
    WorkWord{"valid", of_validation},     WorkWord{"val", of_validation, true},
    WorkWord{"eval", of_validation},      WorkWord{"test", of_validation, true},
    WorkWord{"testing", of_validation},   WorkWord{"predict", of_validation},
    WorkWord{"sanity", of_validation},    WorkWord{"map50", of_validation},
    WorkWord{"inference", of_validation}, WorkWord{"load", of_loading},
    WorkWord{"download", of_loading},     WorkWord{"fetch", of_loading},
    WorkWord{"upload", of_saving},        WorkWord{"sav", of_saving},
    WorkWord{"merging", of_saving},       WorkWord{"writing", of_saving},
    WorkWord{"tokeniz", of_data},         WorkWord{"tokenis", of_data},
    WorkWord{"preprocess", of_data},      WorkWord{"map", of_data, true},
    WorkWord{"filter", of_data},          WorkWord{"caching", of_data},
    WorkWord{"cache", of_data},           WorkWord{"generating", of_data},
    WorkWord{"packing", of_data},         WorkWord{"truncating", of_data},
    WorkWord{"extracting", of_data},      WorkWord{"applying", of_data},
    WorkWord{"adding", of_data},          WorkWord{"converting", of_data},
    WorkWord{"casting", of_data},         WorkWord{"flattening", of_data},
    WorkWord{"grouping", of_data},        WorkWord{"shuffling", of_data},
};

// Whether a letter joins words: "eval.py", "/data/test", "val_loss=0.3".
bool joins_words(char c) { return std::string_view("_./\\-=").find(c) != std::string_view::npos; }

// "val loss 0.31" is a number that a bar shows.
bool is_figure(std::string_view behind) {
  const std::string_view next = trimmed(behind);
  constexpr std::array figures = {"loss", "acc", "err", "score", "metric", "ppl"};
  return std::ranges::any_of(figures, [&](const char* f) { return next.starts_with(f); });
}

}  // namespace

const char* other_work(std::string_view description) {
  bool training = false;
  for (std::size_t at = 0; at < description.size();) {
    std::size_t end = at;
    while (end < description.size() && is_alphanumeric(description[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const bool joined = (at > 0 && joins_words(description[at - 1])) ||
                        (end < description.size() && joins_words(description[end]));
    const std::string word = lower_case(description.substr(at, end - at));
    at = end;
    if (joined) continue;
    training = training || word.starts_with("train");
    for (const WorkWord& w : work_words) {
      if (w.whole ? word != w.word : !word.starts_with(w.word)) continue;
      if (w.note == of_validation && (training || is_figure(description.substr(end)))) continue;
      return w.note;
    }
  }
  return nullptr;
}

}  // namespace stepscope
