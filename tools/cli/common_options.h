#pragma once

#include <string>

#include "tools/cli/flags.h"

namespace npzoo {

/// Flags that mean the same in every command.
struct CommonOptions {
  std::string device = "cpu";
  std::string precision = "float32";
  int threads = 0;  // 0: one per core
  bool json = false;
};

void add_flags(Flags& flags, CommonOptions& common);

/// --checkpoint; which must be given.
Flag add_optional_checkpoint(Flags& flags, std::string& checkpoint);
void add_checkpoint(Flags& flags, std::string& checkpoint);

/// Device, precision and threads are from now on those that were asked for. Throws Error where they cannot be had.
void apply(const CommonOptions& common);

}  // namespace npzoo
