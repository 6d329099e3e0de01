#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "npzoo/datasets/kinds/synthetic/draw.h"
#include "npzoo/datasets/kinds/synthetic/source.h"

namespace npzoo {

namespace {

enum KernelIndex : std::size_t { kMatern12, kMatern32, kMatern52, kRbf, kRationalQuadratic, kPeriodic, kLinear };

/// Draws the terms of one process.
class Terms {
 public:
  /// With `aligned` terms each one has its own lengthscale along each input.
  Terms(const SyntheticDistribution& d, const Places& places, bool aligned, Random& random)
      : d_(d), places_(places), aligned_(aligned), random_(random) {}

  std::vector<Term> draw() {
    std::vector<Term> terms;
    for (auto left = d_.terms.draw(random_); left > 0; --left) terms.push_back(kernel());
    normalise(terms);
    const double extra[] = {d_.trend, d_.steps, d_.cycles};
    for (std::size_t i = 0; i < std::size(extra); ++i)
      if (random_.uniform() < extra[i]) add_extra(i, terms);
    normalise(terms);
    // Until here variances were mean squares; that of a line over the context's range is this.
    for (Term& term : terms)
      if (term.modulation == Term::Modulation::linear) term.variance /= 4.0 / 3 + term.origin * term.origin;
    return terms;
  }

 private:
  static void normalise(std::vector<Term>& terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.variance;
    for (Term& term : terms) term.variance /= sum;
  }

  std::vector<double> direction() {
    if (d_.dims == 1) return {};
    if (!aligned_) return draw_direction(d_.dims, random_);
    std::vector<double> axis(static_cast<std::size_t>(d_.dims));
    axis[random_.integer(0, d_.dims)] = 1;
    return axis;
  }

  /// Factors whose product is 1.
  std::vector<double> stretch() {
    std::vector<double> factors(static_cast<std::size_t>(d_.dims));
    double product = 1;
    for (double& factor : factors) product *= factor = d_.anisotropy.draw(random_);
    for (double& factor : factors) factor /= std::pow(product, 1 / static_cast<double>(d_.dims));
    return factors;
  }

  double period() {
    const double shortest = std::min(d_.least_period * places_.spacing, d_.longest_period);
    const double p = shortest * std::pow(d_.longest_period / shortest, random_.uniform());
    // Clocks and calendars count in steps of regular tables.
    if (!places_.regular || p < 2 * places_.spacing || random_.uniform() < 0.3) return p;
    return places_.spacing * std::round(p / places_.spacing);
  }

  void set_base(Term& term, std::size_t kind, double lengthscale) {
    constexpr Term::Base kBases[] = {Term::Base::matern12, Term::Base::matern32, Term::Base::matern52, Term::Base::rbf};
    constexpr double kShortest = 1e-4, kLeastAlpha = 0.3, kMostAlpha = 20;
    lengthscale = std::max(lengthscale, kShortest);
    term.base = kBases[std::min<std::size_t>(kind, kRbf)];
    if (kind == kRationalQuadratic)
      term.scales = rational_quadratic_scales(lengthscale, std::clamp(d_.alpha.draw(random_), kLeastAlpha, kMostAlpha));
    else
      term.scales = {{lengthscale, 1}};
    if (aligned_) term.stretch = stretch();
  }

  void set_decay(Term& term) {
    if (random_.uniform() < d_.decaying)
      set_base(term, static_cast<std::size_t>(random_.integer(kMatern12, kRationalQuadratic)),
               term.period * d_.decay.draw(random_));
  }

  void set_periodic(Term& term) {
    term.period = period();
    term.direction = direction();
    term.harmonics = periodic_harmonics(std::max(0.2, d_.roughness.draw(random_)));
  }

  void set_line(Term& term, double origin) {
    term.modulation = Term::Modulation::linear;
    term.origin = origin;
    term.direction = direction();
  }

  Term kernel() {
    Term term{.variance = std::exp(random_.normal())};
    const std::size_t kind = d_.kernels.draw(random_);
    if (kind == kPeriodic) {
      set_periodic(term);
      set_decay(term);
      return term;
    }
    if (kind == kLinear) {
      set_line(term, random_.uniform(-2, 2));
      return term;
    }
    // Variation within the distance of two points is noise, which has a prior of its own.
    set_base(term, kind, std::max(d_.lengthscale.draw(random_), std::min(0.5 * places_.spacing, 1.0)));
    if (random_.uniform() >= d_.products) return term;
    if (random_.uniform() < 0.5)
      set_periodic(term);
    else
      set_line(term, random_.uniform(-3, 3));
    return term;
  }

  /// Harmonics of any shape, that changes slowly.
  Term cycle() {
    Term term;
    term.period = period();
    term.direction = direction();
    const auto count = static_cast<std::size_t>(random_.integer(1, 7));
    const double fall = random_.uniform(0.5, 2.5);
    term.harmonics.assign(count + 1, 0);
    for (std::size_t k = 1; k <= count; ++k)
      term.harmonics[k] = std::pow(static_cast<double>(k), -fall) * std::exp(random_.normal());
    const double sum = std::accumulate(term.harmonics.begin(), term.harmonics.end(), 0.0);
    for (double& h : term.harmonics) h /= sum;
    set_decay(term);
    return term;
  }

  void add_extra(std::size_t which, std::vector<Term>& terms) {
    const double std = d_.extra.draw(random_);
    if (which == 0) {
      Term term{.variance = std * std};
      set_line(term, 0);
      terms.push_back(term);
    } else if (which == 1) {
      for (auto left = random_.integer(1, 4); left > 0; --left)
        terms.push_back({.variance = std * std,
                         .modulation = Term::Modulation::step,
                         .origin = random_.uniform(-2, 2),
                         .direction = direction()});
    } else {
      terms.push_back(cycle());
      terms.back().variance = std * std;
      // Days and weeks: a second cycle of seven of the first.
      Term longer = terms.back();
      longer.period *= 7;
      if (random_.uniform() < 0.25 && longer.period <= d_.longest_period) terms.push_back(longer);
    }
  }

  const SyntheticDistribution& d_;
  const Places& places_;
  bool aligned_;
  Random& random_;
};

/// Turns each pair of axes by a random angle and stretches them, without changing volumes.
std::vector<double> draw_axes(std::int64_t dims, const PositivePrior& anisotropy, Random& random) {
  std::vector<double> axes(static_cast<std::size_t>(dims * dims));
  for (std::int64_t i = 0; i < dims; ++i) axes[i * dims + i] = 1;
  for (std::int64_t i = 0; i < dims; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      const double angle = random.uniform(0, 2 * std::numbers::pi), c = std::cos(angle), s = std::sin(angle);
      for (std::int64_t k = 0; k < dims; ++k) {
        double &a = axes[j * dims + k], &b = axes[i * dims + k];
        a = std::exchange(b, s * a + c * b) * -s + c * a;
      }
    }
  for (std::int64_t i = 1; i < dims; ++i) {
    const double ratio = std::sqrt(anisotropy.draw(random));
    for (std::int64_t k = 0; k < dims; ++k) {
      axes[k] *= ratio;
      axes[i * dims + k] /= ratio;
    }
  }
  return axes;
}

}  // namespace

Process draw_process(const SyntheticDistribution& d, const Places& places, Random& random) {
  const bool aligned = d.aligned > 0 && random.uniform() < d.aligned;
  std::vector<Term> terms = Terms(d, places, aligned, random).draw();
  const double noise = random.uniform() < d.noiseless ? 0 : d.noise.draw(random);
  Process process(d.dims, std::move(terms), std::max(noise, d.least_noise));
  if (d.dims > 1 && !aligned) process.set_axes(draw_axes(d.dims, d.anisotropy, random));
  if (random.uniform() < d.warped) {
    const double frequency = random.uniform(0.5, 2.5);
    process.set_warp({random.uniform(0.2, 0.85), frequency, random.uniform(0, 2 * std::numbers::pi)});
  }
  return process;
}

}  // namespace npzoo
