#include "npzoo/ops/time_encoding/time_encoding.h"

#include "npzoo/engine/backend.h"
#include "npzoo/ops/time_encoding/kernels.h"

namespace npzoo {

Tensor event_times(const Tensor& gaps, const Tensor& start) {
  check(gaps.rank() == 2 && start.shape() == Shape{gaps.dim(0)} && start.dtype() == DType::float64,
        "[event_times] gaps {} and {} start {} found, expected (B, N) and float64 (B)", gaps.shape(),
        to_string(start.dtype()), start.shape());
  Tensor times = Tensor::empty(gaps.shape(), DType::float64, gaps.device());
  run("event_times", gaps, [&]<class T>(const Backend& device) {
    event_times<T>(device, {gaps.dim(0), gaps.dim(1), gaps.data<T>(), start.data<double>(), times.data<double>()});
  });
  return times;
}

Tensor time_encoding(const Tensor& times, std::int64_t width, DType dtype) {
  check(times.rank() == 2 && times.dtype() == DType::float64,
        "[time_encoding] {} times {} found, expected float64 (B, N)", to_string(times.dtype()), times.shape());
  Tensor out = Tensor::empty({times.dim(0), times.dim(1), width}, dtype, times.device());
  run("time_encoding", out, [&]<class T>(const Backend& device) {
    time_encoding<T>(device, {times.numel(), width, times.data<double>(), out.data<T>()});
  });
  return out;
}

}  // namespace npzoo
