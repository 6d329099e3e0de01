#include "npzoo/ops/kriging/kriging.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/device_counter.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/kriging/kernels.h"
#include "npzoo/ops/mask_points/lengths.h"

namespace npzoo {

namespace {

DeviceCounter failed("kriging");

constexpr std::int64_t kFields = sizeof(KrigingKernel) / sizeof(double);
static_assert(sizeof(KrigingKernel) == kFields * sizeof(double));

const KrigingKernel* kernels_of(const Tensor& x) { return reinterpret_cast<const KrigingKernel*>(x.data<double>()); }
KrigingKernel* kernels_of(Tensor& x) { return reinterpret_cast<KrigingKernel*>(x.data<double>()); }

void check_context(const Tensor& x, const Tensor& y, const Tensor& lengths) {
  check(x.rank() == 3 && 1 <= x.dim(2) && x.dim(2) <= 3, "[kriging] x is {}, expected (B, N, 1 to 3)", x.shape());
  check(y.shape() == Shape{x.dim(0), x.dim(1), 1}, "[kriging] y {} does not fit x {}, expected {}", y.shape(),
        x.shape(), Shape{x.dim(0), x.dim(1), 1});
  check(y.dtype() == x.dtype(), "[kriging] x is {}, y {}", to_string(x.dtype()), to_string(y.dtype()));
  if (lengths.defined()) check_lengths("kriging", x, lengths);
}

void check_bank(const Tensor& bank, std::int64_t keep) {
  check(bank.rank() == 2 && bank.dim(1) == kFields && bank.dtype() == DType::float64,
        "[kriging] the bank is {} {}, expected float64 (K, {})", to_string(bank.dtype()), bank.shape(), kFields);
  const std::int64_t most = std::min(bank.dim(0), kMostKrigingKernels);
  check(1 <= keep && keep <= most, "[kriging] {} kernels to keep found, expected 1 to {}", keep, most);
}

/// Predictions of all kernels together, and of each.
struct Predictions {
  std::array<Tensor, 3> moments;  // mean, std and spread
  Tensor each, slopes{};
};

/// Predicts at x, or at the places of the context if x is undefined, with slopes on request.
Predictions predict_all(const KrigingFit& fit, const Tensor& x, std::int64_t targets, DType dtype, bool with_slopes) {
  const std::int64_t batch = fit.places.dim(0), dims = fit.places.dim(2), keep = fit.kernels.dim(1);
  const Device device = fit.places.device();
  const auto empty = [&] { return Tensor::empty({batch, targets}, dtype, device); };
  Predictions predicted{{empty(), empty(), empty()}, Tensor::empty({batch, keep, 2, targets}, DType::float64, device)};
  if (with_slopes) predicted.slopes = Tensor::empty({batch, keep, dims, 2, targets}, DType::float64, device);
  Tensor &mean = predicted.moments[0], &std = predicted.moments[1], &spread = predicted.moments[2];
  run("kriging", mean, [&]<class T>(const Backend& context) {
    kriging_moments<T>(context, {batch, fit.places.dim(1), dims, keep, targets, fit.lengths.data<std::int64_t>(),
                                 fit.order.data<std::int64_t>(), fit.centre.data<double>(), fit.places.data<double>(),
                                 fit.values.data<double>(), kernels_of(fit.kernels), x.data<T>(),
                                 predicted.each.data<double>(), with_slopes ? predicted.slopes.data<double>() : nullptr,
                                 mean.data<T>(), std.data<T>(), spread.data<T>()});
  });
  return predicted;
}

/// Returns the gradient with respect to x, given the cotangents of mean, std and spread. Undefined cotangents count as
/// 0.
Tensor place_gradient(const Tensor& kernels, const Tensor& each, const Tensor& slopes,
                      std::span<const Tensor> d_moments, DType dtype) {
  const std::int64_t batch = slopes.dim(0), keep = slopes.dim(1), dims = slopes.dim(2), targets = slopes.dim(4);
  Tensor d_x = Tensor::empty({batch, targets, dims}, dtype, slopes.device());
  run("kriging", d_x, [&]<class T>(const Backend& context) {
    kriging_backward<T>(context,
                        {batch, dims, keep, targets, kernels_of(kernels), each.data<double>(), slopes.data<double>(),
                         d_moments[0].data<T>(), d_moments[1].data<T>(), d_moments[2].data<T>(), d_x.data<T>()});
  });
  return d_x;
}

}  // namespace

Tensor kriging_bank(const std::vector<KrigingKernel>& kernels) {
  Tensor bank = Tensor::empty({std::ssize(kernels), kFields}, DType::float64, Device::cpu);
  if (!kernels.empty()) std::memcpy(bank.raw().data(), kernels.data(), bank.bytes());
  return bank;
}

KrigingFit kriging_fit(const Tensor& x, const Tensor& y, const Tensor& lengths, const Tensor& bank, std::int64_t keep) {
  check_context(x, y, lengths);
  check_bank(bank, keep);
  const std::int64_t batch = x.dim(0), points = x.dim(1), dims = x.dim(2), members = bank.dim(0);
  const std::int64_t finalists = std::min(members, std::max(kKrigingFinalists, keep));
  const bool sketch = finalists < members;
  const Device device = x.device();
  const auto empty = [device](const Shape& shape) { return Tensor::empty(shape, DType::float64, device); };
  KrigingFit fit{.kernels = empty({batch, keep, kFields}),
                 .centre = empty({batch, dims}),
                 .places = empty({batch, points, dims}),
                 .values = empty({batch, points}),
                 .order = Tensor::empty({batch, points}, DType::int64, device),
                 .lengths = lengths.defined() ? lengths.to(device) : lengths};
  const Tensor there = bank.to(device);
  Tensor work = empty({batch, context_work(points)}), all = empty({batch, members, kFields}),
         best = empty({batch, finalists, kFields});
  run("kriging", x, [&]<class T>(const Backend& context) {
    const auto* const counts = std::as_const(fit.lengths).data<std::int64_t>();
    kriging_contexts<T>(context, {batch, points, dims, members, counts, x.data<T>(), y.data<T>(), kernels_of(there),
                                  fit.order.data<std::int64_t>(), fit.centre.data<double>(), fit.places.data<double>(),
                                  fit.values.data<double>(), kernels_of(all), work.data<double>()});
    const auto weigh = [&](Tensor& kernels, std::int64_t block, std::int64_t fewest) {
      kriging_weigh<T>(context, {batch, points, dims, kernels.dim(1), block, fewest, counts, fit.places.data<double>(),
                                 fit.values.data<double>(), kernels_of(kernels), failed.on(device)});
    };
    const auto keep_best = [&](Tensor& kernels, Tensor& kept) {
      kriging_keep<T>(context, {batch, kernels.dim(1), kept.dim(1), kernels_of(kernels), kernels_of(kept)});
    };
    weigh(all, sketch ? kKrigingSketch : kKrigingBlock, 0);
    keep_best(all, best);
    if (sketch && points > kKrigingSketch) weigh(best, kKrigingBlock, kKrigingSketch + 1);
    keep_best(best, fit.kernels);
  });
  return fit;
}

DeviceCounter& failed_factorisation_counter() { return failed; }

KrigingMoments kriging_predict(const KrigingFit& fit, const Tensor& x) {
  const Shape expected{fit.places.dim(0), x.rank() == 3 ? x.dim(1) : 0, fit.places.dim(2)};
  check(x.shape() == expected, "[kriging] targets {} do not fit contexts {}, expected (B, M, D)", x.shape(),
        fit.places.shape());
  Predictions predicted = predict_all(fit, x, x.dim(1), x.dtype(), needs_grad(x));
  record("kriging_predict", std::span(predicted.moments), {x},
         [kernels = fit.kernels, each = predicted.each, slopes = predicted.slopes, at = x.symbol()](
             std::span<const Tensor> d_moments, Grads& grads) {
           grads.add(at, place_gradient(kernels, each, slopes, d_moments, at.dtype()));
         });
  return {predicted.moments[0], predicted.moments[1], predicted.moments[2]};
}

KrigingMoments kriging_leave_one_out(const KrigingFit& fit, DType dtype) {
  const Predictions predicted = predict_all(fit, {}, fit.places.dim(1), dtype, false);
  return {predicted.moments[0], predicted.moments[1], predicted.moments[2]};
}

}  // namespace npzoo
