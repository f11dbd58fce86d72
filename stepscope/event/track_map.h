// SPDX-License-Identifier: Apache-2.0
// Merges the tracks of several traces of one rank. Equal pid, tid and device mean one track.
#pragma once

#include <unordered_map>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

class TrackMap {
 public:
  // New tracks are appended to `tracks`, which must outlive this.
  explicit TrackMap(std::vector<Track>& tracks);
  // The id of each track of `more`. Its texts are mapped through `strings` (by StringId).
  std::vector<TrackId> add(const std::vector<Track>& more, const std::vector<StringId>& strings);

 private:
  struct Hash {
    std::size_t operator()(const Track& t) const;
  };
  struct Equal {
    bool operator()(const Track& a, const Track& b) const;
  };
  std::vector<Track>& tracks_;
  std::unordered_map<Track, TrackId, Hash, Equal> places_;
};

}  // namespace stepscope
