// SPDX-License-Identifier: Apache-2.0
// The id of a slice is never the id of a track.
#include "stepscope/event/trace.h"

bool same(stepscope::SliceId slice, stepscope::TrackId track) {
#ifdef MISUSE
  return slice == track;
#else
  return index(slice) == index(track);
#endif
}
