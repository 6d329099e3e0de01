places <- function(n = 40L) {
  set.seed(1)
  data <- data.frame(x = runif(n), y = runif(n))
  data$z <- sin(4 * data$x) + data$y
  data
}

test_that("a map has a grid over the places", {
  map <- np_map(places(), grid = c(7, 5), level = 0.9)
  expect_identical(nrow(map), 35L)
  expect_identical(c(length(unique(map$x)), length(unique(map$y))), c(7L, 5L))
  expect_true(all(map$lower_z < map$mean_z & map$mean_z < map$upper_z))
  expect_lt(mean(abs(map$mean_z - sin(4 * map$x) - map$y)), 0.2)
  expect_gt(nrow(np_map(places(), grid = 0.25)), 15L)
  expect_identical(names(np_map(places(), newdata = data.frame(x = 0.5, y = 0.5))), c("x", "y", "mean_z", "std_z"))
})

test_that("coordinates are found by their names", {
  data <- stats::setNames(places(), c("lon", "lat", "z"))
  expect_identical(np_facts(np_map(data, grid = c(3, 3)))$inputs, c("lon", "lat"))
  expect_match(refusal(np_map(stats::setNames(data, c("a", "b", "z")))), "expected coordinates to name", fixed = TRUE)
  expect_match(refusal(np_map(data[1:2])), "no column of numbers beside", fixed = TRUE)
  for (grid in list(c(1, 2), "a", c(2.5, 3), -1)) expect_error(np_map(data, grid = grid), class = "npzoo_error")
})

test_that("points of sf are mapped in their own reference system", {
  skip_if_not_installed("sf")
  data <- places()
  data$lon <- 7 + data$x
  data$lat <- 50 + data$y
  points <- sf::st_as_sf(data[c("lon", "lat", "z")], coords = c("lon", "lat"), crs = 4326)
  map <- np_map(points, grid = c(4, 3))
  expect_s3_class(map, c("np_map", "sf"))
  expect_identical(sf::st_crs(map), sf::st_crs(points))
  plain <- np_map(data[c("lon", "lat", "z")], grid = c(4, 3), lonlat = TRUE)
  expect_equal(map$mean_z, plain$mean_z, tolerance = 1e-9)
  lines <- sf::st_sf(z = 1, geometry = sf::st_sfc(sf::st_linestring(matrix(1:4, 2L))))
  expect_match(refusal(np_map(lines)), "expected points", fixed = TRUE)
})
