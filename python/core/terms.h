#pragma once

#include <string>

namespace npzoo::python {

/// A message of the library with Python's arguments in the place of the program's flags: `--bounds 0,100` becomes
/// bounds=(0, 100), `--lonlat` lonlat=True, and `npzoo list weights` npzoo.weights().
std::string in_python_terms(const std::string& message);

}  // namespace npzoo::python
