#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/npzoo.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const std::string kWeights = "npzoo/gp-rbf";

struct FreeModel {
  void operator()(npzoo_model* m) const { npzoo_free_model(m); }
};
struct FreeState {
  void operator()(npzoo_state* s) const { npzoo_free_state(s); }
};

std::unique_ptr<npzoo_model, FreeModel> loaded(const char* weights) {
  npzoo_model* model = nullptr;
  REQUIRE(npzoo_load(weights, &model) == NPZOO_OK);
  return std::unique_ptr<npzoo_model, FreeModel>(model);
}

const std::vector<double> kXc{-1, -0.2, 0.7, 1.5}, kYc{0.3, 0.1, -0.4, 0.8}, kXt{-0.6, 0, 1};

std::vector<double> mean_of(const npzoo_state* state) {
  std::vector<double> mean(kXt.size()), std(kXt.size());
  REQUIRE(npzoo_query(state, 3, kXt.data(), mean.data(), std.data()) == NPZOO_OK);
  for (const double s : std) CHECK(s > 0);
  return mean;
}

}  // namespace

TEST_CASE("c: a state is conditioned, updated and queried, and outlives its model") {
  npzoo_state *whole = nullptr, *part = nullptr, *updated = nullptr;
  {
    const auto model = loaded(kWeights.c_str());
    CHECK(npzoo_dim_x(model.get()) == 1);
    CHECK(npzoo_dim_y(model.get()) == 1);
    REQUIRE(npzoo_condition(model.get(), 1, 4, kXc.data(), kYc.data(), nullptr, 0, 1, &whole) == NPZOO_OK);
    REQUIRE(npzoo_condition(model.get(), 1, 2, kXc.data(), kYc.data(), nullptr, 0, 1, &part) == NPZOO_OK);
  }
  REQUIRE(npzoo_update(part, 2, kXc.data() + 2, kYc.data() + 2, nullptr, &updated) == NPZOO_OK);
  const std::vector<double> mean = mean_of(whole), again = mean_of(updated);
  for (std::size_t i = 0; i < mean.size(); ++i) CHECK(again[i] == doctest::Approx(mean[i]).epsilon(1e-4));
  std::vector<double> density(3);
  REQUIRE(npzoo_log_likelihood(whole, 3, kXt.data(), mean.data(), density.data()) == NPZOO_OK);
  for (const double d : density) CHECK(std::isfinite(d));
  for (npzoo_state* state : {whole, part, updated, static_cast<npzoo_state*>(nullptr)}) npzoo_free_state(state);
}

TEST_CASE("c: gradients are those of central differences") {
  const auto model = loaded(kWeights.c_str());
  const std::vector<double> ones(3, 1), zeros(3, 0);
  std::vector<double> d_yc(4);
  REQUIRE(npzoo_vjp(model.get(), 1, 4, kXc.data(), kYc.data(), 3, kXt.data(), ones.data(), zeros.data(), 0, 1, nullptr,
                    d_yc.data(), nullptr) == NPZOO_OK);
  const auto sum = [&](double step) {
    std::vector<double> y = kYc, mean(3), std(3);
    y[1] += step;
    npzoo_state* state = nullptr;
    REQUIRE(npzoo_condition(model.get(), 1, 4, kXc.data(), y.data(), nullptr, 0, 1, &state) == NPZOO_OK);
    const std::unique_ptr<npzoo_state, FreeState> owner(state);
    REQUIRE(npzoo_query(state, 3, kXt.data(), mean.data(), std.data()) == NPZOO_OK);
    return mean[0] + mean[1] + mean[2];
  };
  CHECK(d_yc[1] == doctest::Approx((sum(1e-2) - sum(-1e-2)) / 2e-2).epsilon(2e-2));
}

TEST_CASE("c: a table is filled with the bits of the C++ function") {
  const std::vector<double> x{0, 1, 2, 3, 4, 5}, y{1, 2, kNaN, 2, kNaN, 0, 5, 4, 3, kNaN, 1, 0},
      probabilities{0.1, 0.9};
  npzoo_table table{};
  table.rows = 6;
  table.inputs = 1;
  table.values = 2;
  table.x = x.data();
  table.y = y.data();
  table.quantiles = 2;
  table.probabilities = probabilities.data();
  std::vector<double> mean(12), std(12), quantiles(24);
  REQUIRE(npzoo_fill(nullptr, &table, mean.data(), std.data(), quantiles.data()) == NPZOO_OK);
  const std::span<const double> all(y);
  const FillResult expected =
      fill(std::string(), {.x = x, .values = {all.subspan(0, 6), all.subspan(6, 6)}}, {.quantiles = probabilities});
  for (std::size_t v = 0; v < 2; ++v)
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(mean[v * 6 + i] == expected.columns[v].mean[i]);
      CHECK(std[v * 6 + i] == expected.columns[v].std[i]);
      CHECK(quantiles[(v * 6 + i) * 2 + 1] == expected.columns[v].quantiles[i * 2 + 1]);
    }
  const double place = 2.5;
  table.targets = 1;
  table.target_x = &place;
  REQUIRE(npzoo_fill(loaded("npzoo/any-1d").get(), &table, mean.data(), std.data(), nullptr) == NPZOO_OK);
  CHECK(std::isfinite(mean[1]));
}

TEST_CASE("c: failures have a status and one line, and leave outputs alone") {
  CHECK(npzoo_api_version() == NPZOO_API_VERSION);
  CHECK(std::string(npzoo_version()).find('.') != std::string::npos);
  npzoo_model* model = nullptr;
  CHECK(npzoo_load("nobody", &model) == NPZOO_INVALID_INPUT);
  CHECK(model == nullptr);
  CHECK(std::string(npzoo_last_error()).find("there are no weights 'nobody'") != std::string::npos);
  CHECK(npzoo_load(nullptr, &model) == NPZOO_INVALID_INPUT);
  CHECK(npzoo_last_error() == std::string("[c] weights is NULL, expected an address"));
  const auto good = loaded(kWeights.c_str());
  npzoo_state* state = nullptr;
  const std::int64_t lengths[] = {9};
  CHECK(npzoo_condition(good.get(), 1, 4, kXc.data(), kYc.data(), lengths, 0, 1, &state) == NPZOO_INVALID_INPUT);
  CHECK(npzoo_last_error() == std::string("[c] a length of 9 found, expected 0 to 4"));
  CHECK(npzoo_condition(good.get(), 1, -1, kXc.data(), kYc.data(), nullptr, 0, 1, &state) == NPZOO_INVALID_INPUT);
  CHECK(state == nullptr);
  npzoo_table table{};
  CHECK(npzoo_fill(nullptr, &table, nullptr, nullptr, nullptr) == NPZOO_INVALID_INPUT);
  npzoo_free_model(nullptr);
}
