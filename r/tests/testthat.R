library(testthat)
library(npzoo)

test_check("npzoo")
