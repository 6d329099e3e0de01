// The module npzoo._core: the functions of the library that the package is built on.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "npzoo/engine/config.h"
#include "npzoo/engine/parallel.h"
#include "python/core/errors.h"
#include "python/core/model.h"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_core, module) {
  using namespace npzoo::python;
  module.attr("version") = npzoo::kVersion;
  module.def("threads", [] { return npzoo::thread_pool().threads(); });
  module.def("set_threads", &npzoo::set_threads, "threads"_a, nb::call_guard<nb::gil_scoped_release>());
  add_errors(module);
  add_model(module);
  add_vjp(module);
  add_catalogue(module);
  add_decisions(module);
  add_events(module);
  add_columns(module);
  add_tables(module);
  add_gaussian_process(module);
  add_row_model(module);
  add_training(module);
  add_program(module);
}
