// SPDX-License-Identifier: Apache-2.0
// `stepscope live`: its flags, the request that they make, and where its result goes.
#include "stepscope/verbs/live/live_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/output_file.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/metrics/metrics_output.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/inputs/measuring_flags.h"
#include "stepscope/verbs/live/live.h"
#include "stepscope/verbs/live/live_json.h"
#include "stepscope/verbs/live/live_metrics.h"
#include "stepscope/verbs/live/live_page.h"
#include "stepscope/verbs/live/live_sentence.h"
#include "stepscope/verbs/live/live_text.h"
#include "stepscope/verbs/live/on_event.h"

namespace stepscope {

namespace {

struct LiveFlags {
  LiveRequest request;
  std::string json{};
  std::string open_metrics{};  // a file
  std::string serve{};         // PORT or ADDRESS:PORT
  std::string token_file{};
  std::vector<std::pair<std::string, std::string>> on{};  // event, command
  bool plain = false;
};

void declare(CLI::App& app, LiveFlags& f) {
  app.description(
      "Follows a running job by the files that it writes: step times, late ranks, waiting apart "
      "from transfer, silent ranks, stuck collectives.");
  app.add_option("SOURCES", f.request.sources,
                 "Directories or files that the job writes to: NCCL Inspector's JSON lines, files "
                 "of stepscope's NCCL plugin, training logs, torchtitan's structured logs, the "
                 "file of stepscope train --metrics (FILE.prom), what ncclras -f json wrote "
                 "(FILE.ras.json); or HOST:PORT of the RAS service of an NCCL job")
      ->required()
      ->type_name("PATH");
  declare_log_pattern(app, f.request.log_pattern);
  app.add_flag("--once", f.request.once, "Read what is there, show it, and end")->group("Watching");
  declare_json(app, f.json);
  as_seconds(app.add_option("--interval", f.request.interval_s, "Time between two readings"), 0.05,
             3600)
      ->group("Watching");
  as_seconds(app.add_option("--silent", f.request.limits.silent_s,
                            "Time without a line after which a rank is silent"),
             0.1, 86400)
      ->group("Watching");
  as_seconds(
      app.add_option("--stuck", f.request.limits.stuck_s,
                     "Time after which a collective that only some ranks have left is stuck"),
      0.1, 86400)
      ->group("Watching");
  as_seconds(app.add_option("--for", f.request.for_s, "End after this time; 0s: never"), 0, 1e9)
      ->group("Watching");
  app.add_option("--on", f.on,
                 "Run this command once per event: slowdown (late, slower, longer_transfers), "
                 "silence (silent, stands_still), stuck (also unresponsive), restarted, or any; "
                 "STEPSCOPE_EVENT, STEPSCOPE_SENTENCE, STEPSCOPE_RANKS, STEPSCOPE_HOST and "
                 "STEPSCOPE_STEP tell it which")
      ->type_name("EVENT CMD")
      ->group("Watching");
  app.add_option("--openmetrics", f.open_metrics,
                 "Keep this file, which a node exporter may read (its textfile collector), up to "
                 "date")
      ->type_name("FILE")
      ->group("Outputs");
  app.add_option("--serve", f.serve,
                 "Serve /metrics, /state.json and a page on this port of localhost, or of the "
                 "address before it")
      ->type_name("[ADDRESS:]PORT")
      ->group("Outputs");
  app.add_option("--token-file", f.token_file,
                 "The first line of this file is asked of clients of --serve (Authorization: "
                 "Bearer, or ?token=); required for addresses other than 127.0.0.1")
      ->type_name("FILE")
      ->group("Outputs");
  app.add_flag("--plain", f.plain, "Lines instead of a view that is drawn over")->group("Outputs");
  mark_common(app, {"--once", "--json", "--on", "--openmetrics", "--serve"});
  app.footer("stepscope live /shared/job42 --on slowdown 'echo \"$STEPSCOPE_SENTENCE\" >> alerts'");
}

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

// Null without --serve.
Result<std::unique_ptr<TextEndpoint>> open_endpoint(const LiveFlags& flags) {
  if (flags.serve.empty()) return std::unique_ptr<TextEndpoint>();
  const auto target = metrics_target(flags.serve);
  if (!target) return target.error();
  if (!target->port)
    return Error{.what = "--serve " + flags.serve + " is no port",
                 .hint = "write PORT or ADDRESS:PORT",
                 .code = ErrorCode::refused};
  EndpointOptions options{.address = target->address, .port = *target->port};
  if (!flags.token_file.empty()) {
    auto token = read_token(flags.token_file);
    if (!token) return token.error();
    options.token = std::move(*token);
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
  // The last line of `--plain` is the job as it was read last.
  void end() {
    screen_.reset();
    print_text(unprinted_);
    std::fflush(stdout);
  }
  Failures& failures() { return failures_; }

 private:
  void print(const LiveView& view) {
    if (flags_.request.once) {
      print_text(live_text(view, text_options(), lines_of_once));
      return;
    }
    for (const LiveEvent& e : view.events)
      print_text(fmt::format("{:.1f} s{}: {}\n", e.at - view.since,
                             e.step >= 0 ? fmt::format(", step {}", e.step) : std::string(),
                             say(event_in_words(e))));
    unprinted_ = live_line(view);
    if (printed_ >= 0 && view.now - printed_ < line_every_s) return;
    printed_ = view.now;
    print_text(std::exchange(unprinted_, {}));
  }

  const LiveFlags& flags_;
  EventCommands commands_;
  std::unique_ptr<TextEndpoint> endpoint_;
  Failures failures_;
  std::unique_ptr<OtherScreen> screen_;
  double printed_ = -1;
  std::string unprinted_{};  // the line of the last view, unless it was printed
};

int answer(const LiveFlags& flags) {
  auto commands = EventCommands::make(flags.on);
  if (!commands) return refused(commands.error());
  auto endpoint = open_endpoint(flags);
  if (!endpoint) return refused(endpoint.error());
  if (*endpoint) say("stepscope: serving http://{}/\n", (*endpoint)->place());
  Faces faces(flags, std::move(*commands), std::move(*endpoint));
  Progress progress{.failed = [&](const Error& e) { faces.failures().add(e); },
                    .stop = &stop_on_signals(WhenSlow::finishes)};
  const auto result =
      live(flags.request, [&](const LiveView& view) { return faces.show(view); }, progress);
  faces.end();
  if (!result) return ended(result.error(), faces.failures());
  flush_output(faces.failures());
  return faces.failures().any() ? exit_failed : exit_done;
}

Result<Answer> answer_once(const LiveFlags& flags, const Progress& progress) {
  auto follower = LiveFollower::open(flags.request);
  if (!follower) return wrong_request(follower.error());
  std::vector<Error> failures;
  Progress collecting = progress;
  collecting.failed = [&](const Error& error) { failures.push_back(error); };
  auto view = follower->read(true, collecting);
  if (!view) return view.error();
  const auto seen = std::make_shared<const std::pair<LiveFollower, LiveView>>(std::move(*follower),
                                                                              std::move(*view));
  return Answer{.tree = [seen] { return live_tree(seen->second); },
                .text =
                    [seen](const TextOptions& options) {
                      return live_text(seen->second, options, lines_of_once);
                    },
                .failures = std::move(failures)};
}

VerbRun declare_live(CLI::App& app) {
  const auto flags = std::make_shared<LiveFlags>();
  declare(app, *flags);
  return {.command = [flags] { return answer(*flags); },
          .answer = [flags](const Progress& progress) { return answer_once(*flags, progress); }};
}

}  // namespace

Result<LiveFollower> follow_job(const std::vector<std::string>& arguments) {
  CLI::App app;
  LiveFlags flags;
  declare(app, flags);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return wrong_request({.what = error.what()});
  }
  auto follower = LiveFollower::open(flags.request);
  if (!follower) return wrong_request(follower.error());
  return follower;
}

extern const Verb live_verb{"live", "Follow a running job: step times, late and silent ranks",
                            "Understand a run", "how-to/watch-a-running-job.md", declare_live};

}  // namespace stepscope
