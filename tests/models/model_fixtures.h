#pragma once

#include <fmt/format.h>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/memory.h"
#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/config_json.h"
#include "npzoo/models/events/event_model.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"
#include "tests/testing.h"

// Helpers for tests of models: specs, tasks, weights and comparisons.

namespace npzoo::testing {

/// The same sums in another order: some roundings of 1e-16 in each of up to ten layers.
inline constexpr double kRounding = 1e-12;

struct TaskSize {
  std::int64_t batch = 3, nc = 7, nt = 5;
};

/// Gaps and marks (B, n, 2), all of them events.
inline Tensor random_events(const Shape& shape, std::int64_t marks, std::uint64_t seed) {
  Tensor y = normal<double>(shape, seed, 0.5).to(Device::cpu);
  Random random(seed);
  for (std::int64_t i = 0; i < y.numel(); i += 2) {
    y.data<double>()[i] = std::exp(y.data<double>()[i]);
    y.data<double>()[i + 1] = static_cast<double>(random.integer(0, marks));
  }
  return y.to(default_device());
}

/// Numbers z as values that the likelihood of a model supports: quantiles of the probabilities of z.
inline Tensor supported_values(const Model& model, const Tensor& z) {
  const Likelihood likelihood = model.likelihood();
  if (likelihood.gaussian()) return z;
  const std::vector<double> ones(static_cast<std::size_t>(likelihood.parameters()), 1.0);
  Tensor y = z.to(Device::cpu).to(DType::float64).clone();
  for (double& value : y.values<double>())
    value = likelihood.distribution->quantile(ones, std::clamp(normal_probability(value), 0.01, 0.99));
  return y.to(z.dtype()).to(z.device());
}

inline Task random_task(const Model& model, const TaskSize& size, DType dtype = DType::float64) {
  if (const auto* events = dynamic_cast<const EventModel*>(&model)) {
    const auto numbers = [&](std::int64_t count) { return Tensor::zeros({size.batch, count, 1}, dtype); };
    const auto values = [&](std::int64_t count, std::uint64_t seed) {
      return random_events({size.batch, count, 2}, events->marks(), seed).to(dtype);
    };
    return {numbers(size.nc), values(size.nc, 12), numbers(size.nt), values(size.nt, 14), {}};
  }
  const auto points = [&](std::int64_t count, std::int64_t width, std::uint64_t seed) {
    return normal<double>({size.batch, count, width}, seed).to(dtype);
  };
  return {nearest_places(model, points(size.nc, model.dim_x(), 11)),
          supported_values(model, points(size.nc, model.dim_y(), 12)),
          nearest_places(model, points(size.nt, model.dim_x(), 13)),
          supported_values(model, points(size.nt, model.dim_y(), 14)),
          {}};
}

struct ModelCase {
  std::string label;
  ModelSpec spec;
};

/// True if the prediction of a target depends on the others.
inline bool predicts_jointly(const std::string& name) { return model_info(name).density == Density::joint; }

/// Whether it predicts all targets, or blocks of them, by one Gaussian.
inline bool predicts_joint_gaussians(const std::string& name) {
  return name == "tnp-nd" || name == "lbanp-nd" || name == "cmanp-and";
}

/// Every model of the build, and those of tests alone, in every architecture and form of the standard deviation, small,
/// for each of the dimensions.
inline std::vector<ModelCase> small_models_of_all_dimensions() {
  std::vector<ModelCase> cases;
  for (const std::int64_t dim_x : {1, 2})
    for (const std::int64_t dim_y : {1, 3})
      for (const ModelInfo& model : models()) {
        if (model.takes == TaskForm::events && (dim_x != 1 || dim_y != 1))
          continue;  // they have dimensions of their own
        if (dim_x > model.traits.most_inputs) continue;
        int form = 0;
        for (const char* text : model.small_forms) {
          ModelConfig config = model_config_from_json(text, model.name);
          const std::int64_t channels = model.takes == TaskForm::events ? 2 : dim_y;
          config.merge(ModelConfig{{"dim_x", dim_x}, {"dim_y", channels}});
          cases.push_back({fmt::format("{} of form {}, dx {}, dy {}", model.name, form++, dim_x, channels),
                           {model.name, std::move(config)}});
        }
      }
  return cases;
}

/// The same. Where tests run on the emulated GPU, which is slow, each form has one of the dimensions, in turn.
inline std::vector<ModelCase> small_models() {
  std::vector<ModelCase> cases = small_models_of_all_dimensions();
  if (!on_emulated_gpu()) return cases;
  std::vector<std::vector<ModelCase>> forms;
  for (ModelCase& c : cases) {
    const auto is_form = [&](const std::vector<ModelCase>& form) {
      return form.front().label.substr(0, form.front().label.find(',')) == c.label.substr(0, c.label.find(','));
    };
    const auto form = std::ranges::find_if(forms, is_form);
    if (form == forms.end())
      forms.push_back({std::move(c)});
    else
      form->push_back(std::move(c));
  }
  cases.clear();
  for (std::size_t i = 0; i < forms.size(); ++i) cases.push_back(forms[i][i % forms[i].size()]);
  return cases;
}

/// While it lives, models work through their points in chunks of `points`.
class ChunkPoints {
 public:
  explicit ChunkPoints(std::int64_t points) { chunk_points_of_test = points; }
  ChunkPoints(const ChunkPoints&) = delete;
  ChunkPoints& operator=(const ChunkPoints&) = delete;
  ~ChunkPoints() { chunk_points_of_test = 0; }
};

/// Every preset of every protocol in the program, once each. Grids of pixels are smaller than images, and networks are
/// narrower: tests that walk over presets do not depend on the sizes, and drawing the weights takes most of their time.
inline std::vector<ModelCase> preset_models() {
  constexpr std::int64_t kWidth = 32;
  std::vector<ModelCase> cases;
  for (const std::string& protocol_name : protocol_names()) {
    const Protocol protocol = load_protocol(protocol_name);
    for (const auto& [model, config] : protocol.models) {
      ModelSpec spec = model_spec(protocol, model);
      if (const auto pixels = spec.config.find("grid_size"); pixels != spec.config.end())
        pixels->second = std::int64_t{6};
      for (const char* key :
           {"d_model", "d_ff", "d_inner", "dec_width", "dim_feedforward", "dim_hid", "dim_lat", "embed_dim",
            "embed_hidden", "feedforward_dim", "head_hidden", "num_latents", "width", "xy_width", "y_width"})
        if (const auto width = spec.config.find(key); width != spec.config.end())
          width->second = std::min(std::get<std::int64_t>(width->second), kWidth);
      if (const auto steps = spec.config.find("timesteps"); steps != spec.config.end()) steps->second = std::int64_t{3};
      if (std::ranges::find(cases, spec, &ModelCase::spec) == cases.end())
        cases.push_back({fmt::format("{} under {}", model, protocol_name), spec});
    }
  }
  return cases;
}

/// Small ones and presets; on the emulated GPU the small ones, whose kernels are the same.
inline std::vector<ModelCase> all_models() {
  std::vector<ModelCase> cases = small_models();
  if (on_emulated_gpu()) return cases;
  std::ranges::move(preset_models(), std::back_inserter(cases));
  return cases;
}

/// Whether what it predicts from a context does not depend on how the points are ordered, or how often they are given,
/// beyond its law: not so where it draws from them (bootstrap_test.cpp has what holds then), or reads them in their
/// order (inctnp_test.cpp).
inline bool is_of_sets(const std::string& model) {
  const ModelInfo& info = model_info(model);
  return !info.traits.resamples && !info.traits.ordered && info.takes == TaskForm::points;
}

/// A model that adds noise to each of its points, without it: with it only the law of what is predicted has no order.
inline ModelSpec without_noise_of_points(ModelSpec spec) {
  if (const auto noise = spec.config.find("neighbour_noise"); noise != spec.config.end()) noise->second = 0.0;
  return spec;
}

/// Whether gradients of a loss are its derivative: where TNP's authors resample they take new values for constants.
inline bool is_whole_gradient(const ModelCase& c) {
  return !model_info(c.spec.name).traits.resamples ||
         c.spec.config.at("architecture") != ModelConfig::mapped_type("tnp");
}

/// The first of a model's small forms. Throws Error for a model that has none.
inline ModelSpec small_model(const std::string& name) {
  const auto cases = small_models_of_all_dimensions();
  const auto found = std::ranges::find(cases, name, [](const ModelCase& c) { return c.spec.name; });
  check(found != cases.end(), "[testing] {} has no small form", name);
  return found->spec;
}

/// Returns the names of all models, of the build and of the tests.
inline std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  return names;
}

/// A small model whose layers can be one kernel each on a device.
inline ModelSpec wide_model(const std::string& name) {
  ModelSpec spec = small_model(name);
  spec.config["d_model"] = std::int64_t{64};
  spec.config["nhead"] = std::int64_t{4};
  spec.config["dim_feedforward"] = std::int64_t{32};
  return spec;
}

/// Fresh weights have zero biases and, in some models, equal layers: here every parameter gets its own values.
inline std::unique_ptr<Model> varied_model(const ModelSpec& spec, DType dtype = DType::float64) {
  auto model = make_model(spec);
  std::uint64_t seed = 100;
  for (const auto& [name, parameter] : named_tensors(*model)) {
    parameter->value = parameter->value.to(dtype);
    if (!parameter->trained) continue;
    const Tensor noise = normal<double>(parameter->value.shape(), seed++, 0.1);
    parameter->value = add(parameter->value.to(DType::float64), noise).to(dtype);
  }
  return model;
}

/// Row b alone, as a batch of one.
inline Tensor row(const Tensor& x, std::int64_t b) { return x.defined() ? slice(x, 0, b, b + 1) : x; }

inline Context context_of(const Task& task) { return {task.xc, task.yc, task.lengths}; }

inline Task task_row(const Task& task, std::int64_t b) {
  return {row(task.xc, b), row(task.yc, b), row(task.xt, b), row(task.yt, b), row(task.lengths, b)};
}

inline bool all_finite(const Tensor& x) {
  return std::ranges::all_of(doubles(x), [](double v) { return std::isfinite(v); });
}

/// Largest difference, relative to the largest |b| where that is above 1; infinite where shapes differ.
inline double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return kInfinity;
  double scale = 1;
  for (double value : doubles(b)) scale = std::max(scale, std::abs(value));
  return largest_difference(a, doubles(b)) / scale;
}

inline double difference(const Moments& a, const Moments& b) {
  return std::max(difference(a.mean, b.mean), difference(a.std, b.std));
}

// Calls of a model, all of them with the same random numbers.

constexpr std::int64_t kFewSamples = 3;

inline Draws some_draws() { return {17, Purpose::evaluation, 3}; }

/// `first_task`: which task of a batch the first one of this context is, as far as random numbers go.
inline std::unique_ptr<ContextState> condition(const Model& model, const Context& context,
                                               std::int64_t first_task = 0) {
  Draws draws = some_draws().from(first_task);
  return model.condition(context, draws, kFewSamples);
}

/// Cuts the context of row b to lengths[b] points and fills what is behind with `padding`.
inline Task padded(Task task, std::initializer_list<std::int64_t> lengths, double padding) {
  task.lengths = Tensor::from<std::int64_t>({static_cast<std::int64_t>(lengths.size())}, lengths);
  for (Tensor* points : {&task.xc, &task.yc}) {
    *points = points->clone();
    const std::int64_t n = points->dim(1), width = points->dim(2);
    for (std::int64_t b = 0; b < points->dim(0); ++b)
      std::fill_n(points->data<double>() + (b * n + lengths.begin()[b]) * width, (n - lengths.begin()[b]) * width,
                  padding);
  }
  return task;
}

inline Moments query(const Model& model, const ContextState& state, const Tensor& xt) {
  return moments(*model.query(state, xt));
}

inline Moments predict(const Model& model, const Task& task, std::int64_t first_task = 0) {
  return query(model, *condition(model, context_of(task), first_task), task.xt);
}

inline Tensor loss(const Model& model, const Task& task) {
  Draws draws = some_draws();
  return model.loss(task, draws);
}

/// The means of a model that predicts one Gaussian for each channel of each target, recorded where a recording is on.
inline Tensor recorded_mean(const Model& model, const Task& task) {
  const auto state = condition(model, context_of(task));
  const Tensor mean = model.query(*state, task.xt)->marginals().mean;
  return reshape(mean, mean.shape().without(0));
}

/// Mean negative log-likelihood of the targets.
inline Tensor target_nll(const Model& model, const Task& task) {
  const auto state = condition(model, context_of(task));
  return nll(*model.query(*state, task.xt), task.yt);
}

/// Bytes of the default device that `f` needs at most besides those that are in use.
template <class F>
std::int64_t peak_bytes(const F& f) {
  f();  // what is kept between calls is there from now on
  const Device device = default_device();
  reset_peak_memory(device);
  const std::int64_t before = memory_stats(device).live_bytes;
  f();
  return memory_stats(device).peak_live_bytes - before;
}

/// Gradients of a scalar with respect to every parameter, in their order.
template <class F>
std::vector<Tensor> gradients(Model& model, const F& scalar) {
  const auto parameters = named_parameters(model);
  Tape tape;
  Tensor value;
  {
    Recording on(tape);
    for (const auto& [name, parameter] : parameters) tape.watch(parameter->value);
    value = scalar();
  }
  const Grads& grads = tape.backward(value);
  std::vector<Tensor> found;
  for (const auto& [name, parameter] : parameters) {
    found.push_back(grads.of(parameter->value));
    parameter->value = parameter->value.detach();
  }
  return found;
}

/// Largest difference between two sets of gradients, relative to the largest gradient of `b`.
inline double gradient_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double top = 0, scale = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    top = std::max(top, largest_difference(a[i], doubles(b[i])));
    for (double value : doubles(b[i])) scale = std::max(scale, std::abs(value));
  }
  return top / scale;
}

}  // namespace npzoo::testing
