// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Epoch(train)  [1][ 100/3125]  lr: 1.0000e-01  eta: 6:12:01  time: 0.0149  data_time: 0.0003
// memory: 214  loss: 2.0611" and "Iter(train) [  50/40000]  …" of mmengine, which xtuner uses, too
// (mmengine/runner/log_processor.py). "Epoch [1][50/1000]\tlr: 2.000e-02, eta: 1:02:03, time:
// 0.612, data_time: 0.012, memory: 4000, loss: 0.5" and "Iter [50/40000]\t…" of mmcv
// (mmcv/runner/hooks/logger/text.py). Times are means in seconds over a window, which usually is
// that of the lines.
constexpr std::array<LogField, 4> mmengine_fields = {{
    {" time: ", &LogRecord::wall_ns, 1e9},
    {" loss: ", &LogRecord::loss, 1, LogPlace::in_line},
    {" data_time: ", nullptr, 1e3, LogPlace::in_line},
    {" memory: ", &LogRecord::memory_bytes, mib_bytes, LogPlace::in_line},
}};
constexpr LogPattern mmengine_line(std::string_view head, std::string_view step,
                                   std::string_view epoch) {
  return {.word = head,
          .step = step,
          .epoch = epoch,
          .fields = mmengine_fields,
          .ends = " ,\t",
          .behind_step = "/",
          .shared = true};
}
constexpr std::array mmengine_lines = {mmengine_line("Epoch(train)", "][", "Epoch(train)"),
                                       mmengine_line("Iter(train) [", "Iter(train) [", ""),
                                       mmengine_line("Epoch [", "][", "Epoch ["),
                                       mmengine_line("Iter [", "Iter [", "")};

bool take_mmengine_line(const LogLine& line, LogState& state) {
  const auto* const pattern = std::ranges::find_if(
      mmengine_lines, [&](const LogPattern& p) { return contains(line.text, p.word); });
  return pattern != mmengine_lines.end() &&
         take_record(mmengine_log.tool, *pattern, line, state) != nullptr;
}

// Other programs begin their lines so, too, but do not show this time.
constexpr std::array mmengine_words = {LogWord{"data_time: ", take_mmengine_line}};

}  // namespace

const LogDialect mmengine_log = {.tool = {.name = "mmengine", .label = "mmengine, mmcv"},
                                 .words = mmengine_words,
                                 .how = "time",
                                 .means = true};

}  // namespace stepscope
