objects <- function() {
  set.seed(1)
  list(np_fill(gappy()), np_fill(two_series(), group = "site"), np_forecast(log(AirPassengers), 6), np_fit(dist ~ speed, cars, bounds = c(0, NA)),
       np_map(data.frame(x = runif(20), y = runif(20), z = sin(1:20)), grid = c(5, 4)))
}

test_that("all results are drawn by plot", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (object in objects()) expect_no_error(plot(object))
  expect_match(refusal(plot(structure(data.frame(x = 1), class = c("np_fill", "data.frame")))), "without the facts", fixed = TRUE)
})

test_that("all results are drawn by autoplot of ggplot2", {
  skip_if_not_installed("ggplot2")
  for (object in objects()) {
    picture <- ggplot2::autoplot(object)
    expect_s3_class(picture, "ggplot")
    expect_no_warning(built <- ggplot2::ggplot_build(picture))
    expect_gt(nrow(built$data[[1L]]), 4L)
    expect_gt(nrow(built$data[[length(built$data)]]), 4L)  # observed points
  }
})

test_that("groups have panels of their own", {
  skip_if_not_installed("ggplot2")
  built <- ggplot2::ggplot_build(ggplot2::autoplot(np_fill(two_series(), group = "site")))
  expect_identical(nlevels(built$data[[1L]]$PANEL), 2L)
})
