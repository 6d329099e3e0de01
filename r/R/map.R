np_map <- function(data, values = NULL, coordinates = NULL, grid = c(50, 50), covariates = NULL, newdata = NULL, quantiles = NULL,
                   level = NULL, lonlat = NULL, ...) {
  if (!is.data.frame(data)) fail(sprintf("[np_map] found an object of class %s, expected an sf object or a data frame", class(data)[1L]))
  where <- located(data)
  coordinates <- if (is.null(coordinates)) where$coordinates else check_names(coordinates, "coordinates")
  if (is.null(coordinates)) coordinates <- usual_coordinates(names(data))
  if (length(coordinates) != 2L) fail("[coordinates] found another number of names, expected two columns, such as c(\"lon\", \"lat\")")
  if (is.null(lonlat)) lonlat <- where$lonlat || identical(tolower(coordinates), c("lon", "lat")) || identical(tolower(coordinates), c("longitude", "latitude"))
  if (is.null(values)) values <- usual_values(where$table, c(coordinates, covariates))
  if (!is.null(covariates) && is.null(newdata)) fail("[np_map] found covariates without newdata, expected places where they are known")
  targets <- if (is.null(newdata)) NULL else located(newdata)$table
  quantiles <- check_quantiles(quantiles)
  options <- c(list(inputs = coordinates, values = check_names(values, "values"), covariates = check_names(covariates, "covariates"),
                    lonlat = lonlat, grid = if (is.null(newdata)) grid_text(grid)), common_options(...))
  result <- ask(where$table, options, targets, c(quantiles, check_level(level)))
  columns <- figure_columns(result, quantiles, level)
  map <- if (is.null(newdata)) {
    places <- stats::setNames(Map(as.numeric, result$places), result$inputs)
    structure(c(places, columns), row.names = seq_along(places[[1L]]), class = "data.frame")
  } else with_columns(newdata, columns)
  if (inherits(data, "sf") && is.null(newdata))
    map <- sf::st_as_sf(map, coords = coordinates, crs = sf::st_crs(data), remove = FALSE)
  attr(map, "npzoo") <- facts_of(result, level = level, lonlat = lonlat, observed = plain_columns(where$table, c(result$inputs, result$values)),
                                 grid = if (is.null(newdata)) c(length(unique(result$places[[1L]])), length(unique(result$places[[2L]]))))
  structure(map, class = unique(c("np_map", class(map))))
}

# The two columns that are called like coordinates.
usual_coordinates <- function(names) {
  for (pair in list(c("lon", "lat"), c("longitude", "latitude"), c("long", "lat"), c("lng", "lat"), c("x", "y"), c("easting", "northing"))) {
    found <- match(pair, tolower(names))
    if (!anyNA(found)) return(names[found])
  }
  fail(sprintf("[coordinates] found the columns %s, expected coordinates to name two of them", paste(names, collapse = ", ")))
}

usual_values <- function(table, others) {
  values <- setdiff(names(table)[vapply(table, is.numeric, NA)], others)
  if (length(values) == 0L) fail("[values] found no column of numbers beside the coordinates, expected one to predict")
  values
}

grid_text <- function(grid) {
  if (is.numeric(grid) && length(grid) == 1L && is.finite(grid) && grid > 0) return(format(grid, digits = 17))
  if (!is.numeric(grid) || length(grid) != 2L || anyNA(grid) || any(grid < 2 | grid != round(grid)))
    fail(sprintf("[grid] found %s, expected two numbers of points, such as c(50, 50), or a step", deparse1(grid)))
  paste(format(grid, scientific = FALSE, trim = TRUE), collapse = "x")
}
