#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/npzoo.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct FreeHandle {
  void operator()(npzoo_frame* f) const { npzoo_free_frame(f); }
  void operator()(npzoo_question* q) const { npzoo_free_question(q); }
  void operator()(npzoo_answer* a) const { npzoo_free_answer(a); }
};
using FrameHandle = std::unique_ptr<npzoo_frame, FreeHandle>;
using QuestionHandle = std::unique_ptr<npzoo_question, FreeHandle>;
using AnswerHandle = std::unique_ptr<npzoo_answer, FreeHandle>;

FrameHandle empty_frame(std::int64_t rows) {
  npzoo_frame* frame = nullptr;
  REQUIRE(npzoo_new_frame("table", rows, &frame) == NPZOO_OK);
  return FrameHandle(frame);
}

QuestionHandle about(const FrameHandle& table, const std::vector<std::array<const char*, 2>>& options = {}) {
  npzoo_question* question = nullptr;
  REQUIRE(npzoo_new_question(table.get(), &question) == NPZOO_OK);
  for (const auto& [option, value] : options) REQUIRE(npzoo_set(question, option, value) == NPZOO_OK);
  return QuestionHandle(question);
}

AnswerHandle answer_to(const QuestionHandle& question) {
  npzoo_answer* answer = nullptr;
  INFO(npzoo_last_error());
  REQUIRE(npzoo_ask(question.get(), nullptr, nullptr, &answer) == NPZOO_OK);
  return AnswerHandle(answer);
}

std::string refusal_of(const QuestionHandle& question) {
  npzoo_answer* answer = nullptr;
  CHECK(npzoo_ask(question.get(), nullptr, nullptr, &answer) == NPZOO_INVALID_INPUT);
  CHECK(answer == nullptr);
  return npzoo_last_error();
}

std::vector<double> figures(const AnswerHandle& answer, npzoo_figures kind, std::size_t each = 1) {
  std::vector<double> found(static_cast<std::size_t>(npzoo_places(answer.get())) * each);
  REQUIRE(npzoo_get_figures(answer.get(), kind, 0, found.data()) == NPZOO_OK);
  return found;
}

/// Days from 2024-01-30 on, as seconds since 1970, and a value that misses some.
constexpr double kDay = 86'400, kFirst = 19'752 * kDay;
std::vector<double> days(std::size_t count) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(kFirst + kDay * static_cast<double>(i));
  return all;
}
std::vector<double> wave(std::size_t count) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(i % 7 == 3 ? kNaN : std::sin(static_cast<double>(i) / 2) + 1e-7);
  return all;
}

FrameHandle series(std::size_t count, std::int32_t zoned = 0) {
  FrameHandle frame = empty_frame(static_cast<std::int64_t>(count));
  REQUIRE(npzoo_add_times(frame.get(), "day", days(count).data(), zoned) == NPZOO_OK);
  REQUIRE(npzoo_add_numbers(frame.get(), "level", wave(count).data()) == NPZOO_OK);
  return frame;
}

}  // namespace

TEST_CASE("c: a table of dates is filled with the bits of the C++ function") {
  constexpr std::size_t kRows = 40;
  const AnswerHandle answer = answer_to(about(series(kRows), {{"quantiles", "0.1"}, {"quantiles", "0.9"}}));
  std::vector<double> x;
  for (std::size_t i = 0; i < kRows; ++i) x.push_back(static_cast<double>(i));
  const std::vector<double> y = wave(kRows);
  const FillResult expected =
      fill(std::string(), {.x = x, .values = {y}, .x_forms = {{.kind = ColumnForm::Kind::time, .epoch = 19'752}}},
           {.quantiles = {0.1, 0.9}});
  CHECK(figures(answer, NPZOO_MEANS) == expected.columns[0].mean);
  CHECK(figures(answer, NPZOO_STDS) == expected.columns[0].std);
  CHECK(figures(answer, NPZOO_QUANTILES, 2) == expected.columns[0].quantiles);
  CHECK(npzoo_count(answer.get(), NPZOO_INPUT_NAMES) == 1);
  CHECK(npzoo_text(answer.get(), NPZOO_INPUT_NAMES, 0) == std::string("day"));
  CHECK(npzoo_text(answer.get(), NPZOO_VALUE_NAMES, 0) == std::string("level"));
  CHECK(npzoo_text(answer.get(), NPZOO_WEIGHTS, 0) == std::string("kriging-tnp:npzoo/any-1d"));
  CHECK(npzoo_text(answer.get(), NPZOO_GROUP_NAMES, 0) == nullptr);
  CHECK(npzoo_count(answer.get(), NPZOO_FACTS) > 3);
}

TEST_CASE("c: forecasts have the times after the last ones, of each group") {
  FrameHandle frame = series(24, 1);
  std::vector<const char*> groups(24, "north");
  REQUIRE(npzoo_add_texts(frame.get(), "station", groups.data()) == NPZOO_OK);
  const AnswerHandle answer =
      answer_to(about(frame, {{"group", "station"}, {"horizon", "3"}, {"samples", "2"}, {"seed", "7"}}));
  REQUIRE(npzoo_places(answer.get()) == 3);
  std::vector<double> places(3);
  std::int32_t is_time = 0;
  REQUIRE(npzoo_get_places(answer.get(), 0, places.data(), &is_time) == NPZOO_OK);
  CHECK(is_time == 1);
  CHECK(places == std::vector<double>{kFirst + 24 * kDay, kFirst + 25 * kDay, kFirst + 26 * kDay});
  std::vector<std::int64_t> numbers(3, -1);
  REQUIRE(npzoo_get_groups(answer.get(), numbers.data()) == NPZOO_OK);
  CHECK(numbers == std::vector<std::int64_t>{0, 0, 0});
  CHECK(npzoo_text(answer.get(), NPZOO_GROUP_NAMES, 0) == std::string("north"));
  const std::vector<double> samples = figures(answer, NPZOO_SAMPLES, 2);
  CHECK(samples[0] != samples[1]);
}

TEST_CASE("c: numbers are never dates, and texts are read as cells") {
  FrameHandle frame = empty_frame(6);
  const std::vector<double> code{20240101, 20240102, 20240103, 20240131, 20240201, 20240202}, y{1, 2, kNaN, 4, 5, 6};
  const std::vector<const char*> dates{"2024-01-01", "2024-01-02", "2024-01-03",
                                       "2024-01-31", "2024-02-01", "2024-02-02"};
  REQUIRE(npzoo_add_numbers(frame.get(), "code", code.data()) == NPZOO_OK);
  REQUIRE(npzoo_add_texts(frame.get(), "date", dates.data()) == NPZOO_OK);
  REQUIRE(npzoo_add_numbers(frame.get(), "y", y.data()) == NPZOO_OK);
  std::vector<double> places(6);
  std::int32_t is_time = 1;
  const AnswerHandle by_code = answer_to(about(frame, {{"inputs", "code"}, {"values", "y"}}));
  REQUIRE(npzoo_get_places(by_code.get(), 0, places.data(), &is_time) == NPZOO_OK);
  CHECK(is_time == 0);
  CHECK(places == code);
  const AnswerHandle by_date = answer_to(about(frame, {{"inputs", "date"}, {"values", "y"}}));
  REQUIRE(npzoo_get_places(by_date.get(), 0, places.data(), &is_time) == NPZOO_OK);
  CHECK(is_time == 1);
  CHECK(places[3] - places[0] == 30 * kDay);
}

TEST_CASE("c: targets are predicted by the columns of the table") {
  FrameHandle targets = empty_frame(2);
  const std::vector<double> at{kFirst + 2.5 * kDay, kFirst + 3 * kDay};
  REQUIRE(npzoo_add_times(targets.get(), "day", at.data(), 0) == NPZOO_OK);
  const QuestionHandle question = about(series(30));
  REQUIRE(npzoo_set_targets(question.get(), targets.get()) == NPZOO_OK);
  const AnswerHandle answer = answer_to(question);
  REQUIRE(npzoo_places(answer.get()) == 2);
  for (const double mean : figures(answer, NPZOO_MEANS)) CHECK(std::isfinite(mean));
}

TEST_CASE("c: tables and options that cannot be used have one line") {
  const FrameHandle frame = series(12);
  CHECK(refusal_of(about(frame, {{"inputs", "week"}})) == "[table:0] has no column \"week\", found \"day\", \"level\"");
  CHECK(refusal_of(about(empty_frame(3))) == "[table] has no columns");
  CHECK(refusal_of(about(frame, {{"horizon", "2"}, {"grid", "4"}})).find("expected one of them") != std::string::npos);
  CHECK(refusal_of(about(frame, {{"bounds", "5,1"}})) == "--bounds 5,1 found, expected a lower bound and a higher one");
  CHECK(refusal_of(about(frame, {{"kernel", "rbf"}, {"model", "weights"}})).find("beside weights") !=
        std::string::npos);
  const QuestionHandle question = about(frame);
  const std::array<const char*, 3> wrong[] = {
      {"colour", "red", "[c] there is no option 'colour'"},
      {"samples", "-1", "--samples '-1' found, expected a whole number from 0 on"},
      {"quantiles", "2", "--quantiles 2 found, expected numbers above 0 and below 1"},
      {"lonlat", "maybe", "--lonlat 'maybe' found, expected yes or no"},
      {"ends", "none", "--ends 'none' found, expected one of combined, weights"}};
  for (const auto& [option, value, message] : wrong) {
    CHECK(npzoo_set(question.get(), option, value) == NPZOO_INVALID_INPUT);
    CHECK(npzoo_last_error() == std::string(message));
  }
  CHECK(npzoo_set(question.get(), "group", nullptr) == NPZOO_INVALID_INPUT);
  const double far = 1e18;
  FrameHandle one = empty_frame(1);
  CHECK(npzoo_add_times(one.get(), "t", &far, 0) == NPZOO_INVALID_INPUT);
  CHECK(npzoo_last_error() ==
        std::string("[table:1] column \"t\" has 1e+18 seconds since 1970, expected a time of the years 1 to 9999"));
  CHECK(npzoo_places(nullptr) == 0);
  const AnswerHandle answer = answer_to(question);
  CHECK(npzoo_get_figures(answer.get(), NPZOO_MEANS, 1, nullptr) == NPZOO_INVALID_INPUT);
  CHECK(npzoo_get_places(answer.get(), 2, nullptr, nullptr) == NPZOO_INVALID_INPUT);
  CHECK(npzoo_text(answer.get(), NPZOO_VALUE_NAMES, 5) == nullptr);
}

TEST_CASE("c: a caller stops a call, and may ask again") {
  const QuestionHandle question = about(series(2000));
  npzoo_answer* answer = nullptr;
  int asked = 0;
  const npzoo_stop stop = [](void* count) -> std::int32_t { return ++*static_cast<int*>(count) > 0; };
  CHECK(npzoo_ask(question.get(), stop, &asked, &answer) == NPZOO_INTERRUPTED);
  CHECK(answer == nullptr);
  CHECK(asked == 1);
  CHECK(npzoo_places(answer_to(question).get()) == 2000);
}

TEST_CASE("c: threads are set") {
  CHECK(npzoo_set_threads(1) == NPZOO_OK);
  CHECK(npzoo_set_threads(0) == NPZOO_OK);
  CHECK(npzoo_set_threads(-1) == NPZOO_INVALID_INPUT);
}
