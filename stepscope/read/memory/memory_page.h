// SPDX-License-Identifier: Apache-2.0
// The pages that torch.cuda._memory_viz writes (trace_plot, segment_plot, profile_plot): each file
// in them is a pickle in base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Whether a file that begins so may be such a page.
[[nodiscard]] bool is_page(std::string_view head);

// Base64 with or without padding; nullopt for any other character.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

// The bytes of the files in a page, in its order; one that is cut or broken is left out. None where
// the page holds no files.
[[nodiscard]] std::vector<std::string> files_in_page(std::string_view page);

}  // namespace stepscope
