#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/set_convolution/set_convolution.h"

namespace npzoo {

void set_convolution_gradcheck_cases(GradcheckCases& cases) {
  const RegularGrid line = RegularGrid::over({-1.5, 0.4, 9}), plane = RegularGrid::over({-1, 0.5, 5}, {-1.2, 0.6, 4});
  for (const RegularGrid& grid : {line, plane})
    for (const std::int64_t channels : {0, 1, 3, 33})
      for (const bool of_each : {false, true}) {
        if (channels == 0 && of_each) continue;
        const std::int64_t points = channels == 3 ? 7 : 2;
        const Tensor x = cases.uniform({2, points, grid.dims()}, -1.5, 1.5);
        const auto scales = [&] { return cases.uniform({of_each ? channels : 1}, 0.2, 0.7); };
        const Tensor lengths = cases.integers({2}, 0, points + 1);
        cases.add("points_to_grid", {cases.normal({2, points, channels}), scales(), x},
                  [=](const std::vector<Tensor>& in) { return points_to_grid(in[2], in[0], in[1], grid, lengths); });
        const Shape nodes = grid.dims() == 1 ? Shape{2, 9, channels} : Shape{2, 5, 4, channels};
        cases.add("grid_to_points", {cases.normal(nodes), scales(), x},
                  [=](const std::vector<Tensor>& in) { return grid_to_points(in[2], in[0], in[1], grid); });
      }
  const Tensor none = cases.normal({2, 0, 1});
  cases.add("points_to_grid, no points", {cases.normal({2, 0, 2}), cases.uniform({2}, 0.2, 0.7)},
            [=](const std::vector<Tensor>& in) { return points_to_grid(none, in[0], in[1], line); });
  cases.add("grid_to_points, no points", {cases.normal({2, 9, 2}), cases.uniform({2}, 0.2, 0.7)},
            [=](const std::vector<Tensor>& in) { return grid_to_points(none, in[0], in[1], line); });
}

}  // namespace npzoo
