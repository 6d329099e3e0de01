# Long tables for pictures: of predictions and of observed values, one panel for each value column and group.

group_labels <- function(table, group) {
  if (length(group) == 0L) return(rep("", nrow(table)))
  do.call(paste, c(unclass_table(table)[group], sep = ", "))
}

panel_names <- function(value, labels) ifelse(labels == "", value, paste(value, labels, sep = ", "))

# Bounds of the interval: those of the result, or those of a normal distribution with its standard deviation.
bounds_of <- function(table, value, level) {
  named <- paste0(c("lower_", "upper_"), value)
  if (all(named %in% names(table))) return(unname(unclass_table(table)[named]))
  half <- stats::qnorm((1 + level) / 2) * table[[paste0("std_", value)]]
  list(table[[paste0("mean_", value)]] - half, table[[paste0("mean_", value)]] + half)
}

line_panels <- function(x) {
  facts <- attr(x, "npzoo")
  if (is.null(facts)) fail("[plot] found a table without the facts of a prediction, expected the result as a function returned it")
  if (length(facts$inputs) != 1L || !facts$inputs %in% names(x))
    fail(sprintf("[plot] found the inputs %s, expected one, or two for a map", paste(facts$inputs, collapse = ", ")))
  level <- if (is.null(facts$level)) 0.95 else facts$level
  labels <- group_labels(x, facts$group)
  observed <- if (is.null(facts$observed)) x else facts$observed
  input <- facts$inputs
  predicted <- do.call(rbind, lapply(facts$values, function(value) {
    bounds <- bounds_of(x, value, level)
    data.frame(panel = panel_names(value, labels), x = as_axis(x[[input]]), mean = x[[paste0("mean_", value)]],
               lower = bounds[[1L]], upper = bounds[[2L]])
  }))
  shown <- do.call(rbind, lapply(facts$values, function(value) {
    if (!all(c(input, value) %in% names(observed))) return(NULL)
    data.frame(panel = panel_names(value, group_labels(observed, facts$group)), x = as_axis(observed[[input]]), y = observed[[value]])
  }))
  predicted <- predicted[order(predicted$x), ]
  list(predicted = predicted, observed = shown[!is.na(shown$y), ], input = input, level = level, panels = unique(predicted$panel))
}

# Months and text become dates, which axes know.
as_axis <- function(x) {
  if (is_month_like(x)) return(as_day(x))
  if (is.character(x) || is.factor(x)) {
    days <- tryCatch(as.Date(as.character(x)), error = function(e) NULL)
    return(if (is.null(days)) seq_along(x) else days)
  }
  x
}

map_panels <- function(x) {
  facts <- attr(x, "npzoo")
  if (is.null(facts) || length(facts$inputs) != 2L) fail("[plot] found no map, expected a result with two inputs")
  table <- unclass_table(x)
  if (!all(facts$inputs %in% names(table))) {
    where <- located(x)$table
    table <- unclass_table(where)
  }
  list(x = table[[facts$inputs[1L]]], y = table[[facts$inputs[2L]]], table = table, facts = facts)
}

# A line with its band through sorted places, of an np_fit with one input.
curve_of <- function(fit, level, points) {
  if (length(fit$inputs) != 1L) fail(sprintf("[plot] found the inputs %s, expected one", paste(fit$inputs, collapse = ", ")))
  if (length(fit$group)) fail("[plot] found a fit with groups, expected one series")
  x <- fit$table[[fit$inputs]]
  places <- stats::setNames(list(seq(min(x), max(x), length.out = points)), fit$inputs)
  places <- structure(places, row.names = seq_len(points), class = "data.frame")
  result <- predict_rows(fit, places, check_level(level))
  data.frame(panel = fit$response, x = places[[1L]], mean = result$mean[[1L]], lower = result$quantiles[[1L]][, 1L], upper = result$quantiles[[1L]][, 2L])
}

fit_panels <- function(fit, level = 0.95, points = 200L) {
  predicted <- curve_of(fit, level, points)
  observed <- data.frame(panel = fit$response, x = fit$table[[fit$inputs]], y = fit$table[[fit$response]])
  list(predicted = predicted, observed = observed, input = fit$inputs, level = level, panels = fit$response)
}
