#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/engine/tensor.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// Describes the machine: device and precision, isa and threads, and of a CUDA device the GPU, its driver and the
/// commit.
JsonValue machine();
/// The same in a few words.
std::string machine_in_words();
/// GFLOP/s of products that the machine reaches, with all its threads or on its GPU in the precision of the moment.
double measured_peak_gflops();
/// GB/s that it reads and writes of arrays far larger than caches.
double measured_bandwidth_gbs();

/// Milliseconds that `f` takes, to the end of what it leaves to a CUDA device.
double milliseconds(const std::function<void()>& f);
/// Processor time of all threads of this process so far.
double cpu_milliseconds();

struct Timings {
  double median_ms = 0, p10_ms = 0, p90_ms = 0, mean_ms = 0;
  std::int64_t repeats = 0;
};
Timings summarise(std::vector<double> milliseconds);

/// Runs something that returns how many milliseconds it took, once to warm up and then `repeats` times, or as often as
/// fits in a few seconds. What fits not even once more is counted by its first run.
Timings repeat(std::int64_t repeats, const std::function<double()>& run);

/// Standard normal numbers, float32, without any memory besides.
Tensor random_normal(Random& random, const Shape& shape);

/// Bytes of memory that were in use at once; those of the process are not known on every system.
struct MemoryPeaks {
  std::int64_t live = 0, reserved = 0;
  std::optional<std::int64_t> resident;
};
/// peak_live_bytes, peak_reserved_bytes and peak_rss_bytes.
JsonValue to_json(const MemoryPeaks& peaks);

/// Sees what memory is in use from its beginning on.
class MemoryWatch {
 public:
  /// Returns cached blocks to the system and sets every peak to the present.
  MemoryWatch();

  MemoryPeaks peaks() const;

 private:
  bool rss_was_reset_;
};

}  // namespace npzoo::tools
