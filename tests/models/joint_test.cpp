#include <cmath>
#include <map>
#include <numbers>

#include "npzoo/engine/memory.h"
#include "npzoo/models/cmanp/cmanp_and.h"
#include "npzoo/models/tnp/lbanp_nd.h"
#include "npzoo/models/tnp/tnp_nd.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

// Models that predict all targets, or blocks of them, by one Gaussian.

namespace {

ModelSpec with(ModelSpec spec, const std::string& key, ModelConfig::mapped_type value) {
  spec.config[key] = std::move(value);
  return spec;
}

ModelSpec small_tnp_nd(const std::string& covariance) { return with(small_model("tnp-nd"), "cov_approx", covariance); }

std::vector<ModelCase> joint_gaussian_models() {
  std::vector<ModelCase> cases = small_models();
  std::erase_if(cases, [](const ModelCase& c) { return !predicts_joint_gaussians(c.spec.name); });
  return cases;
}

const JointGaussian& as_joint(const Prediction& p) { return dynamic_cast<const JointGaussian&>(p); }

/// F Fᵀ + diag of the first task, M × M.
std::vector<std::vector<double>> covariance(const JointGaussian& p) {
  const auto m = static_cast<std::size_t>(p.factor().dim(1)), rank = static_cast<std::size_t>(p.factor().dim(2));
  const std::vector<double> f = doubles(p.factor());
  std::vector<std::vector<double>> all(m, std::vector<double>(m));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t r = 0; r < rank; ++r) all[i][j] += f[i * rank + r] * f[j * rank + r];
      if (i == j && p.diagonal().defined()) all[i][j] += doubles(p.diagonal())[i];
    }
  return all;
}

/// How far the covariance of targets in another order is from that covariance in the other order.
double order_changes(const ModelSpec& spec) {
  const auto model = varied_model(spec);
  const Task task = random_task(*model, {1, 6, 4});
  const std::vector<std::int64_t> order{2, 0, 3, 1};
  const Tensor index = Tensor::from<std::int64_t>({1, 4}, std::span<const std::int64_t>(order));
  const auto state = condition(*model, context_of(task));
  const auto p = model->query(*state, task.xt), mixed = model->query(*state, gather(task.xt, index));
  CHECK(difference(as_joint(*mixed).mean(), gather(as_joint(*p).mean(), index)) <= kRounding);
  const auto a = covariance(as_joint(*p)), b = covariance(as_joint(*mixed));
  double top = 0;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      top =
          std::max(top, std::abs(b[i][j] - a[static_cast<std::size_t>(order[i])][static_cast<std::size_t>(order[j])]));
  return top;
}

/// Rows h of H for encodings (B, Nt, E), by the formulas of the papers on the weights by their names.
Tensor projected(Model& model, Tensor h) {
  std::map<std::string, Tensor> weights;
  for (const auto& [name, parameter] : named_parameters(model)) weights[name] = parameter->value;
  const auto dense = [&](const std::string& name, const Tensor& x) {
    return linear(x, weights.at("head." + name + ".weight"), weights.at("head." + name + ".bias"));
  };
  const auto norm = [&](const std::string& name, const Tensor& x) {
    return layer_norm(x, weights.at("head." + name + ".weight"), weights.at("head." + name + ".bias"), 1e-5);
  };
  const std::string attention = "layers.0.attention.";
  const Tensor attended = masked_attention(dense(attention + "query", h), dense(attention + "key", h),
                                           dense(attention + "value", h), PrefixMask::all(), {.heads = 2});
  h = norm("layers.0.norm1", add(h, dense(attention + "out", attended)));
  h = norm("layers.0.norm2", add(h, dense("layers.0.contract", relu(dense("layers.0.expand", h)))));
  return dense("projector.layers.1", relu(dense("projector.layers.0", h)));
}

/// The factor that rows (1, M, R) make.
std::vector<double> lower_products(const Tensor& rows) {
  const auto m = static_cast<std::size_t>(rows.dim(1)), rank = static_cast<std::size_t>(rows.dim(2));
  const std::vector<double> h = doubles(rows);
  std::vector<double> all(m * m);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      for (std::size_t r = 0; r < rank; ++r) all[i * m + j] += h[i * rank + r] * h[j * rank + r];
  return all;
}

}  // namespace

TEST_CASE("identity 5: means follow the order of targets, a covariance of low rank too, a Cholesky factor does not") {
  CHECK(order_changes(small_tnp_nd("lowrank")) <= kRounding);
  CHECK(order_changes(small_tnp_nd("cholesky")) > 1e-3);
}

TEST_CASE("identity 5: one target of TNP-ND is N(mu, |h|^4), and its prediction depends on the others") {
  const auto model = varied_model(small_model("tnp-nd"));
  auto& tnp = dynamic_cast<TnpNd&>(*model);
  const Task task = random_task(tnp, {1, 6, 3});
  const auto state = condition(tnp, context_of(task));
  const Tensor tokens = tnp.embedder(concat({task.xt, Tensor::zeros_like(task.yt)}, -1));
  const Tensor h = tnp.encoder.query(
      tnp.encoder.encode(tnp.embedder(concat({task.xc, task.yc}, -1)), PrefixMask::all()), tokens, PrefixMask::all());
  const Tensor first = slice(h, 1, 0, 1);
  const std::vector<double> row = doubles(projected(tnp, first));
  double square = 0;
  for (const double x : row) square += x * x;
  const auto alone = tnp.query(*state, slice(task.xt, 1, 0, 1));
  CHECK(moments(*alone).std.item() == doctest::Approx(square).epsilon(1e-12));
  const double error = slice(task.yt, 1, 0, 1).item() - moments(*alone).mean.item();
  CHECK(alone->joint_log_likelihood(slice(task.yt, 1, 0, 1)).item() ==
        doctest::Approx(-0.5 * std::pow(error / square, 2) - std::log(square) - 0.5 * std::log(2 * std::numbers::pi))
            .epsilon(1e-12));
  const Tensor among_others = slice(moments(*tnp.query(*state, task.xt)).std, 1, 0, 1);
  CHECK(std::abs(among_others.item() - square) > 1e-3);
}

TEST_CASE("identity 5: the heads of TNP-ND, LBANP-ND and CMANP-AND are one, that of the formulas") {
  const Tensor encodings = normal<double>({1, 5, 8}, 3);
  const auto check_head = [&](Model& model, const JointHead& head) {
    std::uint64_t seed = 7;
    for (const auto& [name, parameter] : named_parameters(model))
      if (name.starts_with("head.")) parameter->value = normal<double>(parameter->value.shape(), seed++, 0.4);
    const auto p = head(encodings);
    CHECK(largest_difference(p->factor(), lower_products(projected(model, encodings))) <= kRounding);
    return p->factor();
  };
  const auto tnp = varied_model(small_model("tnp-nd")), lbanp = varied_model(small_model("lbanp-nd")),
             cmanp = varied_model(small_model("cmanp-and"));
  const Tensor factor = check_head(*tnp, dynamic_cast<TnpNd&>(*tnp).head);
  CHECK(same_bits(check_head(*lbanp, dynamic_cast<LbanpNd&>(*lbanp).head), factor));
  CHECK(same_bits(check_head(*cmanp, dynamic_cast<CmanpAnd&>(*cmanp).head), factor));
}

TEST_CASE("identity 8: CMANP-AND in one block equals its training, in blocks a chain with a growing context") {
  ModelSpec spec = small_model("cmanp-and");
  spec.config.erase("AND_block_size");
  const auto at_once = varied_model(spec);
  const Task task = random_task(*at_once, {1, 6, 5});
  const auto whole = condition(*at_once, context_of(task));
  const double all = at_once->query(*whole, task.xt)->joint_log_likelihood(task.yt).item();
  CHECK(-loss(*at_once, task).item() == doctest::Approx(all).epsilon(1e-12));
  for (const std::int64_t block : {1, 2, 5, 8}) {
    CAPTURE(block);
    const auto model = varied_model(with(spec, "AND_block_size", block));
    const auto state = condition(*model, context_of(task));
    const double joint = model->query(*state, task.xt)->joint_log_likelihood(task.yt).item();
    double chain = 0;
    for (std::int64_t begin = 0; begin < 5; begin += block) {
      const std::int64_t end = std::min(begin + block, std::int64_t{5});
      const Tensor seen_x = concat({task.xc, slice(task.xt, 1, 0, begin)}, 1),
                   seen_y = concat({task.yc, slice(task.yt, 1, 0, begin)}, 1);
      const auto before = condition(*at_once, {seen_x, seen_y});
      chain += at_once->query(*before, slice(task.xt, 1, begin, end))
                   ->joint_log_likelihood(slice(task.yt, 1, begin, end))
                   .item();
    }
    CHECK(joint == doctest::Approx(chain).epsilon(1e-11));
    if (block >= 5) CHECK(joint == doctest::Approx(all).epsilon(1e-12));
  }
}

TEST_CASE("joint: the memory of CMANP-AND in blocks of five does not grow with the context") {
  const ThreadCount one(1);
  ModelSpec spec = with(small_model("cmanp-and"), "AND_block_size", std::int64_t{5});
  spec.config["CMAB_block_size"] = std::int64_t{16};
  const auto model = varied_model(spec, DType::float32);
  const auto scored = [&](std::int64_t points) {
    const Task task = random_task(*model, {2, points, 12}, DType::float32);
    return peak_bytes([&] {
      const auto state = condition(*model, context_of(task));
      model->query(*state, task.xt)->joint_log_likelihood(task.yt);
    });
  };
  CHECK(scored(3200) == scored(320));
}

TEST_CASE("joint: the loss is that of the evaluation, of the targets that are real") {
  for (const ModelCase& c : joint_gaussian_models()) {
    CAPTURE(c.label);
    ModelSpec spec = c.spec;
    spec.config.erase("drop_y");  // no two tasks lose the same values
    const auto model = varied_model(spec);
    const bool dl4bi = c.spec.config.contains("min_std");
    const Task whole = random_task(*model, {3, 6, 4});
    Task ragged = whole;
    ragged.target_lengths = Tensor::from<std::int64_t>({3}, {4, 1, 2});
    ragged.target_weights = Tensor::from<double>({3, 4}, {1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0});
    double expected = 0, full = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
      Task own = task_row(whole, b);
      full += loss(*model, own).item() / 3;
      const std::int64_t targets = ragged.target_lengths.values<std::int64_t>()[static_cast<std::size_t>(b)];
      own.xt = slice(own.xt, 1, 0, targets);
      own.yt = slice(own.yt, 1, 0, targets);
      expected += loss(*model, own).item() / 3;
      if (c.spec.name == "cmanp-and" && c.spec.config.contains("AND_block_size")) continue;
      if (c.spec.config.contains("score_context")) continue;  // that of the context as well: see drop_values_test.cpp
      const double joint =
          model->query(*condition(*model, context_of(own)), own.xt)->joint_log_likelihood(own.yt).item();
      CHECK(loss(*model, own).item() ==
            doctest::Approx(-joint / (dl4bi ? static_cast<double>(targets) : 1.0)).epsilon(1e-12));
    }
    CHECK(loss(*model, whole).item() == doctest::Approx(full).epsilon(1e-12));
    CHECK(loss(*model, ragged).item() == doctest::Approx(expected).epsilon(1e-12));
    Task other = ragged;  // the padding holds other numbers
    other.xt = whole.xt.clone();
    other.yt = whole.yt.clone();
    for (const auto& [b, first] : {std::pair{1, 1}, {2, 2}})
      for (Tensor* points : {&other.xt, &other.yt})
        for (std::int64_t i = (b * 4 + first) * points->dim(2); i < (b + 1) * 4 * points->dim(2); ++i)
          points->data<double>()[i] = 3;
    CHECK(gradient_difference(gradients(*model, [&] { return loss(*model, other); }),
                              gradients(*model, [&] { return loss(*model, ragged); })) <= kRounding);
  }
}

TEST_CASE("joint: without rows of H a bounded factor is its floor") {
  for (const ModelCase& c : joint_gaussian_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const auto bound = c.spec.config.find("bound_std"), least = c.spec.config.find("min_std");
    const bool tnp = bound != c.spec.config.end() && std::get<bool>(bound->second);
    const bool dl4bi = least != c.spec.config.end() && std::get<double>(least->second) > 0;
    CHECK(model->std_floor() == (tnp || dl4bi ? 0.05 : 0));
    if (*model->std_floor() == 0) continue;
    for (const auto& [name, parameter] : named_parameters(*model))
      if (name.starts_with("head.projector.layers.1"))
        parameter->value = Tensor::zeros(parameter->value.shape(), DType::float64);
    const Task task = random_task(*model, {2, 4, 1});
    const auto p = model->query(*condition(*model, context_of(task)), task.xt);
    for (const double std : doubles(p->marginals().std)) CHECK(std == 0.05);
  }
}

TEST_CASE("joint: the predictor that LBANP-ND and CMANP-AND keep is of no use") {
  for (const char* name : {"lbanp-nd", "cmanp-and"}) {
    const auto model = varied_model(small_model(name));
    const Task task = random_task(*model, {});
    const auto slopes = gradients(*model, [&] { return loss(*model, task); });
    const auto parameters = named_parameters(*model);
    for (std::size_t i = 0; i < slopes.size(); ++i)
      for (const double slope : doubles(slopes[i]))
        if (parameters[i].name.starts_with("decoder.predictor")) CHECK(slope == 0);
  }
}

TEST_CASE("joint: errors of configuration") {
  using namespace std::string_literals;
  CHECK(error_of([] { make_model(with(small_model("tnp-nd"), "architecture", "torch"s)); }) ==
        "[tnp-nd] architecture 'torch' found, expected tnp or dl4bi");
  for (const std::string name : {"tnp-nd", "lbanp-nd", "cmanp-and"}) {
    CHECK(error_of([&] { make_model(with(small_model(name), "cov_approx", "full"s)); }) ==
          fmt::format("[{}] cov_approx 'full' found, expected cholesky or lowrank", name));
    CHECK(error_of([&] { make_model(with(small_model(name), "prj_dim", std::int64_t{0})); }) ==
          fmt::format("[{}] prj_dim is 0, expected an integer from 1 to 65536", name));
  }
  CHECK(error_of([] { make_model(with(small_model("cmanp-and"), "AND_block_size", std::int64_t{0})); }) ==
        "[cmanp-and] AND_block_size is 0, expected an integer from 1 to 65536");
}
