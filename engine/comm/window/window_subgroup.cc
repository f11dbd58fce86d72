// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>

#include "engine/comm/window/window_group.h"

namespace stepscope::comm {
namespace {

// A rank's message to the others while a subgroup is made.
struct Offer {
  std::uint64_t ranks_hash = 0;
  // From the first named rank: its Window, or its descriptor if the ranks are processes.
  const std::shared_ptr<Window>* shared = nullptr;
  std::int64_t window = -1;
  std::int32_t process = 0;
  std::int32_t failed = 0;
  std::array<char, 200> why{};
};

std::uint64_t hash_of(std::span<const int> ranks, std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (const int rank : ranks) add(static_cast<std::uint64_t>(rank));
  for (const char c : name) add(static_cast<unsigned char>(c));
  return hash;
}

void set_failed(Offer& offer, const Error& error) {
  offer.failed = 1;
  const std::string text = error.message();
  std::copy_n(text.begin(), std::min(text.size(), offer.why.size()), offer.why.begin());
}

Result<std::vector<Offer>> exchange(Communicator& comm, const Offer& own) {
  std::vector<Offer> all(static_cast<std::size_t>(comm.size()));
  CollectiveRequest request;
  request.kind = CollectiveKind::all_gather;
  request.in = std::as_bytes(std::span(&own, 1));
  request.out = std::as_writable_bytes(std::span(all));
  request.what = "making a subgroup";
  if (const auto done = wait_for(comm, comm.submit(request)); !done) return done.error();
  return all;
}

std::optional<Error> offers_fault(std::span<const Offer> offers) {
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (offers[r].ranks_hash != offers[0].ranks_hash) {
      return Error{.what = "rank " + std::to_string(r) + " and rank 0 named different subgroups",
                   .hint = "all ranks must call subgroup() with the same arguments"};
    }
    if (offers[r].failed != 0) {
      return Error{.what = "rank " + std::to_string(r) + " cannot make the subgroup: " +
                           std::string(text_of({offers[r].why.data(), offers[r].why.size()}))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> ranks_fault(std::span<const int> ranks, int size) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  const bool fits = !sorted.empty() && sorted.front() >= 0 && sorted.back() < size;
  if (fits && std::ranges::adjacent_find(sorted) == sorted.end()) return std::nullopt;
  return Error{.what = "a subgroup of a group of " + std::to_string(size) +
                       " names different ranks of it, at least one",
               .hint = "ranks count within the group that is split"};
}

// The subgroup's window at all ranks that the subgroup names, null at the others. All ranks call
// it.
Result<std::shared_ptr<Window>> WindowGroup::shared_window(std::span<const int> ranks,
                                                           std::string_view name) {
  WindowShape shape = window_.shape();
  shape.ranks = ranks.size();
  const bool named = std::ranges::find(ranks, setup_.rank) != ranks.end();
  std::shared_ptr<Window> window;
  int descriptor = -1;
  Offer own{.ranks_hash = hash_of(ranks, name)};
  if (ranks.front() == setup_.rank) {
    if (setup_.processes) {
      const auto segment = make_segment(shape);
      if (segment) descriptor = *segment;
      own.window = descriptor;
      own.process = ::getpid();
      if (!segment) set_failed(own, segment.error());
    } else {
      auto made = Window::create(shape);
      if (made) window = *made;
      own.shared = &window;
      if (!made) set_failed(own, made.error());
    }
  }
  const auto close_segment = [descriptor] {
    if (descriptor >= 0) ::close(descriptor);
  };
  auto offers = exchange(*this, own);
  std::optional<Error> fault = offers ? offers_fault(*offers) : offers.error();
  if (fault) {
    close_segment();
    return *fault;
  }
  const Offer& first = (*offers)[static_cast<std::size_t>(ranks.front())];
  Offer outcome{.ranks_hash = own.ranks_hash};
  if (named && setup_.processes) {
    auto mapped =
        descriptor >= 0 ? Window::map(descriptor) : open_window(first.process, first.window);
    if (mapped) {
      window = *mapped;
      RankControl& control =
          window->control(static_cast<int>(std::ranges::find(ranks, setup_.rank) - ranks.begin()));
      control.pid = ::getpid();
      control.state = RankState::joined;
    } else {
      set_failed(outcome, mapped.error());
    }
  } else if (named && window == nullptr) {
    window = *first.shared;
  }
  offers = exchange(*this, outcome);  // before the first rank releases its offer
  close_segment();
  fault = offers ? offers_fault(*offers) : offers.error();
  if (fault) return *fault;
  return window;
}

Result<std::unique_ptr<Communicator>> WindowGroup::subgroup(std::span<const int> ranks,
                                                            std::string_view name) {
  if (failure_) return *failure_;
  if (auto fault = ranks_fault(ranks, ranks_)) return *fault;
  auto window = shared_window(ranks, name);
  if (!window) return window.error();
  if (*window == nullptr) return std::unique_ptr<Communicator>();
  WindowGroupSetup setup;
  setup.window = *window;
  setup.rank = static_cast<int>(std::ranges::find(ranks, setup_.rank) - ranks.begin());
  setup.name = name;
  setup.deadline = setup_.deadline;
  setup.processes = setup_.processes;
  setup.spin = setup_.spin;
  return std::unique_ptr<Communicator>(std::make_unique<WindowGroup>(std::move(setup)));
}

}  // namespace stepscope::comm
