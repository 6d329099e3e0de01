#include "tools/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace npzoo::tools {

namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr std::chrono::seconds kLineEvery{30};
constexpr std::string_view kEraseLine = "\r\033[2K";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// In characters of UTF-8, each taken as one column wide.
int width_of(std::string_view text) {
  return static_cast<int>(text.size() - std::count_if(text.begin(), text.end(), continues_character));
}

std::string_view first_characters(std::string_view text, int count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if (!continues_character(text[end]) && count-- <= 0) break;
  return text.substr(0, end);
}

int terminal_width(std::FILE* out) {
  winsize size{};
  constexpr int kUsual = 80;
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// How many of `parts` equal parts are done, rounded down: 100 % means done.
std::int64_t parts_done(const ProgressStatus& status, std::int64_t parts) {
  if (status.total <= 0) return 0;
  const auto total = static_cast<double>(status.total);
  return static_cast<std::int64_t>(std::clamp(status.done, 0.0, total) * static_cast<double>(parts) / total);
}

std::string head(const ProgressStatus& status) {
  if (status.total <= 0) return status.label;
  return fmt::format("{} {:3}%", status.label, parts_done(status, 100));
}

std::string facts(const ProgressStatus& status, bool with_note) {
  if (status.total <= 0 && status.done <= 0) return "working";
  const auto done = static_cast<std::int64_t>(status.done);
  std::string text = std::to_string(status.total > 0 ? status.total : done);
  if (status.total > 0) text = fmt::format("{:{}}/{}", done, text.size(), text);  // does not move as it grows
  if (status.rate > 0.0) text += fmt::format("  {} {}/s", format_rate(status.rate), status.unit);
  if (status.loss) text += fmt::format("  loss {:.4f}", *status.loss);
  if (with_note && !status.note.empty()) text += "  " + status.note;
  if (status.rate > 0.0 && static_cast<double>(status.total) > status.done)
    text += fmt::format(
        "  {} left", format_duration((static_cast<double>(status.total) - status.done) / status.rate + status.beside));
  return text;
}

std::string bar(const ProgressStatus& status, int width) {
  const auto full = static_cast<int>(parts_done(status, width));
  return fmt::format("[{:=<{}}{:{}}]", "", full, full < width ? ">" : "", width - full);
}

// A display that cannot be written to is no reason to end the work.
void put(const std::string& text, std::FILE* out) { std::fputs(text.c_str(), out); }

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0.0 && seconds < 1e9)) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const auto minutes = whole / 60 % 60;
  const auto hours = whole / 3600;
  if (hours >= 24) return fmt::format("{}d {:02}:{:02}", hours / 24, hours % 24, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string format_rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.2f}M", per_second / 1e6);
  if (per_second >= 100.0) return fmt::format("{:.0f}", per_second);
  return per_second >= 10.0 ? fmt::format("{:.1f}", per_second) : fmt::format("{:.2f}", per_second);
}

std::string format_bar(const ProgressStatus& status, int width) {
  constexpr int kShortestBar = 6;
  constexpr int kLongestBar = 30;
  const std::string left = head(status);
  std::string right = facts(status, true);
  const int space = width - width_of(left) - width_of(right) - 6;  // two gaps of two columns, two brackets
  if (status.total > 0 && space >= kShortestBar)
    return fmt::format("{}  {}  {}", left, bar(status, std::min(space, kLongestBar)), right);
  if (width_of(left) + 2 + width_of(right) > width) right = facts(status, false);
  return std::string(first_characters(fmt::format("{}  {}", left, right), std::max(width, 0)));
}

std::string format_line(const ProgressStatus& status) {
  return fmt::format("{}  {}", head(status), facts(status, true));
}

Progress::Style Progress::style_for(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = terminal != nullptr && std::string_view(terminal) != "dumb";
  return can_redraw && ::isatty(::fileno(out)) ? Style::kBar : Style::kLines;
}

Progress::Progress(std::string label, std::int64_t total, Options options)
    : start_(options.start),
      style_(options.style ? *options.style : style_for(options.out)),
      line_gap_(options.line_gap),
      out_(options.out),
      passing_(options.passing),
      now_(options.now),
      began_(now_()) {
  status_.label = std::move(label);
  status_.unit = std::move(options.unit);
  status_.done = static_cast<double>(start_);
  status_.total = total;
  shown_tenth_ = parts_done(status_, 10);
  if (style_ == Style::kBar) draw_bar(began_);
  if (style_ == Style::kLines && now_ == Options().now && line_gap_ > Clock::duration()) start_watch();
}

Progress::~Progress() {
  end_watch();
  if (bar_drawn_ && !finished_) put(passing_ ? std::string(kEraseLine) : "\n", out_);
}

void Progress::start_watch() {
  // Signals are for the threads that wait to be interrupted.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    watch_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!finished_) {
        const auto due = next_line();
        if (now_() >= due && !paused_) print_line(now_());
        ended_.wait_until(lock, paused_ ? now_() + kLineEvery : next_line());
      }
    });
  } catch (const std::system_error&) {  // no more threads: there are lines when `update` is called
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Progress::end_watch() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  ended_.notify_all();
  watch_.join();
}

Progress::Clock::time_point Progress::next_line() const {
  return shown_ + (shown_done_ < 0 ? line_gap_ : Clock::duration(kLineEvery));
}

void Progress::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = now_();
  if (bar_drawn_ && !finished_) put(std::string(kEraseLine), out_);
}

void Progress::resume() {
  const std::lock_guard lock(mutex_);
  if (paused_) began_ += now_() - *paused_;
  paused_.reset();
}

void Progress::expect_beside(double seconds) {
  const std::lock_guard lock(mutex_);
  status_.beside = seconds;
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  status_.note = std::move(text);
}

void Progress::update(double done, std::optional<double> loss) {
  if (style_ == Style::kSilent) return;
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  status_.done = done;
  if (loss) status_.loss = loss;
  const auto now = now_();
  if (style_ == Style::kBar) {
    if (!bar_drawn_ || now - shown_ >= kRedrawEvery) draw_bar(now);
    return;
  }
  const bool due = shown_done_ < 0 || parts_done(status_, 10) != shown_tenth_;
  if (now - shown_ >= (due ? line_gap_ : Clock::duration(kLineEvery))) print_line(now);
}

void Progress::message(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool above_bar = bar_drawn_ && !finished_;
  put(fmt::format("{}{}\n", above_bar ? kEraseLine : "", text), out_);
  if (above_bar) draw_bar(now_());
}

void Progress::finish() {
  if (finished_) return;
  end_watch();
  const auto now = now_();
  const bool shown_before = shown_done_ >= 0;
  if (style_ == Style::kBar && passing_) {
    put(std::string(kEraseLine), out_);
    std::fflush(out_);
  } else if (style_ == Style::kBar) {
    draw_bar(now);
    std::fputc('\n', out_);
  } else if (style_ == Style::kLines && shown_done_ != status_.done && (shown_before || !passing_)) {
    print_line(now);
  }
  finished_ = true;
}

void Progress::draw_bar(Clock::time_point now) {
  set_rate(now);
  // The last column stays free: some terminals wrap when it is filled.
  put(fmt::format("{}{}", kEraseLine, format_bar(status_, terminal_width(out_) - 1)), out_);
  std::fflush(out_);
  shown_ = now;
  bar_drawn_ = true;
}

void Progress::print_line(Clock::time_point now) {
  set_rate(now);
  put(format_line(status_) + "\n", out_);
  std::fflush(out_);
  shown_ = now;
  shown_done_ = status_.done;
  shown_tenth_ = parts_done(status_, 10);
}

void Progress::set_rate(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - began_).count();
  status_.rate = seconds > 0.0 ? (status_.done - static_cast<double>(start_)) / seconds : 0.0;
}

}  // namespace npzoo::tools
