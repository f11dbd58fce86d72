// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto.h"

#include <utility>

#include "stepscope/read/perfetto/perfetto_reading.h"
#include "stepscope/read/rows/overruns.h"
#include "stepscope/read/rows/split_ranks.h"
#include "stepscope/read/rows/stray_rows.h"

namespace stepscope {
namespace {

// Number of packets between two checks of the clock and the stop flag.
constexpr std::uint64_t stride = 4096;

Error no_events(const std::string& path, std::uint64_t packets, std::uint64_t bytes) {
  return {.what = "a Perfetto trace without track events (" + std::to_string(packets) + " packets)",
          .file = path,
          .byte = bytes,
          .hint =
              "a trace of the system alone has no training step: record with torch.profiler or "
              "the Perfetto SDK"};
}

Result<std::uint64_t> read_packets(PerfettoPackets& packets, ByteSource& source,
                                   const std::string& path, const ReadControl& control,
                                   PerfettoReading& reading) {
  std::uint64_t reported = 0;
  std::uint64_t count = 0;
  for (std::string_view packet;; ++count) {
    if (count % stride == 0) {
      if (stopped(control)) return interrupted(path);
      const std::uint64_t position = source.position();
      if (control.bytes_read != nullptr) control.bytes_read->fetch_add(position - reported);
      reported = position;
    }
    const auto more = packets.next(packet, reading.notes());
    if (!more) return more.error();
    if (!*more) return count;
    reading.add(packet, packets.byte());
  }
}

}  // namespace

Result<std::vector<Trace>> read_perfetto_from(ByteSource& source, const std::string& path,
                                              const ReadControl& control) {
  PerfettoPackets packets(source, control.chunk_bytes);
  PerfettoReading reading;
  const auto count = read_packets(packets, source, path, control, reading);
  if (!count) return count.error();
  Trace trace = reading.finish();
  trace.metadata.format = "perfetto";
  trace.metadata.path = path;
  trace.metadata.text_bytes = packets.text_bytes();
  trace.metadata.file_bytes = source.position();
  if (const std::string damage = source.damage(); !damage.empty()) {
    trace.notes.truncated = true;
    trace.notes.add(source.is_cut() ? "cut_compression" : "damaged_compression",
                    packets.text_bytes());
    trace.metadata.texts["damage"] = damage;
  }
  if (trace.notes.events == 0) return no_events(path, *count, packets.text_bytes());
  drop_strays(trace);
  cut_overruns(trace);
  return split_ranks(std::move(trace));
}

}  // namespace stepscope
