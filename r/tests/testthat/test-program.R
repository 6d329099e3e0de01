# The program `npzoo` gives the same numbers, if NPZOO_PROGRAM names it.

decimals <- function(text) ifelse(grepl(".", text, fixed = TRUE), nchar(sub("^[^.]*\\.", "", text)), 0L)

# Figures of R with as many decimals as the program has written.
expect_printed <- function(figures, text) {
  known <- nzchar(text)
  written <- as.numeric(text)
  expect_true(all(known == is.finite(figures)))
  expect_true(all(abs(figures - written)[known] <= 0.5000001 * 10^-decimals(text)[known]))
}

compare <- function(data, arguments = list(), flags = character(), ask = np_fill) {
  program <- Sys.getenv("NPZOO_PROGRAM")
  skip_if_not(nzchar(program), "NPZOO_PROGRAM names no program")
  files <- c(tempfile(fileext = ".csv"), tempfile(fileext = ".csv"))
  on.exit(unlink(files))
  written <- data
  for (name in names(data)) if (is.double(data[[name]]) && !is.object(data[[name]])) written[[name]] <- ifelse(is.na(data[[name]]), "", sprintf("%.17g", data[[name]]))
  for (name in names(data)) if (inherits(data[[name]], "POSIXct")) written[[name]] <- format(data[[name]], "%Y-%m-%dT%H:%M:%OS3Z", tz = "UTC")
  utils::write.csv(written, files[1L], row.names = FALSE, na = "")
  status <- system2(program, c("predict", files[1L], "--digits", "9", "--out", files[2L], flags), stdout = FALSE, stderr = FALSE)
  expect_identical(status, 0L)
  expected <- utils::read.csv(files[2L], colClasses = "character", check.names = FALSE)
  found <- suppressWarnings(do.call(ask, c(list(data), arguments)))
  figures <- grep("^(mean|std|q[0-9.]+)_", names(expected), value = TRUE)
  expect_gt(length(figures), 1L)
  for (name in figures) expect_printed(found[[name]], expected[[name]])
}

test_that("tables of dates, times, groups and numbers have the program's numbers", {
  compare(gappy(200L))
  compare(gappy(), list(quantiles = c(0.05, 0.95)), c("--quantiles", "0.05,0.95"))
  data <- gappy(60L)
  data$day <- as.POSIXct("2024-03-30 20:00", tz = "Europe/Berlin") + 900 * seq_len(60L)
  compare(data)
  compare(two_series(), list(group = "site"), c("--group", "site"))
  compare(data.frame(x = c(0.1, 1 / 3, 2, 7, 8.5), y = c(1e-3, NA, 20.5, 4, 5)), list(inputs = "x"), c("--inputs", "x"))
})

test_that("several inputs, covariates, columns of a row and fitted processes have the program's numbers", {
  compare(airquality, list(inputs = "none"), c("--inputs", "none"))
  table <- transform(airquality, date = as.Date(sprintf("1973-%02d-%02d", Month, Day)))
  compare(table)
  set.seed(2)
  map <- data.frame(x = runif(40), y = runif(40), soil = sample(c("clay", "sand"), 40, TRUE), z = rnorm(40))
  map$z[1:6] <- NA
  compare(map[-3L], list(inputs = c("x", "y")), c("--inputs", "x,y"))
  compare(map, list(inputs = c("x", "y"), covariates = "soil"), c("--inputs", "x,y", "--covariates", "soil"))
  compare(map[-3L], list(inputs = c("x", "y"), model = "gp", kernel = "rbf"), c("--inputs", "x,y", "--kernel", "rbf"))
  cube <- transform(map[-3L], w = x * y)
  compare(cube, list(inputs = c("x", "y", "w"), values = "z"), c("--inputs", "x,y,w", "--values", "z"))
})

test_that("limits and forecasts have the program's numbers", {
  counts <- data.frame(x = 1:20, n = rep(c(0, 1, 3, 0, 2), 4L))
  counts$n[c(3L, 9L)] <- NA
  compare(counts, list(inputs = "x", counts = TRUE), c("--inputs", "x", "--counts"))
  compare(gappy(), list(bounds = c(0, 20), transform = "logit"), c("--bounds", "0,20", "--transform", "logit"))
  sales <- data.frame(month = seq(as.Date("2015-01-31"), by = "day", length.out = 300), sales = sin(1:300 / 5) + 1:300 / 50)
  compare(sales, list(14), c("--horizon", "14"), np_forecast)
  compare(two_series(), list(3, time = "t", values = "v", group = "site"), c("--inputs", "t", "--values", "v", "--group", "site", "--horizon", "3"), np_forecast)
})
