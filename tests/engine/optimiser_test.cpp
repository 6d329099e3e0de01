#include "npzoo/engine/optim/optimiser.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const OptimiserConfig kAdam{.kind = OptimiserKind::adam, .lr = 0, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
const OptimiserConfig kAdamDecay{
    .kind = OptimiserKind::adam, .lr = 0, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
const OptimiserConfig kAdamW{
    .kind = OptimiserKind::adamw, .lr = 0, .beta1 = 0.8, .beta2 = 0.999, .epsilon = 1e-6, .weight_decay = 0.1};
const OptimiserConfig kKerasAdam{
    .kind = OptimiserKind::keras_adam, .lr = 0, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-2};
const OptimiserConfig kYogi{.kind = OptimiserKind::yogi, .lr = 0, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-3};

/// The papers' algorithms for one number, in double.
struct Reference {
  OptimiserConfig config;
  double p, m = config.kind == OptimiserKind::yogi ? 1e-6 : 0, v = m;
  int t = 0;

  void step(double g, double rate) {
    ++t;
    if (config.kind == OptimiserKind::adam) g += config.weight_decay * p;
    m += (1 - config.beta1) * (g - m);
    if (config.kind == OptimiserKind::yogi)
      v += (1 - config.beta2) * g * g * (g * g > v ? 1 : g * g < v ? -1 : 0);
    else
      v += (1 - config.beta2) * (g * g - v);
    if (config.kind ==
        OptimiserKind::keras_adam) {  // its epsilon is added before the second moment's bias is corrected
      p -= rate * std::sqrt(1 - std::pow(config.beta2, t)) / (1 - std::pow(config.beta1, t)) * m /
           (std::sqrt(v) + config.epsilon);
      return;
    }
    const double m_hat = m / (1 - std::pow(config.beta1, t)), v_hat = v / (1 - std::pow(config.beta2, t));
    if (config.kind == OptimiserKind::adamw) p -= rate * config.weight_decay * p;
    p -= rate * m_hat / (std::sqrt(v_hat) + config.epsilon);
  }
};

struct Model {
  Parameter a, b, unused;

  explicit Model(DType dtype)
      : a{normal<double>({3, 5}, 1).to(dtype)},
        b{normal<double>({41}, 2).to(dtype)},
        unused{normal<double>({4}, 3).to(dtype)} {}
  std::vector<NamedParameter> parameters() { return {{"a", &a}, {"b", &b}, {"unused", &unused}}; }
};

/// Plays a recording that leaves exactly these gradients of a and b, and calls `use` with it.
template <class F>
void with_gradients_of(Model& model, const Tensor& d_a, const Tensor& d_b, F use) {
  Tape tape;
  const Recording on(tape);
  for (const auto& [name, parameter] : model.parameters()) tape.watch(parameter->value);
  Tensor loss = Tensor::zeros({}, d_a.dtype());
  record("loss", loss, {model.a.value, model.b.value, model.unused.value},
         [a = model.a.value.symbol(), b = model.b.value.symbol(), d_a, d_b](const Tensor&, Grads& grads) {
           grads.add(a, d_a.clone());
           grads.add(b, d_b.clone());
         });
  use(tape.backward(loss));
}

double norm_of(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (const Tensor& tensor : {x, y})
    for (double value : doubles(tensor)) sum += value * value;
  return std::sqrt(sum);
}

/// 20 steps with rates and gradients that change; with clipping, where its limit is between the norms that occur.
void compare(const OptimiserConfig& config, DType dtype, double clip_norm) {
  Model model(dtype);
  Optimiser optimiser(config, model.parameters());
  const std::vector<double> unused = doubles(model.unused.value);
  std::vector<Reference> exact;
  for (const Tensor& tensor : {model.a.value, model.b.value})
    for (double value : doubles(tensor)) exact.push_back({config, value});

  for (std::uint64_t step = 0; step < 20; ++step) {
    const double rate = 0.01 / static_cast<double>(1 + step), size = step % 2 ? 0.3 : 3;
    const Tensor d_a = normal<double>({3, 5}, 10 + step, size).to(dtype);
    const Tensor d_b = normal<double>({41}, 50 + step, size).to(dtype);
    const double norm = norm_of(d_a, d_b), scale = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
    with_gradients_of(model, d_a, d_b, [&](const Grads& grads) { CHECK(optimiser.step(grads, rate, clip_norm)); });
    CHECK(optimiser.gradient_norm() == doctest::Approx(norm).epsilon(1e-12));
    std::size_t i = 0;
    for (const Tensor& gradient : {d_a, d_b})
      for (double g : doubles(gradient)) exact[i++].step(scale * g, rate);
  }

  std::vector<double> a, b;
  for (const Reference& one : exact) (a.size() < 15 ? a : b).push_back(one.p);
  const double tolerance = dtype == DType::float32 ? 2e-6 : 4e-15;  // of about 20 roundings
  CHECK(error(model.a.value, a) <= tolerance);
  CHECK(error(model.b.value, b) <= tolerance);
  CHECK(doubles(model.unused.value) == unused);
  CHECK(optimiser.steps() == 20);
}

}  // namespace

TEST_CASE("optimiser: Adam, Keras' Adam, AdamW and Yogi follow their algorithms for 20 steps, clipped or not") {
  for (const OptimiserConfig& config : {kAdam, kAdamDecay, kKerasAdam, kAdamW, kYogi})
    for (DType dtype : {DType::float32, DType::float64})
      for (double clip_norm : {0.0, 5.0}) {
        CAPTURE(to_string(config.kind));
        CAPTURE(clip_norm);
        compare(config, dtype, clip_norm);
      }
}

TEST_CASE("optimiser: steps and moments are the whole state") {
  const Tensor d_a = normal<float>({3, 5}, 4), d_b = normal<float>({41}, 5);
  for (const OptimiserConfig& config : {kAdam, kYogi}) {
    Model whole(DType::float32);
    Optimiser optimiser(config, whole.parameters());
    const auto step = [&](Model& model, Optimiser& with) {
      with_gradients_of(model, d_a, d_b, [&](const Grads& grads) { with.step(grads, 0.1); });
    };
    step(whole, optimiser);
    step(whole, optimiser);

    Model resumed(DType::float32);
    resumed.a.value = whole.a.value.clone();
    resumed.b.value = whole.b.value.clone();
    Optimiser continued(config, resumed.parameters());
    continued.set_steps(optimiser.steps());
    for (std::size_t i = 0; i < optimiser.moments().size(); ++i)
      continued.moments()[i] = {optimiser.moments()[i].first.clone(), optimiser.moments()[i].second.clone()};
    step(whole, optimiser);
    step(resumed, continued);
    CHECK(same_bits(whole.a.value, resumed.a.value));
    CHECK(same_bits(whole.b.value, resumed.b.value));
    CHECK(continued.steps() == 3);
    CHECK(continued.parameters().size() == 3);
  }
}

TEST_CASE("optimiser: tensors that are still held elsewhere do not change") {
  Model model(DType::float32);
  Optimiser optimiser(kAdam, model.parameters());
  const Tensor held = model.a.value, moment = optimiser.moments()[0].first;
  const std::vector<double> before = doubles(held);
  const float* alone = model.b.value.data<float>();
  with_gradients_of(model, normal<float>({3, 5}, 4), normal<float>({41}, 5),
                    [&](const Grads& grads) { optimiser.step(grads, 0.1); });
  CHECK(doubles(held) == before);
  CHECK(doubles(model.a.value) != before);
  CHECK(doubles(moment) == std::vector<double>(15));
  CHECK(doubles(optimiser.moments()[0].first) != std::vector<double>(15));
  CHECK(model.b.value.data<float>() == alone);  // in place where nobody looks
}

TEST_CASE("optimiser: a parameter that had to be copied keeps its place on the tape") {
  Model model(DType::float64);
  Optimiser optimiser(kAdam, model.parameters());
  const Tensor held = model.a.value;
  with_gradients_of(model, normal<double>({3, 5}, 4), normal<double>({41}, 5), [&](const Grads& grads) {
    optimiser.step(grads, 0.1);
    CHECK(grads.find(model.a.value).defined());  // the copy is still the variable that was watched
    optimiser.step(grads, 0.1);
  });
  CHECK(optimiser.steps() == 2);
}

TEST_CASE("optimiser: a gradient that is not finite changes nothing") {
  for (const OptimiserConfig& config : {kAdamDecay, kAdamW, kYogi})
    for (const double clip_norm : {0.0, 5.0})
      for (const double bad : {kNaN, kInfinity, -kInfinity}) {
        CAPTURE(to_string(config.kind));
        CAPTURE(clip_norm);
        CAPTURE(bad);
        Model model(DType::float32), twin(DType::float32);
        Optimiser optimiser(config, model.parameters()), undisturbed(config, twin.parameters());
        Tensor gradient = normal<float>({41}, 5).to(Device::cpu);
        const Tensor good = gradient.clone().to(default_device());
        gradient.values<float>()[40] = static_cast<float>(bad);
        with_gradients_of(model, normal<float>({3, 5}, 4), gradient.to(default_device()),
                          [&](const Grads& grads) { CHECK_FALSE(optimiser.step(grads, 0.1, clip_norm)); });
        CHECK_FALSE(std::isfinite(optimiser.gradient_norm()));
        CHECK(optimiser.steps() == 0);
        CHECK(same_bits(model.a.value, twin.a.value));
        CHECK(same_bits(model.b.value, twin.b.value));
        // It continues as if that had not happened.
        for (const auto& [of, by] : {std::pair(&model, &optimiser), std::pair(&twin, &undisturbed)})
          with_gradients_of(*of, normal<float>({3, 5}, 4), good,
                            [&, by = by](const Grads& grads) { CHECK(by->step(grads, 0.1, clip_norm)); });
        CHECK(same_bits(model.a.value, twin.a.value));
        CHECK(same_bits(model.b.value, twin.b.value));
      }
}

TEST_CASE("optimiser: nothing changes where the loss is not finite") {
  Model model(DType::float32);
  Optimiser optimiser(kAdam, model.parameters());
  const std::vector<double> before = doubles(model.a.value);
  const auto apply = [&](double loss) {
    with_gradients_of(model, normal<float>({3, 5}, 4), normal<float>({41}, 5), [&](const Grads& grads) {
      const Grads* const parts[] = {&grads};
      optimiser.begin_step(0.1);
      optimiser.apply(parts, 0, Tensor::full({}, loss));
      CHECK(optimiser.end_step() == std::isfinite(loss));
    });
    return doubles(model.a.value);
  };
  CHECK(apply(kNaN) == before);
  CHECK(apply(-kInfinity) == before);
  CHECK(optimiser.steps() == 0);
  CHECK(apply(-1e30) != before);
  CHECK(optimiser.steps() == 1);
}

TEST_CASE("optimiser: without parameters there is nothing to do") {
  Optimiser optimiser(kAdam, {});
  CHECK(optimiser.step(GradientParts{}, 0.1, 1));
  CHECK(optimiser.gradient_norm() == 0);
  CHECK(optimiser.steps() == 1);
}

TEST_CASE("optimiser: errors") {
  const auto make = [](const OptimiserConfig& config) { Optimiser(config, {}); };
  CHECK(error_of([&] { optimiser_kind("sgd"); }) ==
        "[optimiser] 'sgd' found, expected adam, keras-adam, adamw or yogi");
  for (const std::string_view name : optimiser_names()) CHECK(to_string(optimiser_kind(name)) == name);
  CHECK(error_of([&] { make({.kind = OptimiserKind::yogi, .weight_decay = 0.5}); }) ==
        "[optimiser] yogi has no weight decay, found 0.5");
  Parameter narrow{Tensor::zeros({2}, DType::float32)}, wide{Tensor::zeros({2}, DType::float64)};
  CHECK(error_of([&] {
          Optimiser({.kind = OptimiserKind::adam}, {{"narrow", &narrow}, {"wide", &wide}});
        }) == "[optimiser] narrow is float32, wide is float64; expected one dtype");
}
