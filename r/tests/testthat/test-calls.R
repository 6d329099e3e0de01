test_that("messages are in the terms of R", {
  terms <- c("use --group s; or" = "use group = \"s\"; or", "expected --inputs to name them" = "expected inputs to name them",
             "use --bounds 0," = "use bounds = c(0, NA),", "[data:3] column" = "[data, row 3] column", "[data:0] has" = "[data] has",
             "use --missing -9999" = "use missing = -9999", "expected --lonlat" = "expected lonlat = TRUE")
  for (text in names(terms)) expect_identical(npzoo:::in_r_terms(text), terms[[text]])
})

test_that("an interrupt ends a call, and R goes on", {
  skip_on_os("windows")
  set.seed(1)
  data <- data.frame(a = runif(3000), b = runif(3000), c = runif(3000), d = runif(3000), y = rnorm(3000))
  data$y[1:500] <- NA
  began <- proc.time()[["elapsed"]]
  system(sprintf("(sleep 0.5; kill -INT %d) >/dev/null 2>&1 &", Sys.getpid()))
  outcome <- tryCatch({
    np_fill(data, inputs = c("a", "b", "c", "d"), model = "gp")
    "answered"
  }, interrupt = function(e) "interrupted")
  expect_identical(outcome, "interrupted")
  expect_lt(proc.time()[["elapsed"]] - began, 60)
  expect_s3_class(np_fill(gappy()), "np_fill")
})

test_that("threads and facts", {
  before <- np_fill(gappy())
  expect_null(np_threads(1))
  expect_identical(np_fill(gappy()), before)
  expect_null(np_threads(0))
  expect_error(np_threads(-1), class = "npzoo_error")
  facts <- np_facts(before)
  expect_identical(facts$inputs, "day")
  expect_identical(facts$values, "level")
  expect_match(facts$weights, "any-1d", fixed = TRUE)
  expect_error(np_facts(1), class = "npzoo_error")
})
