#include "npzoo/ops/kriging/kriging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/models/blocks/kriging_bank.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/trials/verdict.h"
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
    const KrigingFit fit =
        kriging_fit(xc, yc, {}, kriging_bank(named_kriging_bank("broad-1", dim_x)).to(default_device()), 8);
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

TEST_CASE("kriging-tnp: the loss of an outlier counts by its logarithm") {
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
    const auto bank = named_kriging_bank("broad-1", dim_x);
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
  CHECK(error_of([] { named_kriging_bank("broad-1", 4); }) == "[kriging_bank] 4 inputs found, expected 1 to 3");
  CHECK(error_of([] { named_kriging_bank("broad-2", 1); }) ==
        "[kriging_bank] 'broad-2' found, expected broad-1 or axes-1");
  CHECK(error_of([] { named_kriging_bank("axes-1", 2); }) == "[kriging_bank] 2 inputs found, axes-1 takes 3");
}

TEST_CASE("kriging bank: axes-1 treats its inputs alike, and stretches kernels along each") {
  const auto bank = named_kriging_bank("axes-1", 3);
  double weight = 0;
  std::map<double, int> shortest;  // by how much a lengthscale is shorter than the longest: kernels for each input
  for (const KrigingKernel& k : bank) {
    weight += std::exp(k.log_weight);
    const auto [least, most] = std::ranges::minmax(k.inverse_length);
    ++shortest[std::round(most / least)];
    KrigingKernel swapped = k;
    std::swap(swapped.inverse_length[0], swapped.inverse_length[2]);
    CHECK(std::ranges::any_of(
        bank, [&](const KrigingKernel& other) { return std::memcmp(&other, &swapped, sizeof other) == 0; }));
  }
  CHECK(weight == doctest::Approx(6));
  REQUIRE(shortest.size() == 3);
  for (const double ratio : {1.0, 4.0, 16.0}) CHECK(shortest[ratio] >= 36);
}

TEST_CASE("kriging bank: the kernels of a name never change") {
  // Weights predict with the kernels that they were trained with: other kernels are another bank, with another name.
  struct Known {
    const char* name;
    std::int64_t dim_x;
    const char* digest;
  };
  const Known banks[] = {{"broad-1", 1, "xxh3-128:810c271a4d3f027c4cb092c657d6a907"},
                         {"broad-1", 2, "xxh3-128:37c18672dd59dd888e850b9a962b1298"},
                         {"broad-1", 3, "xxh3-128:db7edbf5ecd232c61cef4d8ffe828f63"},
                         {"axes-1", 3, "xxh3-128:0d76fde158af8c04766239a7bd112e6d"}};
  for (const Known& bank : banks) {
    CAPTURE(bank.name);
    CAPTURE(bank.dim_x);
    ByteHash hash;
    for (const KrigingKernel& k : named_kriging_bank(bank.name, bank.dim_x))
      hash.add(fmt::format("{:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}", k.smoothness,
                           k.inverse_length[0], k.inverse_length[1], k.inverse_length[2], k.relative, k.noise, k.share,
                           k.ratio, k.inverse_width, k.period, k.log_weight));
    CHECK(hash.digest() == bank.digest);
  }
}

TEST_CASE("kriging-tnp: the bank is the config's, and weights that name none have the first") {
  ModelSpec named = spec(1, 1);
  named.config["bank"] = std::string("broad-1");
  CHECK(make_model(named) != nullptr);
  named.config["bank"] = std::string("narrow");
  CHECK(error_of([&] { make_model(named); }) == "[kriging_bank] 'narrow' found, expected broad-1 or axes-1");
  for (const char* protocol : {"npzoo/any-1d", "npzoo/any-2d"})
    CHECK(std::get<std::string>(model_spec(load_protocol(protocol), "kriging-tnp").config.at("bank")) == "broad-1");
}

TEST_CASE("kriging-tnp: weights for tables answer as they did") {
  // Bank, network and what stands between them: constants of the code that belong to the weights.
  const char* root = std::getenv("NPZOO_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  const auto weights = std::filesystem::path(root) / "weights/npzoo/any-1d/kriging-tnp.safetensors";
  const auto model = restore_model(load_checkpoint(weights));
  const Tensor xc = Tensor::from<float>({1, 8, 1}, {-2, -1.5F, -1.1F, -0.4F, 0.1F, 0.5F, 1.2F, 2}),
               yc = Tensor::from<float>({1, 8, 1}, {-1.2F, -0.9F, 0.1F, 1.4F, 6, 0.8F, -0.2F, -1}),
               xt = Tensor::from<float>({1, 3, 1}, {-0.7F, 0.3F, 2.5F});
  Draws draws(0, Purpose::prediction, 0);
  const auto state = model->condition({xc.to(default_device()), yc.to(default_device()), {}}, draws, 1);
  const Moments said = moments(*model->query(*state, xt.to(default_device())));
  const double means[] = {0.814845, 2.57256, 0.565698}, deviations[] = {3.06395, 4.32918, 3.40997};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(said.mean.values<double>()[i] == doctest::Approx(means[i]).epsilon(2e-4));
    CHECK(said.std.values<double>()[i] == doctest::Approx(deviations[i]).epsilon(2e-4));
  }
}

TEST_CASE("kriging-tnp: its mixtures are compared with the best mixture, though it draws no functions") {
  const ModelInfo& info = model_info("kriging-tnp");
  CHECK(info.density == Density::mixture);
  CHECK(info.drawing() == Density::marginal);
  CHECK(density_of(load_protocol("npzoo/any-1d").evaluation, "kriging-tnp") == Density::mixture);
  CHECK(model_info("np").drawing() == Density::mixture);
  CHECK(model_info("tnp-a").drawing() == Density::joint);
}

TEST_CASE("kriging-tnp: errors") {
  ModelSpec many = spec(1, 1);
  many.config["kernels"] = std::int64_t{17};
  CHECK(error_of([&] { make_model(many); }) == "[kriging-tnp] 17 kernels found, expected at most 16");
  CHECK(error_of([] { make_model(spec(4, 1)); }) == "[kriging_bank] 4 inputs found, expected 1 to 3");
}
