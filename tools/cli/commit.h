#pragma once

namespace npzoo::tools {

/// Short hash of the commit that the program was built from, "unknown" outside a repository.
extern const char* const kCommit;

}  // namespace npzoo::tools
