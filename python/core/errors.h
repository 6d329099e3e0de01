#pragma once

#include <nanobind/nanobind.h>

namespace npzoo::python {

/// Makes the exceptions of the package: Error, and below it InvalidInput (a ValueError), OutOfMemory (a MemoryError),
/// FileError (an OSError) and Interrupted. Exceptions of the library become these, with the same message.
void add_errors(nanobind::module_& module);

}  // namespace npzoo::python
