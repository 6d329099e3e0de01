test_that("gaps are filled, and all rows have a mean and a deviation", {
  data <- gappy()
  filled <- np_fill(data, quantiles = 0.5, level = 0.9)
  expect_s3_class(filled, c("np_fill", "data.frame"), exact = TRUE)
  expect_identical(names(filled), c("day", "level", "mean_level", "std_level", "q0.5_level", "lower_level", "upper_level"))
  expect_identical(filled$level, data$level)
  expect_true(all(is.finite(filled$mean_level)))
  gaps <- is.na(data$level)
  expect_lt(max(abs(filled$mean_level[gaps] - (10 + sin(which(gaps) / 4)))), 0.1)
  expect_true(all(filled$lower_level < filled$q0.5_level & filled$q0.5_level < filled$upper_level))
  expect_gt(mean(filled$std_level[gaps]), mean(filled$std_level[!gaps]))
})

test_that("replace fills the column itself and changes no known value", {
  data <- gappy()
  full <- np_fill(data, replace = TRUE)
  expect_identical(names(full), names(data))
  known <- !is.na(data$level)
  expect_identical(full$level[known], data$level[known])
  expect_identical(full$level[!known], np_fill(data)$mean_level[!known])
  counts <- data.frame(x = 1:9, n = c(1L, 2L, NA, 4L, 5L, 6L, 7L, 8L, 9L))
  expect_true(all(is.finite(np_fill(counts, inputs = "x", replace = TRUE)$n)))
})

test_that("dates, times of any zone and text of dates give the same figures", {
  data <- gappy()
  by_date <- np_fill(data)$mean_level
  data$day <- as.character(data$day)
  expect_identical(np_fill(data)$mean_level, by_date)
  data$day <- as.POSIXct(data$day, tz = "UTC")
  expect_equal(np_fill(data)$mean_level, by_date, tolerance = 1e-12)
  data$day <- as.POSIXlt(data$day)
  expect_equal(np_fill(data)$mean_level, by_date, tolerance = 1e-12)
})

test_that("groups are series of their own, whatever their type", {
  data <- two_series()
  filled <- np_fill(data, group = "site")
  for (site in c("a", "b")) {
    own <- data[data$site == site, c("t", "v")]
    expect_identical(filled$mean_v[data$site == site], np_fill(own)$mean_v)
  }
  data$site <- as.integer(data$site)
  expect_identical(np_fill(data, group = "site")$mean_v, filled$mean_v)
  expect_identical(np_fill(data, inputs = "t", values = "v", group = ~site)$mean_v, filled$mean_v)
  data$part <- "x, y"
  expect_identical(np_fill(data, inputs = "t", values = "v", group = c("site", "part"))$mean_v, filled$mean_v)
})

test_that("levels of a factor are words, also if they are digits", {
  set.seed(3)
  data <- data.frame(x = runif(60), y = runif(60), soil = factor(sample(c("1", "2", "none"), 60, TRUE)))
  data$z <- sin(4 * data$x) + 3 * as.integer(data$soil)
  data$z[1:5] <- NA
  digits <- np_fill(data, inputs = c("x", "y"), values = "z", covariates = "soil")
  levels(data$soil) <- c("clay", "sand", "peat")
  words <- np_fill(data, inputs = c("x", "y"), values = "z", covariates = "soil")
  expect_equal(digits$mean_z, words$mean_z, tolerance = 1e-9)
  expect_gt(cor(digits$mean_z, as.integer(data$soil)), 0.9)
})

test_that("numbers are never read as dates", {
  data <- data.frame(code = c(20240131, 20240201, 20240202, 20240203), y = c(1, NA, 3, 4))
  filled <- np_fill(data, inputs = "code")
  expect_identical(filled$code, data$code)
  expect_false(any(grepl("2024-01-31", np_facts(filled)$facts)))
})

test_that("other rows are predicted", {
  at <- data.frame(day = as.Date(c("2024-01-20", "2024-01-21")))
  ahead <- np_fill(gappy(), newdata = at, values = "level")
  expect_identical(nrow(ahead), 2L)
  expect_identical(ahead$day, at$day)
  expect_equal(ahead$mean_level, 10 + sin(c(20, 21) / 4), tolerance = 0.02)
})

test_that("other columns stay as they are", {
  data <- gappy()
  data$note <- as.list(seq_len(nrow(data)))
  data$pair <- matrix(0, nrow(data), 2L)
  data$flag <- rep(c(TRUE, NA), length.out = nrow(data))
  data$phase <- complex(real = seq_len(nrow(data)))
  filled <- np_fill(data)
  expect_identical(lapply(filled, identity)[names(data)], lapply(data, identity))
  expect_identical(filled$mean_level, np_fill(gappy())$mean_level)
})

test_that("samples repeat with a seed", {
  first <- np_fill(gappy(), samples = 2, seed = 4)
  expect_identical(first, np_fill(gappy(), samples = 2, seed = 4))
  expect_false(identical(first$sample1_level, np_fill(gappy(), samples = 2, seed = 5)$sample1_level))
  expect_false(identical(first$sample1_level, first$sample2_level))
})

test_that("series are filled as series", {
  gaps <- c(3L, 30L, 31L)
  series <- replace(log(AirPassengers), gaps, NA)
  full <- np_fill(series, replace = TRUE)
  expect_identical(tsp(full), tsp(series))
  expect_identical(full[-gaps], series[-gaps])
  expect_equal(full[gaps], log(AirPassengers)[gaps], tolerance = 0.03)
  expect_identical(np_fill(series)$time[1:2], as.Date(c("1949-01-01", "1949-02-01")))
})

test_that("tibbles stay tibbles", {
  skip_if_not_installed("tibble")
  filled <- np_fill(tibble::as_tibble(gappy()))
  expect_s3_class(filled, c("np_fill", "tbl_df"))
  expect_identical(filled$mean_level, np_fill(gappy())$mean_level)
})

test_that("tables that cannot be filled are errors of R with one line", {
  data <- gappy()
  expect_error(np_fill(data[0L, ]), class = "npzoo_error")
  expect_match(refusal(np_fill(data[0L, ])), "no rows", fixed = TRUE)
  expect_match(refusal(np_fill(data[1L, ])), "misses no value of level", fixed = TRUE)
  expect_match(refusal(np_fill(data.frame(x = 1:3, y = NA))), "no value in \"y\"", fixed = TRUE)
  expect_match(refusal(np_fill(data.frame(x = 1:3, y = NA_real_))), "no value in \"y\"", fixed = TRUE)
  expect_match(refusal(np_fill(data.frame(x = 1:4, y = letters[1:4]))), "no column of numbers besides", fixed = TRUE)
  expect_match(refusal(np_fill(data.frame(x = c(1:3, NA), y = c(1, NA, 2, 3)), inputs = "x")), "[data, row 4] column \"x\" is empty", fixed = TRUE)
  expect_match(refusal(np_fill(data.frame(x = c(1:3, Inf), y = c(1, NA, 2, 3)), inputs = "x", values = "y")), "[data, row 4]", fixed = TRUE)
  expect_match(refusal(np_fill(data, inputs = "week")), "no column \"week\"", fixed = TRUE)
  expect_match(refusal(np_fill(two_series())), "use group = \"site\"", fixed = TRUE)
  repeated <- stats::setNames(data, c("day", "day"))
  expect_match(refusal(np_fill(repeated)), "two columns \"day\"", fixed = TRUE)
  expect_match(refusal(np_fill(list(1))), "expected a data frame", fixed = TRUE)
  data$mean_level <- 1
  expect_match(refusal(np_fill(data)), "column 'mean_level' already", fixed = TRUE)
})

test_that("wrong arguments are refused", {
  data <- gappy()
  wrong <- list(list(colour = 1), list(level = 1.5), list(quantiles = 2), list(quantiles = c(0.5, 0.5)), list(samples = 1.5),
                list(seed = -1), list(bounds = 3), list(bounds = c(5, 1)), list(transform = "cube"), list(dates = "xyz"),
                list(weights = "nobody"), list(inputs = 3), list(counts = NA), list(newdata = data[0L, ]), list(newdata = 1),
                list(replace = TRUE, newdata = data))
  for (arguments in wrong) expect_error(do.call(np_fill, c(list(data), arguments)), class = "npzoo_error")
})

test_that("limits are kept, and doubts are warnings", {
  data <- data.frame(x = 1:20, n = rep(c(0, 1, 3, 0, 2), 4L))
  data$n[c(3L, 9L)] <- NA
  expect_gte(min(np_fill(data, inputs = "x", bounds = c(0, NA), level = 0.99)$lower_n), 0)
  counted <- np_fill(data, inputs = "x", counts = TRUE, quantiles = 0.9)
  expect_identical(counted$q0.9_n, round(counted$q0.9_n))
  far <- data.frame(x = c(1:20), y = c(3:1, 0.5, 0.2, 0.1, 0.05, rep(0.01, 12L), NA))
  expect_warning(np_fill(far, inputs = "x", columns_apart = TRUE), class = "npzoo_warning")
})
