// A stream of events or points, absorbed one by one: processor time of each and memory, tenth by tenth.
// Usage: stream_bench MODEL PROTOCOL COUNT [points at a time, 1 [anew]]. Weights are untrained: neither depends on
// them. With `anew` also the time to encode as many points at once, as models that do not stream need for each point.

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/registry.h"

namespace {

using namespace npzoo;

constexpr int kTenths = 10;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The next points: of events their numbers from `from` on, gaps that are exponential and marks; of others anywhere.
Context next_points(const Model& model, bool events, std::int64_t from, std::int64_t count, Random& random) {
  Tensor x = Tensor::empty({1, count, model.dim_x()}), y = Tensor::empty({1, count, model.dim_y()});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = events ? static_cast<float>(from + i) : static_cast<float>(4 * random.uniform() - 2);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    y.data<float>()[i] = !events      ? static_cast<float>(random.normal())
                         : i % 2 == 0 ? static_cast<float>(-std::log1p(-random.uniform()))
                                      : 0.f;
  return {x, y};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "stream_bench MODEL PROTOCOL COUNT [points at a time [anew]]\n");
    return 2;
  }
  set_threads(1);
  const auto total = static_cast<std::int64_t>(std::atof(argv[3]));
  const std::int64_t chunk = argc > 4 ? std::atoll(argv[4]) : 1;
  const bool anew = argc > 5 && std::string_view(argv[5]) == "anew";
  const Protocol protocol = load_protocol(argv[2]);
  const auto model = make_model(model_spec(protocol, argv[1]));
  if (!model->streams()) {
    fmt::print(stderr, "[stream_bench] {} does not stream\n", argv[1]);
    return 1;
  }
  const bool events = model_info(argv[1]).takes == TaskForm::events;
  Random random(0);
  Draws draws(0, Purpose::prediction, 0);
  std::int64_t absorbed = chunk;
  auto state = model->condition(next_points(*model, events, 0, chunk, random), draws, kSamples);
  fmt::print("{:>12}{:>24}{:>18}{}\n", "absorbed", "microseconds a point", "kB of tensors",
             anew ? "   microseconds at once" : "");
  for (int tenth = 1; tenth <= kTenths; ++tenth) {
    reset_peak_memory();
    const double begin = processor_seconds();
    const std::int64_t first = absorbed, end = total * tenth / kTenths;
    for (; absorbed < end; absorbed += chunk)
      state = model->update(*state, next_points(*model, events, absorbed, chunk, random));
    fmt::print("{:>12}{:>24.2f}{:>18.1f}", absorbed,
               1e6 * (processor_seconds() - begin) / static_cast<double>(absorbed - first),
               1e-3 * static_cast<double>(memory_stats().peak_live_bytes));
    if (anew) {
      const Context all = next_points(*model, events, 0, absorbed, random);
      const double start = processor_seconds();
      static_cast<void>(model->condition(all, draws, kSamples));
      fmt::print("{:>23.2f}", 1e6 * (processor_seconds() - start));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}
