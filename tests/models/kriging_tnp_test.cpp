#include "ops/kriging/kriging.h"

#include <cmath>

#include "models/blocks/kriging_bank.h"
#include "models/registry.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

ModelSpec spec(std::int64_t dim_x, std::int64_t components) {
  return {"kriging-tnp",
          {{"dim_x", dim_x},
           {"dim_y", std::int64_t{1}},
           {"kernels", std::int64_t{8}},
           {"components", components},
           {"emb_depth", std::int64_t{2}},
           {"d_model", std::int64_t{8}},
           {"dim_feedforward", std::int64_t{12}},
           {"nhead", std::int64_t{2}},
           {"num_layers", std::int64_t{1}}}};
}

}  // namespace

TEST_CASE("kriging-tnp: untrained, it is kriging") {
  for (std::int64_t dim_x : {1, 2, 3}) {
    const auto model = make_model(spec(dim_x, 1));
    const Tensor xc = normal<float>({2, 30, dim_x}, 1), yc = normal<float>({2, 30, 1}, 2),
                 xt = normal<float>({2, 9, dim_x}, 3);
    Draws draws(0, Purpose::prediction, 0);
    const auto state = model->condition({xc, yc, {}}, draws, 1);
    const Moments said = moments(*model->query(*state, xt));
    const KrigingFit fit = kriging_fit(xc, yc, {}, kriging_bank(broad_kriging_bank(dim_x)).to(default_device()), 8);
    const KrigingMoments kriged = kriging_predict(fit, xt);
    // Its float32 mean is kriging's plus a product with 0.
    CHECK(largest_difference(said.mean, doubles(kriged.mean)) <= 1e-12);
    CHECK(largest_difference(said.std, doubles(kriged.std)) <= 1e-6);
  }
}

TEST_CASE("kriging-tnp: untrained, of several components most of the weight is kriging's own") {
  const auto model = make_model(spec(1, 3));
  const Tensor x = normal<float>({1, 12, 1}, 1), y = normal<float>({1, 12, 1}, 2);
  Draws draws(0, Purpose::prediction, 0);
  const auto state = model->condition({x, y, {}}, draws, 1);
  const auto prediction = model->query(*state, x);
  const Marginals m = on_host(prediction->marginals());
  REQUIRE(m.mean.shape() == Shape{3, 1, 12, 1});
  const auto deviations = doubles(m.std), weights = doubles(m.log_weight);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(std::exp(weights[i]) > 0.7);
    CHECK(deviations[12 + i] / deviations[i] == doctest::Approx(std::exp(1)));
    CHECK(deviations[24 + i] / deviations[i] == doctest::Approx(std::exp(-1)));
  }
}

TEST_CASE("kriging-tnp: a target far outside counts by the logarithm of what it lacks") {
  const auto model = make_model(spec(1, 1));
  Task task = random_task(*model, {1, 12, 3}, DType::float32);
  Draws draws(0, Purpose::training, 0);
  const auto expected = [&] {
    const auto state = model->condition({task.xc, task.yc, task.lengths}, draws, 1);
    double sum = 0;
    for (double nats : doubles(model->query(*state, task.xt)->log_likelihood(task.yt)))
      sum += nats < -10 ? 10 + std::log(1 - (nats + 10)) : -nats;
    return sum / 3;
  };
  for (double outside : {0.0, 7.0, 1e4}) {
    task.yt = Tensor::from<float>({1, 3, 1}, {0.1F, static_cast<float>(outside), -0.2F}).to(default_device());
    CHECK(model->loss(task, draws).item() == doctest::Approx(expected()).epsilon(1e-5));
  }
  CHECK(expected() > 10);
}

TEST_CASE("kriging bank: kernels of all kinds, and every kind has its weight") {
  for (std::int64_t dim_x : {1, 2, 3}) {
    const auto bank = broad_kriging_bank(dim_x);
    CHECK(bank.size() >= 30);
    double weight = 0;
    bool rough = false, smooth = false, waves = false, two_scales = false;
    for (const KrigingKernel& kernel : bank) {
      weight += std::exp(kernel.log_weight);
      rough = rough || kernel.smoothness == 0;
      smooth = smooth || kernel.smoothness == 2;
      waves = waves || kernel.inverse_width > 0;
      two_scales = two_scales || (kernel.share > 0 && kernel.inverse_width == 0);
      CHECK(kernel.noise > 0);
      CHECK(std::min({kernel.inverse_length[0], kernel.inverse_length[1], kernel.inverse_length[2]}) > 0);
    }
    CHECK(weight == doctest::Approx(std::round(weight)));
    CHECK(rough);
    CHECK(smooth);
    CHECK(waves == (dim_x == 1));
    CHECK(two_scales == (dim_x == 2));
  }
  CHECK(error_of([] { broad_kriging_bank(4); }) == "[kriging_bank] 4 inputs found, expected 1 to 3");
}

TEST_CASE("kriging-tnp: errors") {
  ModelSpec many = spec(1, 1);
  many.config["kernels"] = std::int64_t{17};
  CHECK(error_of([&] { make_model(many); }) == "[kriging-tnp] 17 kernels found, expected at most 16");
  CHECK(error_of([] { make_model(spec(4, 1)); }) == "[kriging_bank] 4 inputs found, expected 1 to 3");
}
