// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_tracks.h"

#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/base/proto_wire.h"

namespace stepscope {
namespace {

// No trace nests tracks deeper. The limit also ends a cycle of parents.
constexpr int deepest_track = 32;
// More than any recorded trace has. Each track costs half a kilobyte.
constexpr std::size_t most_tracks = 1 << 18;

constexpr std::string_view stream = "stream ";

// N from "stream N", "stream 007 ", "stream 7 (2)".
std::string_view stream_number(std::string_view name) {
  if (!name.starts_with(stream)) return {};
  name.remove_prefix(stream.size());
  std::size_t digits = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
  return digits <= 18 ? name.substr(0, digits) : std::string_view();
}

std::optional<std::int64_t> described_row(std::string_view description) {
  constexpr std::string_view tid = "tid ";
  if (!description.starts_with(tid)) return std::nullopt;
  description.remove_prefix(tid.size());
  return number_of<std::int64_t>(description);
}

}  // namespace

RawValue PerfettoTrack::pid() const { return raw_value(pid_text, pid_kind); }
RawValue PerfettoTrack::tid() const { return raw_value(tid_text, tid_kind); }

PerfettoTrack* PerfettoTracks::track_of(std::uint64_t uuid) {
  const auto at = tracks_.find(uuid);
  if (at != tracks_.end()) return &at->second;
  if (tracks_.size() >= most_tracks) return nullptr;
  PerfettoTrack& track = tracks_[uuid];
  track.number = static_cast<std::uint32_t>(tracks_.size());
  return &track;
}

void PerfettoTracks::describe(std::string_view message) {
  std::uint64_t uuid = 0;
  PerfettoTrack t;
  std::string_view process_name;
  std::string_view thread_name;
  for (ProtoFields f(message); f.next();) switch (f.field()) {
      case 1:
        uuid = f.number();
        break;
      case 5:
        t.parent = f.number();
        break;
      case 2:
      case 10:
      case 13:
        t.name = f.bytes();
        break;
      case 3:
        t.process = 0;
        for (ProtoFields g(f.bytes()); g.next();) {
          if (g.field() == 1) t.process = static_cast<std::int32_t>(g.number());
          if (g.field() == 6) process_name = g.bytes();
        }
        break;
      case 4:
        t.thread = 0;
        t.thread_process = 0;
        for (ProtoFields g(f.bytes()); g.next();) {
          if (g.field() == 1) t.thread_process = static_cast<std::int32_t>(g.number());
          if (g.field() == 2) t.thread = static_cast<std::int64_t>(g.number());
          if (g.field() == 5) thread_name = g.bytes();
        }
        break;
      case 14:
        t.row = described_row(f.bytes());
        break;
      case 8:
        t.is_counter = true;
        for (ProtoFields g(f.bytes()); g.next();) {
          if (g.field() == 4) t.unit = static_cast<double>(static_cast<std::int64_t>(g.number()));
          if (g.field() == 5) t.incremental = g.number() != 0;
        }
        break;
      default:
        break;
    }
  if (t.unit == 0) t.unit = 1;
  if (t.process && !process_name.empty()) t.name = process_name;
  if (t.thread && !thread_name.empty()) t.name = thread_name;
  PerfettoTrack* known = track_of(uuid);
  if (known == nullptr) return;
  t.number = known->number;
  t.sum = known->sum;
  t.known_as = std::move(known->known_as);
  *known = std::move(t);
  ++generation_;
}

PerfettoTrack* PerfettoTracks::find(std::uint64_t uuid, bool& fresh) {
  PerfettoTrack* track = track_of(uuid);
  fresh = false;
  if (track == nullptr || track->resolved == generation_) return track;
  resolve(*track, uuid);
  track->resolved = generation_;
  std::string name;
  for (const std::string* part :
       {&track->pid_text, &track->tid_text, &track->process_name, &track->thread_name}) {
    name += *part;
    name += '\n';
  }
  fresh = name != track->known_as;
  track->known_as = std::move(name);
  return track;
}

void PerfettoTracks::resolve(PerfettoTrack& track, std::uint64_t uuid) {
  const PerfettoTrack* thread = nullptr;
  const PerfettoTrack* process = nullptr;
  const PerfettoTrack* at = &track;
  for (int depth = 0; depth < deepest_track && at != nullptr; ++depth) {
    if (at->thread && thread == nullptr) thread = at;
    if (at->process && process == nullptr) process = at;
    if (at->parent == 0) break;
    const auto up = tracks_.find(at->parent);
    at = up == tracks_.end() ? nullptr : &up->second;
  }
  track.pid_text.assign(1, '0');
  track.tid_text.assign(1, '0');
  track.pid_kind = ValueKind::scalar;
  track.tid_kind = ValueKind::scalar;
  track.process_name = process != nullptr ? process->name : std::string();
  track.thread_name.clear();
  if (process != nullptr) track.pid_text = std::to_string(*process->process);
  if (thread != nullptr) {
    track.pid_text = std::to_string(*thread->thread_process);
    track.tid_text = std::to_string(*thread->thread);
    track.thread_name = thread->name;
  } else if (&track != process) {
    track.thread_name = track.name;
    track.tid_text =
        track.row ? std::to_string(*track.row) : std::string(stream_number(track.name));
    if (track.tid_text.empty()) {
      track.tid_text = track.name.empty() ? "track " + std::to_string(uuid) : track.name;
      track.tid_kind = ValueKind::literal;
    }
  }
}

}  // namespace stepscope
