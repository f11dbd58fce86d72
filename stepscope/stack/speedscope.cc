// SPDX-License-Identifier: Apache-2.0
// speedscope's JSON (https://www.speedscope.app/file-format-schema.json), also written by py-spy:
// sampled and evented profiles, one per thread. It is read as a stream. Data behind a syntax error
// is left out, with a note. Times become nanoseconds. Evented profiles that are not nested are
// mended and counted.
//
// `profiles` may precede the frames that they refer to, with keys in any order. So a profile is
// first a tree over frame numbers with weights as written. Names, unit and merging follow at the
// end.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_frames = 1 << 26;
constexpr std::size_t deepest_open = 1 << 16;

// The bytes of a source one at a time, for the parser.
class SourceIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct State {
    ByteSource* source;
    std::string buffer = std::string(1 << 16, '\0');
    std::size_t at = 0;
    std::size_t size = 0;
    std::uint64_t bytes = 0;
    std::optional<Error> error{};

    bool fill() {
      const auto got = source->read(buffer);
      if (!got) error = got.error();
      at = 0;
      size = got ? *got : 0;
      bytes += size;
      return size > 0;
    }
  };
  SourceIterator() = default;
  explicit SourceIterator(State& state) : state_(state.fill() ? &state : nullptr) {}
  reference operator*() const { return state_->buffer[state_->at]; }
  SourceIterator& operator++() {
    if (++state_->at == state_->size && !state_->fill()) state_ = nullptr;
    return *this;
  }
  SourceIterator operator++(int) {
    SourceIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const SourceIterator& other) const { return state_ == other.state_; }

 private:
  State* state_ = nullptr;
};

struct RawFrame {
  std::string name;
  std::string file{};
  std::int64_t line = 0;
};

struct Timed {
  double start;
  double duration;
  std::uint32_t node;
};

struct RawProfile {
  std::string name;
  std::string type;
  std::string unit;
  std::optional<double> start{};
  std::optional<double> end{};
  TreeBuilder tree;                    // a frame is its number + 1
  std::vector<std::uint32_t> samples;  // nodes, for sampled profiles
  std::vector<double> weights;
  std::vector<Timed> timed;
  std::uint64_t stacks = 0;
};

// Larger weights are no measured ones, and their sums would not be finite.
constexpr double most_weight = 9e18;  // in nanoseconds, bytes or the unit as written

// The current stack of an evented profile.
class Events {
 public:
  void apply(RawProfile& p, char type, double at, std::uint32_t frame, bool keep) {
    if (at < last_) {
      ++backwards_;
      at = last_;
    }
    flush(p, at, keep);
    if (type == 'O') {
      if (open_.size() >= deepest_open) {
        ++too_deep_;
        return;
      }
      const std::uint32_t parent = open_.empty() ? TreeBuilder::root : open_.back().node;
      open_.push_back({frame, p.tree.child(parent, StringId{frame + 1})});
      return;
    }
    std::size_t i = open_.size();
    while (i > 0 && open_[i - 1].frame != frame) --i;
    if (i == 0) {
      ++never_opened_;
      return;
    }
    left_open_ += open_.size() - i;
    open_.resize(i - 1);
  }
  void finish(RawProfile& p, ProfileBuilder& into, bool keep) {
    if (p.end && *p.end > last_) flush(p, *p.end, keep);
    into.note("events_out_of_order", backwards_);
    into.note("frames_closed_that_were_not_open", never_opened_);
    into.note("frames_not_closed", left_open_ + open_.size());
    into.note("stacks_too_deep", too_deep_);
    into.note("weights_too_large", too_large_);
    *this = Events();
  }

 private:
  struct Open {
    std::uint32_t frame;
    std::uint32_t node;
  };
  void flush(RawProfile& p, double at, bool keep) {
    if (!started_) {
      started_ = true;
    } else if (!open_.empty() && at > last_) {
      if (!(at - last_ <= most_weight)) {
        ++too_large_;
        last_ = at;
        return;
      }
      p.tree.add(open_.back().node, at - last_);
      ++p.stacks;
      if (keep) p.timed.push_back({last_, at - last_, open_.back().node});
    }
    last_ = at;
  }
  std::vector<Open> open_;
  double last_ = -1e300;
  bool started_ = false;
  std::uint64_t backwards_ = 0;
  std::uint64_t never_opened_ = 0;
  std::uint64_t left_open_ = 0;
  std::uint64_t too_deep_ = 0;
  std::uint64_t too_large_ = 0;
};

// The current value's key, determined by the keys on the path to it.
enum class At : std::uint8_t {
  other,
  top,
  shared,
  frames,
  frame,
  profiles,
  profile,
  samples,
  sample,
  weights,
  events,
  event
};

class Handler {
 public:
  explicit Handler(ProfileBuilder& into) : into_(into) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t v) { return number(static_cast<double>(v)); }
  bool number_unsigned(std::uint64_t v) { return number(static_cast<double>(v)); }
  bool number_float(double v, const std::string&) { return number(v); }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool key(std::string& k) {
    key_ = k;
    return true;
  }
  bool string(std::string& text) {
    switch (place()) {
      case At::frame:
        if (key_ == "name") frames_.back().name = text;
        if (key_ == "file") frames_.back().file = text;
        break;
      case At::profile:
        if (key_ == "name") profiles_.back().name = text;
        if (key_ == "type") profiles_.back().type = text;
        if (key_ == "unit") profiles_.back().unit = text;
        break;
      case At::event:
        if (key_ == "type" && text.size() == 1) event_type_ = text[0];
        break;
      case At::top:
        if (key_ == "exporter" && text.starts_with("py-spy"))
          into_.input.times = SampleTimes::gapless;
        break;
      default:
        break;
    }
    return true;
  }
  bool start_object(std::size_t) {
    At next = At::other;
    if (way_.empty()) next = At::top;
    if (place() == At::top && key_ == "shared") next = At::shared;
    if (place() == At::frames) {
      next = At::frame;
      if (frames_.size() < most_frames) frames_.emplace_back();
    }
    if (place() == At::profiles) {
      next = At::profile;
      profiles_.emplace_back();
    }
    if (place() == At::events) {
      next = At::event;
      event_type_ = 0;
      event_at_ = event_frame_ = -1;
    }
    way_.push_back(next);
    return true;
  }
  bool start_array(std::size_t) {
    At next = At::other;
    if (place() == At::shared && key_ == "frames") next = At::frames;
    if (place() == At::top && key_ == "profiles") next = At::profiles;
    if (place() == At::profile) {
      if (key_ == "samples") next = At::samples;
      if (key_ == "weights") next = At::weights;
      if (key_ == "events") next = At::events;
    }
    if (place() == At::samples) {
      next = At::sample;
      node_ = TreeBuilder::root;
      depth_ = 0;
    }
    way_.push_back(next);
    return true;
  }
  bool end_array() {
    if (place() == At::sample) profiles_.back().samples.push_back(node_);
    way_.pop_back();
    return true;
  }
  bool end_object() {
    if (place() == At::event) {
      const bool good =
          (event_type_ == 'O' || event_type_ == 'C') && is_frame(event_frame_) && event_at_has_;
      if (good)
        events_.apply(profiles_.back(), event_type_, event_at_,
                      static_cast<std::uint32_t>(event_frame_), into_.keep_samples);
      else
        ++bad_events_;
      event_at_has_ = false;
    }
    if (place() == At::profile) end_profile();
    way_.pop_back();
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) {
    failed_at_ = byte;
    return false;
  }

  void finish() {
    if (!profiles_.empty() && std::ranges::find(way_, At::profile) != way_.end()) {
      if (place() == At::sample) ++cut_samples_;
      end_profile();
    }
    into_.note("samples_cut_off", cut_samples_);
    into_.note("events_without_type_time_or_frame", bad_events_);
    into_.note("frames_that_are_no_number", bad_frames_);
    for (RawProfile& p : profiles_) merge(p);
    into_.note("frames_without_a_name", unnamed_);
    into_.note("samples_without_a_weight", unweighted_);
    into_.note("profiles_of_another_unit_left_out", other_units_);
    into_.note("weights_below_zero", negative_);
    into_.note("weights_too_large", too_large_);
    if (failed_at_) {
      into_.input.truncated = true;
      into_.note(
          std::string("not JSON from byte ").append(std::to_string(*failed_at_)).append(" on"));
    }
  }
  [[nodiscard]] bool saw_profiles() const { return !profiles_.empty(); }

 private:
  [[nodiscard]] At place() const { return way_.empty() ? At::other : way_.back(); }
  static bool is_frame(double v) {
    return v >= 0 && v < static_cast<double>(most_frames) && v == std::floor(v);
  }

  bool number(double v) {
    switch (place()) {
      case At::frame:
        if (key_ == "line" && v >= 0 && v < 1e9) frames_.back().line = static_cast<std::int64_t>(v);
        break;
      case At::profile:
        if (key_ == "startValue") profiles_.back().start = v;
        if (key_ == "endValue") profiles_.back().end = v;
        break;
      case At::sample:
        sample_frame(v);
        break;
      case At::weights:
        profiles_.back().weights.push_back(v);
        break;
      case At::event:
        if (key_ == "at" && std::isfinite(v)) {
          event_at_ = v;
          event_at_has_ = true;
        }
        if (key_ == "frame") event_frame_ = v;
        break;
      default:
        break;
    }
    return true;
  }
  void sample_frame(double v) {
    if (!is_frame(v)) {
      ++bad_frames_;
    } else if (depth_++ < deepest_open) {
      node_ = profiles_.back().tree.child(node_, StringId{static_cast<std::uint32_t>(v) + 1});
    }
  }

  // Sampled profiles: each sample has its weight, or one if the file has no weights.
  void end_profile() {
    RawProfile& p = profiles_.back();
    events_.finish(p, into_, into_.keep_samples);
    const bool weighted = !p.weights.empty();
    double at = p.start.value_or(0);
    for (std::size_t i = 0; i < p.samples.size(); ++i) {
      if (weighted && i >= p.weights.size()) {
        unweighted_ += p.samples.size() - i;
        break;
      }
      const double w = weighted ? p.weights[i] : 1;
      if (!(w >= 0 && w <= most_weight)) {
        ++(w > most_weight ? too_large_ : negative_);
        continue;
      }
      p.tree.add(p.samples[i], w);
      ++p.stacks;
      if (into_.keep_samples && weighted) p.timed.push_back({at, w, p.samples[i]});
      at += w;
    }
    p.samples.clear();
    p.samples.shrink_to_fit();
    p.weights.clear();
    p.weights.shrink_to_fit();
  }

  StringId frame_id(std::uint32_t number) {
    if (ids_.size() <= number) ids_.resize(std::size_t{number} + 1, empty_string);
    if (ids_[number] != empty_string) return ids_[number];
    std::string text = std::string("frame ").append(std::to_string(number));
    if (number < frames_.size() && !frames_[number].name.empty()) {
      const RawFrame& f = frames_[number];
      text = f.name;
      if (!f.file.empty()) {
        text += " (" + f.file;
        if (f.line > 0) text.append(":").append(std::to_string(f.line));
        text += ")";
      }
    } else {
      ++unnamed_;
    }
    return ids_[number] = into_.strings.intern(text);
  }

  void merge(RawProfile& p) {
    if (p.stacks == 0) return;
    double factor = 1;
    WeightUnit unit = WeightUnit::other;
    if (p.unit == "seconds") factor = 1e9;
    if (p.unit == "milliseconds") factor = 1e6;
    if (p.unit == "microseconds") factor = 1e3;
    if (p.unit.ends_with("seconds")) unit = WeightUnit::nanoseconds;
    if (p.unit == "bytes") unit = WeightUnit::bytes;
    if (into_.input.stacks == 0) into_.unit = unit;
    if (unit != into_.unit) {
      ++other_units_;
      return;
    }
    std::uint32_t most = 0;
    for (std::uint32_t n = 1; n < p.tree.size(); ++n) most = std::max(most, index(p.tree.frame(n)));
    std::vector<StringId> names(std::size_t{most} + 1);
    for (std::uint32_t n = 1; n < p.tree.size(); ++n) {
      const std::uint32_t number = index(p.tree.frame(n));
      names[number] = frame_id(number - 1);
    }
    const std::uint32_t thread = into_.thread("", p.name.empty() ? "all threads" : p.name);
    // Rounds sums of decimal fractions of seconds to whole nanoseconds.
    std::vector<std::uint32_t> place(p.tree.size(), thread);
    for (std::uint32_t n = 0; n < p.tree.size(); ++n) {
      if (n > 0)
        place[n] = into_.tree.child(place[p.tree.parent(n)], names[index(p.tree.frame(n))]);
      const double w = p.tree.self(n) * factor;
      if (w > most_weight) {
        into_.note("weights_too_large", 1);
        continue;
      }
      into_.tree.add(place[n], unit == WeightUnit::nanoseconds ? std::round(w) : w);
    }
    into_.input.stacks += p.stacks;
    const auto fits = [](double ns) { return std::abs(ns) < 9e18; };
    for (const Timed& t : p.timed)
      if (unit == WeightUnit::nanoseconds && fits(t.start * factor) && fits(t.duration * factor))
        into_.samples.push_back({Ns{std::llround(t.start * factor)},
                                 Ns{std::llround(t.duration * factor)}, place[t.node]});
  }

  ProfileBuilder& into_;
  std::vector<At> way_;
  std::string key_;
  std::vector<RawFrame> frames_;
  std::vector<RawProfile> profiles_;
  std::vector<StringId> ids_;
  Events events_;
  char event_type_ = 0;
  double event_at_ = -1;
  bool event_at_has_ = false;
  double event_frame_ = -1;
  std::uint32_t node_ = 0;
  std::size_t depth_ = 0;
  std::optional<std::size_t> failed_at_;
  std::uint64_t cut_samples_ = 0;
  std::uint64_t bad_events_ = 0;
  std::uint64_t bad_frames_ = 0;
  std::uint64_t unnamed_ = 0;
  std::uint64_t unweighted_ = 0;
  std::uint64_t other_units_ = 0;
  std::uint64_t negative_ = 0;
  std::uint64_t too_large_ = 0;
};

}  // namespace

bool is_speedscope(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head[begin] != '{') return false;
  return head.find("speedscope.app/file-format-schema") != std::string_view::npos ||
         (head.find("\"profiles\"") != std::string_view::npos &&
          (head.find("\"sampled\"") != std::string_view::npos ||
           head.find("\"evented\"") != std::string_view::npos));
}

Result<Done> read_speedscope(ByteSource& source, ProfileBuilder& into) {
  Handler handler(into);
  SourceIterator::State state{&source};
  (void)nlohmann::json::sax_parse(SourceIterator(state), SourceIterator(), &handler,
                                  nlohmann::json::input_format_t::json, false);
  handler.finish();
  into.input.bytes = state.bytes;
  if (state.error) return *state.error;
  if (!handler.saw_profiles())
    return Error{.what = "speedscope's JSON without profiles",
                 .hint = "export it from speedscope or py-spy again"};
  return Done{};
}

}  // namespace stepscope
