/* Fills the gap of a series by the weights for any table: cc fill_table.c $(pkg-config --cflags --libs npzoo) -lm */
#include <math.h>
#include <npzoo/npzoo.h>
#include <stdio.h>

int main(void) {
  enum { rows = 10 };
  double x[rows], y[rows], mean[rows], std[rows];
  for (int i = 0; i < rows; ++i) {
    x[i] = i;
    y[i] = i == 4 || i == 5 ? NAN : 20 + sin(i);
  }
  const npzoo_table table = {.rows = rows, .inputs = 1, .values = 1, .x = x, .y = y};
  if (npzoo_fill(NULL, &table, mean, std, NULL) != NPZOO_OK) {
    fprintf(stderr, "%s\n", npzoo_last_error());
    return 1;
  }
  for (int i = 0; i < rows; ++i) printf("%g  %.2f +- %.2f\n", x[i], mean[i], std[i]);
  return 0;
}
