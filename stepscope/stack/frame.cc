// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/frame.h"

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// " [0x36a] [36a]" or " [0x36a]" at the end.
void take_instruction(Frame& f) {
  std::string_view rest = f.function;
  const auto bracket = [&]() -> std::string_view {
    if (!rest.ends_with(']')) return {};
    const std::size_t open = rest.rfind(" [");
    if (open == std::string_view::npos || open == 0) return {};
    const std::string_view inside = rest.substr(open + 2, rest.size() - open - 3);
    rest = rest.substr(0, open);
    return inside;
  };
  std::string_view inside = bracket();
  std::string_view second;
  if (!inside.starts_with("0x") && number_of<std::uint32_t>(inside, 16)) {
    second = inside;
    inside = bracket();
  }
  if (!inside.starts_with("0x")) return;
  const auto unit = number_of<std::uint32_t>(inside.substr(2), 16);
  if (!unit || (!second.empty() && number_of<std::uint32_t>(second, 16) != unit)) return;
  f.instruction = unit;
  f.function = rest;
  f.kind = FrameKind::python;
}

bool is_python_file(std::string_view file) {
  return file.ends_with(".py") || file.ends_with(".pyx") || file.starts_with("<frozen") ||
         file == "<string>" || file.starts_with("<ipython");
}

// Takes " (file:12)", " (file)" or " (python) [file:12]" off the end, but not a function's
// arguments.
void take_file(Frame& f) {
  char close = ')';
  char open = '(';
  if (f.function.ends_with(']')) {
    close = ']';
    open = '[';
  }
  if (!f.function.ends_with(close)) return;
  int depth = 0;
  std::size_t at = f.function.size();
  while (at > 0) {
    --at;
    if (f.function[at] == close) ++depth;
    if (f.function[at] == open && --depth == 0) break;
  }
  if (depth != 0 || at == 0 || f.function[at - 1] != ' ') return;
  std::string_view inside = f.function.substr(at + 1, f.function.size() - at - 2);
  const std::size_t colon = inside.rfind(':');
  int line = 0;
  if (colon != std::string_view::npos)
    if (const auto n = number_of<std::uint32_t>(inside.substr(colon + 1), 10);
        n && *n < 100'000'000) {
      line = static_cast<int>(*n);
      inside = inside.substr(0, colon);
    }
  if (inside == "python") return;  // "name (python)" has no file
  f.function = f.function.substr(0, at - 1);
  f.file = inside;
  f.line = line;
  take_suffix(f.function, " (python)");
}

// "file.py:function:12" from Austin.
void take_austin(Frame& f) {
  const std::size_t last = f.function.rfind(':');
  if (last == std::string_view::npos || last == 0) return;
  const auto line = number_of<std::uint32_t>(f.function.substr(last + 1), 10);
  const std::size_t first = f.function.rfind(':', last - 1);
  if (!line || first == std::string_view::npos || *line >= 100'000'000) return;
  if (!is_python_file(f.function.substr(0, first))) return;
  f.file = f.function.substr(0, first);
  f.line = static_cast<int>(*line);
  f.function = f.function.substr(first + 1, last - first - 1);
}

bool is_address(std::string_view text) {
  return text.starts_with("0x") && text.size() > 2 &&
         text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

}  // namespace

Frame frame_of(std::string_view text) {
  Frame f{.function = text};
  if (take_suffix(f.function, "_[k]") || take_suffix(f.function, " [k]")) {
    f.kind = FrameKind::kernel;
    return f;
  }
  if (!take_suffix(f.function, "_[i]")) take_suffix(f.function, "_[j]");
  if (take_suffix(f.function, " [py]")) f.kind = FrameKind::python;
  take_instruction(f);
  if (!f.instruction) {
    constexpr std::string_view in = "[unknown] in ";
    if (f.function.starts_with(in))
      return {.function = f.function.substr(0, 9),
              .file = f.function.substr(in.size()),
              .kind = FrameKind::unknown};
    take_file(f);
    if (f.file.empty()) take_austin(f);
  }
  if (is_python_file(f.file) || f.function.find("<locals>") != std::string_view::npos ||
      f.function.starts_with("py::"))
    f.kind = FrameKind::python;
  if (f.function.starts_with("py::")) f.function.remove_prefix(4);
  if (f.file.starts_with("[kernel") || f.file.starts_with("[guest.kernel") ||
      f.file.ends_with(".ko"))
    f.kind = FrameKind::kernel;
  if (f.function.empty() || f.function == "[unknown]" || f.function == "unknown" ||
      is_address(f.function))
    f.kind = FrameKind::unknown;
  return f;
}

std::optional<std::string> without_address(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  const Frame f = frame_of(text);
  if (!is_address(f.function)) return std::nullopt;
  std::string out = "[unknown]";
  if (!f.file.empty() && f.file != "?") out.append(" (").append(f.file).append(")");
  return out;
}

std::string one_underscore(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text)
    if (c != '_' || out.empty() || out.back() != '_') out += c;
  return out;
}

std::string place_of_frame(const Frame& f) {
  std::string text(f.function);
  if (f.file.empty()) return text;
  text += " (";
  text += f.file;
  return text + ')';
}

}  // namespace stepscope
