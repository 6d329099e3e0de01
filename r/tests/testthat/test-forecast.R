test_that("series of R are forecast as series", {
  ahead <- np_forecast(AirPassengers, 12, level = 0.9)
  expect_identical(nrow(ahead), 12L)
  expect_identical(ahead$time[1L], as.Date("1961-01-01"))
  series <- as.ts(ahead)
  expect_equal(tsp(series), c(1961, 1961 + 11 / 12, 12))
  expect_true(all(series[, "lower"] < series[, "mean"] & series[, "mean"] < series[, "upper"]))
  expect_equal(cor(series[, "mean"], window(AirPassengers, 1960)), 1, tolerance = 0.05)
  expect_identical(nrow(np_forecast(AirPassengers)), 24L)
})

test_that("years, quarters and other frequencies have their own steps", {
  expect_equal(np_forecast(Nile, 2)$time, c(1971, 1972))
  quarters <- ts(rep(c(1, 4, 2, 3), 6L), start = c(2000, 3), frequency = 4)
  expect_identical(np_forecast(quarters, 2)$time, as.Date(c("2006-07-01", "2006-10-01")))
  weeks <- ts(rep(c(5, 1, 1, 2, 3, 8, 9), 6L), frequency = 7)
  ahead <- np_forecast(weeks, 7)
  expect_identical(ahead$time, 43:49)
  expect_equal(ahead$mean_value, c(5, 1, 1, 2, 3, 8, 9), tolerance = 0.1)
  expect_equal(tsp(as.ts(ahead)), c(7, 7 + 6 / 7, 7))
})

test_that("several series at once, of a matrix and of groups", {
  both <- ts(cbind(up = 1:30, down = -(1:30)), frequency = 1)
  ahead <- np_forecast(both, 2)
  expect_true(all(c("mean_up", "mean_down") %in% names(ahead)))
  expect_gt(ahead$mean_up[2L], ahead$mean_down[2L])
  data <- two_series()
  data$v[is.na(data$v)] <- 5
  ahead <- np_forecast(data, 3, time = "t", values = "v", group = "site")
  expect_identical(as.character(ahead$site), rep(c("b", "a"), each = 3L))
  expect_identical(levels(ahead$site), c("a", "b"))
  expect_identical(ahead$t, rep(15:17, 2L))
  one <- np_forecast(data[data$site == "a", c("t", "v")], 3, time = "t", values = "v")
  expect_identical(ahead$mean_v[4:6], one$mean_v)
})

test_that("times keep their class and zone", {
  data <- gappy()
  expect_s3_class(np_forecast(data, 2)$day, "Date")
  data$day <- as.POSIXct("2024-03-30 20:00", tz = "Europe/Berlin") + 3600 * seq_len(nrow(data))
  ahead <- np_forecast(data, 2)
  expect_identical(attr(ahead$day, "tzone"), "Europe/Berlin")
  expect_equal(as.numeric(ahead$day[1L] - data$day[nrow(data)], units = "hours"), 1)
})

# Objects as packages make them, which need not be installed.
test_that("months of tsibble and zoo keep their class", {
  months <- seq(as.Date("2020-01-01"), by = "month", length.out = 36)
  data <- data.frame(sales = sin(1:36 / 3))
  data$month <- structure(as.numeric(months), class = c("yearmonth", "vctrs_vctr"))
  ahead <- np_forecast(data, 2, time = "month")
  expect_identical(class(ahead$month), c("yearmonth", "vctrs_vctr"))
  expect_identical(as.numeric(unclass(ahead$month)), as.numeric(as.Date(c("2023-01-01", "2023-02-01"))))
  data$month <- structure(2020 + 0:35 / 12, class = "yearmon")
  ahead <- np_forecast(data, 2, time = "month")
  expect_equal(unclass(ahead$month), c(2023, 2023 + 1 / 12))
  data$month <- months
  expect_identical(ahead$mean_sales, np_forecast(data, 2)$mean_sales)
})

test_that("a tsibble names its own columns", {
  table <- two_series()
  table$v[is.na(table$v)] <- 5
  key <- data.frame(site = c("a", "b"))
  key$.rows <- list(15:28, 1:14)
  expected <- np_forecast(table, 2, time = "t", group = "site")
  attr(table, "key") <- key
  attr(table, "index") <- structure("t", ordered = TRUE)
  class(table) <- c("tbl_ts", class(table))
  expect_identical(np_forecast(table, 2)$mean_v, expected$mean_v)
})

test_that("what cannot be forecast is refused", {
  expect_match(refusal(np_forecast(gappy())), "h is missing", fixed = TRUE)
  for (h in list(0, -1, 1.5, NA, "two")) expect_error(np_forecast(gappy(), h), class = "npzoo_error")
  expect_match(refusal(np_forecast(1:10, 2)), "expected a time series or a data frame", fixed = TRUE)
  expect_match(refusal(np_forecast(gappy()[1L, ], 2)), "row", fixed = TRUE)
  expect_match(refusal(as.ts(np_forecast(gappy(), 1))), "expected one of a time series", fixed = TRUE)
})
