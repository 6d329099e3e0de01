#include "npzoo/datasets/task.h"

#include <algorithm>
#include <cstddef>

namespace npzoo {

Tensor real_points(const Tensor& lengths, std::int64_t points, DType dtype) {
  Tensor real = Tensor::zeros({lengths.dim(0), points}, DType::float64, Device::cpu);
  const auto counts = lengths.values<std::int64_t>();
  for (std::size_t b = 0; b < counts.size(); ++b)
    std::fill_n(real.data<double>() + static_cast<std::int64_t>(b) * points, counts[b], 1.0);
  return real.to(dtype);
}

}  // namespace npzoo
