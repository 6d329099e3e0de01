#pragma once

#include <exception>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/npzoo.h"

namespace npzoo {

/// Keeps the text of a failure for npzoo_last_error() and returns its status.
npzoo_status c_failure(npzoo_status status, const char* text) noexcept;

/// Runs `f` and turns what it throws into a status of the C interface.
template <class F>
npzoo_status guarded(F&& f) noexcept {
  try {
    with_errors(f);
    return NPZOO_OK;
  } catch (const OutOfMemory& e) {
    return c_failure(NPZOO_OUT_OF_MEMORY, e.what());
  } catch (const Interrupted& e) {
    return c_failure(NPZOO_INTERRUPTED, e.what());
  } catch (const Error& e) {
    return c_failure(NPZOO_INVALID_INPUT, e.what());
  } catch (const std::exception& e) {
    return c_failure(NPZOO_INTERNAL, e.what());
  } catch (...) {
    return c_failure(NPZOO_INTERNAL, "[c] an unknown exception");
  }
}

/// Throws Error if an address is NULL.
inline void check_given(const void* pointer, const char* what) {
  check(pointer != nullptr, "[c] {} is NULL, expected an address", what);
}

}  // namespace npzoo
