#include "tools/pictures/columns.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace npzoo;
using namespace npzoo::tools;

TEST_CASE("picture of columns: a row for each predicted column, with its gain and the shares of the others") {
  const ColumnHelp help{.names = {"a", "b", "soil"},
                        .values = 2,
                        .columns = {{.hidden = 9, .alone = 0.5, .together = 0.3, .from = {0, 0.25, 0.75}},
                                    {.hidden = 4, .alone = 0.4, .together = 0.4, .from = {0.9, 0, 0.1}},
                                    {.hidden = 0, .alone = 0, .together = 0, .from = {0.5, 0.5, 0}}}};
  const plot::Figure figure = draw_column_help(help);
  REQUIRE(figure.panels.size() == 1);
  const plot::Panel& panel = figure.panels[0];
  REQUIRE(panel.y_ticks.size() == 2);
  CHECK(panel.y_ticks[0].label == "2 b: CRPS 0 % less");  // the lowest
  CHECK(panel.y_ticks[1].label == "1 a: CRPS 40 % less");
  REQUIRE(panel.x_ticks.size() == 3);
  CHECK((panel.x_ticks[1].label == "2" && panel.x_ticks[2].label == "soil"));
  REQUIRE(panel.layers.size() == 1);
  const auto& raster = std::get<plot::Raster>(panel.layers[0]);
  CHECK((raster.grid.rows == 2 && raster.grid.columns == 3));
  const std::vector<double> expected{0.9, NAN, 0.1, NAN, 0.25, 0.75};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK((raster.values[i] == expected[i] || (std::isnan(raster.values[i]) && std::isnan(expected[i]))));
  CHECK(raster.scale.shown.high == 0.9);
  CHECK(!plot::draw_figure(figure, "help.svg").empty());
}
