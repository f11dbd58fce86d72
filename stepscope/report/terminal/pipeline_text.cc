// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/pipeline_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/diagnose/stage_means.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_stages = 16;

}  // namespace

std::string pipeline_text(const JobResult& job, std::size_t width) {
  if (!job.pipeline) return {};
  const std::vector<StageMean> stages = stage_means(job);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < stages.size() && rows.size() < most_stages; ++s) {
    const StageMean& m = stages[s];
    if (m.ranks == 0) continue;
    rows.push_back({std::to_string(s),
                    m.ranks == 1 ? std::to_string(m.rank) : fmt::format("{} of them", m.ranks),
                    format_time(m.work), signed_or_dash(m.bubble()),
                    m.wall > 0 ? format_percent(m.bubble() / m.wall) : "-", signed_or_dash(m.fill),
                    signed_or_dash(m.between), signed_or_dash(m.drain), signed_or_dash(m.idle),
                    signed_or_dash(m.message), signed_or_dash(m.wait), signed_or_dash(m.schedule),
                    signed_or_dash(m.imbalance), signed_or_dash(m.links), signed_or_dash(m.rest)});
  }
  std::string title = "Pipeline bubble a step (" + say(shape_words(*job.pipeline));
  if (const auto share = schedule_share(*job.pipeline))
    title += fmt::format("; stages all alike would idle {} of their work", format_percent(*share));
  std::string text = wrapped(title + ")", width) + text_table({{"stage"},
                                                               {"rank"},
                                                               {"work"},
                                                               {"bubble"},
                                                               {"of both"},
                                                               {"fill"},
                                                               {"between"},
                                                               {"drain"},
                                                               {"idle"},
                                                               {"in messages"},
                                                               {"waiting"},
                                                               {"schedule"},
                                                               {"imbalance"},
                                                               {"links"},
                                                               {"rest"}},
                                                              rows, width);
  if (rows.size() == most_stages && stages.size() > most_stages)
    text += fmt::format("  … and {} more\n", stages.size() - most_stages);
  return text;
}

}  // namespace stepscope
