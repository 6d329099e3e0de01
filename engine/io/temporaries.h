#pragma once

namespace npzoo {

/// Removes the temporary files that this process's AtomicFiles hold open. Safe to call from a signal handler that ends
/// the process afterwards. Does nothing in a forked child.
void remove_temporaries() noexcept;

}  // namespace npzoo
