np_forecast <- function(data, h, ...) UseMethod("np_forecast")

np_forecast.default <- function(data, h, ...) {
  fail(sprintf("[np_forecast] found an object of class %s, expected a time series or a data frame", class(data)[1L]))
}

np_forecast.data.frame <- function(data, h, time = NULL, values = NULL, group = NULL, quantiles = NULL, level = 0.95, ...) {
  if (missing(h)) fail("[np_forecast] h is missing, expected the number of steps to forecast")
  h <- check_whole(h, "h", 1L)
  if (inherits(data, "tbl_ts")) {  # a tsibble names its own columns
    if (is.null(time)) time <- as.character(attr(data, "index"))
    keys <- setdiff(names(attr(data, "key")), ".rows")
    if (is.null(group) && length(keys)) group <- keys
  }
  group <- check_names(group, "group")
  options <- c(list(inputs = check_names(time, "time"), values = check_names(values, "values"), group = group_option(group), horizon = h),
               common_options(...))
  quantiles <- check_quantiles(quantiles)
  result <- ask(data, options, NULL, c(quantiles, check_level(level)))
  name <- result$inputs
  observed <- plain_columns(data, c(group, name, result$values))
  ahead <- list()
  if (length(group)) {
    first <- which(!duplicated(as.data.frame(observed[group])))[result$group]
    for (g in group) ahead[[g]] <- observed[[g]][first]
  }
  ahead[[name]] <- as_places(result$places[[1L]], result$is_time[1L], observed[[name]])
  ahead <- structure(c(ahead, figure_columns(result, quantiles, level)), row.names = seq_along(ahead[[name]]), class = c("np_forecast", "data.frame"))
  attr(ahead, "npzoo") <- facts_of(result, group = group, level = level, observed = observed)
  ahead
}

np_forecast.ts <- function(data, h, level = 0.95, ...) {
  frame <- ts_frame(data)
  usual <- list(time = frame$time, values = frame$values, period = frame$period)
  ahead <- do.call(np_forecast.data.frame, c(list(frame$data, h = if (missing(h)) frame$usual else h, level = level), merged(usual, list(...))))
  attr(ahead, "npzoo")$tsp <- tsp(data)
  ahead
}

# A series as a table. Months and quarters are dates, years are numbers, and the steps of other frequencies count from 1 on.
ts_frame <- function(x) {
  rate <- frequency(x)
  n <- NROW(x)
  start <- tsp(x)[1L]
  steps <- switch(as.character(rate), "12" = 1L, "4" = 3L, 0L)
  at <- if (steps > 0L) {
    months <- round(start * 12) + steps * (seq_len(n) - 1)
    as.Date(sprintf("%04d-%02d-01", as.integer(months %/% 12), as.integer(months %% 12 + 1)))
  } else if (rate == 1) start + seq_len(n) - 1 else seq_len(n)
  values <- if (is.matrix(x)) colnames(x) else "value"
  if (is.matrix(x) && is.null(values)) values <- paste0("value", seq_len(ncol(x)))
  columns <- lapply(seq_along(values), function(i) as.numeric(if (is.matrix(x)) x[, i] else x))
  data <- structure(c(list(time = at), stats::setNames(columns, values)), row.names = seq_len(n), class = "data.frame")
  list(data = data, time = "time", values = values, period = if (rate > 1 && rate == round(rate)) as.character(rate) else NULL,
       usual = if (rate > 1) 2 * ceiling(rate) else 10)
}

# Mean, and bounds of the interval, as series after the end of the one that was forecast.
as.ts.np_forecast <- function(x, ...) {
  facts <- attr(x, "npzoo")
  if (is.null(facts$tsp)) fail("[as.ts] found a forecast of a table, expected one of a time series")
  columns <- unclass(x)[grepl("^(mean|lower|upper)_", names(x))]
  if (length(facts$values) == 1L) names(columns) <- sub("_.*", "", names(columns))
  ts(do.call(cbind, columns), start = facts$tsp[2L] + 1 / facts$tsp[3L], frequency = facts$tsp[3L])
}
