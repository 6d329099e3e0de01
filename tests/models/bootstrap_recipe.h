#pragma once

#include "npzoo/models/conditional/bootstrap.h"
#include "tests/models/model_fixtures.h"

// Bootstrapping neural processes as their authors describe them, one sample of one task at a time, in double.

namespace npzoo::testing {

/// The first `n` of the points of row b: (1, n, D).
inline Tensor points_of(const Tensor& x, std::int64_t b, std::int64_t n) { return slice(row(x, b), 1, 0, n); }

/// x (1, N, D) and a list of points.
inline Tensor picked(const Tensor& x, std::span<const std::int64_t> points) {
  return gather(x, Tensor::from<std::int64_t>({1, std::ssize(points)}, points));
}

/// The bootstrap of the paper (Lee et al., section 3.1) for one sample of one task after the other, on the networks of
/// a model.
class Recipe {
 public:
  Recipe(const BootstrappingProcess& model, bool tnp) : model_(model), tnp_(tnp) {}

  /// y = μ + σ r of a context, where r are standardised residuals, drawn, less their mean.
  Tensor new_values(const Tensor& x, const Tensor& y, std::span<const std::int64_t> points,
                    std::span<const std::int64_t> residuals) const {
    const Tensor drawn_x = picked(x, points), drawn_y = picked(y, points);
    // The code of dl4bi lets targets find the values that were drawn at the inputs of the whole context.
    const Moments p = decode(encode(tnp_ ? drawn_x : x, drawn_x, drawn_y), nullptr, x);
    const std::size_t n = points.size(), width = static_cast<std::size_t>(y.dim(2));
    Tensor values = Tensor::empty(y.shape(), DType::float64);
    for (std::size_t c = 0; c < width; ++c) {
      const auto at = [&](const Tensor& t, std::size_t i) { return t.values<double>()[i * width + c]; };
      std::vector<double> drawn(n);
      double mean = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::size_t>(residuals[i]);
        drawn[i] = (at(y, from) - at(p.mean, from)) / at(p.std, from);
        mean += drawn[i] / static_cast<double>(n);
      }
      for (std::size_t i = 0; i < n; ++i)
        values.values<double>()[i * width + c] = at(p.mean, i) + at(p.std, i) * (drawn[i] - mean);
    }
    return values;
  }

  /// A function, given the values that its sample gave to the context; the base without any.
  Moments function(const Tensor& x, const Tensor& y, const Tensor& values, const Tensor& xt) const {
    const Encoded base = encode(x, x, y);
    if (!values.defined() || x.dim(1) == 0) return decode(base, nullptr, xt);
    const Encoded shifted = encode(x, x, values);
    return decode(base, &shifted, xt);
  }

 private:
  using Encoded = std::vector<ContextEncoder::Encoded>;

  Encoded encode(const Tensor& keys, const Tensor& x, const Tensor& y) const {
    Encoded all;
    for (const ContextEncoder& e : model_.encoders)
      all.push_back(e.encode(e.inputs(keys), e.points(concat({x, y}, -1)), {}));
    return all;
  }

  Tensor read(const Encoded& encoded, const Tensor& xt) const {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < encoded.size(); ++i)
      for (const Tensor& part : model_.encoders[i].read(encoded[i], xt))
        parts.push_back(broadcast_to(part, {1, xt.dim(1), part.dim(2)}));
    return concat(parts, -1);
  }

  Moments decode(const Encoded& base, const Encoded* shifted, const Tensor& xt) const {
    Tensor h = model_.decoder.layers[0](concat({read(base, xt), xt}, -1));
    if (shifted) h = add(h, model_.context(read(*shifted, xt)));
    if (tnp_) h = relu(h);
    for (std::size_t i = 1; i < model_.decoder.layers.size(); ++i) {
      h = model_.decoder.layers[i](h);
      if (i + 1 < model_.decoder.layers.size()) h = relu(h);
    }
    return gaussian_head(h, {StdForm::Kind::softplus, *model_.std_floor()});
  }

  const BootstrappingProcess& model_;
  bool tnp_;
};

/// The base and the functions of a task's row, by the recipe.
struct RowFunctions {
  Moments base;
  std::vector<Moments> functions;
};

/// With the numbers that are drawn for row b of `task`.
inline RowFunctions by_recipe(const Recipe& recipe, const Task& task, std::int64_t b, std::int64_t samples,
                              const Tensor& xt) {
  const std::int64_t batch = task.xc.dim(0), all = task.xc.dim(1);
  const Tensor lengths =
      task.lengths.defined() ? task.lengths : Tensor::full({batch}, static_cast<double>(all), DType::int64);
  Draws draws = some_draws();
  const Tensor points = draws.integers(samples, lengths, all), residuals = draws.integers(samples, lengths, all);
  const std::int64_t n = lengths.values<std::int64_t>()[static_cast<std::size_t>(b)];
  const Tensor x = points_of(task.xc, b, n), y = points_of(task.yc, b, n);
  RowFunctions found{recipe.function(x, y, {}, row(xt, b)), {}};
  for (std::int64_t k = 0; k < samples; ++k) {
    const auto drawn = [&](const Tensor& index) {
      return index.values<std::int64_t>().subspan(static_cast<std::size_t>((k * batch + b) * all),
                                                  static_cast<std::size_t>(n));
    };
    const Tensor values = recipe.new_values(x, y, drawn(points), drawn(residuals));
    found.functions.push_back(recipe.function(x, y, values, row(xt, b)));
  }
  return found;
}

}  // namespace npzoo::testing
