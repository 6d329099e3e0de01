#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "datasets/tables/cell_parser.h"
#include "engine/io/file.h"
#include "tools/plot/band_panel.h"

namespace npzoo {

/// What an axis of a column is called: times are days since some day.
std::string axis_title(const std::string& name, const ColumnForm& form);

/// A picture of predictions of one input, a panel with a band for each value, drawn when all predictions are there.
class BandPicture {
 public:
  BandPicture(const std::filesystem::path& path, const std::string& model, const std::string& x_label,
              const std::vector<std::string>& y_names);

  void add_context(std::size_t value, double x, double y);
  void add(std::size_t value, double x, double mean, double std);

  /// Writes all but the name of the file, which `commit` gives it.
  void draw();
  void commit() { file_.commit(); }

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<plot::BandPanel> bands_;
};

}  // namespace npzoo
