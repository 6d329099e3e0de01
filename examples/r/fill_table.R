# Fills the gap of a series by the weights for any table.
#   PKG_CPPFLAGS=$(pkg-config --cflags npzoo) PKG_LIBS="$(pkg-config --libs npzoo) -lstdc++" R CMD SHLIB npzoo_fill.c
#   Rscript fill_table.R
dyn.load("npzoo_fill.so")

x <- as.double(0:9)
y <- 20 + sin(x)
y[5:6] <- NA
figures <- .Call("npzoo_fill_series", x, y)
cat(sprintf("%g  %.2f +- %.2f\n", x, figures[[1]], figures[[2]]), sep = "")
