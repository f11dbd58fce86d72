// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/profile_builder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "stepscope/stack/frame.h"
#include "stepscope/stack/text_input.h"

namespace stepscope {
namespace {

enum class FrameRole : std::uint8_t { function, process, thread };

bool digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return isdigit(c) != 0; });
}

// "python", "python3", "python3.11": the kernel's name of a Python process.
bool is_python(std::string_view text) {
  constexpr std::string_view name = "python";
  if (!text.starts_with(name)) return false;
  return std::ranges::all_of(text.substr(name.size()),
                             [](unsigned char c) { return isdigit(c) != 0 || c == '.'; });
}

// "comm-123" and "comm-123/124" from stackcollapse-perf --pid and --tid.
FrameRole numbered_command(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return FrameRole::function;
  const std::string_view numbers = text.substr(dash + 1);
  const std::size_t slash = numbers.find('/');
  if (slash == std::string_view::npos)
    return numbers.size() >= 2 && digits(numbers) ? FrameRole::process : FrameRole::function;
  return (digits(numbers.substr(0, slash)) || numbers.starts_with('?')) &&
                 digits(numbers.substr(slash + 1))
             ? FrameRole::thread
             : FrameRole::function;
}

// The role of a first frame, as named by py-spy, Austin, stackcollapse-perf and the kernel.
FrameRole role_of(std::string_view frame) {
  using enum FrameRole;
  static constexpr std::array<std::string_view, 9> thread_beginnings = {
      "thread (", "Thread 0x",     "Thread-",        "pt_autograd", "pt_data_",
      "pt_nccl_", "NCCL Progress", "cuda-EvtHandlr", "pt_elastic"};
  if (frame.starts_with("process ") && frame.size() > 8 && digits(frame.substr(8, 1)))
    return process;
  if (frame.size() > 1 && frame[0] == 'P' && digits(frame.substr(1))) return process;
  if (is_python(frame)) return process;
  if (frame == "MainThread" || frame == "pt_main_thread") return thread;
  if (frame.size() > 1 && frame[0] == 'T' && frame.find(':') != std::string_view::npos) {
    const std::size_t colon = frame.find(':');
    if (digits(frame.substr(1, colon - 1)) && digits(frame.substr(colon + 1))) return thread;
  }
  if (frame.size() > 1 && frame[0] == 'T' && digits(frame.substr(1))) return thread;
  if (std::ranges::any_of(thread_beginnings, [&](auto b) { return frame.starts_with(b); }))
    return thread;
  return numbered_command(frame);
}

constexpr std::string_view untold = "all threads";

void order_threads(Profile& profile) {
  std::ranges::stable_sort(profile.threads, [&](const ProfileThread& a, const ProfileThread& b) {
    return profile.tree.total[a.node] > profile.tree.total[b.node];
  });
}

// A time since boot is never as large as a time since the epoch.
void tell_clock(Profile& profile) {
  constexpr Ns year_2001{1'000'000'000'000'000'000};
  ProfileInput& input = profile.inputs.front();
  if (profile.samples.empty()) {
    input.times = SampleTimes::none;
    return;
  }
  if (input.times == SampleTimes::none) input.times = SampleTimes::known;
  if (profile.samples.front().start >= year_2001) input.unix_clock = true;
}

void append_subtree(Profile& to, const Profile& from, const std::vector<StringId>& frames,
                    std::vector<std::uint32_t>& place) {
  const CallTree& tree = from.tree;
  CallTree& all = to.tree;
  const std::uint32_t shift = all.size() - 1;  // the roots are merged
  for (std::uint32_t n = 1; n < tree.size(); ++n) {
    all.frame.push_back(frames[index(tree.frame[n])]);
    all.parent.push_back(tree.parent[n] == 0 ? 0 : tree.parent[n] + shift);
    all.end.push_back(tree.end[n] + shift);
    all.self.push_back(tree.self[n]);
    all.total.push_back(tree.total[n]);
  }
  place.resize(tree.size());
  std::iota(place.begin(), place.end(), shift);
}

}  // namespace

std::uint32_t ProfileBuilder::thread(std::string_view process, std::string_view name) {
  std::string label(process);
  if (!label.empty() && !name.empty()) label += " · ";
  label += name;
  const StringId frame = strings.intern(label);
  const std::uint32_t before = tree.size();
  const std::uint32_t node = tree.child(TreeBuilder::root, frame);
  if (node == before)
    labelled_.push_back({node, std::string(process), std::string(name.empty() ? process : name)});
  return node;
}

void ProfileBuilder::note(std::string_view reason, std::uint64_t count) {
  if (count > 0) input.notes[std::string(reason)] += count;
}

Profile ProfileBuilder::seal() {
  note("stacks_beyond_the_limit", tree.left_off());
  ProfileBuilder told;
  told.strings = std::move(strings);
  std::vector<std::uint32_t> place(tree.size());
  std::vector<FrameRole> role(tree.size(), FrameRole::function);
  std::vector<bool> is_label(tree.size());
  for (const Labelled& l : labelled_) {
    is_label[l.node] = true;
    place[l.node] = told.thread(l.process == l.name ? "" : l.process, l.name);
  }
  const auto text = [&](std::uint32_t n) { return told.strings[tree.frame(n)]; };
  std::uint64_t addresses = 0;
  const auto function = [&](std::uint32_t n) {
    const auto unknown = without_address(text(n));
    if (!unknown) return tree.frame(n);
    ++addresses;
    return told.strings.intern(*unknown);
  };
  const auto add_self = [&](std::uint32_t n) {
    if (tree.self(n) != 0) told.tree.add(place[n], tree.self(n));
  };
  for (std::uint32_t n = 1; n < tree.size(); ++n) {
    const std::uint32_t parent = tree.parent(n);
    const bool in_process = role[parent] == FrameRole::process;
    if (parent == TreeBuilder::root && !is_label[n]) role[n] = role_of(text(n));
    if (in_process && role_of(text(n)) == FrameRole::thread) role[n] = FrameRole::thread;
    if (is_label[n]) {
      add_self(n);
    } else if (role[n] == FrameRole::thread) {
      place[n] = told.thread(in_process ? text(parent) : "", text(n));
      add_self(n);
    } else if (role[n] == FrameRole::process) {
      if (tree.self(n) != 0) {
        place[n] = told.thread("", text(n));
        add_self(n);
      }
    } else {
      std::uint32_t under = place[parent];
      if (parent == TreeBuilder::root) under = told.thread("", untold);
      if (in_process) under = told.thread("", text(parent));
      place[n] = told.tree.child(under, function(n));
      add_self(n);
    }
  }
  if (tree.self(TreeBuilder::root) != 0)  // stacks without frames
    told.tree.add(told.thread("", untold), tree.self(TreeBuilder::root));
  note("addresses_without_a_symbol", addresses);
  Profile profile;
  std::vector<std::uint32_t> number;
  profile.tree = told.tree.seal(&number);
  profile.strings = std::move(told.strings);
  profile.unit = unit;
  for (const Labelled& l : told.labelled_)
    profile.threads.push_back({l.name, l.process == l.name ? "" : l.process, number[l.node]});
  profile.inputs.push_back(std::move(input));
  profile.samples = std::move(samples);
  for (TimedSample& s : profile.samples) s.node = number[place[s.node]];
  std::ranges::stable_sort(profile.samples, {}, &TimedSample::start);
  tell_clock(profile);
  order_threads(profile);
  return profile;
}

Result<Done> ProfileBuilder::close(const LineReader& lines) {
  note("lines_too_long", lines.cut_lines());
  input.bytes = lines.bytes();
  if (lines.error()) return *lines.error();
  return Done{};
}

Result<Profile> merged(std::vector<Profile> profiles) {
  check(!profiles.empty(), "there is a profile to merge");
  if (profiles.size() == 1) return std::move(profiles.front());
  Profile all;
  all.unit = profiles.front().unit;
  CallTree& tree = all.tree;
  tree.frame = {empty_string};
  tree.parent = tree.end = {0};
  tree.self = tree.total = {0};
  for (Profile& p : profiles) {
    if (p.unit != all.unit)
      return Error{.what = "counts " +
                           std::string(weight_unit_names[static_cast<std::size_t>(p.unit)]) +
                           ", and the profile before it " +
                           std::string(weight_unit_names[static_cast<std::size_t>(all.unit)]),
                   .file = p.inputs.front().path,
                   .hint = "give profiles of one unit at a time"};
    const auto input = static_cast<std::uint32_t>(all.inputs.size());
    std::vector<std::uint32_t> place;
    append_subtree(all, p, all.strings.merge(p.strings), place);
    for (ProfileThread& t : p.threads)
      all.threads.push_back({std::move(t.name), std::move(t.process), place[t.node], input});
    for (const TimedSample& s : p.samples)
      all.samples.push_back({s.start, s.duration, place[s.node]});
    tree.total[0] += p.tree.total[0];
    for (ProfileInput& i : p.inputs) all.inputs.push_back(std::move(i));
  }
  tree.end[0] = tree.size();
  std::ranges::stable_sort(all.samples, {}, &TimedSample::start);
  order_threads(all);
  return all;
}

}  // namespace stepscope
