#pragma once

#include <optional>

#include "npzoo/engine/device.h"
#include "npzoo/engine/precision.h"

namespace npzoo {

class CountScope;
class StopScope;

/// The innermost scopes of a thread. ThreadPool hands those of a loop's caller to the workers that help with the loop,
/// so that work is done under the same scopes on any number of threads.
///
/// Everything else that is not an object's own belongs to the process, and every function that reads or changes it can
/// be called from any thread: the selected device (select_device) and precision (set_matmul_precision), which scopes
/// override; the GPU, which stays once it has been started (GpuSelection); the number of threads (set_threads); memory
/// limits; the data folder; added models; totals of counters.
struct CallScopes {
  const StopScope* stop = nullptr;
  CountScope* counts = nullptr;
  std::optional<Device> device{};
  std::optional<Precision> precision{};
  bool capturing = false;          // this thread captures a graph
  bool loop_of_capturing = false;  // this thread runs a loop that a capturing thread started
};

extern constinit thread_local CallScopes call_scopes;

}  // namespace npzoo
