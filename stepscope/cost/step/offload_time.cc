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

// The slower of link and drive; 0 if nothing moves.
double through(Residence place, double link, double drive) {
  if (place == Residence::device) return 0;
  return place == Residence::host ? link : std::min(link, drive);
}

}  // namespace

Result<OffloadRates> offload_rates(const Machine& machine, const Plan& plan) {
  OffloadRates rates;
  const auto on = [&plan](Residence r) {
    return plan.memory.optimizer_at == r || plan.memory.gradients_at == r ||
           plan.memory.parameters_at == r;
  };
  if (!on(Residence::host) && !on(Residence::nvme)) return rates;
  Needs needs(machine);
  const Host host = machine.host.value_or(Host{});
  const Nvme nvme = machine.nvme.value_or(Nvme{});
  rates.link = needs.rate(host.per_direction, "host.gb_per_s_per_direction", "offload");
  if (plan.memory.optimizer_at != Residence::device) {
    rates.host_memory =
        needs.rate(host.memory_rate, "host.memory_gb_per_s", "the optimizer on the host");
  }
  if (on(Residence::nvme)) {
    rates.nvme_read = needs.rate(nvme.read, "nvme.read_gb_per_s", "states on NVMe");
    rates.nvme_write = needs.rate(nvme.write, "nvme.write_gb_per_s", "states on NVMe");
  }
  if (needs.error()) return *needs.error();
  rates.fetch = through(plan.memory.parameters_at, rates.link, rates.nvme_read);
  rates.drain = through(plan.memory.gradients_at, rates.link, rates.nvme_write);
  return rates;
}

template <formula::Number N>
OptimizerTime<N> optimizer_time(const ComputeModel& compute, const OffloadRates& rates,
                                const Plan& plan, double owned) {
  using formula::byte_rate;
  using formula::bytes;
  const Precision& p = plan.precision;
  const N all = formula::count<N>(owned, "owned parameters");
  N passed = all * optimizer_bytes<N>(p);
  const N fixed =
      formula::seconds<N>(of(compute, ComputeParameter::optimizer_us) * 1e-6, "optimizer_us");
  const N link = byte_rate<N>(rates.link, "link rate");
  const bool stays = plan.memory.optimizer_at == Residence::device;
  N moves = formula::seconds<N>(0);
  // Gradients move to the optimizer and parameters come back, unless they are already there.
  if (stays ? rates.drain > 0 : plan.memory.gradients_at == Residence::device)
    moves = moves + all * bytes<N>(p.accumulated_gradient_bytes, "A") / link;
  if (stays ? rates.fetch > 0 : plan.memory.parameters_at == Residence::device)
    moves = moves + all * bytes<N>(p.parameter_bytes, "P") / link;
  if (plan.memory.optimizer_at == Residence::nvme) {
    const N states = all * (bytes<N>(p.master_bytes, "M") + bytes<N>(p.optimizer_state_bytes, "O"));
    moves = moves + (states / byte_rate<N>(rates.nvme_read, "NVMe read rate") +
                     states / byte_rate<N>(rates.nvme_write, "NVMe write rate"));
  }
  if (!stays) return {passed / byte_rate<N>(rates.host_memory, "host memory rate") + fixed, moves};
  if (const double more = of(compute, ComputeParameter::optimizer); more != 1)
    passed = passed * formula::count<N>(more, "optimizer");
  const N rate =
      byte_rate<N>(compute.memory_rate, "memory rate") *
      formula::count<N>(of(compute, ComputeParameter::memory_efficiency), "memory_efficiency");
  return {passed / rate + fixed, moves};
}

template OptimizerTime<double> optimizer_time<double>(const ComputeModel&, const OffloadRates&,
                                                      const Plan&, double);
template OptimizerTime<Formula> optimizer_time<Formula>(const ComputeModel&, const OffloadRates&,
                                                        const Plan&, double);

}  // namespace stepscope
