#include "tools/predict/band_picture.h"

#include <fmt/format.h>

namespace npzoo {

std::string axis_title(const std::string& name, const ColumnForm& form) {
  return form.kind == ColumnForm::Kind::time
             ? fmt::format("{} (days since {})", name, format_date_time(form.epoch, 0, false))
             : name;
}

BandPicture::BandPicture(const std::filesystem::path& path, const std::string& model, const std::string& x_label,
                         const std::vector<std::string>& y_names)
    : path_(path), file_(path), bands_(y_names.size()) {
  for (std::size_t j = 0; j < bands_.size(); ++j) {
    bands_[j].name = model;
    bands_[j].x_label = x_label;
    bands_[j].y_label = y_names[j];
  }
}

void BandPicture::add_context(std::size_t value, double x, double y) {
  bands_[value].context.x.push_back(x);
  bands_[value].context.y.push_back(y);
}

void BandPicture::add(std::size_t value, double x, double mean, double std) {
  bands_[value].x.push_back(x);
  bands_[value].mean.push_back(mean);
  bands_[value].std.push_back(std);
}

void BandPicture::draw() {
  plot::Figure figure{.panel_width = 480, .panel_height = 220};
  for (const plot::BandPanel& band : bands_) figure.panels.push_back(plot::make_panel(band));
  file_.write(plot::draw_figure(figure, path_));
  file_.flush();
}

}  // namespace npzoo
