#include "npzoo/models/blocks/drop_values.h"

#include "npzoo/engine/error.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Task drop_values(const Task& task, double share, Draws& draws) {
  if (share == 0) return task;
  const Tensor& y = task.yc;
  const std::int64_t batch = y.dim(0), points = y.dim(1), channels = y.dim(2), each = points * channels;
  const Tensor noise = draws.normal(1, batch, {points, channels}, y.dtype(), y.device());
  const Tensor chance = draws.uniform(1, batch, {points, channels}, DType::float64, Device::cpu);
  // Which of [values; noise] stands in each place.
  const Tensor index = draws.derived({batch, each}, [=](std::span<std::int64_t> out) {
    for (std::int64_t i = 0; i < std::ssize(out); ++i)
      out[static_cast<std::size_t>(i)] = i % each + (chance.data<double>()[i] < share ? each : 0);
  });
  const Shape column{batch, each, 1};
  Task dropped = task;
  dropped.yc = reshape(gather(concat({reshape(y, column), reshape(noise, column)}, 1), index), y.shape());
  return dropped;
}

double read_drop_y(ConfigReader& reader) {
  return reader.number("drop_y", "share of the context values that training replaces with noise", kShare, 0);
}

}  // namespace npzoo
