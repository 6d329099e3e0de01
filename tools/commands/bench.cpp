#include "tools/cli/command.h"

namespace npzoo::tools {

extern const CommandInfo bench_command{"Measure speed and memory.", nullptr, CommandGroup::check,
                                       "npzoo bench train-step --protocol quick/gp1d --model tnp-d"};

}  // namespace npzoo::tools
