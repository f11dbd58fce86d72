// SPDX-License-Identifier: Apache-2.0
// The values of flags have one syntax over all verbs: counts, numbers, times as 20ms, shares as 5%,
// sizes as 25MB, words of a list. Each function takes an option that has been declared and returns
// it: it sets the type name, a check whose one line says how to write the value, and the default,
// which is the value of the option's variable unless that lies outside the range (0 or an empty
// text: not given).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

// A whole number.
CLI::Option* as_count(CLI::Option* option, std::int64_t least = 1,
                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
// Any finite number from `least` to `most`.
CLI::Option* as_number(CLI::Option* option, double least, double most);
// A finite number above 0.
CLI::Option* as_positive(CLI::Option* option);
// "5%"; the variable gets 0.05. The bounds are such fractions. A number without % is multiplied by
// `bare`: 1 reads 0.05 as a fraction, 0.01 reads 5 as percent.
CLI::Option* as_share(CLI::Option* option, double least, double most, double bare = 1);
// "20ms", "3s"; a number without unit counts seconds, and the variable gets seconds. The bounds are
// seconds.
CLI::Option* as_seconds(CLI::Option* option, double least, double most);
// "25MB", "16MiB"; the variable gets the text.
CLI::Option* as_size(CLI::Option* option);
CLI::Option* as_choice(CLI::Option* option, const std::vector<std::string>& words);

// "20ms", "-0.25s", "1700000000.123456789s", exactly; units ns, us, ms, s. Empty where the text is
// no time, has more digits than whole nanoseconds, or is too large.
[[nodiscard]] std::optional<Ns> parse_duration(std::string_view text);

}  // namespace stepscope
