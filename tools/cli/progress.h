#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace npzoo::tools {

/// State of a progress display.
struct ProgressStatus {
  std::string label;           // "train"
  std::string unit = "steps";  // what is counted
  double done = 0;             // part of the unit in work included
  std::int64_t total = 0;      // 0: not known, e.g. for a stream
  double rate = 0.0;           // units per second; 0: not known yet
  std::optional<double> loss{};
  std::string note{};  // free text, e.g. the latest validation log-likelihood
  double beside = 0;   // seconds of other work to come, such as validations
};

/// "0:07", "12:34", "1:02:03", "2d 03:04"; "?" for what is negative or not finite.
std::string format_duration(double seconds);
/// "0.31", "42.0", "1250", "3.21M".
std::string format_rate(double per_second);
/// One line of at most `width` characters; the bar gives way first, then the note, then the end of the line.
std::string format_bar(const ProgressStatus& status, int width);
/// The same facts as a plain line for a log.
std::string format_line(const ProgressStatus& status);

/// Shows how far a long task is: on a terminal as a bar, there from the start and redrawn at most ten times a second,
/// elsewhere as a plain line after two seconds (line_gap), at every tenth of the way or every 30 seconds. Writes to
/// stderr, so that stdout stays free for results. A line comes in time even if the work does not call `update`: a
/// thread looks after that.
class Progress {
 public:
  enum class Style { kBar, kLines, kSilent };
  /// The bar where `out` is a terminal that can redraw a line.
  static Style style_for(std::FILE* out);

  struct Options {
    std::string unit = "steps";
    std::int64_t start = 0;        // units done before, e.g. by the run that this one resumes
    std::optional<Style> style{};  // where not given: style_for(out)
    bool passing = false;          // its bar is erased in the end, and a short task prints no line
    std::chrono::milliseconds line_gap{
        2000};  // lines of a log are at least this far apart, so that a short task prints one
    std::FILE* out = stderr;
    std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
  };

  /// `total` is 0 if it is not known.
  Progress(std::string label, std::int64_t total, Options options);
  Progress(std::string label, std::int64_t total) : Progress(std::move(label), total, Options()) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Leaves a bar that was not finished as it stands and ends its line, or erases one in passing.
  ~Progress();

  /// Cheap enough for every step.
  void update(double done, std::optional<double> loss = std::nullopt);
  /// Removes the bar until `resume`, for other work, which may show its own progress. The time between does not count.
  void pause();
  void resume();
  /// Seconds of other work to come, which the time left includes.
  void expect_beside(double seconds);
  /// Text shown from now on beside the loss.
  void note(std::string text);
  /// Prints a line of its own, above the bar. Printed in silence as well: it is no progress.
  void message(std::string_view text);
  /// Shows the final state. Later calls have no effect.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void draw_bar(Clock::time_point now);
  void print_line(Clock::time_point now);
  void set_rate(Clock::time_point now);
  Clock::time_point next_line() const;
  void start_watch();
  void end_watch();

  ProgressStatus status_;
  std::int64_t start_;
  Style style_;
  Clock::duration line_gap_;
  std::FILE* out_;
  bool passing_;
  Clock::time_point (*now_)();
  Clock::time_point began_;
  std::optional<Clock::time_point> paused_{};
  Clock::time_point shown_ = began_;
  double shown_done_ = -1;
  std::int64_t shown_tenth_;
  bool bar_drawn_ = false;
  bool finished_ = false;
  std::mutex mutex_;  // of all above
  std::condition_variable ended_;
  std::thread watch_{};  // prints the lines that are due and that no `update` printed
};

}  // namespace npzoo::tools
