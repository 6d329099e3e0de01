# Columns of a table as the library takes them: numbers, times or text, with their kinds.

KINDS <- c(number = 0L, time = 1L, moment = 2L, text = 3L)
DAY <- 86400
# Texts that a reader of tables takes for a missing value.
MISSING_WORDS <- c("", "-", "?", "na", "n/a", "#n/a", "nan", "none", "null")

is_month_like <- function(x) inherits(x, c("yearmonth", "yearquarter", "yearweek", "yearmon", "yearqtr"))

# Months of tsibble are days with a class, those of zoo are years.
as_day <- function(x) {
  if (!inherits(x, c("yearmon", "yearqtr"))) return(as.Date(structure(as.numeric(unclass(x)), class = "Date")))
  months <- round(as.numeric(unclass(x)) * 12)
  as.Date(ifelse(is.na(months), NA_character_, sprintf("%04d-%02d-01", as.integer(months %/% 12), as.integer(months %% 12 + 1))))
}

# The inverse, without the packages of these classes.
as_months <- function(days, like) {
  parts <- as.POSIXlt(days)
  x <- if (inherits(like, c("yearmon", "yearqtr"))) parts$year + 1900 + parts$mon / 12 else as.numeric(days)
  attributes(x) <- attributes(like)[setdiff(names(attributes(like)), "names")]
  x
}

# Text that the library must not read as numbers or missing values, such as the levels 1, 2 and 3 of a factor.
as_words <- function(x, name) {
  text <- as.character(x)
  known <- text[!is.na(text)]
  plain <- tolower(trimws(known))
  numeric <- suppressWarnings(!is.na(as.numeric(plain)))
  doubtful <- any(numeric) || (!is.character(x) && any(plain %in% MISSING_WORDS))
  if (doubtful) text[!is.na(text)] <- paste(name, known)
  text
}

# A column as list(kind, data); NULL for what no table of cells holds, such as a list or a geometry.
as_column <- function(x, name) {
  if (!is.null(dim(x))) {
    if (length(dim(x)) != 2L || ncol(x) != 1L || is.data.frame(x)) return(NULL)
    x <- drop(x)
  }
  if (inherits(x, "Date") || is_month_like(x)) return(list(KINDS[["time"]], floor(as.numeric(as_day(x))) * DAY))
  if (inherits(x, "POSIXt")) return(list(KINDS[["moment"]], as.numeric(as.POSIXct(x))))
  if (is.factor(x) || is.logical(x) || is.character(x)) return(list(KINDS[["text"]], as_words(x, name)))
  if (inherits(x, "integer64")) {
    if (!isNamespaceLoaded("bit64")) fail(sprintf("[data] column \"%s\" is of class integer64, expected the package bit64 to be loaded", name))
    return(list(KINDS[["number"]], as.double(x)))
  }
  if (is.numeric(x) || inherits(x, "difftime")) return(list(KINDS[["number"]], as.double(x)))
  NULL
}

# The handle of a table. `name` is how messages call it.
as_handle <- function(data, name) {
  columns <- lapply(names(data), function(n) as_column(data[[n]], n))
  known <- !vapply(columns, is.null, NA)
  columns <- columns[known]
  if (length(columns) == 0L) fail(sprintf("[%s] no column of numbers, dates or text found", name))
  .Call(C_frame_of, name, as.double(nrow(data)), lapply(columns, `[[`, 2L), enc2utf8(names(data)[known]),
        vapply(columns, `[[`, 0L, 1L))
}

# Places of the library as a column like `like`: dates, times in their zone, months, or numbers.
as_places <- function(x, is_time, like) {
  if (!is_time) {
    if (inherits(like, "difftime")) return(as.difftime(x, units = units(like)))
    if (is.integer(like) && all(x == round(x)) && all(abs(x) < .Machine$integer.max)) return(as.integer(x))
    return(x)
  }
  if (inherits(like, "POSIXt")) return(.POSIXct(x, tz = if (is.null(attr(like, "tzone"))) "" else attr(like, "tzone")[1L]))
  whole <- all(x %% DAY == 0)
  if (!whole) return(.POSIXct(x, tz = "UTC"))
  days <- as.Date(x / DAY, origin = "1970-01-01")
  if (is_month_like(like)) as_months(days, like) else days
}
