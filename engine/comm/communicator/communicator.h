// SPDX-License-Identifier: Apache-2.0
// The interface between the ranks of a group: collectives with tickets, over any transport. All
// ranks of a group submit the same collectives in the same order. A rank may wait for its tickets
// at any later time and in any order. Only one thread of a rank may call at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/element.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Ranks of one host that share memory: threads or processes.
inline constexpr int most_sharing_ranks = 1024;

enum class Reduction : std::uint8_t { sum, max, min };
inline constexpr auto reduction_names = enum_names<Reduction::min>;

// One collective as one rank calls it. n = group size, r = own rank. Sizes in bytes of `in`, `out`:
//   all_reduce      in = out = S (may be the same memory)
//   reduce_scatter  in = n·S, out = S (block r of the result; may be block r of in)
//   all_gather      in = S, out = n·S (in may be block r of out)
//   broadcast       in = S at the root, out = S at all ranks (may be the same memory)
//   all_to_all      in = out = n·S: block j of in goes to block r of rank j's out
//   send            in = S, to peer         recv   out = S, from peer        barrier   no data
// Any other overlap of in and out is an error. Reductions run in rank order, ((x0+x1)+x2)+…,
// element by element. all_reduce and reduce_scatter therefore give the same bits with every
// transport, every split and in every run. bf16 is summed in f32 and rounded once; i64 and u8 wrap
// around.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::none;
  ElementType type = ElementType::u8;
  Reduction reduction = Reduction::sum;
  std::span<const std::byte> in{};
  std::span<std::byte> out{};
  int peer = -1;            // broadcast: the root; send, recv: the other rank of the group
  std::string_view what{};  // names it in errors, flight records and traces (40 characters copied)
  std::source_location where = std::source_location::current();
};

// `sequence` counts the group's collectives from 0. Sends to a rank have a channel of their own,
// and so have receives from it; each channel counts from 0.
struct Ticket {
  std::uint64_t sequence = 0;
  std::int32_t channel = -1;  // -1: collectives; 2p: sends to rank p; 2p+1: receives from rank p

  constexpr bool operator==(const Ticket&) const = default;
};

// The instants of a finished collective, on this host's CLOCK_MONOTONIC.
struct CollectiveInstants {
  Ns submitted{};
  // The submission of the last rank; absent when the transport cannot know it.
  std::optional<Ns> last_arrival{};
  Ns finished{};  // when this rank saw it finished
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;  // of the group: "world", …

  // Does not wait for other ranks. Do not change `in` or touch `out` until wait() has returned or
  // test() has returned true. Error: sizes, peer or overlap that the table above does not allow;
  // too many unfinished collectives; or the group has failed before.
  [[nodiscard]] virtual Result<Ticket> submit(const CollectiveRequest& request) = 0;
  // Makes progress without blocking. Returns true when this ticket is complete.
  [[nodiscard]] virtual Result<bool> test(Ticket ticket) = 0;
  // Blocks until this ticket is complete and makes progress on everything that was submitted.
  // Error: ranks called different collectives; a peer died, left or failed; or nothing moved until
  // the deadline. The error names rank, collective, sequence number, `what` and call site of both
  // sides. The group has then failed: every later call of every rank returns the same error.
  [[nodiscard]] virtual Result<CollectiveInstants> wait(Ticket ticket) = 0;
  // The time without progress after which test() and wait() give up. Default 60 s.
  virtual void set_deadline(Ns deadline) = 0;
  // Makes a group of these ranks (of this group), in this order. All ranks of this group call it
  // with the same arguments. Null for a rank that is not named.
  [[nodiscard]] virtual Result<std::unique_ptr<Communicator>> subgroup(std::span<const int> ranks,
                                                                       std::string_view name) = 0;
  // A JSON object of this rank's last collectives, oldest first. Each has its state (submitted,
  // arrived, done).
  [[nodiscard]] virtual std::string flight_record() const = 0;
};

// S of the request (table above) in a group of n: the bytes of one rank's block.
[[nodiscard]] Bytes collective_payload(const CollectiveRequest& request, int ranks);

template <class T>
inline constexpr std::optional<ElementType> element_type_of{};
template <>
inline constexpr std::optional<ElementType> element_type_of<float>{ElementType::f32};
template <>
inline constexpr std::optional<ElementType> element_type_of<Bf16>{ElementType::bf16};
template <>
inline constexpr std::optional<ElementType> element_type_of<double>{ElementType::f64};
template <>
inline constexpr std::optional<ElementType> element_type_of<std::int64_t>{ElementType::i64};
template <>
inline constexpr std::optional<ElementType> element_type_of<std::uint8_t>{ElementType::u8};
template <>
inline constexpr std::optional<ElementType> element_type_of<std::byte>{ElementType::u8};

// A vector, span or array whose elements a message can hold.
template <class R>
concept MessageRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       element_type_of<std::ranges::range_value_t<R>>.has_value();

namespace detail {
template <MessageRange R>
[[nodiscard]] std::span<const std::byte> message_in(R&& range) {
  return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <MessageRange R>
[[nodiscard]] std::span<std::byte> message_out(R&& range) {
  return std::as_writable_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <MessageRange R>
inline constexpr ElementType message_type = *element_type_of<std::ranges::range_value_t<R>>;
}  // namespace detail

// One line per collective: all_reduce(comm, gradients, "block 3 gradients"). To block:
// wait_for(comm, all_reduce(…)).
template <MessageRange Data>
[[nodiscard]] Result<Ticket> all_reduce(
    Communicator& comm, Data&& data, std::string_view what, Reduction reduction = Reduction::sum,
    std::source_location where = std::source_location::current()) {
  return comm.submit({CollectiveKind::all_reduce, detail::message_type<Data>, reduction,
                      detail::message_in(data), detail::message_out(data), -1, what, where});
}
template <MessageRange In, MessageRange Out>
[[nodiscard]] Result<Ticket> reduce_scatter(
    Communicator& comm, In&& in, Out&& out, std::string_view what,
    Reduction reduction = Reduction::sum,
    std::source_location where = std::source_location::current()) {
  static_assert(detail::message_type<In> == detail::message_type<Out>);
  return comm.submit({CollectiveKind::reduce_scatter, detail::message_type<In>, reduction,
                      detail::message_in(in), detail::message_out(out), -1, what, where});
}
template <MessageRange In, MessageRange Out>
[[nodiscard]] Result<Ticket> all_gather(
    Communicator& comm, In&& in, Out&& out, std::string_view what,
    std::source_location where = std::source_location::current()) {
  static_assert(detail::message_type<In> == detail::message_type<Out>);
  return comm.submit({CollectiveKind::all_gather, detail::message_type<In>, Reduction::sum,
                      detail::message_in(in), detail::message_out(out), -1, what, where});
}
template <MessageRange In, MessageRange Out>
[[nodiscard]] Result<Ticket> all_to_all(
    Communicator& comm, In&& in, Out&& out, std::string_view what,
    std::source_location where = std::source_location::current()) {
  static_assert(detail::message_type<In> == detail::message_type<Out>);
  return comm.submit({CollectiveKind::all_to_all, detail::message_type<In>, Reduction::sum,
                      detail::message_in(in), detail::message_out(out), -1, what, where});
}
template <MessageRange Data>
[[nodiscard]] Result<Ticket> broadcast(
    Communicator& comm, Data&& data, int root, std::string_view what,
    std::source_location where = std::source_location::current()) {
  return comm.submit({CollectiveKind::broadcast, detail::message_type<Data>, Reduction::sum,
                      detail::message_in(data), detail::message_out(data), root, what, where});
}
template <MessageRange In>
[[nodiscard]] Result<Ticket> send(Communicator& comm, In&& in, int peer, std::string_view what,
                                  std::source_location where = std::source_location::current()) {
  return comm.submit({CollectiveKind::send, detail::message_type<In>, Reduction::sum,
                      detail::message_in(in), std::span<std::byte>(), peer, what, where});
}
template <MessageRange Out>
[[nodiscard]] Result<Ticket> recv(Communicator& comm, Out&& out, int peer, std::string_view what,
                                  std::source_location where = std::source_location::current()) {
  return comm.submit({CollectiveKind::recv, detail::message_type<Out>, Reduction::sum,
                      std::span<const std::byte>(), detail::message_out(out), peer, what, where});
}
[[nodiscard]] Result<Ticket> barrier(Communicator& comm, std::string_view what = "barrier",
                                     std::source_location where = std::source_location::current());

// Waits for the ticket of a submission. Returns the submission's error if it has no ticket.
[[nodiscard]] Result<CollectiveInstants> wait_for(Communicator& comm, const Result<Ticket>& ticket);

// The present time of CLOCK_MONOTONIC, the clock of CollectiveInstants.
[[nodiscard]] Ns monotonic_now();

}  // namespace stepscope
