#include "tools/cli/command.h"

namespace npzoo {

extern const CommandInfo fit_command{"Fit parametric processes to a table.", nullptr};

}  // namespace npzoo
