#include "python/core/errors.h"

#include <filesystem>
#include <system_error>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/exception.h"
#include "npzoo/engine/memory.h"
#include "python/core/terms.h"

namespace npzoo::python {

namespace nb = nanobind;

namespace {

/// The classes; they live as long as the interpreter.
struct Classes {
  PyObject *error, *invalid_input, *out_of_memory, *file_error, *interrupted;
} classes;

PyObject* add_class(nb::module_& module, const char* name, const char* doc, const nb::tuple& bases) {
  PyObject* made = PyErr_NewExceptionWithDoc((std::string("npzoo.") + name).c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) throw nb::python_error();
  module.attr(name) = nb::handle(made);
  return made;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Interrupted& e) {
    PyErr_SetString(classes.interrupted, e.what());
  } catch (const OutOfMemory& e) {
    PyErr_SetString(classes.out_of_memory, e.what());
  } catch (const Error& e) {
    PyErr_SetString(classes.invalid_input, in_python_terms(e.what()).c_str());
  } catch (const std::system_error& e) {
    PyErr_SetString(classes.file_error, e.what());
  }
}

}  // namespace

void add_errors(nb::module_& module) {
  const nb::handle exception(PyExc_Exception);
  classes.error = add_class(module, "Error", "An error of npzoo. Its text is one line.", nb::make_tuple(exception));
  const nb::handle error(classes.error);
  classes.invalid_input = add_class(module, "InvalidInput", "An argument, a file or data that npzoo cannot use.",
                                    nb::make_tuple(error, nb::handle(PyExc_ValueError)));
  classes.out_of_memory = add_class(module, "OutOfMemory", "The memory limit or the system refused memory.",
                                    nb::make_tuple(error, nb::handle(PyExc_MemoryError)));
  classes.file_error = add_class(module, "FileError", "The system could not read or write a file.",
                                 nb::make_tuple(error, nb::handle(PyExc_OSError)));
  classes.interrupted = add_class(module, "Interrupted", "The call was asked to stop.", nb::make_tuple(error));
  nb::register_exception_translator(translate);
}

}  // namespace npzoo::python
