// SPDX-License-Identifier: Apache-2.0
#include "stepscope/metrics/metrics_output.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "stepscope/base/number_text.h"
#include "stepscope/base/output_file.h"

namespace stepscope {
namespace {

constexpr const char* no_metrics = "# EOF\n";
void wake(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(event, &one, sizeof one);
}

// Also at "/", for people who try the port in a browser.
std::vector<ServedText> metrics_texts(std::string text) {
  const std::string type(openmetrics_type);
  std::vector<ServedText> texts;
  texts.push_back({.path = "/", .type = type, .text = text});
  texts.push_back({.path = "/metrics", .type = type, .text = std::move(text)});
  return texts;
}

}  // namespace

Result<MetricsTarget> metrics_target(std::string_view text) {
  MetricsTarget target;
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const bool number =
      !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!number || text.find('/') != std::string_view::npos) {
    if (text.empty())
      return Error{.what = "no place for the metrics", .hint = "give a port or a file name"};
    target.file = text;
    return target;
  }
  const auto port = leading_number<unsigned>(digits);
  if (!port || *port > 65535)
    return Error{.what = std::string(digits) + " is no port",
                 .hint = "ports are 0 to 65535; write ./" + std::string(digits) + " for a file"};
  target.port = static_cast<std::uint16_t>(*port);
  if (colon != std::string_view::npos) target.address = text.substr(0, colon);
  return target;
}

Result<std::unique_ptr<MetricsOutput>> MetricsOutput::open(const MetricsTarget& target) {
  std::unique_ptr<MetricsOutput> out(new MetricsOutput);
  if (target.port) {
    auto endpoint =
        TextEndpoint::open({.address = target.address, .port = *target.port, .token = target.token},
                           metrics_texts(no_metrics));
    if (!endpoint) return endpoint.error();
    out->endpoint_ = std::move(*endpoint);
    return out;
  }
  auto written = write_file(target.file, no_metrics);
  if (!written) return written.error();
  out->file_ = target.file;
  out->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (out->wake_ < 0)
    return Error{.what = "cannot make an eventfd: " + std::generic_category().message(errno),
                 .hint = "raise the limit of open files (ulimit -n)"};
  out->thread_ = std::thread([writer = out.get()] { writer->write(); });
  return out;
}

MetricsOutput::~MetricsOutput() {
  stop_.store(true);
  if (thread_.joinable()) {
    wake(wake_);
    thread_.join();
  }
  if (wake_ >= 0) ::close(wake_);
  const std::unique_ptr<std::string> unwritten(fresh_.exchange(nullptr));
  const std::unique_ptr<Error> error(error_.exchange(nullptr));
}

void MetricsOutput::publish(std::string text) {
  if (endpoint_) return endpoint_->publish(metrics_texts(std::move(text)));
  auto next = std::make_unique<std::string>(std::move(text));
  const std::unique_ptr<std::string> unwritten(fresh_.exchange(next.release()));
  wake(wake_);
}

std::optional<Error> MetricsOutput::take_error() {
  const std::unique_ptr<Error> error(error_.exchange(nullptr));
  return error ? std::optional(*error) : std::nullopt;
}

void MetricsOutput::write_fresh() {
  const std::unique_ptr<std::string> fresh(fresh_.exchange(nullptr));
  if (!fresh) return;
  const auto written = write_file(file_, *fresh);
  if (std::exchange(failing_, !written) || written) return;
  auto error = std::make_unique<Error>(written.error());
  const std::unique_ptr<Error> before(error_.exchange(error.release()));
}

void MetricsOutput::write() {
  pollfd ready{wake_, POLLIN, 0};
  while (!stop_.load()) {
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) break;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    write_fresh();
  }
  write_fresh();
}

}  // namespace stepscope
