// SPDX-License-Identifier: Apache-2.0
// Text dumps of all threads at one moment: `py-spy dump` (innermost frame first), Python's
// faulthandler, and gdb's `thread apply all bt`. Each thread is one sample.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

bool is_thread_line(std::string_view line) {
  if (line.starts_with("Current thread 0x")) return true;
  constexpr std::string_view thread = "Thread ";
  if (!line.starts_with(thread)) return false;
  line.remove_prefix(thread.size());
  const std::size_t end = line.find(' ');
  return end != std::string_view::npos && end > 0 && line[0] >= '0' && line[0] <= '9' &&
         line.substr(end).starts_with(" (");
}

// `  File "x.py", line 12 in func` → "func (x.py:12)".
bool faulthandler_frame(std::string_view line, std::string& frame) {
  constexpr std::string_view file = "File \"";
  constexpr std::string_view behind = "\", line ";
  constexpr std::string_view in = " in ";
  if (!line.starts_with(file)) return false;
  const std::size_t end = line.find(behind);
  if (end == std::string_view::npos) return false;
  const std::size_t function = line.find(in, end);
  if (function == std::string_view::npos) return false;
  const std::size_t number = end + behind.size();
  frame.assign(line.substr(function + in.size()));
  frame += " (";
  frame += line.substr(file.size(), end - file.size());
  frame += ':';
  frame += line.substr(number, function - number);
  frame += ')';
  return true;
}

// "#8  0x00007f in ncclGroupEnd () from /x/libnccl.so.2" → "ncclGroupEnd (libnccl.so.2)", "#3  poll
// (fds=0x7f) at /x/poll.c:29" → "poll (/x/poll.c:29)".
bool gdb_frame(std::string_view line, std::string& frame) {
  if (!line.starts_with('#')) return false;
  const std::size_t number = line.find_first_not_of("0123456789", 1);
  if (number == 1 || number == std::string_view::npos || line[number] != ' ') return false;
  std::string_view call = trimmed(line.substr(number));
  if (call.starts_with("0x")) {
    const std::size_t in = call.find(" in ");
    if (in == std::string_view::npos) return false;
    call.remove_prefix(in + 4);
  }
  const std::size_t arguments = call.find(" (");
  if (arguments == 0 || arguments == std::string_view::npos) return false;
  const std::string_view rest = call.substr(arguments);
  frame.assign(call.substr(0, arguments));
  if (const std::size_t at = rest.rfind(" at "); at != std::string_view::npos) {
    frame.append(" (").append(rest.substr(at + 4)).append(")");
  } else if (const std::size_t from = rest.rfind(" from "); from != std::string_view::npos) {
    const std::string_view library = rest.substr(from + 6);
    frame.append(" (").append(library.substr(library.rfind('/') + 1)).append(")");  // npos + 1 is 0
  }
  return true;
}

class DumpReader {
 public:
  explicit DumpReader(ProfileBuilder& into) : into_(into) {}

  void line(std::string_view text) {
    const std::string_view words = trimmed(text);
    if (text.starts_with("Process ")) {
      end_thread();
      begin_process(text.substr(0, std::min(text.find(": "), text.size())));
      return;
    }
    if (is_thread_line(text)) {
      end_thread();
      // A dump whose header is not there. Without any header each main thread is of another.
      if (main_seen_ && !process_.empty() && is_main_thread(text)) begin_process(header_);
      main_seen_ = main_seen_ || is_main_thread(text);
      thread(text);
      return;
    }
    if (words.empty()) return;
    if (open_ && gdb_frame(text, frame_)) {
      frames_.push_back(into_.strings.intern(frame_));
      return;
    }
    const bool indented = text.front() == ' ' || text.front() == '\t';
    if (!open_ || !indented) {
      ++other_;
      return;
    }
    if (faulthandler_frame(words, frame_)) {
      frames_.push_back(into_.strings.intern(frame_));
    } else if (locals(text, words)) {
      return;
    } else if (words.ends_with(')') && words.find(" (") != std::string_view::npos) {
      frames_.push_back(into_.strings.intern(words));
    } else {
      ++other_;
    }
  }

  void finish() {
    end_thread();
    into_.note("lines_that_are_no_frame", other_);
    into_.note("lines_of_local_variables", locals_);
    into_.note("threads_without_frames", empty_);
  }

 private:
  static bool is_main_thread(std::string_view text) { return contains(text, "\"MainThread\""); }

  // Each dump is of another process, also with the same number: in a container it is often 1.
  void begin_process(std::string_view header) {
    header_ = header;
    main_seen_ = false;
    const std::uint64_t dumps = ++dumps_[header_];
    process_ = dumps > 1 ? header_ + " (" + std::to_string(dumps) + ")" : header_;
  }

  // "Arguments:", "Locals:" and their contents, which are indented deeper than the frames.
  bool locals(std::string_view text, std::string_view words) {
    const std::size_t indent = text.size() - trimmed_front(text).size();
    if (words == "Arguments:" || words == "Locals:") {
      locals_indent_ = indent;
      ++locals_;
      return true;
    }
    if (locals_indent_ > 0 && indent > locals_indent_) {
      ++locals_;
      return true;
    }
    locals_indent_ = 0;
    return false;
  }
  static std::string_view trimmed_front(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    return text;
  }

  void thread(std::string_view text) {
    open_ = true;
    frames_.clear();
    locals_indent_ = 0;
    const std::size_t quote = text.find('"');
    const std::size_t last = text.rfind('"');
    const std::size_t open = text.find(" (");
    std::string name(text.substr(0, std::min(open, text.size())));
    if (quote != std::string_view::npos && last > quote) {
      name += ' ';
      name += text.substr(quote, last - quote + 1);
    }
    thread_ = into_.thread(process_, name);
  }

  void end_thread() {
    if (!open_) return;
    open_ = false;
    if (frames_.empty()) ++empty_;
    std::uint32_t node = thread_;
    for (std::size_t i = frames_.size(); i-- > 0;) node = into_.tree.child(node, frames_[i]);
    into_.tree.add(node, 1);
    ++into_.input.stacks;
  }

  ProfileBuilder& into_;
  std::string header_;  // "Process 12"
  std::string process_;
  std::map<std::string, std::uint64_t> dumps_;  // by header
  bool main_seen_ = false;                      // in this process
  std::string frame_;
  std::vector<StringId> frames_;  // innermost first
  std::uint32_t thread_ = 0;
  std::size_t locals_indent_ = 0;
  bool open_ = false;
  std::uint64_t other_ = 0;
  std::uint64_t locals_ = 0;
  std::uint64_t empty_ = 0;
};

}  // namespace

bool is_thread_dump(std::string_view head) {
  bool thread = false;
  for (int lines = 0; !head.empty() && lines < 200; ++lines) {
    const std::string_view line = take_line(head);
    std::string frame;
    const std::string_view words = trimmed(line);
    if (thread && gdb_frame(line, frame)) return true;
    if (thread && line.starts_with(' ') &&
        (faulthandler_frame(words, frame) ||
         (words.ends_with(')') && words.find(" (") != std::string_view::npos)))
      return true;
    thread = is_thread_line(line) || (thread && line.starts_with(' '));
  }
  return thread;
}

Result<Done> read_thread_dump(ByteSource& source, ProfileBuilder& into) {
  return read_lines<DumpReader>(source, into);
}

}  // namespace stepscope
