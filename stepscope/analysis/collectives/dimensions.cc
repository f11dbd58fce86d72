// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/dimensions.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// Words of letters and digits, lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

std::string ranks_key(const std::vector<int>& ranks) {
  std::string key;
  for (const int rank : ranks) {
    if (!key.empty()) key += ',';
    key += std::to_string(rank);
  }
  return key;
}

std::optional<Dimension> dimension_word(std::string_view word) {
  const auto at = std::ranges::find(dimension_names, word);
  if (at == dimension_names.end()) return std::nullopt;
  return static_cast<Dimension>(at - dimension_names.begin());
}

std::optional<Dimension> from_user(const CommGroup& group, const GroupDimensions& user) {
  for (const std::string& key : {group.name, group.description, ranks_key(group.ranks)}) {
    const auto at = user.find(key);
    if (!key.empty() && at != user.end()) return at->second;
  }
  return std::nullopt;
}

// True if a name in the trace comes only from data-parallel training.
bool shows_data_parallelism(const Trace& trace) {
  constexpr std::array<std::string_view, 6> signs = {
      "DistributedDataParallel.forward", "torch.distributed.ddp.reducer",
      "FullyShardedDataParallel",        "FSDP::",
      "DeepSpeedZeroOptimizer",          "PartitionedParameterCoordinator"};
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view name = trace.strings[StringId{i}];
    if (std::ranges::any_of(signs, [&](auto sign) { return name.starts_with(sign); })) return true;
  }
  return false;
}

bool is_expert_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 4> signs = {"deep_ep", "ep::intranode", "ep::internode",
                                                     "ep::hybrid"};
  return contains_any(name, signs);
}

// The use of one group by its calls.
struct GroupUse {
  std::uint64_t messages = 0;
  std::uint64_t collectives = 0;
  std::uint64_t all_to_alls = 0;
  std::uint64_t expert = 0;
  std::size_t exchanging = 0;  // traced members that send and receive
  std::size_t answering = 0;   // those that have a message before they send one, in most steps
};

// A later stage of a pipeline has a message before it sends its first. Members of a ring send to
// the next while the one before sends to them.
class Answers {
 public:
  void add(const CollectiveCall& call, std::span<const P2pEdge> edges, int rank) {
    First& first = steps_[call.step.value_or(no_row)];
    for (const P2pEdge& edge : edges)
      if (edge.src == rank)
        first.sent = std::min(first.sent, call.start);
      else
        first.received = std::min(first.received, call.end);
  }
  void count(GroupUse& use) const {
    std::size_t both = 0;
    std::size_t answers = 0;
    for (const auto& [step, first] : steps_) {
      if (first.sent == Ns::max() || first.received == Ns::max()) continue;
      ++both;
      if (first.received <= first.sent) ++answers;
    }
    if (both > 0) ++use.exchanging;
    if (answers * 2 > both) ++use.answering;
  }

 private:
  struct First {
    Ns sent = Ns::max();      // begin of the first send
    Ns received = Ns::max();  // end of the first receive
  };
  std::map<std::uint32_t, First> steps_;
};

std::vector<GroupUse> uses_of(std::span<const RankView> views, const CollectiveMatches& matches) {
  std::vector<GroupUse> uses(matches.groups.size());
  for (std::size_t v = 0; v < views.size(); ++v) {
    std::map<std::uint32_t, Answers> answers;  // by group
    for (const CollectiveCall& call : matches.ranks[v].calls) {
      if (call.group == no_row) continue;
      GroupUse& use = uses[call.group];
      const bool message = call.edge_count != 0 || is_message(call.kind);
      ++(message ? use.messages : use.collectives);
      if (call.edge_count != 0)
        answers[call.group].add(call, matches.ranks[v].edges_of(call), views[v].rank);
      if (call.kind != CollectiveKind::all_to_all) continue;
      ++use.all_to_alls;
      if (is_expert_kernel(views[v].trace->name(call.slice))) ++use.expert;
    }
    for (const auto& [group, of_view] : answers) of_view.count(uses[group]);
  }
  return uses;
}

bool spans_world(const CommGroup& group, const CollectiveMatches& matches) {
  return matches.world_size && group.size == *matches.world_size && group.size > 1;
}

// A group of the whole job may serve any dimension.
using SizedGroups = std::map<std::span<const int>, std::string_view, decltype([](auto a, auto b) {
                               return std::ranges::lexicographical_compare(a, b);
                             })>;  // ranks → dimension
std::optional<Dimension> from_sizes(const CommGroup& group, const SizedGroups& sized) {
  const auto same = sized.find(group.ranks);
  if (group.ranks.empty() || same == sized.end()) return std::nullopt;
  const auto dimension = dimension_word(same->second);
  return dimension == Dimension::world ? std::nullopt : dimension;
}

std::optional<Dimension> from_use(const GroupUse& use, const CommGroup& group) {
  if (use.answering > 0) return Dimension::pp;
  const bool ring = group.size > 0 && use.exchanging == static_cast<std::size_t>(group.size);
  if (use.messages != 0 && use.collectives == 0) return ring ? Dimension::cp : Dimension::pp;
  if (use.expert != 0 && use.expert == use.collectives) return Dimension::ep;
  return std::nullopt;
}

}  // namespace

Result<GroupDimensions> parse_group_dimensions(std::string_view text) {
  GroupDimensions groups;
  for (std::uint64_t line_number = 1; !text.empty(); ++line_number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto gap = line.find_last_of(" \t");
    const auto dimension =
        gap == std::string_view::npos ? std::nullopt : dimension_word(line.substr(gap + 1));
    if (!dimension) {
      return Error{.what = "line " + std::to_string(line_number) + " is no group and dimension",
                   .hint = "write a group's name or ranks, then dp, tp, sp, pp, cp, ep or world"};
    }
    const std::string_view name = trimmed(line.substr(0, gap));
    const auto ranks = parse_ranks(name);
    groups[ranks ? ranks_key(*ranks) : std::string(name)] = *dimension;
  }
  return groups;
}

std::optional<Dimension> dimension_of_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  const auto has = [&](std::initializer_list<std::string_view> any) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return std::ranges::find(any, word) != any.end(); });
  };
  const bool data = has({"dp", "ddp", "fsdp", "hsdp", "data", "zero", "replicate", "shard", "edp"});
  const bool context = has({"cp", "context"});
  const bool expert = has({"ep", "expert", "moe"});
  const bool tensor = has({"tp", "etp", "tensor"});
  const bool pipeline = has({"pp", "pipe", "pipeline", "embedding"});
  const bool sequence = has({"sp", "sequence", "ulysses"});
  if (data) return tensor || pipeline || sequence ? std::nullopt : std::optional(Dimension::dp);
  const int others = int{context} + int{tensor} + int{pipeline} + int{sequence};
  if (others > 1 || (expert && has({"and"}))) return std::nullopt;
  if (context) return Dimension::cp;
  if (tensor) return Dimension::tp;
  if (pipeline) return Dimension::pp;
  if (sequence) return Dimension::sp;
  if (expert) return Dimension::ep;
  return std::nullopt;
}

std::vector<CommGroup> listed_groups(const GroupDimensions& user) {
  std::vector<CommGroup> groups;
  for (const auto& [key, dimension] : user) {
    auto ranks = parse_ranks('[' + key + ']');
    if (!ranks || ranks->size() < 2) continue;
    const auto size = static_cast<int>(ranks->size());
    groups.push_back(
        {.name = key,
         .description = std::string(dimension_names[static_cast<std::size_t>(dimension)]),
         .ranks = *std::move(ranks),
         .size = size});
  }
  return groups;
}

std::vector<Dimension> find_dimensions(std::span<const RankView> views,
                                       const CollectiveMatches& matches,
                                       const GroupDimensions& user,
                                       std::span<const CommGroup> made) {
  SizedGroups sized;
  for (const CommGroup& group : made) sized.try_emplace(group.ranks, group.description);
  const std::vector<GroupUse> uses = uses_of(views, matches);
  std::vector<Dimension> found(matches.groups.size(), Dimension::unknown);
  std::size_t used = 0;
  for (std::size_t g = 0; g < found.size(); ++g) {
    const CommGroup& group = matches.groups[g];
    if (group.size != 1 && uses[g].messages + uses[g].collectives != 0) ++used;
    std::optional<Dimension> dimension = from_user(group, user);
    if (!dimension) dimension = dimension_of_name(group.description);
    if (!dimension) dimension = dimension_of_name(group.name);
    if (!dimension) dimension = from_sizes(group, sized);
    if (!dimension) dimension = from_use(uses[g], group);
    if (!dimension && spans_world(group, matches)) dimension = Dimension::world;
    found[g] = dimension.value_or(Dimension::unknown);
  }
  const bool data_parallel =
      used == 1 && !views.empty() && shows_data_parallelism(*views.front().trace);
  for (std::size_t g = 0; data_parallel && g < found.size(); ++g) {
    const bool plain = uses[g].collectives != 0 && uses[g].all_to_alls == 0;
    const bool named = from_user(matches.groups[g], user).has_value();
    if (found[g] == Dimension::world && plain && !named) found[g] = Dimension::dp;
  }
  return found;
}

std::string group_label(const CommGroup& group) {
  const bool says_something = !group.description.empty() && group.description != "undefined";
  return says_something ? group.description : group.name;
}

}  // namespace stepscope
