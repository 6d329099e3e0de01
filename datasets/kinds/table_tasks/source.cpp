#include "npzoo/datasets/kinds/table_tasks/source.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/kinds/table_tasks/masks.h"
#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostWindows = 500;
/// Standard deviations of the context. A training leaves out tasks with targets beyond: one of them would outweigh a
/// batch. Validations and tests keep them, since a table with heavy tails has them.
constexpr double kFurthestOfTraining = 40;
constexpr double kFurthest = 1e6;  // beyond it the context is constant but for rounding, and has no scale

/// One task before it is padded, standardised.
struct Drawn {
  std::vector<double> xc, yc, xt, yt;
};

class Drawing {
 public:
  Drawing(const std::vector<GroupColumn>& columns, std::int64_t dim_x, std::int64_t points, const TrainingRange& range,
          double furthest, Random& random)
      : columns_(columns), dim_x_(dim_x), points_(points), range_(range), furthest_(furthest), random_(random) {
    for (const GroupColumn& one : columns)
      if (!one.missing.empty()) with_holes_.push_back(&one);
  }

  /// Targets that a mask makes of some window.
  std::int64_t typical_targets() {
    const Window window = draw_window();
    const auto most = std::ssize(window.y) - TableSource::kLeastContext;
    return std::clamp<std::int64_t>(std::ssize(draw_mask(window)), 1, most);
  }

  /// Returns nothing if the window has too few points, or if the context has no scale.
  std::optional<Drawn> draw(std::int64_t targets) {
    const Window window = draw_window();
    const auto n = std::ssize(window.y);
    if (n < targets + TableSource::kLeastContext) return {};
    std::vector<std::int64_t> hidden = shuffled(draw_mask(window));
    const auto most = n - TableSource::kLeastContext;
    if (std::ssize(hidden) > most) hidden.resize(static_cast<std::size_t>(most));
    complete(hidden, n, targets);
    std::vector<char> is_hidden(static_cast<std::size_t>(n));
    for (const std::int64_t i : hidden) is_hidden[static_cast<std::size_t>(i)] = 1;
    hidden.resize(static_cast<std::size_t>(targets));  // the others are neither context nor targets
    std::ranges::sort(hidden);

    Drawn task;
    for (std::int64_t i = 0; i < n; ++i)
      if (!is_hidden[static_cast<std::size_t>(i)]) append(window, i, task.xc, task.yc);
    for (const std::int64_t i : hidden) append(window, i, task.xt, task.yt);
    return standardised(std::move(task));
  }

 private:
  /// The known points of some rows.
  struct Window {
    std::vector<double> x, y;
  };

  Window draw_window() {
    for (std::int64_t tries = 0; tries < kMostWindows; ++tries) {
      const GroupColumn& from = columns_[static_cast<std::size_t>(random_.integer(0, std::ssize(columns_)))];
      Window window;
      for (const std::int64_t row : random_window(from, dim_x_, points_, random_)) {
        if (std::isnan(from.y[static_cast<std::size_t>(row)])) continue;
        const auto x = from.x.begin() + row * dim_x_;
        window.x.insert(window.x.end(), x, x + dim_x_);
        window.y.push_back(from.y[static_cast<std::size_t>(row)]);
      }
      if (std::ssize(window.y) >= TableData::kLeastKnown) return window;
    }
    fail("[table] {} windows of {} rows in a row have fewer than {} known values", kMostWindows, points_,
         TableData::kLeastKnown);
  }

  std::vector<std::int64_t> draw_mask(const Window& window) {
    const bool own = !with_holes_.empty() && random_.uniform() < 0.5, scattered = random_.uniform() < 0.5;
    if (own) {
      const auto donor = static_cast<std::size_t>(random_.integer(0, std::ssize(with_holes_)));
      if (auto mask = hole_mask(window.x, dim_x_, *with_holes_[donor], points_, random_); !mask.empty()) return mask;
    }
    return scattered ? scattered_mask(std::ssize(window.y), random_) : gap_mask(window.x, dim_x_, random_);
  }

  std::vector<std::int64_t> shuffled(std::vector<std::int64_t> positions) {
    std::vector<std::int64_t> order(positions.size()), result;
    random_.fill_permutation(order);
    for (const std::int64_t i : order) result.push_back(positions[static_cast<std::size_t>(i)]);
    return result;
  }

  /// Hides any others of `n` until there are enough.
  void complete(std::vector<std::int64_t>& hidden, std::int64_t n, std::int64_t targets) {
    if (std::ssize(hidden) >= targets) return;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    random_.fill_permutation(order);
    for (const std::int64_t i : order) {
      if (std::ssize(hidden) == targets) return;
      if (std::ranges::count(hidden, i) == 0) hidden.push_back(i);
    }
  }

  void append(const Window& window, std::int64_t i, std::vector<double>& x, std::vector<double>& y) const {
    const auto row = window.x.begin() + i * dim_x_;
    x.insert(x.end(), row, row + dim_x_);
    y.push_back(window.y[static_cast<std::size_t>(i)]);
  }

  std::optional<Drawn> standardised(Drawn task) const {
    const std::vector<std::string> x_names(static_cast<std::size_t>(dim_x_), "inputs"), y_names{"values"};
    const Standardisation units = standardise(task.xc, task.yc, x_names, y_names, range_);
    task = {units.map_inputs(task.xc), units.map_values(task.yc), units.map_inputs(task.xt), units.map_values(task.yt)};
    const auto near = [&](double v) { return std::abs(v) <= furthest_; };
    if (!std::ranges::all_of(task.xt, near) || !std::ranges::all_of(task.yt, near)) return {};
    return task;
  }

  const std::vector<GroupColumn>& columns_;
  std::int64_t dim_x_, points_;
  const TrainingRange& range_;
  double furthest_;
  Random& random_;
  std::vector<const GroupColumn*> with_holes_;
};

/// Rows of `width` numbers, padded with zeros to as many as the longest task has.
Tensor padded(const std::vector<Drawn>& tasks, std::vector<double> Drawn::*values, std::int64_t width,
              const SourceOptions& options) {
  std::size_t longest = 0;
  for (const Drawn& task : tasks) longest = std::max(longest, (task.*values).size());
  std::vector<double> all;
  for (const Drawn& task : tasks) {
    all.insert(all.end(), (task.*values).begin(), (task.*values).end());
    all.resize(all.size() + longest - (task.*values).size());
  }
  const auto rows = static_cast<std::int64_t>(longest) / width;
  return Tensor::from<double>({std::ssize(tasks), rows, width}, std::span(all)).to(options.dtype).to(options.device);
}

}  // namespace

TableSource::TableSource(std::shared_ptr<const TableData> data, std::int64_t dim_x, std::int64_t points,
                         const TrainingRange& range, const SourceOptions& options)
    : data_(std::move(data)), dim_x_(dim_x), points_(points), range_(range), options_(options) {
  check(options.batch_size > 0, "[table] batch size {}, expected at least 1", options.batch_size);
}

Batch TableSource::batch(std::uint64_t index) const {
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const auto& columns = options_.split == Split::training     ? data_->training
                        : options_.split == Split::validation ? data_->validation
                                                              : data_->test;
  const double furthest = options_.split == Split::training ? kFurthestOfTraining : kFurthest;
  Drawing drawing(columns, dim_x_, points_, range_, furthest, random);
  std::int64_t targets = drawing.typical_targets();
  std::vector<Drawn> tasks;
  for (std::int64_t tries = 0; std::ssize(tasks) < options_.batch_size;) {
    if (std::optional<Drawn> task = drawing.draw(targets)) {
      tasks.push_back(std::move(*task));
      tries = 0;
    } else if (++tries == kMostWindows) {  // few columns have as many
      check(targets > 1, "[table] {} tasks in a row have no usable context, expected columns whose values vary",
            kMostWindows);
      targets /= 2;
      tasks.clear();
      tries = 0;
    }
  }
  Tensor lengths = Tensor::empty({options_.batch_size}, DType::int64, Device::cpu);
  for (std::size_t b = 0; b < tasks.size(); ++b) lengths.values<std::int64_t>()[b] = std::ssize(tasks[b].yc);
  return {{padded(tasks, &Drawn::xc, dim_x_, options_), padded(tasks, &Drawn::yc, 1, options_),
           padded(tasks, &Drawn::xt, dim_x_, options_), padded(tasks, &Drawn::yt, 1, options_), lengths}};
}

}  // namespace npzoo
