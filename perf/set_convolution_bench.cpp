// Time of a set convolution onto a 256 × 256 grid and back as the number of points grows, and the exponent of the
// growth. Usage: set_convolution_bench [threads]. Three channels: those of a density and two values.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "npzoo/engine/parallel.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/set_convolution/set_convolution.h"

namespace {

using namespace npzoo;

constexpr std::int64_t kSide = 256, kChannels = 3;
constexpr int kRepeats = 5;

template <class F>
double milliseconds(F f) {
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return times[kRepeats / 2];
}

Tensor uniform(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  Random random(1);
  for (float& value : x.values<float>()) value = static_cast<float>(2 * random.uniform() - 1);
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const double step = 2 / static_cast<double>(kSide - 1);
  const RegularGrid grid = RegularGrid::over({-1, step, kSide}, {-1, step, kSide});
  Tensor scales = Tensor::full({1}, step);  // what a model starts with
  const Tensor d_nodes = uniform({1, kSide, kSide, kChannels});
  fmt::print("{:>10}{:>14}{:>14}{:>22}\n", "points", "onto grid ms", "back ms", "onto grid, gradients");
  std::vector<double> sizes, times;
  for (const std::int64_t points : {1'000, 10'000, 100'000, 1'000'000}) {
    const Tensor x = uniform({1, points, 2});
    Tensor values = uniform({1, points, kChannels}), nodes;
    const double onto = milliseconds([&] { nodes = points_to_grid(x, values, scales, grid); });
    const double back = milliseconds([&] { grid_to_points(x, nodes, scales, grid); });
    Tape tape;
    const double backward = milliseconds([&] {
      tape.clear();
      tape.watch(values);
      tape.watch(scales);
      Tensor out;
      {
        const Recording on(tape);
        out = points_to_grid(x, values, scales, grid);
      }
      tape.backward(out, d_nodes);
      values = values.detach();
      scales = scales.detach();
    });
    fmt::print("{:>10}{:>14.2f}{:>14.2f}{:>22.2f}\n", points, onto, back, backward);
    sizes.push_back(std::log(static_cast<double>(points)));
    times.push_back(std::log(onto));
  }
  const std::size_t last = sizes.size() - 1;
  fmt::print("growth exponent of the points onto the grid: {:.2f} in all, {:.2f} over the last decade\n",
             (times[last] - times[0]) / (sizes[last] - sizes[0]),
             (times[last] - times[last - 1]) / (sizes[last] - sizes[last - 1]));
}
