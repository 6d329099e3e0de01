#pragma once

#include <cstdint>

#include "npzoo/engine/ranks/job.h"
#include "tools/cli/flags.h"

namespace npzoo::tools {

/// Flags of commands whose work several ranks share.
struct JobOptions {
  std::int64_t stall_timeout = 0;
};

void add_flags(Flags& flags, JobOptions& options);

/// The job of this process: its MPI launcher's, or that of one rank. Only the rank that leads prints.
class SharedJob {
 public:
  explicit SharedJob(const JobOptions& options);

  /// Runs f(job) as the work of this rank, and returns its exit status. Ranks end together: when the one that leads has
  /// printed and written.
  template <class F>
  int run(F&& f) {
    return run_in(job_, [&] { return f(job_); });
  }

 private:
  Job job_;
};

}  // namespace npzoo::tools
