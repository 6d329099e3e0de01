#include "npzoo/models/likelihoods/families.h"

#include <algorithm>
#include <limits>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

using Tensors = std::vector<Tensor>;
using Parts = std::span<const Tensor>;

constexpr double kHalfLogTwoPi = 0.91893853320467274178;
// Limits of outputs, so that no density overflows in float32 when a training goes astray.
constexpr double kMostLogMean = 20, kLeastLogSize = -8, kMostLogSize = 9, kMostMeanLogit = 12, kLeastLogPrecision = -6,
                 kMostLogPrecision = 9;
constexpr double kLeastDegrees = 2.01;  // above 2: the variance is finite

/// Logarithms of observed values; padding is 0 and has weight 0, see kLeastLogarithm.
Tensor log_of_values(const Tensor& y) {
  return clamp(log(y), kLeastLogarithm, std::numeric_limits<double>::infinity());
}

/// log y!
Tensor log_factorial(const Tensor& y) {
  const Tensor next = affine(y, 1, 1);
  return add(sub(mul(affine(y, 1, 0.5), log(next)), next), affine(binet(next), 1, kHalfLogTwoPi));
}

/// 1 where y is 0, else 0, for y from 0 on.
Tensor zeros_of(const Tensor& y) { return affine(clamp(affine(y, 1e30, 0), 0, 1), -1, 1); }

Tensors as_they_are(Parts raw, const StdForm& /*form*/) { return {raw.begin(), raw.end()}; }

Tensors location_and_scale(Parts raw, const StdForm& form) { return {raw[0], standard_deviation(raw[1], form)}; }

Tensors student_link(Parts raw, const StdForm& form) {
  return {raw[0], standard_deviation(raw[1], form), affine(softplus(raw[2]), 1, kLeastDegrees)};
}

/// Γ(a + ½) / Γ(a) by Binet's function, with a half of the degrees of freedom.
Tensor student_density(Parts p, const Tensor& y) {
  const Tensor a = affine(p[2], 0.5, 0), next = affine(a, 1, 0.5);
  const Tensor gammas = add(mul(a, log(div(next, a))), sub(binet(next), binet(a)));
  const Tensor tail = mul(next, log(affine(div(square(div(sub(y, p[0]), p[1])), p[2]), 1, 1)));
  return sub(affine(gammas, 1, -0.5 - kHalfLogTwoPi), add(log(p[1]), tail));
}

Tensor log_normal_density_of(Parts p, const Tensor& y) {
  const Tensor log_y = log_of_values(y), z = div(sub(log_y, p[0]), p[1]);
  return affine(add(add(affine(square(z), 0.5, 0), log(p[1])), log_y), -1, -kHalfLogTwoPi);
}

Tensors beta_link(Parts raw, const StdForm& /*form*/) {
  return {clamp(raw[0], -kMostMeanLogit, kMostMeanLogit), clamp(raw[1], kLeastLogPrecision, kMostLogPrecision)};
}

/// With a + b = s: a (log y + log s − log a) + b (log(1 − y) + log s − log b) − log y − log(1 − y) + …, in which no
/// large numbers cancel.
Tensor beta_density(Parts p, const Tensor& y) {
  const Tensor more_a = softplus(affine(p[0], -1, 0)), more_b = softplus(p[0]);  // log s − log a, log s − log b
  const Tensor log_a = sub(p[1], more_a), log_b = sub(p[1], more_b);
  const Tensor a = exp(log_a), b = exp(log_b), log_y = log_of_values(y), log_rest = log_of_values(affine(y, -1, 1));
  const Tensor main = add(mul(a, add(log_y, more_a)), mul(b, add(log_rest, more_b)));
  const Tensor roots = affine(sub(add(log_a, log_b), p[1]), 0.5, -kHalfLogTwoPi);
  const Tensor rest = sub(binet(exp(p[1])), add(binet(a), binet(b)));
  return sub(add(add(main, roots), rest), add(log_y, log_rest));
}

Tensors poisson_link(Parts raw, const StdForm& /*form*/) { return {clamp(raw[0], -kMostLogMean, kMostLogMean)}; }

Tensor poisson_density(Parts p, const Tensor& y) { return sub(sub(mul(y, p[0]), exp(p[0])), log_factorial(y)); }

Tensors negative_binomial_link(Parts raw, const StdForm& /*form*/) {
  return {clamp(raw[0], -kMostLogMean, kMostLogMean), clamp(raw[1], kLeastLogSize, kMostLogSize)};
}

/// With size r and mean m: Γ(r + y) / Γ(r) by Binet's function, and (r / (r + m))^r (m / (r + m))^y.
Tensor negative_binomial_density(Parts p, const Tensor& y) {
  const Tensor r = exp(p[1]), both = add(r, y);
  const Tensor ratio = softplus(sub(log_of_values(y), p[1]));  // log((r + y) / r)
  const Tensor spread = softplus(sub(p[0], p[1]));             // log((r + m) / r)
  const Tensor gammas = add(mul(affine(r, 1, -0.5), ratio), sub(sub(binet(both), binet(r)), y));
  const Tensor per_count = add(sub(log(both), p[1]), sub(p[0], spread));
  return sub(add(gammas, mul(y, per_count)), add(mul(r, spread), log_factorial(y)));
}

Tensor bernoulli_density(Parts p, const Tensor& y) { return sub(mul(y, p[0]), softplus(p[0])); }

/// A class that there is not has no logit: its density is that of 0 logits.
Tensor categorical_density(Parts p, const Tensor& y) {
  std::vector<std::int64_t> extents{1};
  for (int axis = 0; axis < y.rank(); ++axis) extents.push_back(y.dim(axis));
  const Shape shape{std::span<const std::int64_t>(extents)};
  Tensors each;
  Tensor own;
  for (std::size_t k = 0; k < p.size(); ++k) {
    each.push_back(reshape(p[k], shape));
    const Tensor chosen =
        clamp(affine(abs(affine(y, 1, -static_cast<double>(k))), -1, 1), 0, 1);  // 1 where y is k, of whole numbers
    const Tensor part = mul(chosen, p[k]);
    own = own.defined() ? add(own, part) : part;
  }
  return sub(own, logsumexp(concat(each, 0), 0));
}

/// Zeros of their own and those of a density; `counts` if 0 has a probability under it.
template <auto link, auto density, bool counts>
struct ZeroInflatedFamily {
  static Tensors parameters(Parts raw, const StdForm& form) {
    Tensors all{raw[0]};
    for (Tensor& each : link(raw.subspan(1), form)) all.push_back(std::move(each));
    return all;
  }
  static Tensor log_density(Parts p, const Tensor& y) {
    const Tensor log_zero = affine(softplus(affine(p[0], -1, 0)), -1, 0), zeros = zeros_of(y);
    const Tensor other = sub(density(p.subspan(1), y), softplus(p[0]));
    const Tensor of_zero = counts ? add(other, softplus(sub(log_zero, other))) : log_zero;
    return add(mul(zeros, of_zero), mul(affine(zeros, -1, 1), other));
  }
};

using ZeroPoisson = ZeroInflatedFamily<poisson_link, poisson_density, true>;
using ZeroNegativeBinomial = ZeroInflatedFamily<negative_binomial_link, negative_binomial_density, true>;
using ZeroLogNormal = ZeroInflatedFamily<location_and_scale, log_normal_density_of, false>;

constexpr LikelihoodFamily kFamilies[] = {
    {student_t_distribution, student_link, student_density},
    {log_normal_distribution, location_and_scale, log_normal_density_of},
    {beta_distribution, beta_link, beta_density},
    {poisson_distribution, poisson_link, poisson_density},
    {negative_binomial_distribution, negative_binomial_link, negative_binomial_density},
    {bernoulli_distribution, as_they_are, bernoulli_density},
    {categorical_distribution, as_they_are, categorical_density},
    {zero_inflated_poisson_distribution, ZeroPoisson::parameters, ZeroPoisson::log_density},
    {zero_inflated_negative_binomial_distribution, ZeroNegativeBinomial::parameters, ZeroNegativeBinomial::log_density},
    {zero_inflated_log_normal_distribution, ZeroLogNormal::parameters, ZeroLogNormal::log_density},
};

}  // namespace

const LikelihoodFamily& likelihood_family(const Distribution& distribution) {
  const auto* found = std::ranges::find_if(
      kFamilies, [&](const LikelihoodFamily& family) { return &family.distribution() == &distribution; });
  check(found != std::end(kFamilies), "[likelihood] no outputs for the distribution {}", distribution.name());
  return *found;
}

}  // namespace npzoo
