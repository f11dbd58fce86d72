// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/trace_recorder.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace stepscope::zero {
namespace {

constexpr std::int64_t main_thread = 1;
constexpr std::int64_t first_lane = 2;  // of unfinished collectives

// Names of rows for the parts of the main thread's time, behind "stepscope::". Empty: no row.
constexpr std::array<std::string_view, activity_count> row_names = {"forward",
                                                                    "backward",
                                                                    "recompute",
                                                                    "optimizer_step",
                                                                    "wait_fetch",
                                                                    "wait_reduce",
                                                                    "wait_gather",
                                                                    "",
                                                                    "file_io",
                                                                    "load_batch",
                                                                    ""};

// c10d's names in a profile.
std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "_allgather_base";
    case CollectiveKind::reduce_scatter:
      return "_reduce_scatter_base";
    case CollectiveKind::all_reduce:
      return "allreduce";
    default:
      return collective_kind_names[static_cast<std::size_t>(kind)];
  }
}

constexpr std::array<std::string_view, element_type_count> dtype_texts = {"Float", "BFloat16",
                                                                          "Double", "Long", "Byte"};

// "[[8, 16], [4, 16]]"
std::string dims_text(const nn::OpCall& call) {
  std::string text = "[";
  for (std::size_t i = 0; i < call.input_count; ++i) {
    text += i == 0 ? "[" : ", [";
    for (int d = 0; d < call.inputs[i].rank; ++d)
      text +=
          (d == 0 ? "" : ", ") + std::to_string(call.inputs[i].size[static_cast<std::size_t>(d)]);
    text += ']';
  }
  return text + "]";
}

// The network's type, except for tokens. The tokens are the operand of a lookup with fewer
// dimensions.
std::string types_text(const nn::OpCall& call, ElementType type) {
  const std::string_view name = type == ElementType::bf16 ? "c10::BFloat16" : "float";
  std::string text = "[";
  for (std::size_t i = 0; i < call.input_count; ++i) {
    const bool tokens =
        ((call.op == nn::LeafOp::embedding || call.op == nn::LeafOp::embedding_backward) &&
         i == 1) ||
        ((call.op == nn::LeafOp::linear_cross_entropy ||
          call.op == nn::LeafOp::linear_cross_entropy_trained) &&
         i == 2);
    text += std::string(i == 0 ? "\"" : ", \"") + std::string(tokens ? "int" : name) + "\"";
  }
  return text + "]";
}

// Builds the trace and adds the UNIX offset to instants.
class TraceText {
 public:
  TraceText(const TraceOptions& options, Trace& trace) : options_(options), trace_(trace) {
    trace_.tracks.push_back(track(main_thread, "main"));
  }

  SliceId row(Ns begin, Ns end, std::string_view name, Category category, TrackId track,
              std::uint32_t detail = no_row) {
    return append(trace_, {.start = begin + options_.unix_offset,
                           .dur = std::max(Ns{0}, end - begin),
                           .name = trace_.strings.intern(name),
                           .track = track,
                           .category = category,
                           .detail = detail});
  }
  void operation(const nn::OpCall& call, Ns begin, Ns end) {
    const auto detail = static_cast<std::uint32_t>(trace_.ops.size());
    trace_.ops.input_dims.push_back(trace_.strings.intern(dims_text(call)));
    trace_.ops.input_types.push_back(trace_.strings.intern(types_text(call, options_.type)));
    trace_.ops.concrete_inputs.push_back(trace_.strings.intern(leaf_op_concrete(call.op)));
    trace_.ops.sequence.push_back(-1);
    trace_.ops.forward_thread.push_back(0);
    row(begin, end, leaf_op_name(call.op), Category::cpu_op, TrackId{0}, detail);
  }
  // Takes the first free lane of its kind, because viewers drop rows that overlap in a lane.
  TrackId lane(std::string_view kind, Ns begin, Ns end) {
    std::size_t number = 0;
    for (Lane& lane : lanes_) {
      if (lane.kind != kind) continue;
      if (lane.end <= begin) {
        lane.end = end;
        return lane.track;
      }
      ++number;
    }
    const TrackId id{static_cast<std::uint32_t>(trace_.tracks.size())};
    trace_.tracks.push_back(
        track(first_lane + std::ssize(lanes_), std::string(kind) + " " + std::to_string(number)));
    lanes_.push_back({.kind = kind, .end = end, .track = id});
    return id;
  }

 private:
  Track track(std::int64_t tid, const std::string& name) {
    Track t;
    t.pid = options_.rank;
    t.tid = tid;
    t.process_name = trace_.strings.intern("rank " + std::to_string(options_.rank));
    t.thread_name = trace_.strings.intern(name);
    return t;
  }

  const TraceOptions& options_;
  Trace& trace_;
  struct Lane {
    std::string_view kind;
    Ns end{};
    TrackId track{};
  };
  std::vector<Lane> lanes_;
};

std::string move_name(const ShardMove& move) {
  const std::string column(shard_column_names[at(move.column)]);
  return move.direction == TransferDirection::host_to_nvme ? "write " + column + " to file"
                                                           : "read " + column + " from file";
}

void describe(const TraceOptions& options, Metadata& metadata) {
  metadata.format = "stepscope";
  metadata.rank = options.rank;
  metadata.world_size = options.world;
  metadata.backend = options.transport;
  metadata.clock = Clock::unix_epoch;
  if (!options.host.empty()) metadata.texts["host_name"] = options.host;
  metadata.with_shapes = true;
  ProcessGroup world{.name = "0",
                     .description = "default_pg",
                     .backend = "cpu:" + options.transport,
                     .size = options.world,
                     .ranks = {}};
  for (int r = 0; r < options.world; ++r) world.ranks.push_back(r);
  metadata.groups.push_back(std::move(world));
}

}  // namespace

TraceRecorder::TraceRecorder(const TraceOptions& options, RankRecorder& recorder)
    : options_(options), recorder_(recorder) {
  rows_.operations.reserve(options.operations);
  rows_.units.reserve(options.operations);
  rows_.messages.reserve(options.collectives);
  rows_.moves.reserve(options.moves);
  rows_.activities.reserve(options.activities);
  rows_.steps.reserve(4096);
}

TraceRecorder::~TraceRecorder() { stop(); }

void TraceRecorder::start() {
  if (on_) return;
  on_ = true;
  from_ = recorder_.now();
  recorder_.log_activities(&rows_.activities);
}

void TraceRecorder::stop() {
  if (!on_) return;
  on_ = false;
  until_ = recorder_.now();
  recorder_.log_activities(nullptr);
}

void TraceRecorder::step_done(const StepRecord& step) {
  if (on_) rows_.steps.push_back(step);
}

void TraceRecorder::begin(const nn::OpCall& call) noexcept {
  open_operation_ = on_ && rows_.operations.size() < rows_.operations.capacity();
  if (open_operation_)
    rows_.operations.push_back({call, recorder_.now(), {}});
  else if (on_)
    ++rows_.left_out;
}

void TraceRecorder::end() noexcept {
  if (open_operation_) rows_.operations.back().end = recorder_.now();
  open_operation_ = false;
}

void TraceRecorder::range_begin(std::string_view name, Activity activity) noexcept {
  open_unit_ = on_ && rows_.units.size() < rows_.units.capacity();
  if (open_unit_) rows_.units.push_back({ShortName<24>(name), activity, recorder_.now(), {}});
}

void TraceRecorder::range_end() noexcept {
  if (open_unit_) rows_.units.back().end = recorder_.now();
  open_unit_ = false;
}

void TraceRecorder::collective(const CollectiveRecord& record, std::string_view what,
                               std::int64_t in_elements, std::int64_t out_elements,
                               ElementType type) noexcept {
  if (!on_ && record.submitted >= until_) return;
  if (rows_.messages.size() < rows_.messages.capacity())
    rows_.messages.push_back({record, ShortName<40>(what), in_elements, out_elements, type});
  else
    ++rows_.left_out;
}

void TraceRecorder::moved(const ShardMove& move) noexcept {
  if (!on_ || move.end <= from_) return;
  if (rows_.moves.size() < rows_.moves.capacity())
    rows_.moves.push_back(move);
  else
    ++rows_.left_out;
}

void TraceRecorder::keep_about(std::size_t steps) {
  const auto crowded = [](const auto& list) { return 2 * list.size() > list.capacity(); };
  const bool full = crowded(rows_.operations) || crowded(rows_.units) || crowded(rows_.messages) ||
                    crowded(rows_.moves) || crowded(rows_.activities);
  if (full) rows_.keep_last(std::clamp<std::size_t>(rows_.steps.size() / 2, 1, steps));
  if (rows_.steps.size() >= 2 * steps) rows_.keep_last(steps);
}

namespace {

void activity_row(const ActivitySpan& piece, TraceText& text) {
  const std::string_view name = row_names[slot(piece.activity)];
  if (name.empty()) return;
  const bool computes_or_talks =
      piece.activity != Activity::data && piece.activity != Activity::wait_io;
  text.row(piece.begin, piece.end, std::string("stepscope::").append(name),
           computes_or_talks ? Category::cpu_op : Category::user_annotation, TrackId{0});
}

// Whether the piece is a wait inside a computation. Reading and writing files is a row of its own,
// because the account of a step does not count it as computation.
bool belongs_to_computation(const ActivitySpan& piece) {
  return piece.activity != Activity::wait_io && piece.activity != Activity::other;
}

// A row of a computation includes the waits inside it, which have rows of their own.
void add_activities(std::span<const ActivitySpan> pieces, TraceText& text) {
  for (auto piece = pieces.begin(); piece != pieces.end();) {
    if (!belongs_to_computation(*piece)) {
      activity_row(*piece++, text);
      continue;
    }
    ActivitySpan around{piece->surrounding, piece->surrounding, piece->begin, piece->end};
    const auto first = piece;
    for (++piece; piece != pieces.end() && belongs_to_computation(*piece) &&
                  piece->begin == around.end && piece->surrounding == around.surrounding;
         ++piece)
      around.end = piece->end;
    activity_row(around, text);
    for (const ActivitySpan& inner : std::span(first, piece))
      if (inner.activity != inner.surrounding) activity_row(inner, text);
  }
}

}  // namespace

Trace make_trace(const TraceOptions& options, const RecordedRows& rows) {
  Trace trace;
  describe(options, trace.metadata);
  TraceText text(options, trace);
  for (const StepRecord& step : rows.steps)
    text.row(step.begin, step.end, "ProfilerStep#" + std::to_string(step.index),
             Category::user_annotation, TrackId{0});
  add_activities(rows.activities, text);
  for (const RecordedUnit& unit : rows.units) {
    std::string name(unit.name.text());
    if (unit.activity <= Activity::recompute)
      name.append(" ").append(activity_names[slot(unit.activity)]);
    text.row(unit.begin, unit.end, name, Category::user_annotation, TrackId{0});
  }
  for (const RecordedOperation& op : rows.operations) text.operation(op.call, op.begin, op.end);
  std::vector<const RecordedMessage*> in_order;
  for (const RecordedMessage& m : rows.messages) in_order.push_back(&m);
  const auto submitted = [](const RecordedMessage* m) { return m->record.submitted; };
  std::ranges::stable_sort(in_order, {}, submitted);
  for (const RecordedMessage* m : in_order) {
    const CollectiveRecord& r = m->record;
    const TrackId lane = text.lane("collectives", r.submitted, r.finished);
    if (!m->what.text().empty())
      text.row(r.submitted, r.finished, m->what.text(), Category::user_annotation, lane);
    Collective meta;
    meta.slice = text.row(r.submitted, r.finished, "record_param_comms", Category::cpu_op, lane);
    meta.name = trace.strings.intern(collective_name(r.kind));
    meta.dtype = trace.strings.intern(dtype_texts[static_cast<std::size_t>(m->type)]);
    meta.group_name = trace.strings.intern("0");
    meta.group_description = trace.strings.intern("default_pg");
    meta.in_elements = m->in_elements;
    meta.out_elements = m->out_elements;
    meta.seq = static_cast<std::int64_t>(r.sequence);
    meta.group_size = options.world;
    meta.rank = options.rank;
    meta.is_async = true;
    trace.collectives.push_back(meta);
  }
  std::vector<ShardMove> moves = rows.moves;
  std::ranges::stable_sort(moves, {}, &ShardMove::begin);
  for (const ShardMove& move : moves) {
    text.row(move.begin, move.end, move_name(move), Category::user_annotation,
             text.lane("files", move.begin, move.end));
  }
  if (rows.left_out > 0) trace.notes.add("left_out_by_the_recorder", 0, rows.left_out);
  trace.notes.events = trace.slices.size();
  seal(trace);
  return trace;
}

}  // namespace stepscope::zero
