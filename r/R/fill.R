np_fill <- function(data, ...) UseMethod("np_fill")

np_fill.default <- function(data, ...) {
  fail(sprintf("[np_fill] found an object of class %s, expected a data frame or a time series", class(data)[1L]))
}

np_fill.data.frame <- function(data, inputs = NULL, values = NULL, group = NULL, covariates = NULL, newdata = NULL, quantiles = NULL,
                               level = NULL, replace = FALSE, lonlat = FALSE, ...) {
  where <- located(data)
  targets <- if (is.null(newdata)) NULL else if (is.data.frame(newdata)) located(newdata)$table else fail("[newdata] found no data frame")
  if (is.null(inputs) && !is.null(where$coordinates)) inputs <- where$coordinates
  if (!is.null(targets) && nrow(targets) == 0L) fail("[newdata] found no rows, expected places to predict")
  if (replace && !is.null(newdata)) fail("[np_fill] found replace = TRUE with newdata, expected one of them")
  options <- c(list(inputs = check_names(inputs, "inputs"), values = check_names(values, "values"), group = group_option(group),
                    covariates = check_names(covariates, "covariates"), lonlat = isTRUE(lonlat) || (where$lonlat && missing(lonlat))),
               common_options(...))
  quantiles <- check_quantiles(quantiles)
  result <- ask(where$table, options, targets, c(quantiles, check_level(level)))
  if (replace) return(with_gaps_filled(data, result))
  columns <- figure_columns(result, quantiles, level)
  asked <- if (is.null(newdata)) data else newdata
  taken <- intersect(names(columns), names(asked))
  if (length(taken)) fail(sprintf("[np_fill] the table has a column '%s' already, expected another name", taken[1L]))
  filled <- with_columns(asked, columns)
  attr(filled, "npzoo") <- facts_of(result, group = check_names(group, "group"), level = level,
                                    observed = if (is.null(newdata)) NULL else plain_columns(where$table, c(result$inputs, result$values, group)))
  structure(filled, class = unique(c("np_fill", class(asked))))
}

np_fill.ts <- function(data, level = NULL, replace = FALSE, ...) {
  frame <- ts_frame(data)
  options <- list(inputs = frame$time, values = frame$values, period = frame$period)
  given <- list(...)
  filled <- do.call(np_fill.data.frame, c(list(frame$data, level = level), merged(options, given)))
  if (!replace) return(filled)
  gaps <- is.na(data)
  means <- vapply(frame$values, function(v) filled[[paste0("mean_", v)]], numeric(nrow(filled)))
  data[gaps] <- means[gaps]
  data
}

# Arguments of a caller go before usual ones.
merged <- function(usual, given) c(given, usual[setdiff(names(usual), names(given))])

check_quantiles <- function(quantiles) {
  if (is.null(quantiles)) return(numeric())
  if (!is.numeric(quantiles) || anyNA(quantiles) || any(quantiles <= 0 | quantiles >= 1))
    fail(sprintf("[quantiles] found %s, expected numbers above 0 and below 1", deparse1(quantiles)))
  if (anyDuplicated(quantiles)) fail("[quantiles] found a probability twice, expected each once")
  quantiles
}

# Several columns of groups between commas; names that hold one between quotes.
group_option <- function(group) {
  group <- check_names(group, "group")
  if (is.null(group) || length(group) == 1L) return(group)
  paste(ifelse(grepl(",", group, fixed = TRUE), paste0("\"", group, "\""), group), collapse = ",")
}

with_columns <- function(data, columns) {
  for (name in names(columns)) data[[name]] <- columns[[name]]
  data
}

with_gaps_filled <- function(data, result) {
  for (i in seq_along(result$values)) {
    name <- result$values[i]
    gaps <- is.na(data[[name]])
    if (is.integer(data[[name]])) data[[name]] <- as.double(data[[name]])
    data[[name]][gaps] <- result$mean[[i]][gaps]
  }
  data
}

plain_columns <- function(table, names) {
  names <- intersect(names, base::names(table))
  structure(unclass_table(table)[names], row.names = seq_len(nrow(table)), class = "data.frame")
}

unclass_table <- function(table) {
  if (inherits(table, "sf")) table <- sf::st_drop_geometry(table)
  structure(as.list(table), names = names(table))
}

# The table of a data frame and, of an sf object, the coordinates of its points as further columns.
located <- function(data) {
  if (!inherits(data, "sf")) return(list(table = data, coordinates = NULL, lonlat = FALSE))
  if (!requireNamespace("sf", quietly = TRUE)) fail("[npzoo] found an sf object, expected the package sf to be installed")
  types <- unique(as.character(sf::st_geometry_type(data)))
  if (!identical(types, "POINT") && nrow(data) > 0L)
    fail(sprintf("[npzoo] found geometries of type %s, expected points: use sf::st_centroid", paste(types, collapse = ", ")))
  lonlat <- isTRUE(sf::st_is_longlat(data))
  names <- if (lonlat) c("lon", "lat") else c("x", "y")
  table <- as.data.frame(sf::st_drop_geometry(data))
  taken <- intersect(names, base::names(table))
  places <- sf::st_coordinates(data)
  for (i in 1:2) table[[names[i]]] <- as.numeric(places[, i])
  list(table = table, coordinates = names, lonlat = lonlat, replaced = taken)
}
