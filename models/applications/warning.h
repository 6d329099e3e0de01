#pragma once

#include <string>

namespace npzoo {

/// A reason why a result may be worse than it looks.
struct Warning {
  std::string about;  // its kind: the same for the same reason, whatever the numbers in the text are
  std::string text;   // one line for a person
};

}  // namespace npzoo
