# A question to the library: arguments of R become its options, and its messages are put into the terms of R.

# Errors have no call: their text begins with where they come from.
fail <- function(message) {
  stop(structure(list(message = in_r_terms(message), call = NULL), class = c("npzoo_error", "error", "condition")))
}

# Flags of the program as arguments of functions here.
R_TERMS <- c(
  "--bounds (-?[0-9.]+(?:e[-+]?[0-9]+)?),(-?[0-9.]+(?:e[-+]?[0-9]+)?)" = "bounds = c(\\1, \\2)",
  "--bounds LOW,HIGH" = "bounds = c(LOW, HIGH)",
  "--bounds (-?[0-9]+(?:\\.[0-9]+)?)" = "bounds = c(\\1, NA)",
  "--(transform|dates|ends|model) (none|log|sqrt|logit|auto|dmy|mdy|ymd|combined|weights|gp)\\b" = "\\1 = \"\\2\"",
  "--(group|inputs|values|covariates|date) ([^ ,;.]+),([^ ,;.]+)(?=[;,.]|$)" = "\\1 = c(\"\\2\", \"\\3\")",
  "--(group|inputs|values|covariates|date) ([^ ,;.]+)(?=[;,.]|$)" = "\\1 = \"\\2\"",
  "--inputs none\\b" = "inputs = \"none\"",
  "--horizon ([0-9]+)" = "np_forecast(data, h = \\1)",
  "--horizon" = "h",
  "--missing (-?[0-9][^ ,;]*)" = "missing = \\1",
  "--missing ([^ ,;'\"]+)" = "missing = \"\\1\"",
  "\\bno --counts\\b" = "no counts",
  "--(lonlat|counts)\\b" = "\\1 = TRUE",
  "--no-(standardise|turn)\\b" = "\\1 = FALSE",
  "--linear-mean\\b" = "linear_mean = TRUE",
  "--columns-apart\\b" = "columns_apart = TRUE",
  "--add-rows\\b" = "add_rows = TRUE",
  "--checkpoint\\b" = "weights",
  "--targets\\b" = "newdata",
  "(^|[ ('\"])--([a-z])" = "\\1\\2",
  "\\bline ([0-9]+)" = "row \\1",
  "\\[([a-z]+):[0]\\]" = "[\\1]",
  "\\[([a-z]+):([0-9]+)\\]" = "[\\1, row \\2]")

in_r_terms <- function(message) {
  for (flag in names(R_TERMS)) message <- gsub(flag, R_TERMS[[flag]], message, perl = TRUE)
  message
}

# Options as two character vectors. A list of texts is one option for each.
option_pairs <- function(options) {
  options <- options[!vapply(options, is.null, NA)]
  values <- lapply(names(options), function(name) {
    value <- options[[name]]
    if (is.logical(value) && length(value) == 1L && !is.na(value)) return(if (value) "yes" else "no")
    if (anyNA(value) || !(is.numeric(value) || is.character(value))) fail(sprintf("--%s: found %s, expected a value", name, deparse1(value)))
    if (is.numeric(value)) vapply(value, function(v) format(v, digits = 17, scientific = abs(v) >= 1e15), "") else enc2utf8(value)
  })
  list(names = rep(names(options), lengths(values)), values = unlist(values, use.names = FALSE))
}

check_whole <- function(x, name, least) {
  if (is.null(x)) return(NULL)
  if (!is.numeric(x) || length(x) != 1L || is.na(x) || x != round(x) || x < least || x > 2^53)
    fail(sprintf("[%s] found %s, expected a whole number from %d on", name, deparse1(x), least))
  format(x, scientific = FALSE, digits = 17)
}

check_names <- function(x, name) {
  if (is.null(x)) return(NULL)
  if (inherits(x, "formula")) x <- all.vars(x)
  if (!is.character(x) || anyNA(x)) fail(sprintf("[%s] found %s, expected names of columns", name, deparse1(x)))
  x
}

bounds_text <- function(bounds) {
  if (is.null(bounds)) return(NULL)
  if (!is.numeric(bounds) && !all(is.na(bounds)) || length(bounds) != 2L)
    fail(sprintf("[bounds] found %s, expected a lower and an upper limit, NA for none", deparse1(bounds)))
  if (!anyNA(bounds) && bounds[1L] >= bounds[2L]) fail(sprintf("[bounds] found %s, expected a lower limit and a higher one", deparse1(bounds)))
  paste(ifelse(is.na(bounds) | is.infinite(bounds), "", format(bounds, digits = 17, trim = TRUE)), collapse = ",")
}

check_level <- function(level) {
  if (is.null(level)) return(numeric())
  if (!is.numeric(level) || length(level) != 1L || is.na(level) || level <= 0 || level >= 1)
    fail(sprintf("[level] found %s, expected a number between 0 and 1", deparse1(level)))
  c((1 - level) / 2, (1 + level) / 2)
}

# The options that np_fill, np_forecast, np_map and np_fit have in common. Unknown ones are an error.
common_options <- function(samples = NULL, seed = NULL, bounds = NULL, counts = NULL, transform = NULL, missing = NULL, dates = NULL,
                           weights = NULL, model = NULL, kernel = NULL, linear_mean = NULL, period = NULL, ends = NULL,
                           columns_apart = NULL, neighbours = NULL, standardise = NULL, turn = NULL, ...) {
  unknown <- ...names()
  if (...length() > 0L) fail(sprintf("[npzoo] unused argument %s", paste(if (is.null(unknown)) "without a name" else unknown, collapse = ", ")))
  list(samples = check_whole(samples, "samples", 0L), seed = check_whole(seed, "seed", 0L), bounds = bounds_text(bounds), counts = counts,
       transform = transform, missing = missing, dates = dates, checkpoint = weights, model = model, kernel = kernel,
       "linear-mean" = linear_mean, period = period, ends = ends, "columns-apart" = columns_apart,
       neighbours = check_whole(neighbours, "neighbours", 0L),
       "no-standardise" = if (is.null(standardise)) NULL else !standardise, "no-turn" = if (is.null(turn)) NULL else !turn)
}

# The answer of the library as a list, with quantiles and samples as matrices of a row for each place. Gives its warnings,
# except for those in `quiet`, which were given before.
ask <- function(data, options, newdata = NULL, quantiles = numeric(), quiet = character()) {
  if (nrow(data) == 0L) fail("[data] found no rows, expected observed values")
  options$quantiles <- if (length(quantiles)) quantiles
  pairs <- option_pairs(options)
  samples <- if (is.null(options$samples)) 0L else as.integer(options$samples)
  table <- tryCatch(as_handle(data, "data"), error = rethrown)
  targets <- if (is.null(newdata)) NULL else tryCatch(as_handle(newdata, "newdata"), error = rethrown)
  result <- tryCatch(.Call(C_ask, table, targets, pairs$names, pairs$values, length(quantiles), samples), error = rethrown)
  if (is.null(result)) stop(structure(list(message = "interrupted", call = NULL), class = c("interrupt", "condition")))
  as_rows <- function(x, columns) matrix(x, ncol = columns, byrow = TRUE)
  result$quantiles <- lapply(result$quantiles, as_rows, columns = length(quantiles))
  result$samples <- lapply(result$samples, as_rows, columns = samples)
  result$facts <- in_r_terms(result$facts)
  result$warnings <- in_r_terms(result$warnings)
  for (text in setdiff(result$warnings, quiet)) warn(text)
  result
}

rethrown <- function(e) if (inherits(e, "npzoo_error")) stop(e) else fail(conditionMessage(e))

warn <- function(message) warning(structure(list(message = message, call = NULL), class = c("npzoo_warning", "warning", "condition")))

# Columns of figures, with the names that the program gives them.
figure_columns <- function(result, quantiles = numeric(), level = NULL) {
  named <- function(prefix, figures) stats::setNames(figures, paste0(prefix, result$values))
  columns <- c(named("mean_", result$mean), named("std_", result$std))
  asked <- seq_along(quantiles)
  column_of <- function(i) lapply(result$quantiles, function(q) q[, i])
  for (i in asked) columns <- c(columns, named(sprintf("q%s_", format(quantiles[i], digits = 15)), column_of(i)))
  if (!is.null(level)) columns <- c(columns, named("lower_", column_of(length(asked) + 1L)), named("upper_", column_of(length(asked) + 2L)))
  for (i in seq_len(ncol(result$samples[[1L]]))) columns <- c(columns, named(sprintf("sample%d_", i), lapply(result$samples, function(s) s[, i])))
  columns
}

# The facts of a result that later functions need.
facts_of <- function(result, ...) {
  c(list(inputs = result$inputs, values = result$values, covariates = result$covariates, weights = result$weights,
         facts = result$facts, warnings = result$warnings), list(...))
}

np_facts <- function(x) {
  facts <- if (inherits(x, "np_fit")) x$facts else attr(x, "npzoo")
  if (is.null(facts)) fail("[np_facts] found an object without facts, expected a result of npzoo")
  facts[c("inputs", "values", "group", "covariates", "weights", "facts", "warnings")]
}

np_threads <- function(threads) {
  threads <- check_whole(threads, "threads", 0L)
  invisible(.Call(C_set_threads, as.integer(threads)))
}

.onLoad <- function(libname, pkgname) {
  # The library looks for weights in this folder; the user's own choice goes first.
  weights <- system.file("weights", package = pkgname, lib.loc = libname)
  if (nzchar(weights) && !nzchar(Sys.getenv("NPZOO_WEIGHTS"))) Sys.setenv(NPZOO_WEIGHTS = weights)
}

.onUnload <- function(libpath) library.dynam.unload("npzoo", libpath)
