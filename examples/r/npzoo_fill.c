/* npzoo for R: a function for .Call. R CMD SHLIB makes a library of it, see fill_table.R. */
#include <R.h>
#include <Rinternals.h>
#include <npzoo/npzoo.h>

/* Fills a series: x without gaps and y with NA where a value is missing. Returns list(mean, std). */
SEXP npzoo_fill_series(SEXP x, SEXP y) {
  const int rows = LENGTH(x);
  SEXP figures = PROTECT(allocVector(VECSXP, 2));
  for (int i = 0; i < 2; ++i) SET_VECTOR_ELT(figures, i, allocVector(REALSXP, rows));
  const npzoo_table table = {.rows = rows, .inputs = 1, .values = 1, .x = REAL(x), .y = REAL(y)};
  const npzoo_status status =
      npzoo_fill(NULL, &table, REAL(VECTOR_ELT(figures, 0)), REAL(VECTOR_ELT(figures, 1)), NULL);
  UNPROTECT(1);
  if (status != NPZOO_OK) error("%s", npzoo_last_error());
  return figures;
}
