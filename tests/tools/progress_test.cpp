#include "tools/cli/progress.h"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <thread>

using namespace npzoo;
using namespace npzoo::tools;

namespace {

ProgressStatus half_way() {
  return {.label = "train", .done = 500, .total = 1000, .rate = 125.0, .loss = -0.25, .note = "validation 0.98"};
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string written(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  return text;
}

}  // namespace

TEST_CASE("progress: durations") {
  CHECK(format_duration(0.0) == "0:00");
  CHECK(format_duration(7.4) == "0:07");
  CHECK(format_duration(59.6) == "1:00");
  CHECK(format_duration(754.0) == "12:34");
  CHECK(format_duration(3723.0) == "1:02:03");
  CHECK(format_duration(2 * 86400 + 3 * 3600 + 4 * 60) == "2d 03:04");
  CHECK(format_duration(-1.0) == "?");
  CHECK(format_duration(std::numeric_limits<double>::infinity()) == "?");
  CHECK(format_duration(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("progress: rates") {
  CHECK(format_rate(0.314) == "0.31");
  CHECK(format_rate(42.0) == "42.0");
  CHECK(format_rate(1250.4) == "1250");
  CHECK(format_rate(3.214e6) == "3.21M");
}

TEST_CASE("progress: the bar takes the room there is") {
  const ProgressStatus status = half_way();
  const std::string facts = " 500/1000  125 steps/s  loss -0.2500  validation 0.98  0:04 left";
  CHECK(format_bar(status, 200) == "train  50%  [===============>              ]  " + facts);
  CHECK(format_bar(status, 90) == "train  50%  [=====>    ]  " + facts);
  CHECK(format_bar(status, 80) == "train  50%   500/1000  125 steps/s  loss -0.2500  validation 0.98  0:04 left");
  CHECK(format_bar(status, 70) == "train  50%   500/1000  125 steps/s  loss -0.2500  0:04 left");
  CHECK(format_bar(status, 20) == "train  50%   500/100");
  CHECK(format_bar(status, 0).empty());
}

TEST_CASE("progress: the time left includes other work to come") {
  ProgressStatus status = half_way();
  status.beside = 60;
  CHECK(format_line(status).ends_with("  1:04 left"));
}

TEST_CASE("progress: the bar never goes beyond the width") {
  ProgressStatus status = half_way();
  status.note = "σ² ± µ, ünïcödé";
  for (int width = 0; width < 150; ++width) {
    const std::string text = format_bar(status, width);
    int characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    CHECK(characters <= width);
  }
}

TEST_CASE("progress: the ends of the bar and counts without an end") {
  ProgressStatus status{.label = "eval", .unit = "batches", .done = 0, .total = 8};
  CHECK(format_bar(status, 30) == "eval   0%  [>           ]  0/8");
  status.done = 8;
  CHECK(format_bar(status, 30) == "eval 100%  [============]  8/8");
  status.done = 9;
  CHECK(format_line(status) == "eval 100%  9/8");
  const ProgressStatus stream{.label = "predict", .unit = "rows", .done = 12345, .rate = 2e6};
  CHECK(format_bar(stream, 80) == "predict  12345  2.00M rows/s");
  CHECK(format_line(stream) == "predict  12345  2.00M rows/s");
}

TEST_CASE("progress: a log gets a line at every tenth and one at the end") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  Progress progress("train", 95, {.start = 40, .style = Progress::Style::kLines, .line_gap = {}, .out = file.get()});
  for (int step = 41; step <= 94; ++step) progress.update(step, 1.0);
  progress.message("saved");
  progress.finish();
  progress.finish();
  progress.update(95);
  const std::string text = written(file.get());
  int lines = 0;
  for (const char c : text) lines += c == '\n';
  CHECK(lines == 8);
  CHECK(text.starts_with("train  43%  41/95"));  // what takes long begins to tell of itself when line_gap is over
  CHECK(text.find("\ntrain  50%  48/95") != std::string::npos);
  CHECK(text.find("\nsaved\ntrain  98%  94/95") != std::string::npos);
}

TEST_CASE("progress: a bar is redrawn in place, below messages") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  {
    Progress progress("train", 10, {.style = Progress::Style::kBar, .out = file.get()});
    progress.update(1);
    progress.message("saved");
  }
  const std::string text = written(file.get());
  CHECK(text.starts_with("\r\033[2Ktrain   0%  ["));
  CHECK(text.find("\r\033[2Ktrain  10%  [") != std::string::npos);
  CHECK(text.find("\r\033[2Ksaved\n\r\033[2Ktrain  10%  [") != std::string::npos);
  CHECK(text.ends_with("\n"));
}

namespace {

std::chrono::seconds elapsed;  // on the clock of these tests

std::chrono::steady_clock::time_point test_clock() { return std::chrono::steady_clock::time_point(elapsed); }

}  // namespace

TEST_CASE("progress: the time of other work does not count") {
  for (const auto style : {Progress::Style::kLines, Progress::Style::kBar}) {
    elapsed = {};
    const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
    Progress progress("train", 100, {.style = style, .out = file.get(), .now = test_clock});
    elapsed += std::chrono::seconds(4);
    progress.update(20);
    progress.pause();
    elapsed += std::chrono::seconds(1000);
    progress.resume();
    elapsed += std::chrono::seconds(4);
    progress.update(40);
    CHECK(written(file.get()).find("5.00 steps/s  0:12 left") != std::string::npos);
  }
}

TEST_CASE("progress: a finished inner progress leaves the line to the outer one") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  elapsed = {};
  const Progress::Style bar = Progress::Style::kBar;
  Progress whole("train", 10, {.style = bar, .out = file.get(), .now = test_clock});
  elapsed += std::chrono::seconds(1);
  whole.update(1);
  whole.pause();
  {
    Progress part("validate", 2,
                  {.unit = "batches", .style = bar, .passing = true, .out = file.get(), .now = test_clock});
    elapsed += std::chrono::seconds(1);
    part.update(1);
  }
  whole.resume();
  elapsed += std::chrono::seconds(1);
  whole.update(2);
  const std::string text = written(file.get()), erased = "\r\033[2K";
  const auto one = text.find("train  10%"), two = text.find(erased + erased + "validate   0%"),
             three = text.find(erased + erased + "train  20%");
  CHECK(one < two);
  CHECK(two < three);
  CHECK(three != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("progress: a line comes in time without an update") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  {
    Progress progress("eval", 4,
                      {.unit = "batches",
                       .style = Progress::Style::kLines,
                       .line_gap = std::chrono::milliseconds(1),
                       .out = file.get()});
    while (std::ftell(file.get()) == 0) std::this_thread::yield();
  }
  CHECK(written(file.get()) == "eval   0%  0/4\n");
}

TEST_CASE("progress: parts of the unit in work count") {
  const ProgressStatus status{.label = "eval", .unit = "batches", .done = 1.5, .total = 2, .rate = 0.25};
  CHECK(format_line(status) == "eval  75%  1/2  0.25 batches/s  0:02 left");
}

TEST_CASE("progress: silence but for messages") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  Progress progress("train", 10, {.style = Progress::Style::kSilent, .out = file.get()});
  progress.update(10);
  progress.message("saved");
  progress.finish();
  CHECK(written(file.get()) == "saved\n");
}

TEST_CASE("progress: a file gets lines") {
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  CHECK(Progress::style_for(file.get()) == Progress::Style::kLines);
}
