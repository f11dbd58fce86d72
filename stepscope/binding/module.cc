// SPDX-License-Identifier: Apache-2.0
// stepscope._core: the library in Python. python/stepscope/ is what users see of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "stepscope/binding/flag_tables.h"
#include "stepscope/binding/loop_rules.h"
#include "stepscope/binding/python_error.h"
#include "stepscope/binding/python_tree.h"
#include "stepscope/binding/python_wording.h"
#include "stepscope/binding/run_verb.h"
#include "stepscope/binding/taken_rows.h"
#include "stepscope/binding/trace_columns.h"
#include "stepscope/binding/tree_columns.h"
#include "stepscope/binding/verbs.h"
#include "stepscope/binding/zero_classes.h"
#include "stepscope/face/help/answer.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/verbs/inputs/traces.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

// A table that Python holds.
struct Table {
  std::shared_ptr<const ArrowTable> columns;
};

nb::object stream_capsule(const Table& table, const nb::object& /*requested_schema*/) {
  return nb::steal(PyCapsule_New(new_stream(table.columns), "arrow_array_stream", [](PyObject* c) {
    delete_stream(static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(c, "arrow_array_stream")));
  }));
}

nb::object schema_capsule(const Table& table) {
  return nb::steal(PyCapsule_New(new_schema(*table.columns), "arrow_schema", [](PyObject* c) {
    delete_schema(static_cast<ArrowSchema*>(PyCapsule_GetPointer(c, "arrow_schema")));
  }));
}

nb::list names_of(const Table& table) {
  nb::list names;
  for (const ArrowColumn& c : table.columns->columns) names.append(python_text(c.name));
  return names;
}

nb::list column_values(const Table& table, const std::string& name) {
  for (const ArrowColumn& c : table.columns->columns) {
    if (c.name != name) continue;
    nb::list values;
    for (std::int64_t row = 0; row < c.length; ++row) values.append(cell_of(c, row));
    return values;
  }
  throw nb::key_error(name.c_str());
}

nb::dict row_values(const Table& table, std::int64_t row) {
  const std::int64_t rows = table.columns->rows;
  const std::int64_t at = row < 0 ? row + rows : row;
  if (at < 0 || at >= rows) throw nb::index_error("the table has no such row");
  nb::dict values;
  for (const ArrowColumn& c : table.columns->columns) values[python_text(c.name)] = cell_of(c, at);
  return values;
}

// `count` rows from `start` on, each `step` behind the one before. The caller has checked that they
// are rows of the table.
Table rows_of(const Table& table, std::int64_t start, std::int64_t step, std::int64_t count) {
  return {taken_rows(*table.columns, start, step, count)};
}

nb::list exceptions_of(const std::vector<Error>& failures, std::string_view verb) {
  nb::list errors;
  for (const Error& e : failures) errors.append(exception_of(e, verb));
  return errors;
}

void bind_table(nb::module_& module) {
  nb::class_<Table>(module, "Table")
      .def("__arrow_c_stream__", stream_capsule, nb::arg("requested_schema") = nb::none())
      .def("__arrow_c_schema__", schema_capsule)
      .def("__len__", [](const Table& t) { return t.columns->rows; })
      .def_prop_ro("columns", names_of)
      .def("column", column_values, nb::arg("name"))
      .def("row", row_values, nb::arg("index"))
      .def("rows", rows_of, nb::arg("start"), nb::arg("step"), nb::arg("count"));
}

TextDetail detail_of(const std::string& name, std::string_view verb) {
  if (name == "brief") return TextDetail::brief;
  if (name == "all") return TextDetail::all;
  if (name == "usual") return TextDetail::usual;
  raise({.what = "detail " + name + " is unknown",
         .hint = "give brief, usual or all",
         .code = ErrorCode::refused},
        verb);
}

// What `make` gives, made without the GIL.
template <class Make>
auto without_gil(Make&& make) {
  const nb::gil_scoped_release released;
  return make();
}

// The same, in the words of Python. With `command` in those of the command, as files have them.
template <class Make>
auto in_words(const VerbAnswer& a, bool command, Make&& make) {
  const nb::gil_scoped_release released;
  if (command) return make();
  const Wording words = python_wording(a.verb);
  const WordingScope scope(words);
  return make();
}

const std::function<Json()>& form_of(const VerbAnswer& a, bool brief) {
  if (brief && !a.answer.brief)
    raise({.what = "this result has no brief form", .code = ErrorCode::refused}, a.verb);
  return brief ? a.answer.brief : a.answer.tree;
}

nb::bytes json_bytes(const VerbAnswer& a, bool brief) {
  const auto& make = form_of(a, brief);
  const std::string text = without_gil([&] { return json_text(make()); });
  return nb::bytes(text.data(), text.size());
}

nb::object tree_of(const VerbAnswer& a, bool brief, bool command) {
  return python_of(in_words(a, command, form_of(a, brief)));
}

nb::object text_of(const VerbAnswer& a, const std::string& detail, int width, bool colour,
                   bool command) {
  const TextOptions options{.width = width, .colour = colour, .detail = detail_of(detail, a.verb)};
  return python_text(in_words(a, command, [&] { return a.answer.text(options); }));
}

nb::dict tables_in(const VerbAnswer& a, bool command) {
  nb::dict out;
  if (!a.answer.tables) return out;
  const auto made = in_words(a, command, [&] {
    std::vector<std::pair<std::string, Table>> tables;
    for (const TreeTable& t : a.answer.tables(a.answer.tree()))
      tables.emplace_back(t.name, Table{columns_of(t)});
    return tables;
  });
  for (const auto& [name, table] : made) out[python_text(name)] = table;
  return out;
}

nb::object page_in(const VerbAnswer& a) {
  if (!a.answer.page)
    raise({.what = "this result has no page", .code = ErrorCode::refused}, a.verb);
  return python_text(without_gil([&] { return a.answer.page(a.answer.tree()); }));
}

VerbAnswer replay_of(const VerbAnswer& a, const std::vector<std::string>& changes,
                     const std::string& machine) {
  const std::string verb = "whatif";
  return {verb, run_verb(verb, [&](const StopFlag& stop) {
            return a.answer.whatif(changes, machine, {.stop = &stop});
          })};
}

void bind_answer(nb::module_& module) {
  nb::class_<VerbAnswer>(module, "Answer")
      .def("tree", tree_of, nb::arg("brief") = false, nb::arg("command") = false)
      .def("json", json_bytes, nb::arg("brief") = false)
      .def("text", text_of, nb::arg("detail") = "usual", nb::arg("width") = 100,
           nb::arg("colour") = false, nb::arg("command") = false)
      .def("tables", tables_in, nb::arg("command") = false)
      .def("page", page_in)
      .def("whatif", replay_of, nb::arg("changes"), nb::arg("machine"))
      .def_prop_ro("failures",
                   [](const VerbAnswer& a) { return exceptions_of(a.answer.failures, a.verb); });
}

// One rank's trace, whose tables are made when they are asked for.
struct RankTables {
  int rank = 0;
  NamedTrace trace;
};

struct ReadRun {
  std::vector<RankTables> ranks;
  std::vector<Error> failures;
};

ReadRun read_run_of(const std::vector<std::string>& inputs, const std::vector<int>& ranks) {
  TracesRequest request{.inputs = inputs, .ranks = {ranks.begin(), ranks.end()}};
  const auto read = std::make_shared<ReadTraces>(run_verb("analyze", [&](const StopFlag& stop) {
    auto traces = read_traces(request, {.stop = &stop});
    if (traces && traces->ranks.empty())
      return Result<ReadTraces>(traces->failures.empty() ? Error{.what = "the inputs hold no trace",
                                                                 .hint = "name the traces of a run"}
                                                         : traces->failures.front());
    return traces;
  }));
  return without_gil([&] {
    ReadRun run{.ranks = {}, .failures = read->failures};
    for (const RankInput& r : read->ranks)
      run.ranks.push_back({r.rank, named(std::shared_ptr<const Trace>(read, r.trace))});
    return run;
  });
}

void bind_traces(nb::module_& module) {
  const auto table = [](SharedTable (*make)(const NamedTrace&)) {
    return
        [make](const RankTables& r) { return Table{without_gil([&] { return make(r.trace); })}; };
  };
  nb::class_<RankTables>(module, "RankTables")
      .def_ro("rank", &RankTables::rank)
      .def_prop_ro("slices", table(slices_of))
      .def_prop_ro("kernels", table(kernels_of))
      .def_prop_ro("tracks", table(tracks_of))
      .def_prop_ro("collectives", table(collectives_of))
      .def_prop_ro("memory", table(memory_of))
      .def_prop_ro("counters", table(counters_of));
  nb::class_<ReadRun>(module, "ReadRun")
      .def_prop_ro("ranks", [](const ReadRun& r) { return r.ranks; })
      .def_prop_ro("failures",
                   [](const ReadRun& r) { return exceptions_of(r.failures, "analyze"); });
  module.def("read_traces", read_run_of, nb::arg("inputs"), nb::arg("ranks"));
}

}  // namespace
}  // namespace stepscope::binding

NB_MODULE(_core, module) {
  using namespace stepscope::binding;
  module.attr("__version__") = std::string(stepscope::version());
  bind_table(module);
  bind_answer(module);
  bind_verbs(module);
  bind_traces(module);
  bind_flag_tables(module);
  bind_loop_rules(module);
#ifdef STEPSCOPE_ENGINE
  bind_optimizer_shard(module);
  bind_zero3_stats(module);
#endif
}
