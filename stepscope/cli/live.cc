// SPDX-License-Identifier: Apache-2.0
// `stepscope live`: follows a running job in the terminal.
#include "stepscope/pipeline/live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cli/flags/live_flags.h"
#include "stepscope/cli/on_event.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/metrics/metrics_output.h"
#include "stepscope/report/live/live_json.h"
#include "stepscope/report/live/live_metrics.h"
#include "stepscope/report/live/live_page.h"
#include "stepscope/report/live/live_sentence.h"
#include "stepscope/report/live/live_text.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr unsigned most_clients = 256;
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

std::vector<ServedText> served(const std::string& metrics, const std::string& state) {
  return {{.path = "/", .type = "text/html; charset=utf-8", .text = std::string(live_page())},
          {.path = "/state.json", .type = "application/json", .text = state},
          {.path = "/metrics", .type = std::string(openmetrics_type), .text = metrics}};
}

// The first line of the file.
Result<std::string> read_token(const std::string& path) {
  auto text = read_text(path);
  if (!text) return text;
  std::string token = text->substr(0, text->find('\n'));
  if (token.ends_with('\r')) token.pop_back();
  constexpr std::size_t shortest = 16;
  if (token.size() < shortest)
    return Error{.what = "its first line has fewer than 16 characters",
                 .file = path,
                 .hint = "write a long random word into it: openssl rand -hex 32"};
  return token;
}

// Null without --serve.
Result<std::unique_ptr<TextEndpoint>> open_endpoint(const LiveFlags& flags) {
  if (flags.serve.empty()) return std::unique_ptr<TextEndpoint>();
  const auto target = metrics_target(flags.serve);
  if (!target) return target.error();
  if (!target->port)
    return Error{.what = "--serve " + flags.serve + " is no port",
                 .hint = "write PORT or ADDRESS:PORT",
                 .code = ErrorCode::refused};
  EndpointOptions options{
      .address = target->address, .port = *target->port, .most_clients = most_clients};
  if (!flags.token_file.empty()) {
    auto token = read_token(flags.token_file);
    if (!token) return token.error();
    options.token = std::move(*token);
  } else if (!target->address.starts_with("127.")) {
    return Error{
        .what = "--serve " + flags.serve + " would show the job to everybody in the network",
        .hint = "give --token-file, or serve on 127.0.0.1",
        .code = ErrorCode::refused};
  }
  return TextEndpoint::open(options, served("# EOF\n", "null\n"));
}

class Faces {
 public:
  Faces(const LiveFlags& flags, EventCommands commands, std::unique_ptr<TextEndpoint> endpoint)
      : flags_(flags), commands_(std::move(commands)), endpoint_(std::move(endpoint)) {
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
    const std::string tree =
        flags_.json.empty() && !endpoint_ ? std::string() : json_text(live_tree(view));
    if (flags_.json == "-")
      write_json_text(flags_.json, tree, failures_);
    else if (!flags_.json.empty())
      failures_.keep_repeated(flags_.json, write_report(flags_.json, tree));
    if (!flags_.open_metrics.empty())
      failures_.keep_repeated(flags_.open_metrics,
                              write_file(flags_.open_metrics, live_textfile(view)));
    if (endpoint_) endpoint_->publish(served(live_metrics(view), tree));
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
    for (const LiveEvent& e : view.events)
      print_text(fmt::format("{:.1f} s{}: {}\n", e.at - view.since,
                             e.step >= 0 ? fmt::format(", step {}", e.step) : std::string(),
                             say(event_in_words(e))));
    if (printed_ >= 0 && view.now - printed_ < line_every_s) return;
    printed_ = view.now;
    print_text(live_line(view));
  }

  const LiveFlags& flags_;
  EventCommands commands_;
  std::unique_ptr<TextEndpoint> endpoint_;
  Failures failures_;
  std::unique_ptr<OtherScreen> screen_;
  double printed_ = -1;
};

int answer(const LiveFlags& flags) {
  auto commands = EventCommands::make(flags.on);
  if (!commands) return refused(commands.error());
  auto endpoint = open_endpoint(flags);
  if (!endpoint) return refused(endpoint.error());
  if (*endpoint) say("stepscope: serving http://{}/\n", (*endpoint)->place());
  Faces faces(flags, std::move(*commands), std::move(*endpoint));
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
