// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_process.h"

#include <limits>

namespace stepscope {

StringId NsysProcess::name(const NsysTexts& texts, std::int64_t id, StringId otherwise) {
  const std::uint32_t place = texts.place(id);
  if (place == NsysTexts::none) return otherwise;
  if (names.size() <= place) names.resize(texts.size(), unmapped);
  StringId& mapped = names[place];
  if (mapped == unmapped) mapped = trace.strings.intern(texts[place]);
  return mapped;
}

SliceId NsysProcess::add(NsysExport& nsys, Slice slice, std::int64_t start,
                         std::optional<std::int64_t> end) {
  ++trace.notes.events;
  if (start < nsys_earliest || start > nsys_latest) {
    nsys.note("timestamp_out_of_range");
    return no_slice;
  }
  slice.start = Ns{start};
  if (end) {
    // Both are checked against the bounds, so their difference is bounded too.
    const bool sane = *end >= nsys_earliest && *end <= nsys_latest;
    const std::int64_t dur = sane ? *end - start : -1;
    if (dur < 0 || dur > nsys_longest)
      nsys.note(sane && dur < 0 ? "negative_duration" : "duration_out_of_range");
    else
      slice.dur = Ns{dur};
  } else {
    // The range was still open at the end of the capture.
    nsys.note("open_at_the_end");
    if (nsys.duration && nsys.duration->count() > start && start >= 0)
      slice.dur = Ns{nsys.duration->count() - start};
  }
  return append(trace, slice);
}

TrackId NsysProcess::track(bool device, std::int64_t of_pid, std::int64_t tid) {
  const Key key{device, of_pid, tid};
  if (key == last_key_ && index(last_track_) != no_row) return last_track_;
  const auto [at, fresh] =
      tracks_.try_emplace(key, TrackId{static_cast<std::uint32_t>(trace.tracks.size())});
  if (fresh) {
    Track track{.pid = of_pid, .tid = tid, .device = device};
    if (device) {
      track.device_index = static_cast<std::int32_t>(of_pid);
      track.process_name = trace.strings.intern("GPU " + std::to_string(of_pid));
      track.thread_name = trace.strings.intern("stream " + std::to_string(tid));
    }
    trace.tracks.push_back(track);
  }
  last_key_ = key;
  last_track_ = at->second;
  return last_track_;
}

NsysProcess& NsysProcesses::get(std::uint64_t global_pid) {
  if (NsysProcess* known = find(global_pid)) return *known;
  all_.push_back(std::make_unique<NsysProcess>());
  last_ = all_.back().get();
  last_->global_pid = global_pid;
  last_->trace.metadata.format = "nsys";
  by_pid_.emplace(global_pid, last_);
  return *last_;
}

NsysProcess* NsysProcesses::find(std::uint64_t global_pid) {
  if (last_ != nullptr && last_->global_pid == global_pid) return last_;
  const auto at = by_pid_.find(global_pid);
  if (at == by_pid_.end()) return nullptr;
  return last_ = at->second;
}

}  // namespace stepscope
