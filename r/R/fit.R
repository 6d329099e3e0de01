np_fit <- function(formula, data, group = NULL, lonlat = FALSE, ...) {
  if (!inherits(formula, "formula") || length(formula) != 3L) fail("[np_fit] found no formula with two sides, expected one such as y ~ x")
  if (missing(data)) data <- environment(formula)
  if (inherits(data, "sf")) data <- located(data)$table
  options <- common_options(...)
  if (!is.null(options$samples)) fail("[np_fit] found samples, expected simulate() of the fit")
  group <- check_names(group, "group")
  model_terms <- terms(formula, data = if (is.data.frame(data)) data)
  if (any(attr(model_terms, "order") > 1L)) fail("[np_fit] found an interaction, expected variables joined by +: all of them interact")
  if (!is.null(attr(model_terms, "offset"))) fail("[np_fit] found an offset, expected variables joined by +")
  frame <- tryCatch(model.frame(model_terms, data, na.action = stats::na.pass), error = rethrown)
  y <- model.response(frame)
  if (is.null(y) || !is.numeric(y) || !is.null(dim(y))) fail("[np_fit] the left side of the formula is no vector of numbers")
  names <- list(y = names(frame)[1L], x = attr(model_terms, "term.labels"))
  if (length(names$x) == 0L) fail("[np_fit] the formula has no variable on its right side, expected one")
  fit <- structure(list(call = match.call(), terms = model_terms, response = names$y, inputs = names$x, group = group,
                        xlevels = lapply(Filter(is.factor, frame[-1L]), levels), options = options, lonlat = isTRUE(lonlat)), class = "np_fit")
  fit$table <- table_of(fit, frame, data)
  fit$table[[names$y]] <- as.numeric(y)
  known <- !is.na(fit$table[[names$y]]) & stats::complete.cases(fit$table[names$x])
  fit$table <- fit$table[known, , drop = FALSE]
  if (nrow(fit$table) == 0L) fail("[np_fit] found no complete row, expected observed values")
  fit$na.action <- which(!known)
  # A regression is no series: what follows the largest x is no forecast, unless x is a time.
  if (is.null(options$ends) && !any(vapply(fit$table[names$x], is_time, NA))) fit$options$ends <- "weights"
  fit$result <- predict_rows(fit, fit$table, numeric())
  fit$facts <- facts_of(fit$result, group = group)
  fit
}

# The columns of a model frame, and those of groups, as a plain table.
table_of <- function(fit, frame, data) {
  table <- structure(lapply(frame, function(x) if (inherits(x, "AsIs")) unclass(x) else x), names = names(frame), row.names = seq_len(nrow(frame)), class = "data.frame")
  for (name in fit$group) {
    values <- if (is.data.frame(data)) data[[name]] else get0(name, data)
    if (is.null(values)) fail(sprintf("[np_fit] the data have no column '%s', expected that of the group", name))
    table[[name]] <- values
  }
  table
}

predict_rows <- function(fit, rows, quantiles, samples = NULL, seed = NULL) {
  options <- fit$options
  if (!is.null(samples)) options$samples <- check_whole(samples, "nsim", 1L)
  if (!is.null(seed)) options$seed <- check_whole(seed, "seed", 0L)
  ask(fit$table, c(list(inputs = fit$inputs, values = fit$response, group = group_option(fit$group), lonlat = fit$lonlat), options),
      rows[c(fit$inputs, fit$group)], quantiles, quiet = fit$facts$warnings)
}

is_time <- function(x) inherits(x, c("Date", "POSIXt")) || is_month_like(x)

predict.np_fit <- function(object, newdata, se.fit = FALSE, interval = c("none", "prediction"), level = 0.95, ...) {
  interval <- match.arg(interval)
  if (...length()) fail("[predict] unused argument")
  if (missing(newdata)) {
    rows <- object$table
  } else {
    if (inherits(newdata, "sf")) newdata <- located(newdata)$table
    frame <- tryCatch(model.frame(delete.response(object$terms), newdata, na.action = stats::na.pass, xlev = object$xlevels), error = rethrown)
    rows <- table_of(object, frame, newdata)
  }
  known <- stats::complete.cases(rows[c(object$inputs, object$group)])
  quantiles <- check_level(if (interval == "none") NULL else level)
  fit <- matrix(NA_real_, nrow(rows), 1L + length(quantiles), dimnames = list(row.names(rows), c("fit", if (length(quantiles)) c("lwr", "upr"))))
  se <- rep(NA_real_, nrow(rows))
  if (any(known)) {
    result <- predict_rows(object, rows[known, , drop = FALSE], quantiles)
    fit[known, ] <- cbind(result$mean[[1L]], if (length(quantiles)) result$quantiles[[1L]])
    se[known] <- result$std[[1L]]
  }
  if (interval == "none") fit <- fit[, 1L]
  if (se.fit) list(fit = fit, se.fit = stats::setNames(se, row.names(rows))) else fit
}

# Samples at the rows of the fit, or of newdata; a column for each.
simulate.np_fit <- function(object, nsim = 1, seed = NULL, newdata = NULL, ...) {
  rows <- object$table
  if (!is.null(newdata)) {
    frame <- model.frame(delete.response(object$terms), newdata, na.action = stats::na.fail, xlev = object$xlevels)
    rows <- table_of(object, frame, newdata)
  }
  samples <- predict_rows(object, rows, numeric(), nsim, seed)$samples[[1L]]
  structure(as.data.frame(samples), names = paste0("sim_", seq_len(ncol(samples))))
}

fitted.np_fit <- function(object, ...) stats::setNames(object$result$mean[[1L]], row.names(object$table))
residuals.np_fit <- function(object, ...) object$table[[object$response]] - fitted(object)
formula.np_fit <- function(x, ...) formula(x$terms)
nobs.np_fit <- function(object, ...) nrow(object$table)

print.np_fit <- function(x, ...) {
  cat("npzoo fit:", deparse1(formula(x)), "\n")
  cat(nobs(x), "observed rows")
  if (length(x$na.action)) cat(",", length(x$na.action), "with a missing value left out")
  cat("; method:", x$facts$weights, "\n")
  cat("root mean square of residuals:", format(sqrt(mean(residuals(x)^2)), digits = 4), "\n")
  invisible(x)
}
