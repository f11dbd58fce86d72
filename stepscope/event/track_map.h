// SPDX-License-Identifier: Apache-2.0
// Tracks of several traces of one rank, found again by what makes them equal.
#pragma once

#include <unordered_map>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

class TrackMap {
 public:
  // Further tracks are appended to `tracks`, which must outlive this.
  explicit TrackMap(std::vector<Track>& tracks);
  // The place of each of `more`; its texts are read through `strings` (by StringId).
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
