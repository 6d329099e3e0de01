#include "npzoo/datasets/kinds/synthetic/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "npzoo/datasets/kinds/synthetic/config.h"
#include "npzoo/datasets/protocol.h"

using namespace npzoo;

namespace {

enum Kind { kRegular, kUniform, kClustered, kTransects };
enum Way { kGaps, kScattered, kForecast, kHalf, kClouds };

/// Places of one kind, missing in one way, and no targets elsewhere.
SyntheticDistribution only(std::int64_t dims, Kind kind, Way way) {
  SyntheticDistribution d = dynamic_cast<const SyntheticConfig&>(*load_protocol("npzoo/any-1d").data).distribution();
  d.dims = dims;
  d.places = {};
  d.places.weights[kind] = 1;
  d.missing = {};
  d.missing.weights[way] = 1;
  d.mixed = d.far = 0;
  return d;
}

/// Between which points of the context (n), sorted, targets lie.
std::set<std::ptrdiff_t> holes(const Places& places) {
  std::set<std::ptrdiff_t> found;
  for (const double x : places.xt) found.insert(std::ranges::upper_bound(places.xc, x) - places.xc.begin());
  return found;
}

double distance_to_context(const Places& places, std::size_t dims) {
  double sum = 0;
  for (std::size_t t = 0; t < places.xt.size(); t += dims) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < places.xc.size(); c += dims) {
      double d2 = 0;
      for (std::size_t k = 0; k < dims; ++k) d2 += std::pow(places.xt[t + k] - places.xc[c + k], 2);
      nearest = std::min(nearest, std::sqrt(d2));
    }
    sum += nearest;
  }
  return sum / static_cast<double>(places.xt.size() / dims);
}

}  // namespace

TEST_CASE("[synthetic] the requested number of places, the context's from −2 to 2, targets within reach") {
  Random random(1);
  for (const std::int64_t dims : {1, 2, 3})
    for (const Kind kind : {kRegular, kUniform, kClustered, kTransects})
      for (const Way way : {kGaps, kScattered, kForecast, kHalf, kClouds})
        for (const std::int64_t context : {1, 2, 3, 7, 60, 512}) {
          CAPTURE(dims);
          CAPTURE(static_cast<int>(kind));
          CAPTURE(static_cast<int>(way));
          CAPTURE(context);
          SyntheticDistribution d = only(dims, kind, way);
          d.mixed = 0.5;
          d.far = 0.2;
          const Places places = draw_places(d, context, 40, random);
          REQUIRE(std::ssize(places.xc) == context * dims);
          REQUIRE(std::ssize(places.xt) == 40 * dims);
          CHECK(places.spacing > 0);
          for (const double x : places.xc) CHECK(std::abs(x) <= 2 + 1e-12);
          for (const double x : places.xt) CHECK(std::abs(x) <= 2 + d.reach);
          if (dims == 1 && context > 1) {
            CHECK(places.xc.front() == -2);
            CHECK(places.xc.back() == doctest::Approx(2).epsilon(1e-12));
            CHECK(std::ranges::is_sorted(places.xc));
          }
        }
}

TEST_CASE("[synthetic] missing points are in one gap, in a few, or scattered") {
  Random random(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    CAPTURE(repeat);
    // Fewer targets than there are missing points: none is asked for twice.
    const Places forecast = draw_places(only(1, kRegular, kForecast), 200, 5, random);
    CHECK(holes(forecast).size() == 1);
    CHECK((*holes(forecast).begin() == 0 || *holes(forecast).begin() == 200));
    const Places half = draw_places(only(1, kUniform, kHalf), 200, 40, random);
    CHECK(holes(half).size() == 1);
    const Places gaps = draw_places(only(1, kRegular, kGaps), 300, 5, random);
    CHECK(holes(gaps).size() <= 3);
    const Places scattered = draw_places(only(1, kRegular, kScattered), 200, 40, random);
    CHECK(holes(scattered).size() > 20);
    // Places of a regular table are steps from each other.
    CHECK(scattered.regular);
    double step = 4;
    for (std::size_t i = 1; i < 200; ++i) step = std::min(step, scattered.xc[i] - scattered.xc[i - 1]);
    for (const auto& part : {scattered.xc, scattered.xt})
      for (const double x : part) {
        const double steps = (x + 2) / step;
        CHECK(std::abs(steps - std::round(steps)) < 1e-6);
      }
  }
}

TEST_CASE("[synthetic] clouds hide neighbouring points") {
  Random random(3);
  double clouds = 0, scattered = 0;
  for (int repeat = 0; repeat < 40; ++repeat) {
    clouds += distance_to_context(draw_places(only(2, kRegular, kClouds), 300, 30, random), 2);
    scattered += distance_to_context(draw_places(only(2, kRegular, kScattered), 300, 30, random), 2);
  }
  CHECK(clouds > 2 * scattered);
}

TEST_CASE("[synthetic] where it is draped, the last of three inputs follows from the others") {
  Random random(6);
  for (const double share : {0.0, 1.0}) {
    SyntheticDistribution d = only(3, kUniform, kScattered);
    d.draped = share;
    double near = 0, all = 0;  // differences of the last input, of pairs whose other inputs are nearest, and of any
    for (int repeat = 0; repeat < 60; ++repeat) {
      const std::vector<double> x = draw_places(d, 100, 10, random).xc;
      for (std::size_t i = 0; i < 100; ++i) {
        std::size_t nearest = i == 0 ? 1 : 0;
        const auto distance = [&](std::size_t j) {
          return std::hypot(x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1]);
        };
        for (std::size_t j = 0; j < 100; ++j)
          if (j != i && distance(j) < distance(nearest)) nearest = j;
        near += std::abs(x[3 * i + 2] - x[3 * nearest + 2]);
        all += std::abs(x[3 * i + 2] - x[3 * ((i + 50) % 100) + 2]);
      }
    }
    CAPTURE(near / all);
    CHECK((near < 0.8 * all) == (share == 1));
  }
}

TEST_CASE("[synthetic] a share of the targets lies far away") {
  Random random(4);
  SyntheticDistribution d = only(1, kUniform, kScattered);
  d.far = 0.5;
  int outside = 0;
  for (int repeat = 0; repeat < 400; ++repeat)
    for (const double x : draw_places(d, 100, 100, random).xt) outside += std::abs(x) > 2;
  // Uniform within an edge that is uniform on 2 … 6: a mean share of 1 − (2 / 4) log 3 of the half lies outside.
  // That is 0.007 uncertain, by the edges, and missing ends of tables add a hundredth.
  CHECK(std::abs(outside / 4e4 - 0.5 * (1 - 0.5 * std::log(3.0))) < 0.03);
}
