// SPDX-License-Identifier: Apache-2.0
// A rank's unfinished messages: parameters that it receives and gradients that it sends to their
// owners. Messages finish in the order of their submission, which is the same on all ranks. To wait
// for one message is to wait for all earlier ones too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/zero/engine/offload.h"
#include "engine/zero/plan/step_plan.h"
#include "engine/zero/plan/unit_memory.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// An observer of finished collectives, for a trace.
class CollectiveObserver {
 public:
  virtual ~CollectiveObserver() = default;
  virtual void collective(const CollectiveRecord& record, std::string_view what,
                          std::int64_t in_elements, std::int64_t out_elements,
                          ElementType type) noexcept = 0;
};

class Exchange {
 public:
  // All of them must outlive it. `offload`: null if everything is in memory.
  Exchange(const Plan& plan, const RankArenas& memory, Communicator& comm, RankRecorder& recorder,
           Offload* offload);

  // Sums the unit's gradient over the ranks in pieces of a bucket. Each piece waits for the bucket
  // that it reuses. At stages 1 to 3 `local` may be overwritten when this returns. At stage 0 it is
  // summed in place and must stay until await_reduced. With `add`, adds to the sums of earlier
  // micro-batches. With `last`, the sums are complete afterwards.
  [[nodiscard]] Result<Done> reduce(std::size_t unit, std::span<std::byte> local, bool add,
                                    bool last);
  [[nodiscard]] Result<Done> await_reduced(std::size_t unit);
  [[nodiscard]] Result<Done> await_all();  // messages under way
  // The largest exponent (exact_norm.h) of the reduced gradient of this rank's shard, after `last`.
  [[nodiscard]] std::int32_t largest_exponent_of(std::size_t unit) const {
    return exponents_[unit];
  }

  // Stage 3 with parameters in a file: the units that will be fetched, in order. The caller keeps
  // the list until the last fetch.
  [[nodiscard]] Result<Done> expect_fetches(std::span<const std::size_t> units);
  // Stage 3. Fetches the whole unit to `place` of gathered_units. `in_time` says whether the fetch
  // runs ahead of its use.
  [[nodiscard]] Result<Done> fetch(std::size_t unit, std::int64_t place, bool in_time);
  // The parameters of a fetched unit.
  [[nodiscard]] Result<std::span<const std::byte>> await_fetched(std::size_t unit);
  void release(std::size_t unit);

  // Stages 1 and 2: sends this rank's updated parameters of the unit and receives those of the
  // others.
  [[nodiscard]] Result<Done> gather(std::size_t unit);
  [[nodiscard]] Result<Done> await_gathered(std::size_t unit);

  // A separate collective for a few numbers.
  [[nodiscard]] Result<Done> all_reduce_now(std::span<double> values, std::string_view what);
  [[nodiscard]] Result<Done> all_reduce_now(std::span<std::int64_t> values, Reduction reduction,
                                            std::string_view what);
  [[nodiscard]] Result<Done> all_gather_now(std::span<const std::byte> own,
                                            std::span<std::byte> all, std::string_view what);

  // Whether messages may overlap other work; initially true. If not, each submission waits for its
  // message.
  void overlap(bool allowed) { overlaps_ = allowed; }

  // Makes progress on unfinished messages without waiting. The next call that returns a result
  // reports an error.
  void poll() noexcept;

  [[nodiscard]] Bytes most_gathered() const { return most_gathered_; }
  [[nodiscard]] Bytes most_buckets() const;  // the most that each ever held
  void observe(CollectiveObserver* observer) { observer_ = observer; }

 private:
  enum class MessageKind : std::uint8_t { reduce, fetch, gather };
  struct Message {
    MessageKind kind = MessageKind::reduce;
    std::size_t unit = 0;
    std::int64_t first = 0;  // index in each shard (stage 0: in the unit)
    std::int64_t count = 0;
    std::int64_t bucket = -1;
    std::int64_t slot = -1;  // of GradientStaging
    bool add = false;
    bool last = false;
    Ticket ticket{};
    CollectiveRecord record{};
    std::int64_t in_elements = 0;
    std::int64_t out_elements = 0;
  };
  struct Fetched {
    std::int64_t place = -1;
    bool arrived = false;
    bool used = false;
    bool in_time = true;
    Ns service{};
  };

  [[nodiscard]] Result<Done> reduce_in_place(std::size_t unit, std::span<std::byte> local, bool add,
                                             bool last);
  [[nodiscard]] Result<Done> submit(Message message, const CollectiveRequest& request,
                                    std::int64_t padding);
  [[nodiscard]] Result<Done> finish_oldest(Activity waiting);
  [[nodiscard]] Result<Done> finish_all();
  [[nodiscard]] Result<Done> finish(const CollectiveInstants& times, Ns stall);
  [[nodiscard]] Result<std::int64_t> take_bucket(Activity waiting);
  [[nodiscard]] std::span<std::byte> bucket(std::int64_t index, std::int64_t elements) const;
  [[nodiscard]] Result<Done> wait_small(const Result<Ticket>& ticket, CollectiveRecord record,
                                        std::string_view what, std::int64_t in_elements,
                                        std::int64_t out_elements, ElementType type);
  [[nodiscard]] Result<std::int64_t> take_slot(const Message& message);
  [[nodiscard]] Result<std::span<const std::byte>> take_block(std::size_t unit);
  [[nodiscard]] std::int64_t own_elements(const Message& message) const;
  void pack(std::span<const std::byte> whole, const Message& message);
  void unpack(const Message& message);
  [[nodiscard]] Result<Done> absorb(const Message& message);
  void absorb_in_place(const Message& message);
  void settle(const Message& message);
  [[nodiscard]] std::span<std::byte> gathered(std::size_t unit, bool padded) const;
  [[nodiscard]] std::int64_t padding_of(const Message& message) const;
  [[nodiscard]] Message& oldest() { return messages_[oldest_ % messages_.size()]; }
  [[nodiscard]] bool idle() const { return oldest_ == next_; }

  const Plan& plan_;
  const RankArenas& memory_;
  Communicator& comm_;
  RankRecorder& recorder_;
  Offload* offload_;
  CollectiveObserver* observer_ = nullptr;
  std::int64_t size_ = 4;  // bytes of an element
  std::int64_t ranks_ = 1;
  std::vector<std::string> gradient_names_;
  std::vector<std::string> parameter_names_;
  std::vector<Message> messages_;  // a ring: [oldest_, next_)
  std::uint64_t oldest_ = 0;
  std::uint64_t next_ = 0;
  std::int64_t in_buckets_ = 0;  // unfinished messages that use a bucket
  std::int64_t next_bucket_ = 0;
  std::vector<std::int64_t> filled_;     // bytes of each bucket
  std::vector<std::int64_t> reducing_;   // by unit: unfinished messages
  std::vector<std::int64_t> gathering_;  // by unit
  std::vector<Fetched> fetched_;         // by unit
  std::vector<std::int32_t> exponents_;  // by unit
  bool overlaps_ = true;
  std::optional<Error> failed_;
  Bytes gathered_now_{};
  Bytes most_gathered_{};
};

}  // namespace stepscope::zero
