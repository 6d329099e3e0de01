MOST_PANELS <- 12L
BAND <- "#4c78a8"

plot.np_fill <- function(x, ...) {
  if (length(attr(x, "npzoo")$inputs) == 2L) draw_map(x, ...) else draw_lines(line_panels(x), ...)
}
plot.np_forecast <- function(x, ...) draw_lines(line_panels(x), ...)
plot.np_map <- function(x, ...) draw_map(x, ...)
plot.np_fit <- function(x, level = 0.95, ...) draw_lines(fit_panels(x, level), ...)

several_panels <- function(count, side_by_side = FALSE) {
  if (count <= 1L) return(NULL)
  par(mfrow = if (side_by_side && count == 2L) c(1L, 2L) else n2mfrow(count), mar = c(4, 4, 2, 1))
}

draw_lines <- function(panels, xlab = panels$input, ylab = "", main = NULL, ...) {
  shown <- first_of(panels$panels, MOST_PANELS)
  old <- several_panels(length(shown))
  if (!is.null(old)) on.exit(par(old))
  for (panel in shown) {
    p <- panels$predicted[panels$predicted$panel == panel, ]
    o <- panels$observed[panels$observed$panel == panel, ]
    xlim <- range(p$x, o$x)
    ylim <- range(p$lower, p$upper, o$y, na.rm = TRUE, finite = TRUE)
    plot(p$x, p$mean, type = "n", xlim = xlim, ylim = ylim, xlab = xlab, ylab = ylab, main = if (is.null(main)) panel else main, ...)
    known <- is.finite(p$lower) & is.finite(p$upper)
    polygon(c(p$x[known], rev(p$x[known])), c(p$lower[known], rev(p$upper[known])), col = adjustcolor(BAND, 0.25), border = NA)
    lines(p$x, p$mean, col = BAND, lwd = 2)
    points(o$x, o$y, pch = 16, cex = 0.6)
  }
  invisible(NULL)
}

first_of <- function(x, most) x[seq_len(min(length(x), most))]

draw_map <- function(x, figures = c("mean", "std"), ...) {
  map <- map_panels(x)
  shown <- first_of(as.vector(outer(figures, map$facts$values, paste, sep = "_")), MOST_PANELS)
  old <- several_panels(length(shown), side_by_side = TRUE)
  if (!is.null(old)) on.exit(par(old))
  for (name in shown) {
    draw_raster(map, name, ...)
    o <- map$facts$observed
    if (!is.null(o)) points(o[[map$facts$inputs[1L]]], o[[map$facts$inputs[2L]]], pch = 3, cex = 0.5)
  }
  invisible(NULL)
}

# A grid as an image, other places as points.
draw_raster <- function(map, name, ...) {
  figures <- map$table[[name]]
  colours <- hcl.colors(64L, if (startsWith(name, "std_")) "Oslo" else "viridis")
  xs <- sort(unique(map$x))
  ys <- sort(unique(map$y))
  labels <- map$facts$inputs
  if (length(xs) > 1L && length(ys) > 1L && length(xs) * length(ys) == length(figures)) {
    z <- matrix(NA_real_, length(xs), length(ys))
    z[cbind(match(map$x, xs), match(map$y, ys))] <- figures
    image(xs, ys, z, col = colours, xlab = labels[1L], ylab = labels[2L], main = name, ...)
    box()
  } else {
    at <- findInterval(figures, seq(min(figures, na.rm = TRUE), max(figures, na.rm = TRUE), length.out = 64L), all.inside = TRUE)
    plot(map$x, map$y, col = colours[at], pch = 15, xlab = labels[1L], ylab = labels[2L], main = name, ...)
  }
}
