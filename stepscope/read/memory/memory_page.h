// SPDX-License-Identifier: Apache-2.0
// The HTML pages of torch.cuda._memory_viz (trace_plot, segment_plot, profile_plot). Each file in
// them is a pickle in base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Whether a file with these first bytes may be such a page.
[[nodiscard]] bool is_page(std::string_view head);

// Decodes base64 with or without padding; nullopt for any other character.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

// The bytes of the files in a page, in its order. A truncated or damaged one is left out. Empty if
// the page holds no files.
[[nodiscard]] std::vector<std::string> files_in_page(std::string_view page);

}  // namespace stepscope
