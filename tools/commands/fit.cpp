#include "tools/cli/command.h"

namespace npzoo::tools {

extern const CommandInfo fit_command{"Fit parametric processes to a table.", nullptr, CommandGroup::predict,
                                     "npzoo fit events events.csv --out best.toml"};

}  // namespace npzoo::tools
