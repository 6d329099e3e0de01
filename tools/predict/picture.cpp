#include "tools/predict/picture.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo::tools {

namespace {

std::optional<plot::TimeAxis> time_of(const PictureAxis& axis) {
  return axis.form.kind == ColumnForm::Kind::time ? std::optional(plot::TimeAxis{axis.form.epoch}) : std::nullopt;
}

std::string title_of(const PictureAxis& axis) {
  return axis.name + (axis.form.kind == ColumnForm::Kind::time && axis.form.zoned ? ", UTC" : "");
}

}  // namespace

void check_drawn_names(const std::filesystem::path& picture, std::span<const std::string> names) {
  for (const std::string& name : names)
    check(picture.empty() || is_utf8(name),
          "[plot] {} cannot show the name {}, expected UTF-8: convert the table, such as by iconv -f latin1 -t utf8",
          picture.string(), in_quotes(name));
}

PredictionPicture::PredictionPicture(const std::filesystem::path& path, const std::string& model,
                                     const std::vector<PictureAxis>& axes, const std::vector<std::string>& y_names)
    : path_(path), file_(path), model_(model), axes_(axes) {
  for (const std::string& name : y_names) values_.emplace_back().name = name;
}

void PredictionPicture::add_context(std::size_t value, std::span<const double> x, double y) {
  Value& v = values_[value];
  v.context_x.insert(v.context_x.end(), x.begin(), x.end());
  v.context_y.push_back(y);
}

void PredictionPicture::add_history(std::size_t value, double x, double y) {
  values_[value].history.x.push_back(x);
  values_[value].history.y.push_back(y);
}

void PredictionPicture::add_truth(std::size_t value, double x, double y) {
  values_[value].truth.x.push_back(x);
  values_[value].truth.y.push_back(y);
}

void PredictionPicture::add_sample(std::size_t value, std::vector<double> path) {
  values_[value].samples.push_back(std::move(path));
}

void PredictionPicture::add(std::size_t value, std::span<const double> x, double mean, double std) {
  if (std::isnan(mean)) return;
  Value& v = values_[value];
  v.x.insert(v.x.end(), x.begin(), x.end());
  v.mean.push_back(mean);
  v.std.push_back(std);
}

plot::Figure PredictionPicture::bands() const {
  constexpr std::size_t kManyPanels = 4;  // small ones from here on
  const bool many = values_.size() >= kManyPanels;
  plot::Figure figure{
      .columns = many ? 3 : 1, .panel_width = many ? 280.0 : 480.0, .panel_height = many ? 160.0 : 220.0};
  const PictureAxis& axis = axes_[0];
  for (const Value& v : values_)
    figure.panels.push_back(plot::make_panel({.name = model_,
                                              .x_label = title_of(axis),
                                              .y_label = v.name,
                                              .x_time = time_of(axis),
                                              .x = v.x,
                                              .mean = v.mean,
                                              .std = v.std,
                                              .samples = v.samples,
                                              .paths = v.paths,
                                              .others = v.others,
                                              .context = {v.context_x, v.context_y},
                                              .limits = v.limits,
                                              .truth = v.truth,
                                              .history = v.history}));
  return figure;
}

plot::Figure PredictionPicture::maps() const {
  std::vector<double> all;
  for (const Value& v : values_)
    for (const auto* x : {&v.context_x, &v.x}) all.insert(all.end(), x->begin(), x->end());
  const plot::Rectangle size = plot::map_size(all);
  plot::Figure figure{.columns = 3, .panel_width = size.width, .panel_height = size.height, .share_y = true};
  for (const Value& v : values_) {
    std::vector<plot::Panel> maps = plot::make_maps({.x_label = title_of(axes_[0]),
                                                     .y_label = title_of(axes_[1]),
                                                     .value_label = v.name,
                                                     .x_time = time_of(axes_[0]),
                                                     .y_time = time_of(axes_[1]),
                                                     .observed = {v.context_x, v.context_y},
                                                     .mean = {v.x, v.mean},
                                                     .std = v.std});
    std::ranges::move(maps, std::back_inserter(figure.panels));
  }
  return figure;
}

void PredictionPicture::draw() {
  file_.write(plot::draw_figure(axes_.size() == 1 ? bands() : maps(), path_));
  file_.flush();
}

}  // namespace npzoo::tools
