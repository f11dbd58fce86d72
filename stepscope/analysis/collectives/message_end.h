// SPDX-License-Identifier: Apache-2.0
// When a message on a host thread had come. A gloo row lasts from the call to send or receive
// until the thread collects it with wait(), which may be long after the message came: the thread
// computed meanwhile, or was late itself. A message that somebody waits for takes a usual time from
// the later of its two calls: 0.1 to 0.5 ms on one host, up to 6 ms where threads lack cores (nine
// recorded pipelines and rings). One that is collected later than that had come before.
//
// gloo's messages over TCP go when both sides have called (a notice of the send, a notice of the
// receive, then the data), so neither ends before the other has begun.
#pragma once

#include <span>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// Sets CollectiveCall::end of complete messages of host threads, never later than the row ends. The
// usual time is the 90th percentile of the messages whose thread shows no operator from the later
// call until the row ends. Without 8 such messages it is the lower quartile of all, for those whose
// thread shows an operator meanwhile. Instants must be on one time axis. O(rows of the threads with
// messages).
void settle_message_ends(std::span<const RankView> views, CollectiveMatches& matches);

}  // namespace stepscope
