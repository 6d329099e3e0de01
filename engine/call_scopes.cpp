#include "npzoo/engine/call_scopes.h"

namespace npzoo {

constinit thread_local CallScopes call_scopes;

}  // namespace npzoo
