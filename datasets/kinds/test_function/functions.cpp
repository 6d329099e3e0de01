#include "npzoo/datasets/kinds/test_function/functions.h"

#include <array>
#include <cmath>
#include <numbers>

namespace npzoo {

namespace {

using std::numbers::pi;

using Point = std::span<const double>;

double square(double x) { return x * x; }

double ackley(Point x) {
  double squares = 0, cosines = 0;
  for (const double v : x) {
    squares += v * v;
    cosines += std::cos(2 * pi * v);
  }
  const auto n = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(cosines / n) + 20 + std::numbers::e;
}

double branin(Point x) {
  const double a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double cosine(Point x) {
  double sum = 0;
  for (const double v : x) sum += v * v - 0.1 * std::cos(5 * pi * v);
  return sum;
}

double drop_wave(Point x) {
  const double squares = x[0] * x[0] + x[1] * x[1];
  return -(1 + std::cos(12 * std::sqrt(squares))) / (0.5 * squares + 2);
}

double goldstein_price(Point x) {
  const double a = x[0], b = x[1];
  const double first = 1 + square(a + b + 1) * (19 - 14 * a + 3 * a * a - 14 * b + 6 * a * b + 3 * b * b),
               second = 30 + square(2 * a - 3 * b) * (18 - 32 * a + 12 * a * a + 48 * b - 36 * a * b + 27 * b * b);
  return first * second;
}

constexpr std::array kHartmannHeights{1.0, 1.2, 3.0, 3.2};

template <std::size_t dims>
double hartmann(Point x, const double (&steepness)[4][dims], const double (&centre)[4][dims]) {
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t d = 0; d < dims; ++d) distance += steepness[i][d] * square(x[d] - centre[i][d]);
    sum -= kHartmannHeights[i] * std::exp(-distance);
  }
  return sum;
}

double hartmann3(Point x) {
  constexpr double kSteepness[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
  constexpr double kCentre[4][3] = {
      {0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470}, {0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828}};
  return hartmann(x, kSteepness, kCentre);
}

double hartmann6(Point x) {
  constexpr double kSteepness[4][6] = {
      {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kCentre[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                    {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                    {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                    {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  return hartmann(x, kSteepness, kCentre);
}

double levy(Point x) {
  const auto w = [&](std::size_t d) { return 1 + (x[d] - 1) / 4; };
  const std::size_t last = x.size() - 1;
  double sum = square(std::sin(pi * w(0))) + square(w(last) - 1) * (1 + square(std::sin(2 * pi * w(last))));
  for (std::size_t d = 0; d < last; ++d) sum += square(w(d) - 1) * (1 + 10 * square(std::sin(pi * w(d) + 1)));
  return sum;
}

double michalewicz(Point x) {
  double sum = 0;
  for (std::size_t d = 0; d < x.size(); ++d)
    sum -= std::sin(x[d]) * std::pow(std::sin(static_cast<double>(d + 1) * x[d] * x[d] / pi), 20);
  return sum;
}

double rastrigin(Point x) {
  double sum = 0;
  for (const double v : x) sum += 10 + v * v - 10 * std::cos(2 * pi * v);
  return sum;
}

double rosenbrock(Point x) {
  double sum = 0;
  for (std::size_t d = 0; d + 1 < x.size(); ++d) sum += 100 * square(x[d + 1] - x[d] * x[d]) + square(x[d] - 1);
  return sum;
}

constexpr TestFunction everywhere(std::string_view name, std::int64_t dims, Interval box,
                                  double (*value)(std::span<const double>)) {
  return {name, dims, box, box, value};
}

constexpr TestFunction kFunctions[] = {
    everywhere("ackley", 0, {-32.768, 32.768}, ackley),
    {"branin", 2, {-5, 10}, {0, 15}, branin},
    everywhere("cosine", 0, {-1, 1}, cosine),
    everywhere("drop-wave", 2, {-5.12, 5.12}, drop_wave),
    everywhere("goldstein-price", 2, {-2, 2}, goldstein_price),
    everywhere("hartmann-3", 3, {0, 1}, hartmann3),
    everywhere("hartmann-6", 6, {0, 1}, hartmann6),
    everywhere("levy", 0, {-10, 10}, levy),
    everywhere("michalewicz", 0, {0, pi}, michalewicz),
    everywhere("rastrigin", 0, {-5.12, 5.12}, rastrigin),
    everywhere("rosenbrock", 0, {-5, 10}, rosenbrock),
};

}  // namespace

std::span<const TestFunction> test_functions() { return kFunctions; }

}  // namespace npzoo
