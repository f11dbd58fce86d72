// SPDX-License-Identifier: Apache-2.0
// A communicator that passes every call on; decorators derive from it.
#pragma once

#include <memory>
#include <utility>

#include "engine/comm/communicator/communicator.h"

namespace stepscope::comm {

class Forwarding : public Communicator {
 public:
  explicit Forwarding(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override {
    return inner_->submit(request);
  }
  [[nodiscard]] Result<bool> test(Ticket ticket) override { return inner_->test(ticket); }
  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override {
    return inner_->wait(ticket);
  }
  void set_deadline(Ns deadline) override { inner_->set_deadline(deadline); }
  [[nodiscard]] Result<std::unique_ptr<Communicator>> subgroup(std::span<const int> ranks,
                                                               std::string_view name) override {
    auto made = inner_->subgroup(ranks, name);
    if (!made || *made == nullptr) return made;
    return decorate(std::move(*made));
  }
  [[nodiscard]] std::string flight_record() const override { return inner_->flight_record(); }

 protected:
  // The same decoration for a subgroup.
  [[nodiscard]] virtual std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const = 0;
  [[nodiscard]] Communicator& inner() const { return *inner_; }

 private:
  std::unique_ptr<Communicator> inner_;
};

}  // namespace stepscope::comm
