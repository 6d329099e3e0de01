#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/core/model.h"
#include "tools/cli/own_program.h"
#include "tools/program.h"

namespace npzoo::python {

namespace nb = nanobind;
using namespace nb::literals;
using namespace tools;

namespace {

/// Runs the command line in this process, whose only work it is.
int run_program(const std::vector<std::string>& arguments, const std::string& interpreter) {
  set_own_program({.file = interpreter, .words = {interpreter, "-m", "npzoo"}});
  std::vector<const char*> words{"npzoo"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  const nb::gil_scoped_release released;
  return run_npzoo(static_cast<int>(words.size()), words.data());
}

}  // namespace

void add_program(nb::module_& module) { module.def("run_program", &run_program, "arguments"_a, "interpreter"_a); }

}  // namespace npzoo::python
