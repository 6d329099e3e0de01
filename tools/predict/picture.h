#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/engine/io/file.h"
#include "tools/plot/band_panel.h"
#include "tools/plot/map_panel.h"

namespace npzoo::tools {

/// An input, along an axis.
struct PictureAxis {
  std::string name;
  ColumnForm form;
};

/// Throws Error, before any work, if a name cannot be drawn since it is no UTF-8.
void check_drawn_names(const std::filesystem::path& picture, std::span<const std::string> names);

/// A picture of predictions, for each value a panel with a band where there is one input and three maps where there are
/// two, drawn when all predictions are there.
class PredictionPicture {
 public:
  /// One or two axes; a panel, or three maps, for each name.
  PredictionPicture(const std::filesystem::path& path, const std::string& model, const std::vector<PictureAxis>& axes,
                    const std::vector<std::string>& y_names);

  /// x has as many numbers as there are inputs.
  void add_context(std::size_t value, std::span<const double> x, double y);
  /// The same of one input, to be drawn as a line.
  void add_history(std::size_t value, double x, double y);
  /// A path over all that is predicted of one input.
  void add_sample(std::size_t value, std::vector<double> path);
  /// A path over a part of what is predicted.
  void add_path(std::size_t value, plot::Series path) { values_[value].paths.push_back(std::move(path)); }
  /// What another method predicts.
  void add_other(std::size_t value, plot::OtherLine line) { values_[value].others.push_back(std::move(line)); }
  /// What the values of a band keep to.
  void limit(std::size_t value, plot::Range limits) { values_[value].limits = limits; }
  void add_truth(std::size_t value, double x, double y);
  /// Nothing where the mean is NaN.
  void add(std::size_t value, std::span<const double> x, double mean, double std);

  /// Writes all but the name of the file, which `commit` gives it.
  void draw();
  void commit() { file_.commit(); }

 private:
  plot::Figure bands() const;
  plot::Figure maps() const;

  std::filesystem::path path_;
  AtomicFile file_;
  std::string model_;
  std::vector<PictureAxis> axes_;
  struct Value {
    std::string name;
    std::vector<double> context_x, context_y, x, mean, std;  // x row-major
    plot::Series history{}, truth{};
    plot::Range limits = plot::kNoLimits;
    std::vector<plot::Series> paths{};
    std::vector<plot::OtherLine> others{};
    std::vector<std::vector<double>> samples{};
  };
  std::vector<Value> values_;
};

}  // namespace npzoo::tools
