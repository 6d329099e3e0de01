# A series with gaps, one row for each day.
gappy <- function(rows = 40L) {
  data <- data.frame(day = as.Date("2024-01-01") + seq_len(rows) - 1, level = round(10 + sin(seq_len(rows) / 4), 3))
  data$level[seq(5L, rows, by = 9L)] <- NA
  data
}

# Two of them, with groups that are no words in order.
two_series <- function() {
  data <- data.frame(t = rep(1:14, 2L), site = factor(rep(c("b", "a"), each = 14L), levels = c("a", "b")))
  data$v <- data$t * as.integer(data$site) + cos(data$t)
  data$v[c(4L, 20L)] <- NA
  data
}

refusal <- function(code) tryCatch({ code; "none" }, npzoo_error = conditionMessage)
