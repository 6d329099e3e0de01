#include "npzoo/models/applications/events/any_events.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "npzoo/models/applications/events/event_writer.h"
#include "npzoo/models/registry.h"
#include "tests/models/trained_fixture.h"
#include "tests/small_protocol.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Weights of up to three kinds of events, drawn and not trained.
TrainedModel any_weights() {
  const std::string text =
      small_protocol("any", "kind = \"events\"\ncontext = 1\nevents = 12\nprocesses = \"any\"\nmarks = 3\n");
  const ModelSpec spec{"thp-plus",
                       {{"dim_x", 1},
                        {"dim_y", 2},
                        {"num_classes", 3},
                        {"d_model", 6},
                        {"d_inner", 10},
                        {"n_layers", 1},
                        {"n_head", 2},
                        {"d_k", 4},
                        {"d_v", 3},
                        {"clock", "both"},
                        {"components", 2}}};
  TrainedModel trained = as_trained({parse_protocol(text, "f.toml"), spec, 7}, make_model(spec, {.seed = 5}));
  for (const auto& [name, parameter] : named_tensors(*trained.model))
    trained.checkpoint.weights[name] = parameter->value.clone();
  return trained;
}

std::filesystem::path written(const TemporaryDirectory& directory, const std::string& text) {
  const auto path = directory / "e.csv";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

TEST_CASE("any events: a table is read in units of its mean gap, with its own kinds") {
  const TemporaryDirectory directory;
  const TrainedModel trained = any_weights();
  CHECK(predict_any_events(trained));
  const EventData data =
      read_events(trained, written(directory, "when,what\n2024-01-01,repair\n2024-01-03,failure\n2024-01-05,repair\n"));
  CHECK(data.form.unit == 2);
  CHECK(data.form.marks == 2);
  CHECK(data.form.mark_names == std::vector<std::string>{"failure", "repair"});
  REQUIRE(data.sequences.size() == 1);
  // Observation begins with the first event, so that the second one has a gap.
  CHECK(data.sequences[0].events.times == std::vector<double>{1, 2});
  CHECK(data.sequences[0].events.marks == std::vector<std::int64_t>{0, 1});
  CHECK(data.sequences[0].left_out == 1);
}

TEST_CASE("any events: kinds that a table lacks have no probability") {
  const TrainedModel trained = any_weights();
  const std::vector<double> times{1, 2, 4, 5, 8};
  const std::vector<std::int64_t> marks{0, 1, 1, 0, 1};
  const FollowingEvents two = predict_following_events(trained, make_events(trained, times, marks))[0];
  REQUIRE(two.mark_probability.size() == 2);
  CHECK(two.mark_probability[0] + two.mark_probability[1] == doctest::Approx(1).epsilon(1e-6));
  // Those of all kinds, of the ones that occur: the model is the same but for its last rows.
  const EventData data = make_events(trained, times, marks);
  const NextEventForecast all = forecast_next(*trained.model, data.sequences[0].events, {});
  REQUIRE(all.mark_probability.size() == 3);
  CHECK(two.mark_probability[0] / two.mark_probability[1] ==
        doctest::Approx(all.mark_probability[0] / all.mark_probability[1]).epsilon(1e-5));
  CHECK(two.mean ==
        doctest::Approx((data.sequences[0].start + data.sequences[0].events.end + all.expected_gap) * data.form.unit)
            .epsilon(1e-6));
}

TEST_CASE("any events: the unit of time does not matter") {
  const TrainedModel trained = any_weights();
  const std::vector<double> times{1, 2, 4, 5, 8}, seconds{3600, 7200, 14400, 18000, 28800};
  const FollowingEvents a = predict_following_events(trained, make_events(trained, times))[0],
                        b = predict_following_events(trained, make_events(trained, seconds))[0];
  CHECK(b.mean == doctest::Approx(3600 * a.mean).epsilon(1e-6));
  CHECK(b.quantiles[2] == doctest::Approx(3600 * a.quantiles[2]).epsilon(1e-6));
  const double per_hour = log_likelihoods_of_events(trained, make_events(trained, times))[0][4],
               per_second = log_likelihoods_of_events(trained, make_events(trained, seconds))[0][4];
  CHECK(per_hour - per_second == doctest::Approx(std::log(3600)).epsilon(1e-5));
}

TEST_CASE("any events: the latest events count, and the answer says so") {
  const TemporaryDirectory directory;
  const TrainedModel trained = any_weights();
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) times.push_back(i + 0.3 * (i % 3));
  const EventData data = make_events(trained, times);
  CHECK(data.sequences[0].events.events() == 160);
  CHECK(data.sequences[0].left_out == 140);
  CHECK(data.facts == std::vector<std::string>{"of 1 sequence the latest 160 events count"});
  const auto densities = log_likelihoods_of_events(trained, data)[0];
  REQUIRE(densities.size() == 300);
  CHECK((std::isnan(densities[140]) && std::isfinite(densities[141]) && std::isfinite(densities[299])));
  const EventOptions options{.quantiles = {0.1, 0.9}, .horizon = 5};
  const auto found = predict_following_events(trained, data, options);
  CHECK(found[0].last == doctest::Approx(times.back()).epsilon(1e-9));
  CHECK(found[0].paths.empty());
  REQUIRE(found[0].count);
  CHECK(found[0].count->mean > 0);
  CHECK(found[0].count->quantiles[0] <= found[0].count->quantiles[1]);
  EventWriter writer(trained, data, options, directory / "n.csv", {});
  writer.write(0, found[0]);
  writer.commit();
  std::stringstream text;
  text << std::ifstream(directory / "n.csv").rdbuf();
  CHECK(
      text.str().starts_with("# model: thp-plus trained under any\n"
                             "# the next event of each sequence, given all before it\n"
                             "# events: how many come until the horizon of 5\n"
                             "# of 1 sequence the latest 160 events count\n"
                             "sequence,last_time,mean_time,q0.1_time,q0.9_time,mean_events,q0.1_events,q0.9_events\n"));
}

TEST_CASE("any events: tables and arrays that are refused") {
  const TemporaryDirectory directory;
  const TrainedModel trained = any_weights();
  const auto message = [&](const std::string& text) {
    const auto path = written(directory, text);
    std::string found = error_of([&] { read_events(trained, path); });
    for (std::size_t at = 0; (at = found.find(path.string())) != std::string::npos;)
      found.replace(at, path.string().size(), "e.csv");
    return found;
  };
  CHECK(message("time,mark\n1,a\n2,b\n3,c\n4,d\n") ==
        "[events] column \"mark\" of e.csv has 4 kinds of events, expected at most 3 without a training: npzoo train "
        "--events e.csv --time time --mark mark --out own; if these are values to predict: npzoo predict e.csv "
        "--values mark");
  CHECK(message("time\n3\n") ==
        "[events] e.csv: no time passes between events of a sequence, expected two or more at different times");
  CHECK(error_of([&] { read_events(trained, "-"); }) ==
        "[events] TABLE is standard input, expected a file: it is read twice");
  const std::vector<double> once{2}, twice{1, 3};
  const std::vector<std::int64_t> unknown{0, 3};
  CHECK(error_of([&] { make_events(trained, once); }) ==
        "[events] no time passes between events of a sequence, expected two or more at different times");
  CHECK(error_of([&] { make_events(trained, twice, unknown); }) ==
        "[events] the mark 3 found, expected one of 0 to 2 without a training");
}
