#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "npzoo/models/linearised_prediction.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// npzoo._core.Pullback.
struct Pullback {
  std::shared_ptr<const Trained> trained;
  InTurns<LinearisedPrediction> prediction;
  bool single = false;

  Moments moments() {
    return prediction.call([](LinearisedPrediction& p) { return p.moments(); });
  }
  NumpyArray mean() { return array_from(moments().mean, single); }
  NumpyArray std() { return array_from(moments().std, single); }

  /// Gradients of xc, yc and xt from those of mean and standard deviation; none given: zeros.
  std::tuple<NumpyArray, NumpyArray, NumpyArray> play(const std::optional<Array>& d_mean,
                                                      const std::optional<Array>& d_std) {
    auto all = prediction.call([&](LinearisedPrediction& p) {
      const auto cotangent = [&](const std::optional<Array>& given, const char* name) {
        if (!given) return Tensor::zeros(p.moments().mean.shape(), trained->dtype);
        return points_from(*given, name, trained->model->dim_y(), trained->dtype).values;
      };
      return p.pull_back(cotangent(d_mean, "d_mean"), cotangent(d_std, "d_std"));
    });
    return {array_from(std::move(all.xc), single), array_from(std::move(all.yc), single),
            array_from(std::move(all.xt), single)};
  }
};

Pullback vjp(const LoadedModel& self, const Array& xc, const Array& yc, const Array& xt,
             const std::optional<Array>& lengths, std::optional<std::uint64_t> seed, std::int64_t samples) {
  const Trained& trained = *self.trained;
  return unlocked([&] {
    ContextArrays points = context_from(trained, xc, yc, lengths);
    Points at = points_from(xt, "xt", trained.model->dim_x(), trained.dtype);
    check_tasks("xt", at.single, at.values.dim(0), points.single, points.context.xc.dim(0));
    const Draws draws(seed.value_or(trained.checkpoint.run.seed), Purpose::prediction, 0);
    LinearisedPrediction prediction(*trained.model, std::move(points.context), std::move(at.values), draws, samples);
    return Pullback{self.trained, InTurns(std::move(prediction)), at.single};
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
