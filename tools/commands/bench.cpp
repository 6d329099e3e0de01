#include "tools/cli/command.h"

namespace npzoo {

extern const CommandInfo bench_command{"Measure speed and memory.", nullptr};

}  // namespace npzoo
