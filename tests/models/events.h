#pragma once

#include "npzoo/models/predictions/next_event.h"
#include "npzoo/ops/softmax/softmax.h"
#include "tests/models/model_fixtures.h"

// Sequences of events, and what is predicted of them.

namespace npzoo::testing {

inline constexpr std::int64_t kMarks = 4;
inline const Shape kEvents{2, 3, 1};

/// Outputs of a network for two sequences of three events: logits, means and logarithms of standard deviations, (B, Nt,
/// K), and logits of marks (B, Nt, M).
inline std::vector<Tensor> raw(DType dtype, std::int64_t components = 3) {
  const Shape shape{2, 3, components};
  std::vector<Tensor> all{normal<double>(shape, 1), normal<double>(shape, 2, 0.7), normal<double>(shape, 3, 0.3, -0.4),
                          normal<double>({2, 3, kMarks}, 4)};
  for (Tensor& x : all) x = x.to(dtype);
  return all;
}

inline NextEvent events_of(const std::vector<Tensor>& raw, bool marks = true) {
  return NextEvent({log_softmax(raw[0]), raw[1], exp(raw[2])}, marks ? log_softmax(raw[3]) : Tensor());
}

/// One gap and one mark for all events.
inline Tensor events(double gap, double mark, DType dtype = DType::float64) {
  const Shape shape = kEvents;
  return concat({Tensor::full(shape, gap, dtype), Tensor::full(shape, mark, dtype)}, 2);
}

inline Tensor some_events(DType dtype = DType::float64) {
  const Tensor marks = Tensor::from<double>({2, 3, 1}, {3, 0, 1, 2, 2, 3}).to(default_device());
  return concat({exp(normal<double>(kEvents, 5)), marks}, 2).to(dtype);
}

}  // namespace npzoo::testing
