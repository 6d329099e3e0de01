#include "npzoo/models/conditional/latent_np.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <utility>

#include "npzoo/engine/measure/flops.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

// Tests of latent variables. The tests of all models cover the rest.

namespace {

using Value = ModelConfig::mapped_type;

ModelSpec deepmind(const std::string& name, std::initializer_list<std::pair<const std::string, Value>> more = {}) {
  ModelSpec spec{name,
                 {{"architecture", std::string("anp")},
                  {"dim_x", std::int64_t{2}},
                  {"dim_y", std::int64_t{1}},
                  {"dim_hid", std::int64_t{6}},
                  {"dim_lat", std::int64_t{4}},
                  {"enc_depth", std::int64_t{3}},
                  {"lat_depth", std::int64_t{2}},
                  {"dec_depth", std::int64_t{2}}}};
  for (const auto& [key, value] : more) spec.config[key] = value;
  return spec;
}

std::unique_ptr<Model> attentive(const std::string& attention) {
  ModelSpec spec = deepmind("anp", {{"attention", attention}});
  if (attention == "dot_product" || attention == "multihead") spec.config["enc_qk_depth"] = std::int64_t{2};
  if (attention == "multihead") spec.config["nhead"] = std::int64_t{2};
  return varied_model(spec);
}

LatentNp& latent_np(Model& model) { return dynamic_cast<LatentNp&>(model); }

/// Gives a model another one's parameters by their names after `rename`, as far as there are any.
template <class Rename>
void copy_weights(Model& from, Model& to, const Rename& rename) {
  std::map<std::string, Tensor> weights;
  for (const auto& [name, parameter] : named_tensors(from)) weights[rename(name)] = parameter->value;
  for (const auto& [name, parameter] : named_tensors(to)) {
    const auto found = weights.find(name);
    if (found == weights.end()) continue;
    REQUIRE(parameter->value.shape() == found->second.shape());
    parameter->value = found->second.clone();
  }
}

/// `deterministic.pooling.pre` of a model that pools is `deterministic.attending.values` of one that attends.
std::string attending_name(const std::string& pooling_name) {
  const std::string from = "deterministic.pooling.pre", to = "deterministic.attending.values";
  return pooling_name.starts_with(from) ? to + pooling_name.substr(from.size()) : pooling_name;
}

/// Returns the values that targets read from the context by attention, (B, Nt, E).
Tensor attended(Model& model, const Task& task) {
  const ContextEncoder& encoder = latent_np(model).deterministic;
  return encoder.read(encoder.encode(context_of(task)), task.xt).front();
}

Tensor values_of(Model& model, const Task& task) {
  return latent_np(model).deterministic.attending->values(concat({task.xc, task.yc}, -1));
}

/// The same for every target: a mean of the context's points, (B, Nt, E).
Tensor mean_of_values(Model& model, const Task& task) {
  const Tensor values = values_of(model, task);
  const Tensor one = reshape(mean(values, 1), {values.dim(0), 1, values.dim(2)});
  return broadcast_to(one, {values.dim(0), task.xt.dim(1), values.dim(2)});
}

/// A latent model of TNP-pytorch's with K functions in training, always of the same weights.
std::unique_ptr<Model> with_samples(std::int64_t count, const std::string& name = "np") {
  ModelSpec spec = small_model(name);
  spec.config["train_samples"] = count;
  return varied_model(spec);
}

/// The loss where the K functions are drawn by these numbers, (1, B, L) each time.
double loss_with(const Model& model, const Task& task, const Tensor& noise, std::int64_t count) {
  Draws draws = Draws::recorded({concat(std::vector<Tensor>(static_cast<std::size_t>(count), noise), 0)});
  return model.loss(task, draws).item();
}

}  // namespace

TEST_CASE("identity 9: the neural process is an attentive one with uniform attention") {
  const auto np = varied_model(deepmind("np")), uniform = attentive("uniform"), product = attentive("dot_product");
  const auto same = [](const std::string& name) { return name; };
  copy_weights(*np, *uniform, same);
  copy_weights(*np, *product, attending_name);
  // Queries that do not depend on where they are: their network's last layer gives nothing.
  for (Parameter* p : {&latent_np(*product).deterministic.attending->embedder->layers.back().weight,
                       &latent_np(*product).deterministic.attending->embedder->layers.back().bias})
    p->value = Tensor::zeros_like(p->value);
  Task task = random_task(*np, {});
  task.lengths = Tensor::from<std::int64_t>({3}, {7, 1, 4});
  CHECK(difference(predict(*uniform, task), predict(*np, task)) <= kRounding);
  CHECK(difference(predict(*product, task), predict(*np, task)) <= kRounding);
  task.lengths = {};
  CHECK(difference(attended(*product, task), mean_of_values(*product, task)) <= kRounding);
  CHECK(loss(*product, task).item() == doctest::Approx(loss(*np, task).item()).epsilon(kRounding));
}

TEST_CASE("identity 9: Laplace attention is between the mean and the nearest neighbour") {
  const auto at_scale = [](double scale) {
    return varied_model(deepmind("anp", {{"attention", std::string("laplace")}, {"laplace_scale", scale}}));
  };
  const auto far = at_scale(1e15), near = at_scale(1e-6), one = at_scale(1);
  const Task task = random_task(*far, {2, 5, 4});
  CHECK(difference(attended(*far, task), mean_of_values(*far, task)) <= kRounding);
  const Tensor values = values_of(*near, task), nearest = attended(*near, task), soft = attended(*one, task);
  const std::int64_t width = values.dim(2);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 4; ++i) {
      std::vector<double> distance(5, 0.0);
      for (std::int64_t k = 0; k < 5; ++k)
        for (std::int64_t d = 0; d < 2; ++d)
          distance[static_cast<std::size_t>(k)] +=
              std::abs(task.xt.data<double>()[(b * 4 + i) * 2 + d] - task.xc.data<double>()[(b * 5 + k) * 2 + d]);
      const std::int64_t least = std::ranges::min_element(distance) - distance.begin();
      double total = 0;
      for (const double x : distance) total += std::exp(-x);
      for (std::int64_t c = 0; c < width; ++c) {
        const std::int64_t at = (b * 4 + i) * width + c;
        const auto value = [&](std::int64_t k) { return values.data<double>()[(b * 5 + k) * width + c]; };
        CHECK(nearest.data<double>()[at] == doctest::Approx(value(least)).epsilon(kRounding));
        double expected = 0;
        for (std::int64_t k = 0; k < 5; ++k)
          expected += std::exp(-distance[static_cast<std::size_t>(k)]) / total * value(k);
        CHECK(soft.data<double>()[at] == doctest::Approx(expected).epsilon(kRounding));
      }
    }
}

TEST_CASE("identity 9: of a single point every attention gives its value") {
  for (const std::string attention : {"laplace", "dot_product", "multihead"}) {
    CAPTURE(attention);
    const auto model = attentive(attention);
    const Task task = random_task(*model, {3, 1, 4});
    Tensor expected = mean_of_values(*model, task);
    if (attention == "multihead") {
      std::map<std::string, Tensor> weights;
      for (const auto& [name, parameter] : named_tensors(*model)) weights[name] = parameter->value;
      const std::string cross = "deterministic.attending.cross_attention.";
      CHECK_FALSE(weights.contains(cross + "value.bias"));
      expected = linear(linear(expected, weights.at(cross + "value.weight"), {}), weights.at(cross + "out.weight"), {});
    }
    CHECK(difference(attended(*model, task), expected) <= kRounding);
  }
}

TEST_CASE("identity 10: equal functions weigh as one, whatever their number") {
  for (const std::string name : {"np", "anp"}) {
    CAPTURE(name);
    const auto two = with_samples(2, name), five = with_samples(5, name);
    const Task task = random_task(*two, {});
    const Tensor noise = normal<double>({1, 3, 3}, 5);
    CHECK(loss_with(*five, task, noise, 5) == doctest::Approx(loss_with(*two, task, noise, 2)).epsilon(kRounding));
  }
}

TEST_CASE("identity 10: the evidence lower bound is the expectation of one importance weight, and more raise it") {
  const OnCpu cpu;  // a law of what is drawn, which needs many draws
  const auto one = with_samples(1), two = with_samples(2), many = with_samples(20);
  const Task task = random_task(*one, {});
  constexpr int kDraws = 4000;
  double sum = 0, squares = 0, bounds = 0, tighter = 0, tightest = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Tensor noise = normal<double>({1, 3, 3}, 1000 + static_cast<std::uint64_t>(i));
    const double closed = loss_with(*one, task, noise, 1);
    const double gap = loss_with(*two, task, noise, 2) - closed;  // the same divergence by a draw, and in closed form
    sum += gap;
    squares += gap * gap;
    bounds += closed;
    Draws of_two(5, Purpose::training, static_cast<std::uint64_t>(i)), of_many = of_two;
    tighter += two->loss(task, of_two).item();
    tightest += many->loss(task, of_many).item();
  }
  const double error = std::sqrt(squares) / kDraws;
  CHECK(error > 0);
  CHECK(std::abs(sum / kDraws) <= 4 * error);
  CHECK(tighter < bounds);
  CHECK(tightest < tighter);
}

TEST_CASE("identity 10: where the context is all there is, nothing diverges") {
  for (const std::string name : {"np", "anp"}) {
    CAPTURE(name);
    const auto model = with_samples(1, name);
    const Task task = random_task(*model, {3, 7, 0});
    const Tensor noise = normal<double>({1, 3, 3}, 5);
    Draws draws = Draws::recorded({noise});
    const auto state = model->condition(context_of(task), draws, 1);
    const double expected = nll(*model->query(*state, task.xc), task.yc).item();
    CHECK(loss_with(*model, task, noise, 1) == doctest::Approx(expected).epsilon(kRounding));
  }
}

TEST_CASE("latent np: records keep the divergence of the latents") {
  const auto latents = [](Model& model, const Tensor& x, const Tensor& y) {
    const PoolingEncoder& encoder = latent_np(model).latent;
    return encoder.finish(encoder.pool(encoder.embed(concat({x, y}, -1)), {})).to(Device::cpu);
  };
  for (const std::string name : {"np", "anp"}) {
    CAPTURE(name);
    const auto model = with_samples(1, name);
    const Task task = random_task(*model, {});
    const Tensor before = latents(*model, task.xc, task.yc);
    const Tensor after = latents(*model, concat({task.xc, task.xt}, 1), concat({task.yc, task.yt}, 1));
    const std::int64_t batch = before.dim(0), size = before.dim(1) / 2;
    double expected = 0;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t l = 0; l < size; ++l) {
        const auto gaussian = [&](const Tensor& raw) {
          const double* row = raw.data<double>() + b * 2 * size;
          return std::pair(row[l], 0.1 + 0.9 / (1 + std::exp(-row[size + l])));
        };
        const auto [m, s] = gaussian(before);
        const auto [n, t] = gaussian(after);
        expected += std::log(s / t) + (t * t + (n - m) * (n - m)) / (2 * s * s) - 0.5;
      }
    Draws draws = some_draws();
    const std::vector<LossTerm> terms = model->loss_terms(task, draws);
    REQUIRE(terms.size() == 1);
    CHECK(terms[0].name == "kl_divergence");
    CHECK(expected > 0);
    CHECK(terms[0].value == doctest::Approx(expected / static_cast<double>(batch)).epsilon(kRounding));
  }
  const auto other = varied_model(small_model("cnp"));
  Draws draws = some_draws();
  CHECK(other->loss_terms(random_task(*other, {}), draws).empty());
}

TEST_CASE("identity 20: without noise a neural process is a conditional one, whose second encoder gives the means") {
  ModelSpec spec = small_model("np");
  spec.config["dim_lat"] = spec.config.at("dim_hid");
  const auto np = varied_model(spec);
  for (const char* key : {"dim_lat", "train_samples"}) spec.config.erase(key);
  const auto cnp = varied_model({"cnp", spec.config});
  std::map<std::string, Tensor> weights;
  for (const auto& [name, parameter] : named_tensors(*np)) weights[name] = parameter->value;
  for (const auto& [name, parameter] : named_tensors(*cnp)) {
    std::string of_np = name;
    if (name.starts_with("encoders.0")) of_np = "deterministic.pooling" + name.substr(10);
    if (name.starts_with("encoders.1")) of_np = "latent" + name.substr(10);
    parameter->value = slice(weights.at(of_np), 0, 0, parameter->value.dim(0)).clone();
  }
  const Task task = random_task(*np, {});
  Draws still = Draws::recorded({Tensor::zeros({1, 3, 6}, DType::float64)});
  const auto state = np->condition(context_of(task), still, 1);
  CHECK(difference(query(*np, *state, task.xt), predict(*cnp, task)) <= kRounding);
}

TEST_CASE("latent np: a context is encoded once, however many functions are drawn") {
  for (const std::string name : {"np", "anp"}) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name));
    const Task task = random_task(*model, {});
    const auto flops = [&](std::int64_t samples) {
      const std::int64_t before = counted_flops();
      Draws draws = some_draws();
      static_cast<void>(model->condition(context_of(task), draws, samples));
      return counted_flops() - before;
    };
    CHECK(flops(1) > 0);
    CHECK(flops(50) == flops(1));
  }
}

TEST_CASE("latent np: predictions say how many functions they are of") {
  const auto forms = [](const std::string& name, std::initializer_list<std::pair<const std::string, Value>> more) {
    ModelSpec spec = small_model(name);
    for (const auto& [key, value] : more) spec.config[key] = value;
    if (spec.config.at("architecture") == Value(std::string("dl4bi")))
      for (const char* key : {"enc_pre_depth", "enc_post_depth", "train_samples"}) spec.config.erase(key);
    const auto model = varied_model(spec);
    const Task task = random_task(*model, {});
    const auto state = condition(*model, context_of(task));
    return model->query(*state, task.xt)->forms().marginal;
  };
  CHECK(forms("np", {}) == "3 samples");
  const auto dl4bi = [&](std::int64_t count) {
    return forms("np", {{"architecture", std::string("dl4bi")},
                        {"enc_depth", std::int64_t{2}},
                        {"lat_depth", std::int64_t{2}},
                        {"min_std", 0.0},
                        {"n_z", count}});
  };
  CHECK(dl4bi(1) == "1 sample");
  CHECK(dl4bi(3) == "mean of 3 samples");
}
