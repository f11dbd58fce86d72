// SPDX-License-Identifier: Apache-2.0
// `stepscope live`: follows a running job in the terminal.
#include "stepscope/pipeline/live.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/flags/live_flags.h"
#include "stepscope/cli/on_event.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/live/live_json.h"
#include "stepscope/report/live/live_sentence.h"
#include "stepscope/report/live/live_text.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr double line_every_s = 60;  // between two lines of a quiet job

// The terminal's other screen, which leaves what was printed before as it was.
class OtherScreen {
 public:
  OtherScreen() { print_text("\x1b[?1049h\x1b[?25l"); }
  ~OtherScreen() {
    print_text("\x1b[?25h\x1b[?1049l");
    std::fflush(stdout);
  }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;

  static void draw(const std::string& text) {
    std::string out = "\x1b[H";
    for (const char c : text) {
      if (c == '\n') out += "\x1b[K\r";
      out += c;
    }
    print_text(out + "\x1b[J");
    std::fflush(stdout);
  }
};

class Faces {
 public:
  Faces(const LiveFlags& flags, EventCommands commands)
      : flags_(flags), commands_(std::move(commands)) {
    const bool drawn =
        !flags.plain && !flags.request.once && flags.json != "-" && ::isatty(STDOUT_FILENO) == 1;
    if (drawn) screen_ = std::make_unique<OtherScreen>();
  }

  bool show(const LiveView& view) {
    for (const Error& error : commands_.run(view.events)) failures_.add(error);
    if (screen_)
      OtherScreen::draw(live_text(view, text_options(), terminal_height() - 1));
    else if (flags_.json != "-")
      print(view);
    if (!flags_.json.empty()) write_json_text(flags_.json, json_text(live_tree(view)), failures_);
    std::fflush(stdout);
    return true;
  }
  void end() { screen_.reset(); }
  Failures& failures() { return failures_; }

 private:
  void print(const LiveView& view) {
    if (flags_.request.once) {
      constexpr std::size_t lines = 60;
      print_text(live_text(view, text_options(), lines));
      return;
    }
    for (const LiveEvent& e : view.events) print_text("event: " + event_in_words(e) + '\n');
    if (printed_ >= 0 && view.now - printed_ < line_every_s) return;
    printed_ = view.now;
    print_text(live_line(view));
  }

  const LiveFlags& flags_;
  EventCommands commands_;
  Failures failures_;
  std::unique_ptr<OtherScreen> screen_;
  double printed_ = -1;
};

int answer(const LiveFlags& flags) {
  auto commands = EventCommands::make(flags.on);
  if (!commands) return refused(commands.error());
  Faces faces(flags, std::move(*commands));
  Progress progress{.failed = [&](const Error& e) { faces.failures().add(e); },
                    .stop = &stop_on_signals()};
  const auto result =
      live(flags.request, [&](const LiveView& view) { return faces.show(view); }, progress);
  faces.end();
  if (!result) return ended(result.error(), faces.failures());
  flush_output(faces.failures());
  return faces.failures().any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_live(CLI::App& app) {
  auto flags = std::make_shared<LiveFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
