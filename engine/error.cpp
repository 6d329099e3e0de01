#include "npzoo/engine/error.h"

namespace npzoo {

void fail_with(std::string message) { throw Error(std::move(message)); }

}  // namespace npzoo
