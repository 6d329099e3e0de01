# Methods for ggplot2, which need not be installed: R registers them when it is loaded. Names of columns are looked up by `.data`.

autoplot.np_fill <- function(object, ...) {
  if (length(attr(object, "npzoo")$inputs) == 2L) gg_map(object, ...) else gg_lines(line_panels(object), ...)
}
autoplot.np_forecast <- function(object, ...) gg_lines(line_panels(object), ...)
autoplot.np_map <- function(object, ...) gg_map(object, ...)
autoplot.np_fit <- function(object, level = 0.95, ...) gg_lines(fit_panels(object, level), ...)

gg_lines <- function(panels, ...) {
  .data <- ggplot2::.data
  picture <- ggplot2::ggplot(panels$predicted, ggplot2::aes(x = .data$x)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = .data$lower, ymax = .data$upper), fill = BAND, alpha = 0.25) +
    ggplot2::geom_line(ggplot2::aes(y = .data$mean), colour = BAND) +
    ggplot2::geom_point(ggplot2::aes(y = .data$y), data = panels$observed, size = 0.8) +
    ggplot2::labs(x = panels$input, y = if (length(panels$panels) == 1L) panels$panels else NULL)
  if (length(panels$panels) > 1L) picture <- picture + ggplot2::facet_wrap(~panel, scales = "free_y")
  picture
}

gg_map <- function(x, figure = "mean", ...) {
  .data <- ggplot2::.data
  map <- map_panels(x)
  inputs <- map$facts$inputs
  is_grid <- !is.null(map$facts$grid)
  if (is_grid) map[c("x", "y")] <- list(even(map$x), even(map$y))
  long <- do.call(rbind, lapply(map$facts$values, function(value)
    data.frame(value = value, x = map$x, y = map$y, figure = map$table[[paste(figure, value, sep = "_")]])))
  layer <- if (is_grid) ggplot2::geom_raster(ggplot2::aes(fill = .data$figure)) else ggplot2::geom_point(ggplot2::aes(colour = .data$figure))
  scale <- if (is_grid) ggplot2::scale_fill_viridis_c(name = figure) else ggplot2::scale_colour_viridis_c(name = figure)
  picture <- ggplot2::ggplot(long, ggplot2::aes(x = .data$x, y = .data$y)) + layer + scale +
    ggplot2::labs(x = inputs[1L], y = inputs[2L])
  observed <- map$facts$observed
  if (!is.null(observed)) {
    places <- data.frame(x = observed[[inputs[1L]]], y = observed[[inputs[2L]]])
    picture <- picture + ggplot2::geom_point(data = places, shape = 3, size = 0.8)
  }
  picture <- picture + if (isTRUE(map$facts$lonlat)) ggplot2::coord_quickmap() else ggplot2::coord_equal()
  if (length(map$facts$values) > 1L) picture <- picture + ggplot2::facet_wrap(~value)
  picture
}

# Places of a grid, which are written with few digits, in steps that a raster accepts as even.
even <- function(x) {
  places <- sort(unique(x))
  seq(places[1L], places[length(places)], length.out = length(places))[match(x, places)]
}
