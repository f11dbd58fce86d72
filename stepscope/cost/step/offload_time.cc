// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/offload_time.h"

#include <algorithm>
#include <optional>
#include <string>

namespace stepscope {
namespace {

class Needs {
 public:
  explicit Needs(const Machine& machine) : machine_(machine) {}

  double rate(const std::optional<ByteRate>& value, std::string_view field, std::string_view why) {
    if (value) return value->value;
    if (!error_) {
      error_ = Error{.what = "machine \"" + machine_.name + "\" lacks " + std::string(field) +
                             ", which a plan with " + std::string(why) + " needs",
                     .hint = "give it in a machine file (--machine FILE)"};
    }
    return 1;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const Machine& machine_;
  std::optional<Error> error_;
};

// The slower of link and drive; 0 where nothing moves.
double through(Residence place, double link, double drive) {
  if (place == Residence::device) return 0;
  return place == Residence::host ? link : std::min(link, drive);
}

}  // namespace

Result<OffloadRates> offload_rates(const Machine& machine, const Plan& plan) {
  OffloadRates rates;
  const auto on = [&plan](Residence r) {
    return plan.optimizer_at == r || plan.gradients_at == r || plan.parameters_at == r;
  };
  if (!on(Residence::host) && !on(Residence::nvme)) return rates;
  Needs needs(machine);
  const Host host = machine.host.value_or(Host{});
  const Nvme nvme = machine.nvme.value_or(Nvme{});
  rates.link = needs.rate(host.per_direction, "host.gb_per_s_per_direction", "offload");
  if (plan.optimizer_at != Residence::device) {
    rates.host_memory =
        needs.rate(host.memory_rate, "host.memory_gb_per_s", "the optimizer on the host");
  }
  if (on(Residence::nvme)) {
    rates.nvme_read = needs.rate(nvme.read, "nvme.read_gb_per_s", "states on NVMe");
    rates.nvme_write = needs.rate(nvme.write, "nvme.write_gb_per_s", "states on NVMe");
  }
  if (needs.error()) return *needs.error();
  rates.fetch = through(plan.parameters_at, rates.link, rates.nvme_read);
  rates.drain = through(plan.gradients_at, rates.link, rates.nvme_write);
  return rates;
}

OptimizerTime optimizer_time(const ComputeModel& compute, const OffloadRates& rates,
                             const Plan& plan, double owned) {
  const Precision& p = plan.precision;
  const double bytes = owned * optimizer_bytes(p);
  const double fixed = of(compute, ComputeParameter::optimizer_us) * 1e-6;
  if (plan.optimizer_at == Residence::device) {
    OptimizerTime time{.update = memory_time(compute, bytes).count() + fixed};
    if (rates.drain > 0) time.moves += owned * p.accumulated_gradient_bytes / rates.link;
    if (rates.fetch > 0) time.moves += owned * p.parameter_bytes / rates.link;
    return time;
  }
  OptimizerTime time{.update = bytes / rates.host_memory + fixed};
  if (plan.gradients_at == Residence::device) {
    time.moves += owned * p.accumulated_gradient_bytes / rates.link;
  }
  if (plan.parameters_at == Residence::device) time.moves += owned * p.parameter_bytes / rates.link;
  if (plan.optimizer_at == Residence::nvme) {
    const double states = owned * (p.master_bytes + p.optimizer_state_bytes);
    time.moves += states / rates.nvme_read + states / rates.nvme_write;
  }
  return time;
}

}  // namespace stepscope
