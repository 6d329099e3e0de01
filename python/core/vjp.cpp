#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <tuple>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// Mean and standard deviation of each value, recorded: those of the mixture by the law of total variance.
Moments recorded_moments(const Marginals& m) {
  check(m.scale == Scale::linear, "[vjp] the model predicts logarithms of values, expected a model of values");
  const std::int64_t count = m.mean.dim(0);
  const Shape values = m.mean.shape().without(0);
  if (count == 1) return {reshape(m.mean, values), reshape(m.std, values)};
  const auto average = [&](const Tensor& x) {
    if (!m.log_weight.defined()) return mean(x, 0);
    return sum(mul(x, reshape(exp(m.log_weight), m.mean.shape().with(3, 1))), 0);
  };
  const Tensor mean = average(m.mean);
  const Tensor distance = sub(m.mean, reshape(mean, m.mean.shape().with(0, 1)));
  return {mean, sqrt(average(add(square(m.std), square(distance))))};
}

/// npzoo._core.Pullback: one evaluation of a model, and what its gradients need.
class Pullback {
 public:
  Pullback(std::shared_ptr<const Trained> trained, Context context, Tensor xt, bool single, std::uint64_t seed,
           std::int64_t samples)
      : trained_(std::move(trained)),
        context_(std::move(context)),
        xt_(std::move(xt)),
        single_(single),
        seed_(seed),
        samples_(samples) {
    record_again();
  }

  nb::object mean() const { return array_from(mean_, single_); }
  nb::object std() const { return array_from(std_, single_); }

  /// Gradients of xc, yc and xt from those of mean and standard deviation.
  std::tuple<nb::object, nb::object, nb::object> play(const std::optional<Array>& d_mean,
                                                      const std::optional<Array>& d_std) {
    struct Gradients {
      Tensor xc, yc, xt;
    };
    Gradients all = unlocked([&] {
      const std::int64_t width = trained_->model->dim_y();
      const auto cotangent = [&](const std::optional<Array>& given, const char* name) {
        if (!given) return Tensor::zeros(mean_.shape(), trained_->dtype);
        Points points = points_from(*given, name, width, trained_->dtype);
        check(points.values.shape() == mean_.shape(), "[{}] shape {} found, expected {}", name, points.values.shape(),
              mean_.shape());
        return points.values;
      };
      const auto flat = [](const Tensor& t) { return t.view({t.numel()}); };
      const Tensor d_out = concat({flat(cotangent(d_mean, "d_mean")), flat(cotangent(d_std, "d_std"))}, 0);
      if (played_) record_again();
      played_ = true;
      const Grads& grads = tape_->backward(out_, d_out);
      return Gradients{grads.of(context_.xc), grads.of(context_.yc), grads.of(xt_)};
    });
    return {array_from(std::move(all.xc), single_), array_from(std::move(all.yc), single_),
            array_from(std::move(all.xt), single_)};
  }

 private:
  void record_again() {
    tape_ = std::make_unique<Tape>();
    for (Tensor* leaf : {&context_.xc, &context_.yc, &xt_}) {
      *leaf = leaf->detach();
      tape_->watch(*leaf);
    }
    const Recording on(*tape_);
    Draws draws(seed_, Purpose::prediction, 0);
    state_ = trained_->model->condition(context_, draws, samples_);
    const Moments moments = recorded_moments(trained_->model->query(*state_, xt_)->marginals());
    const auto flat = [](const Tensor& t) { return reshape(t, {t.numel()}); };
    out_ = concat({flat(moments.mean), flat(moments.std)}, 0);
    mean_ = moments.mean.detach().clone();
    std_ = moments.std.detach().clone();
    played_ = false;
  }

  std::shared_ptr<const Trained> trained_;
  Context context_;
  Tensor xt_;
  bool single_;
  std::uint64_t seed_;
  std::int64_t samples_;
  std::unique_ptr<Tape> tape_;
  std::shared_ptr<const ContextState> state_;
  Tensor out_, mean_, std_;
  bool played_ = false;
};

Pullback vjp(const LoadedModel& self, const Array& xc, const Array& yc, const Array& xt,
             const std::optional<Array>& lengths, std::optional<std::uint64_t> seed, std::int64_t samples) {
  const Trained& trained = *self.trained;
  return unlocked([&] {
    Points x = points_from(xc, "xc", trained.model->dim_x(), trained.dtype);
    Points y = points_from(yc, "yc", trained.model->dim_y(), trained.dtype);
    Points at = points_from(xt, "xt", trained.model->dim_x(), trained.dtype);
    check(x.values.dim(1) == y.values.dim(1), "[yc] {} values found, expected {} as in xc", y.values.dim(1),
          x.values.dim(1));
    check(x.values.dim(0) == y.values.dim(0) && x.values.dim(0) == at.values.dim(0) && x.single == at.single,
          "[xt] points of {} tasks found, expected {} as in the context", at.values.dim(0), x.values.dim(0));
    Tensor counts = lengths_from(lengths, "lengths", x.values.dim(0), x.values.dim(1));
    Context context{std::move(x.values), std::move(y.values), std::move(counts)};
    if (context.lengths.defined()) context = clear_padding(context);
    return Pullback(self.trained, std::move(context), std::move(at.values), at.single,
                    seed.value_or(trained.checkpoint.run.seed), samples);
  });
}

}  // namespace

void add_vjp(nb::module_& module) {
  nb::class_<Pullback>(module, "Pullback")
      .def_prop_ro("mean", &Pullback::mean)
      .def_prop_ro("std", &Pullback::std)
      .def("__call__", &Pullback::play, "d_mean"_a = nb::none(), "d_std"_a = nb::none());
  module.def("vjp", &vjp, "model"_a, "xc"_a, "yc"_a, "xt"_a, "lengths"_a = nb::none(), "seed"_a = nb::none(),
             "samples"_a = kSamples);
}

}  // namespace npzoo::python
