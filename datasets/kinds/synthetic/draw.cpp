#include "npzoo/datasets/kinds/synthetic/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace npzoo {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// cos 2πt within 1e−11, in a form that compilers turn into vectors: 2 cos² πr − 1 with |r| <= ½.
inline double cosine_of_turns(double t) {
  constexpr double kRound = 0x1.8p52;  // adding it leaves no digits behind the point
  constexpr double kSquare = std::numbers::pi * std::numbers::pi;
  const double r = t - ((t + kRound) - kRound), q = kSquare * r * r;
  double c = 1 - q * (1.0 / (14 * 13));
  c = 1 - q * (1.0 / (12 * 11)) * c;
  c = 1 - q * (1.0 / (10 * 9)) * c;
  c = 1 - q * (1.0 / (8 * 7)) * c;
  c = 1 - q * (1.0 / (6 * 5)) * c;
  c = 1 - q * (1.0 / (4 * 3)) * c;
  c = 1 - q * (1.0 / (2 * 1)) * c;
  return 2 * c * c - 1;
}

/// Sums of a cos + b sin whose frequencies are multiples of one, at all points at once.
class Harmonics {
 public:
  Harmonics(std::span<const double> t, double period)
      : cos1_(t.size()), sin1_(t.size()), cos_(t.size(), 1), sin_(t.size()) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      cos1_[i] = std::cos(kTurn * t[i] / period);
      sin1_[i] = std::sin(kTurn * t[i] / period);
    }
  }

  const std::vector<double>& cosines() const { return cos_; }
  const std::vector<double>& sines() const { return sin_; }

  void add(double a, double b, std::span<double> f) const {
    for (std::size_t i = 0; i < f.size(); ++i) f[i] += a * cos_[i] + b * sin_[i];
  }

  void next() {
    for (std::size_t i = 0; i < cos_.size(); ++i) {
      const double c = cos_[i] * cos1_[i] - sin_[i] * sin1_[i];
      sin_[i] = sin_[i] * cos1_[i] + cos_[i] * sin1_[i];
      cos_[i] = c;
    }
  }

 private:
  std::vector<double> cos1_, sin1_, cos_, sin_;
};

/// Adds Σ_j √variances[j] (a_j cos + b_j sin)(2π j t / period).
void add_series(std::span<const double> variances, std::span<const double> t, double period, Random& random,
                std::span<double> f) {
  Harmonics series(t, period);
  for (const double variance : variances) {
    std::array<double, 2> z{};
    random.fill_normal(z);
    series.add(std::sqrt(variance) * z[0], std::sqrt(variance) * z[1], f);
    series.next();
  }
}

/// Numbers that do not change: a line, a level, a cycle that repeats itself.
void add_constant(const Term& term, std::span<const double> t, Random& random, std::span<double> f) {
  if (term.harmonics.empty()) {
    const double value = random.normal();
    for (double& v : f) v += value;
    return;
  }
  add_series(term.harmonics, t, term.period, random, f);
}

/// An RBF kernel of the points as one of a circle on whose other side it has come to nothing. Coefficients of its
/// Fourier series are samples of the spectral density.
struct Circle {
  double lengthscale, round;
  double reach;  // of the spectral density, in cycles: what lies beyond is less than 1e-8 of the variance

  Circle(double lengthscale, std::span<const double> t) : lengthscale(lengthscale), reach(0.92 / lengthscale) {
    const auto [least, largest] = std::ranges::minmax(t);
    round = largest - least + 6 * lengthscale;
  }

  double terms(double highest) const { return std::floor((highest + reach) * round) + 1; }

  /// Adds `variance` about a frequency; below 0 and above it counts alike.
  void add_line(double variance, double frequency, std::span<double> variances) const {
    const double factor = variance * std::sqrt(kTurn) * lengthscale / round;
    const auto first = static_cast<std::int64_t>(std::ceil((frequency - reach) * round));
    const auto last = static_cast<std::int64_t>(std::floor((frequency + reach) * round));
    for (std::int64_t j = first; j <= last; ++j) {
      const double distance = kTurn * lengthscale * (static_cast<double>(j) / round - frequency);
      variances[std::abs(j)] += factor * std::exp(-0.5 * distance * distance);
    }
  }
};

/// A cycle moves the spectral density to its frequencies.
void add_rbf(const Term& term, const Term::Scale& scale, std::span<const double> t, Random& random,
             std::span<double> f) {
  const Circle circle(scale.lengthscale, t);
  const auto cycles = static_cast<double>(term.harmonics.size());
  const double highest = term.harmonics.empty() ? 0 : (cycles - 1) / term.period;
  std::vector<double> still(static_cast<std::size_t>(circle.terms(0)));
  circle.add_line(scale.weight, 0, still);
  if (term.harmonics.empty()) return add_series(still, t, circle.round, random, f);
  if (circle.terms(highest) <= 2 * cycles * circle.terms(0)) {
    std::vector<double> variances(static_cast<std::size_t>(circle.terms(highest)));
    for (std::size_t k = 0; k < term.harmonics.size(); ++k)
      circle.add_line(scale.weight * term.harmonics[k], static_cast<double>(k) / term.period, variances);
    return add_series(variances, t, circle.round, random, f);
  }
  // A wide circle has a slow process for each amplitude.
  Harmonics cycle(t, term.period);
  std::vector<double> amplitude(f.size());
  for (const double variance : term.harmonics) {
    for (const auto* wave : {&cycle.cosines(), &cycle.sines()}) {
      std::ranges::fill(amplitude, 0);
      add_series(still, t, circle.round, random, amplitude);
      for (std::size_t i = 0; i < f.size(); ++i) f[i] += std::sqrt(variance) * (*wave)[i] * amplitude[i];
    }
    cycle.next();
  }
}

/// A Matérn process and its derivatives, in units of its rate: from one place to one `step` further on.
struct Transition {
  using Matrix = std::array<std::array<double, 3>, 3>;

  int order;
  Matrix decay{}, spread{};  // the state's next mean is decay · state, and spread · spreadᵀ its covariance

  static Matrix stationary(int order) {
    if (order == 3) return {{{1, 0, -1.0 / 3}, {0, 1.0 / 3, 0}, {-1.0 / 3, 0, 1}}};
    return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}};
  }

  /// Factors a matrix. A pivot that rounding makes negative becomes 0.
  static Matrix factor(const Matrix& a, int order) {
    Matrix l{};
    for (int i = 0; i < order; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = a[i][j];
        for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        if (i == j)
          l[i][i] = std::sqrt(std::max(sum, 0.0));
        else
          l[i][j] = l[j][j] > 0 ? sum / l[j][j] : 0;
      }
    return l;
  }

  Transition(int order, double step) : order(order) {
    const double t = step, q = t * t, e = std::exp(-t);
    if (order == 1) decay = {{{1, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
    if (order == 2) decay = {{{1 + t, t, 0}, {-t, 1 - t, 0}, {0, 0, 0}}};
    if (order == 3)
      decay = {
          {{1 + t + q / 2, t + q, q / 2}, {-q / 2, 1 + t - q, t - q / 2}, {-t + q / 2, -3 * t + q, 1 - 2 * t + q / 2}}};
    for (auto& row : decay)
      for (double& v : row) v *= e;
    const Matrix p = stationary(order);
    Matrix open = p;
    for (int i = 0; i < order; ++i)
      for (int j = 0; j < order; ++j)
        for (int k = 0; k < order; ++k)
          for (int m = 0; m < order; ++m) open[i][j] -= decay[i][k] * p[k][m] * decay[j][m];
    spread = factor(open, order);
  }
};

/// Independent Matérn processes, side by side: one for each amplitude of a cycle.
void add_matern(const Term& term, std::span<const double> t, std::span<const std::int64_t> order, Random& random,
                std::span<double> f) {
  const int states = term.base == Term::Base::matern12 ? 1 : term.base == Term::Base::matern32 ? 2 : 3;
  const double rate = std::sqrt(2.0 * states - 1) / term.scales[0].lengthscale;
  const std::size_t chains = term.harmonics.empty() ? 1 : 2 * term.harmonics.size() - 1;
  std::vector<std::array<double, 3>> state(chains);
  std::vector<double> z(chains * static_cast<std::size_t>(states));
  const auto spread_out = [&](const Transition::Matrix& spread) {
    random.fill_normal(z);
    const double* next = z.data();
    for (auto& s : state)
      for (int j = 0; j < states; ++j, ++next)
        for (int i = j; i < states; ++i) s[i] += spread[i][j] * *next;
  };
  spread_out(Transition::factor(Transition::stationary(states), states));

  Transition step(states, 0);
  double here = t[order[0]], length = 0;
  for (const std::int64_t i : order) {
    if (t[i] != here) {
      // Places of a regular series differ by rounding alone.
      if (std::abs(t[i] - here - length) > 1e-12 * std::abs(t[i] - here)) {
        length = t[i] - here;
        step = Transition(states, rate * length);
      }
      for (auto& s : state) {
        std::array<double, 3> moved{};
        for (int a = 0; a < states; ++a)
          for (int b = 0; b < states; ++b) moved[a] += step.decay[a][b] * s[b];
        s = moved;
      }
      spread_out(step.spread);
      here = t[i];
    }
    if (term.harmonics.empty()) {
      f[i] += state[0][0];
      continue;
    }
    const double angle = kTurn * t[i] / term.period, cos1 = std::cos(angle), sin1 = std::sin(angle);
    double cosine = cos1, sine = sin1;
    f[i] += std::sqrt(term.harmonics[0]) * state[0][0];
    for (std::size_t k = 1; k < term.harmonics.size(); ++k) {
      f[i] += std::sqrt(term.harmonics[k]) * (state[2 * k - 1][0] * cosine + state[2 * k][0] * sine);
      const double c = cosine * cos1 - sine * sin1;
      sine = sine * cos1 + cosine * sin1;
      cosine = c;
    }
  }
}

/// A frequency of the base's spectral density, in radians: of a Matérn kernel it is Student's t (Rasmussen and
/// Williams, 2006, equation 4.15).
void draw_frequency(const Term& term, Random& random, std::span<double> omega) {
  random.fill_normal(omega);
  double scale = 1;
  if (term.base == Term::Base::rbf) {
    double left = random.uniform();
    std::size_t which = 0;
    while (which + 1 < term.scales.size() && left >= term.scales[which].weight) left -= term.scales[which++].weight;
    scale = 1 / term.scales[which].lengthscale;
  } else {
    const int freedom = term.base == Term::Base::matern12 ? 1 : term.base == Term::Base::matern32 ? 3 : 5;
    std::array<double, 5> z{};
    random.fill_normal(std::span(z).first(static_cast<std::size_t>(freedom)));
    double squares = 0;
    for (const double v : z) squares += v * v;
    scale = std::sqrt(freedom / squares) / term.scales[0].lengthscale;
  }
  for (double& w : omega) w *= scale;
  for (std::size_t k = 0; k < term.stretch.size(); ++k) omega[k] /= term.stretch[k];
}

/// A harmonic in the share that it has of the variance, as its frequency in cycles, with a sign.
double draw_harmonic(const Term& term, Random& random) {
  double left = random.uniform();
  std::size_t k = 0;
  while (k + 1 < term.harmonics.size() && left >= term.harmonics[k]) left -= term.harmonics[k++];
  return (random.uniform() < 0.5 ? -1.0 : 1.0) * static_cast<double>(k) / term.period;
}

void modulate(const Term& term, std::span<const double> t, std::span<const double> values, std::span<double> f) {
  const double std = std::sqrt(term.variance);
  for (std::size_t i = 0; i < f.size(); ++i) f[i] += std * term.modulation_at(t[i]) * values[i];
}

}  // namespace

std::vector<double> draw_direction(std::int64_t dims, Random& random) {
  std::vector<double> z(static_cast<std::size_t>(dims));
  random.fill_normal(z);
  const double length = std::sqrt(std::inner_product(z.begin(), z.end(), z.begin(), 0.0));
  for (double& v : z) v /= length;
  return z;
}

void add_on_line(const Term& term, std::span<const double> x, std::span<const std::int64_t> order, Random& random,
                 std::span<double> f) {
  if (x.empty()) return;
  std::vector<double> values(f.size());
  if (term.base == Term::Base::constant)
    add_constant(term, x, random, values);
  else if (term.base == Term::Base::rbf)
    for (const Term::Scale& scale : term.scales) add_rbf(term, scale, x, random, values);
  else
    add_matern(term, x, order, random, values);
  modulate(term, x, values, f);
}

void add_features(const Term& term, Inputs x, Random& random, std::span<double> f) {
  const auto n = f.size();
  const auto dims = static_cast<std::size_t>(x.dims);
  std::vector<double> t(n), values(n);
  for (std::size_t i = 0; i < n; ++i) t[i] = term.along(x.values.data() + i * dims, x.dims);
  if (term.base == Term::Base::constant) {
    add_constant(term, t, random, values);
    return modulate(term, t, values, f);
  }
  std::vector<double> columns(dims * n), angle(n), omega(dims);
  for (std::size_t i = 0; i < dims * n; ++i) columns[i % dims * n + i / dims] = x.values[i];
  const double size = std::sqrt(1 / static_cast<double>(Process::kFeatures));
  for (std::int64_t k = 0; k < Process::kFeatures; ++k) {
    draw_frequency(term, random, omega);
    const double cycle = term.harmonics.empty() ? 0 : draw_harmonic(term, random);
    std::array<double, 2> z{};
    random.fill_normal(z);
    // a cos + b sin as one cosine
    const double amplitude = size * std::hypot(z[0], z[1]), phase = std::atan2(z[1], z[0]) / kTurn;
    for (std::size_t i = 0; i < n; ++i) angle[i] = cycle * t[i] - phase;
    for (std::size_t a = 0; a < dims; ++a)
      for (std::size_t i = 0; i < n; ++i) angle[i] += omega[a] / kTurn * columns[a * n + i];
    for (std::size_t i = 0; i < n; ++i) values[i] += amplitude * cosine_of_turns(angle[i]);
  }
  modulate(term, t, values, f);
}

}  // namespace npzoo
