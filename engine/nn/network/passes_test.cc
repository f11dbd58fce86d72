// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/passes.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/nn/network/presets.h"
#include "engine/nn/network/units.h"

namespace stepscope::nn {
namespace {

NetworkConfig small(bool tied) {
  NetworkConfig c = network_preset("gpt2-tiny").value();
  c.layers = 3;
  c.tied = tied;
  return c;
}

std::string text(const std::vector<Pass>& passes) {
  constexpr std::array<std::string_view, 6> kinds = {"embed",     "block",    "head",
                                                     "recompute", "backward", "embed_backward"};
  std::string out;
  for (const Pass& p : passes) {
    out += std::string{kinds[static_cast<std::size_t>(p.kind)]} + "@" + std::to_string(p.unit);
    if (p.writes_gradient) out += p.first_gradient ? "+" : "&";
    if (p.last_gradient) out += "!";
    out += " ";
  }
  return out;
}

// "+" first contribution to the unit's gradient, "&" a further one, "!" the last.
TEST(Passes, ListAStep) {
  EXPECT_EQ(text(training_passes(small(true), {})),
            "embed@0 block@1 block@2 block@3 head@0+ backward@3+! backward@2+! backward@1+! "
            "embed_backward@0&! ");
  EXPECT_EQ(text(training_passes(small(false), {Recompute::full})),
            "embed@0 block@1 block@2 block@3 head@4+! recompute@3 backward@3+! recompute@2 "
            "backward@2+! recompute@1 backward@1+! embed_backward@0+! ");
  EXPECT_EQ(text(training_passes(small(true), {Recompute::every_k, 2})),
            "embed@0 block@1 block@2 block@3 head@0+ backward@3+! recompute@2 backward@2+! "
            "backward@1+! embed_backward@0&! ");
  EXPECT_EQ(text(evaluation_passes(small(true))), "embed@0 block@1 block@2 block@3 head@0 ");
}

TEST(Passes, CompleteEachUnitOnce) {
  for (const NamedPreset& preset : network_presets()) {
    std::vector<int> first(network_units(preset.config).size());
    std::vector<int> last(first.size());
    for (const Pass& pass : training_passes(preset.config, {Recompute::selective})) {
      EXPECT_TRUE(pass.training);
      if (pass.first_gradient) {
        EXPECT_EQ(first[pass.unit]++, 0);
      }
      if (pass.writes_gradient) {
        EXPECT_EQ(first[pass.unit], 1);
      }
      if (pass.last_gradient) {
        EXPECT_EQ(last[pass.unit]++, 0);
      }
    }
    for (const int count : last) EXPECT_EQ(count, 1) << preset.name;
    for (const Pass& pass : evaluation_passes(preset.config)) {
      EXPECT_FALSE(pass.training || pass.writes_gradient);
    }
  }
}

}  // namespace
}  // namespace stepscope::nn
