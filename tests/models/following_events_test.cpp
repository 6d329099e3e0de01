#include "npzoo/models/applications/events/following_events.h"

#include <fstream>
#include <sstream>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/events/event_writer.h"
#include "tests/models/renewal_model.h"
#include "tests/models/trained_fixture.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

TrainedModel renewal_weights() {
  const std::string text = small_protocol(
      "events",
      "kind = \"events\"\ncontext = 1\nevents = 12\nprocess = { kind = \"renewal\", gaps = { kind = \"log-normal\", "
      "mean = -0.3, std = 0.8 } }\n");
  TrainingRun run{parse_protocol(text, "f.toml"), {"renewal", {}}, 7};
  return as_trained(std::move(run), std::make_unique<RenewalModel>(std::vector{1.0}));
}

const std::vector<double> kEventTimes{0.5, 0.25, 1.25, 3.0, 0.75};
const std::vector<std::uint32_t> kSequenceNumbers{0, 1, 0, 0, 1};

}  // namespace

TEST_CASE("events: predictions after sequences of arrays, as by the model") {
  const TrainedModel trained = renewal_weights();
  const EventData data = make_events(trained, kEventTimes, {}, kSequenceNumbers);
  REQUIRE(data.sequences.size() == 2);
  CHECK(data.events() == 5);
  CHECK(data.sequences[0].events.times == std::vector<double>{0.5, 1.25, 3.0});
  CHECK(data.sequences[1].events.end == 0.75);
  const EventOptions options{.quantiles = {0.5}, .samples = 2, .horizon = 4};
  const std::vector<FollowingEvents> found = predict_following_events(trained, data, options);
  REQUIRE(found.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const EventSequence& past = data.sequences[i].events;
    const NextEventForecast next = forecast_next(*trained.model, past, options.quantiles);
    CHECK(found[i].last == past.times.back());
    CHECK(found[i].mean == past.times.back() + next.expected_gap);
    CHECK(found[i].quantiles == std::vector{past.times.back() + next.gap_quantiles[0]});
    CHECK(found[i].mark_probability == std::vector{1.0});
    const auto paths = continue_events(*trained.model, past, 4, 2, 7 + i);
    REQUIRE(found[i].paths.size() == 2);
    CHECK(found[i].paths[1].times == paths[1].times);
  }

  const std::vector<FollowingEvents> later = predict_following_events(trained, data, {.now = 5});
  CHECK(later[1].paths.empty());
  CHECK(later[1].quantiles.size() == 3);
  CHECK(later[1].quantiles[0] > 5);
}

TEST_CASE("events: predictions after the sequences of a table, and their tables") {
  const TemporaryDirectory directory;
  const auto path = directory / "events.csv", next = directory / "next.csv", drawn = directory / "paths.csv";
  std::ofstream(path, std::ios::binary) << "who,time\nu,0.5\nv,0.25\nu,1.25\nu,3\nv,0.75\n";
  const TrainedModel trained = renewal_weights();
  const EventData data = read_events(trained, path, {.group = "who"});
  const EventOptions options{.quantiles = {0.5}, .now = 4, .samples = 1, .horizon = 2};
  const auto found = predict_following_events(trained, data, options);
  const auto of_arrays =
      predict_following_events(trained, make_events(trained, kEventTimes, {}, kSequenceNumbers), options);
  EventWriter writer(trained, data, options, next, drawn);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(found[i].mean == of_arrays[i].mean);
    CHECK(found[i].paths[0].times == of_arrays[i].paths[0].times);
    writer.write(i, found[i]);
  }
  writer.commit();
  std::stringstream text;
  text << std::ifstream(next).rdbuf();
  CHECK(
      text.str().starts_with("# model: renewal trained under events\n"
                             "# the next event of each sequence, given all before it\n"
                             "# given that nothing more has happened until 4\n"
                             "# events: how many come until the horizon of 2\n"
                             "who,last_time,mean_time,q0.5_time,mean_events,q0.5_events\nu,3,"));
  std::stringstream paths;
  paths << std::ifstream(drawn).rdbuf();
  CHECK(
      paths.str().starts_with("# model: renewal trained under events\n"
                              "# free-running: 1 path of each sequence over a horizon of 2\nwho,sample,time\n"));
}

TEST_CASE("events: stops on request, and works afterwards") {
  const TrainedModel trained = renewal_weights();
  const EventData data = make_events(trained, kEventTimes, {}, kSequenceNumbers);
  const auto whole = predict_following_events(trained, data);
  for (const std::int64_t poll : {0, 1}) {
    std::stop_source source;
    if (poll == 0) source.request_stop();
    std::int64_t calls = 0;
    const EventOptions options{.stop = source.get_token(), .progress = [&](std::int64_t done, std::int64_t all) {
                                 CHECK(all == 2);
                                 CHECK(done == ++calls);
                                 if (calls == poll) source.request_stop();
                               }};
    CHECK_THROWS_AS(predict_following_events(trained, data, options), Interrupted);
    CHECK(calls == poll);
  }
  CHECK(predict_following_events(trained, data)[1].mean == whole[1].mean);
}

TEST_CASE("events: arrays and options that are refused") {
  const TrainedModel trained = renewal_weights();
  TrainedModel other = renewal_weights();
  other.checkpoint.run.protocol = load_protocol("quick/gp1d");
  const auto message = [&](std::vector<double> times, std::vector<std::int64_t> marks = {},
                           std::vector<std::uint32_t> sequences = {}) {
    return error_of([&] { make_events(trained, times, marks, sequences); });
  };
  CHECK(error_of([&] { make_events(other, kEventTimes); }) ==
        "[events] renewal trained under quick/gp1d found, expected weights that were trained on events");
  CHECK(message({}) == "[events] no event found, expected one or more");
  CHECK(message({1, 2}, {0}) ==
        "[events] 2 times, 1 marks and 0 numbers of sequences found, expected one of each for every event");
  CHECK(message({1, 2}, {}, {0, 9}) == "[events] the sequence 9 found, expected numbers from 0 on, each with an event");
  CHECK(message({1, 2}, {}, {1, 1}) == "[events] sequence 0 has no event, expected one or more");
  CHECK(message({-1}) == "[events] the time of event 0 is -1, expected a number from 0 to 1e+15");
  CHECK(message({1}, {3}) == "[events] the mark of event 0 is 3, expected one of 0 to 0");
  CHECK(message({1, 1}) ==
        "[events] the time of event 1 is 1, expected more than 1, the time of the previous event of the sequence");
  const EventData data = make_events(trained, kEventTimes, {}, kSequenceNumbers);
  CHECK(error_of([&] { predict_following_events(trained, data, {.now = 2}); }) ==
        "[predict] --now 2 found, expected 3 or later: sequence \"0\" has an event then");
  CHECK(error_of([&] { predict_following_events(trained, data, {.quantiles = {2}}); }) ==
        "[events] the quantile 2 found, expected a number above 0 and below 1");
  CHECK(error_of([&] { predict_following_events(trained, data, {.samples = 1}); }) ==
        "[events] 1 samples and a horizon of 0 found, expected a horizon above 0 for samples");
}
