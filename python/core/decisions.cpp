#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <tuple>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// Name, bounds, whether logarithmic, whether whole numbers, the value that it is held at, and choices.
using AxisTuple = std::tuple<std::string, double, double, bool, bool, std::optional<double>, std::vector<std::string>>;

/// The model of weights, shared with the objects that loaded them.
std::shared_ptr<const Model> shared_model(const LoadedModel& loaded) {
  return {loaded.trained, loaded.trained->model.get()};
}

SearchSpace space_of(const std::vector<AxisTuple>& axes) {
  std::vector<Axis> all;
  for (const auto& [name, low, high, logarithmic, integer, fixed, choices] : axes)
    all.push_back({name, low, high, logarithmic, integer, fixed, choices});
  return SearchSpace(std::move(all));
}

BatchRule batch_rule(const std::string& name) {
  check(name == "fantasies" || name == "thompson", "[optimise] batch '{}' found, expected 'fantasies' or 'thompson'",
        name);
  return name == "thompson" ? BatchRule::thompson : BatchRule::fantasies;
}

using SharedOptimiser = InTurns<BayesianOptimiser>;

SharedOptimiser make_optimiser(const std::vector<AxisTuple>& axes, bool maximise, const std::string& acquisition,
                               const std::string& batch, const std::optional<LoadedModel>& model, bool gaussian_process,
                               std::uint64_t seed) {
  BayesianOptions options{.maximise = maximise, .batch = batch_rule(batch), .seed = seed};
  options.acquisition.kind = acquisition_kind(acquisition);
  if (gaussian_process) options.surrogate = FittedGp{};
  if (model)
    options.surrogate = OwnModelSurrogate{.model = shared_model(*model),
                                          .info = model->trained->info(),
                                          .range = model->trained->checkpoint.run.protocol.data->training_range(),
                                          .dtype = model->trained->dtype};
  return SharedOptimiser(BayesianOptimiser(space_of(axes), std::move(options)));
}

nb::object number_or_none(const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); }

nb::dict ask(SharedOptimiser& self, std::int64_t count) {
  check(count >= 1, "[optimise] {} points to propose found, expected 1 or more", count);
  const Proposals proposals = self.call([&](BayesianOptimiser& optimiser) { return optimiser.ask(count); });
  nb::list points;
  for (const ProposedPoint& p : proposals.points)
    points.append(
        nb::make_tuple(p.values, number_or_none(p.mean), number_or_none(p.std), number_or_none(p.acquisition)));
  nb::dict all;
  all["points"] = points;
  all["by"] = proposals.by;
  all["note"] = proposals.note;
  if (const auto& best = proposals.recommended)
    all["recommended"] = nb::make_tuple(best->values, best->mean, best->std);
  else
    all["recommended"] = nb::none();
  return all;
}

/// Bytes (height, width, channels).
using Pixels = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

NumpyArray bytes_array(const Picture& picture) {
  Tensor numbers = Tensor::empty({picture.height, picture.width, picture.channels}, DType::int64, Device::cpu);
  for (std::size_t i = 0; i < picture.bytes.size(); ++i) numbers.values<std::int64_t>()[i] = picture.bytes[i];
  return array_from(std::move(numbers));
}

nb::dict complete(const LoadedModel& loaded, const Pixels& pixels, const Mask& mask, std::int64_t height,
                  std::int64_t width, std::int64_t samples, std::uint64_t seed, nb::object progress) {
  const TrainedModel& trained = in_float32(loaded, "complete");
  const auto format = trained.checkpoint.run.protocol.data->image_format();
  check(format.has_value(), "[complete] {} trained under {} found, expected a model of images",
        trained.checkpoint.run.spec.name, trained.checkpoint.run.protocol.name);
  check(mask.shape(0) == pixels.shape(0) && mask.shape(1) == pixels.shape(1),
        "[complete] a mask of {} x {} pixels found, expected {} x {} as the image", mask.shape(1), mask.shape(0),
        pixels.shape(1), pixels.shape(0));
  Picture picture{static_cast<std::int64_t>(pixels.shape(0)),
                  static_cast<std::int64_t>(pixels.shape(1)),
                  static_cast<std::int64_t>(pixels.shape(2)),
                  {}};
  picture.bytes.assign(pixels.data(), pixels.data() + pixels.size());
  CallWatch watch;
  CompletionRequest request{.model = ImageModel{.model = shared_model(loaded),
                                                .density = loaded.trained->info().drawing(),
                                                .format = *format,
                                                .name = trained.checkpoint.run.spec.name},
                            .picture = std::move(picture),
                            .shown = PixelMask(mask.data(), mask.data() + mask.size()),
                            .height = height,
                            .width = width,
                            .samples = samples,
                            .seed = seed,
                            .progress = watch.progress(progress)};
  CompletedPicture done = unlocked(watch, [&] { return complete_picture(request); });
  const std::vector<std::size_t> shape{static_cast<std::size_t>(done.height), static_cast<std::size_t>(done.width),
                                       static_cast<std::size_t>(done.channels)};
  nb::dict all;
  all["image"] = bytes_array(finished_picture(done));
  nb::list drawn;
  for (std::vector<double>& sample : done.samples) drawn.append(array_from(std::move(sample), shape));
  all["samples"] = drawn;
  all["squared_error"] = number_or_none(done.squared_error);
  all["log_likelihood"] = number_or_none(done.log_likelihood);
  all["mean"] = array_from(std::move(done.mean), shape);
  all["std"] = array_from(std::move(done.deviation), shape);
  return all;
}

}  // namespace

void add_decisions(nb::module_& module) {
  nb::class_<SharedOptimiser>(module, "Optimiser")
      .def_static("make", &make_optimiser, "axes"_a, "maximise"_a, "acquisition"_a, "batch"_a, "model"_a,
                  "gaussian_process"_a, "seed"_a)
      .def(
          "tell",
          [](SharedOptimiser& self, const Doubles& points, const Doubles& values) {
            self.call([&](BayesianOptimiser& optimiser) { optimiser.tell(span_of(points), span_of(values)); });
          },
          "points"_a.noconvert(), "values"_a.noconvert())
      .def("ask", &ask, "count"_a)
      .def(
          "wait_for",
          [](SharedOptimiser& self, const Doubles& points) {
            self.call([&](BayesianOptimiser& optimiser) { optimiser.wait_for(span_of(points)); });
          },
          "points"_a.noconvert())
      .def("pending",
           [](SharedOptimiser& self) {
             return self.call([](BayesianOptimiser& optimiser) { return optimiser.pending(); });
           })
      .def("forget_pending",
           [](SharedOptimiser& self) { self.call([](BayesianOptimiser& optimiser) { optimiser.forget_pending(); }); });
  module.def(
      "read_space",
      [](const std::string& path) {
        nb::list axes;
        const SearchSpace space = SearchSpace::read(path);
        for (const Axis& a : space.axes())
          axes.append(
              nb::make_tuple(a.name, a.low, a.high, a.logarithmic, a.integer, number_or_none(a.fixed), a.choices));
        return axes;
      },
      "path"_a);
  module.def("complete", &complete, "model"_a, "pixels"_a.noconvert(), "mask"_a.noconvert(), "height"_a, "width"_a,
             "samples"_a, "seed"_a, "progress"_a.none());
  module.def(
      "read_picture", [](const std::string& path) { return bytes_array(read_picture(path, 0)); }, "path"_a);
}

}  // namespace npzoo::python
