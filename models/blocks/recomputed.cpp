#include "npzoo/models/blocks/recomputed.h"

#include <utility>

#include "npzoo/engine/tape.h"

namespace npzoo {

namespace {

/// Rows of a tensor whose layers are recorded. A layer of width 64 notes about 5 KB of a row: 0.6 GB of these.
constexpr std::int64_t kMostRows = 1 << 17;

/// The cotangent of f's result for points [begin, end).
using Cotangent = std::function<Tensor(std::int64_t begin, std::int64_t end)>;

/// Computes f again for each chunk of x and adds to the gradients what its cotangent brings.
void play_points(const Tensor& x, const PointFunction& f, const Cotangent& d_out, Grads& grads) {
  Tensor d_x;
  const std::int64_t points = x.dim(1);
  for_chunks(points, chunk_points(x.device()), [&](std::int64_t begin, std::int64_t end) {
    Tape tape(grads);
    Tensor rows = points_between(x, begin, end).detach(), out;
    {
      const Recording on(tape);
      if (grads.wants(x)) tape.watch(rows);
      out = f(rows, begin);
    }
    const Grads& found = tape.backward(out, d_out(begin, end));
    if (!grads.wants(x) || !found.find(rows).defined()) return;
    const Tensor& d_rows = found.find(rows);
    if (end - begin == points) {
      d_x = d_rows;
      return;
    }
    if (!d_x.defined()) d_x = Tensor::zeros_like(x);
    copy_slice(d_rows, 1, begin, d_x);
  });
  grads.add(x, std::move(d_x));
}

}  // namespace

Tensor recomputed(const char* name, std::vector<Tensor> inputs, PureFunction f) {
  Tensor out;
  {
    const NoGrad off;
    out = f(inputs);
  }
  record(name, out, std::span<const Tensor>(inputs), [inputs, f = std::move(f)](const Tensor& d_out, Grads& grads) {
    Tape tape(grads);
    Tensor again;
    {
      const Recording on(tape);
      again = f(inputs);
    }
    tape.backward(again, d_out);
  });
  return out;
}

bool recomputes(const Tensor& x) {
  if (!current_tape() || current_tape()->nested()) return false;
  const std::int64_t wish = chunk_points_of_test.load(std::memory_order_relaxed);
  return x.dim(0) * x.dim(1) > (wish > 0 ? wish : kMostRows);
}

Tensor recomputed_points(const char* name, const Tensor& x, std::vector<Tensor> reads, PointFunction f) {
  Tensor out;
  {
    const NoGrad off;
    out = join_chunks(x.dim(1), chunk_points(x.device()),
                      [&](std::int64_t begin, std::int64_t end) { return f(points_between(x, begin, end), begin); });
  }
  reads.push_back(x);
  record(name, out, std::span<const Tensor>(reads), [x, f = std::move(f)](const Tensor& d_out, Grads& grads) {
    play_points(
        x, f, [&](std::int64_t begin, std::int64_t end) { return points_between(d_out, begin, end); }, grads);
  });
  return out;
}

Tensor recomputed_sum(const char* name, const Tensor& x, std::vector<Tensor> reads, Tensor sum, PointFunction f) {
  reads.push_back(x);
  record(name, sum, std::span<const Tensor>(reads), [x, f = std::move(f)](const Tensor& d_sum, Grads& grads) {
    play_points(
        x, f, [&](std::int64_t, std::int64_t) { return d_sum; }, grads);
  });
  return sum;
}

}  // namespace npzoo
