#include "tools/cli/shared_job.h"

#include <chrono>
#include <cstdio>

#include "npzoo/engine/error.h"

namespace npzoo::tools {

void add_flags(Flags& flags, JobOptions& options) {
  flags.whole("--stall-timeout", options.stall_timeout, {0, 86'400},
              "seconds after which a rank that waits for the others ends the job, 0 for never; under an MPI launcher");
}

SharedJob::SharedJob(const JobOptions& options)
    : job_(ranks_of_process(), std::chrono::seconds(options.stall_timeout)) {
  if (job_.leads()) return;
  for (std::FILE* file : {stdout, stderr})
    if (std::freopen("/dev/null", "w", file) == nullptr) fail("[ranks] /dev/null cannot be opened");
}

}  // namespace npzoo::tools
