/* The C interface of npzoo: trained neural processes for other languages.
 *
 * Arrays are row-major and belong to the caller; they are copied in, and results are written to arrays of the caller.
 * Handles are freed by npzoo_free_*, which take NULL as well. Any number of threads may use one handle at the same
 * time. A function returns NPZOO_OK, or the reason of its failure; then its outputs are unchanged, and
 * npzoo_last_error() describes the failure in one line. No function prints, handles signals or changes the locale.
 *
 * Symbols stay: a later version adds functions, and npzoo_api_version() grows. */
#ifndef NPZOO_NPZOO_H
#define NPZOO_NPZOO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPZOO_API_VERSION 1

typedef enum {
  NPZOO_OK = 0,
  NPZOO_INVALID_INPUT = 1, /* an argument, a file or data that npzoo cannot use */
  NPZOO_OUT_OF_MEMORY = 2,
  NPZOO_INTERNAL = 4
} npzoo_status;

typedef struct npzoo_model npzoo_model; /* trained weights */
typedef struct npzoo_state npzoo_state; /* observed points as a model has encoded them */

/* NPZOO_API_VERSION of the library, which may be newer than that of this header. */
int32_t npzoo_api_version(void);
/* "0.1.0" */
const char* npzoo_version(void);
/* The failure of this thread's last call that failed; "" if none has. Valid until the thread's next call. */
const char* npzoo_last_error(void);

/* Loads weights by their name, such as "npzoo/any-1d", or from a file. */
npzoo_status npzoo_load(const char* weights, npzoo_model** model);
void npzoo_free_model(npzoo_model* model);
/* Inputs and values of a point. */
int64_t npzoo_dim_x(const npzoo_model* model);
int64_t npzoo_dim_y(const npzoo_model* model);

/* Encodes observed points of B tasks, in the units of the training: xc (B, N, Dx), yc (B, N, Dy). `lengths` (B) counts
 * the real points of each task, NULL: all. `seed` of what is random, of which a latent model draws `samples`
 * functions. The state outlives the model's handle. */
npzoo_status npzoo_condition(const npzoo_model* model, int64_t tasks, int64_t points, const double* xc, const double* yc,
                             const int64_t* lengths, uint64_t seed, int64_t samples, npzoo_state** state);
/* Makes another state with more points; the given one stays as it is. */
npzoo_status npzoo_update(const npzoo_state* state, int64_t points, const double* xc, const double* yc,
                          const int64_t* lengths, npzoo_state** updated);
void npzoo_free_state(npzoo_state* state);

/* Predicts mean and standard deviation (B, M, Dy) at xt (B, M, Dx). */
npzoo_status npzoo_query(const npzoo_state* state, int64_t points, const double* xt, double* mean, double* std);
/* Log-density in nats of each target yt (B, M, Dy) by itself: (B, M). */
npzoo_status npzoo_log_likelihood(const npzoo_state* state, int64_t points, const double* xt, const double* yt,
                                  double* log_likelihood);
/* Gradients of a scalar with respect to the points, from those with respect to mean and standard deviation (B, M, Dy),
 * for a context xc, yc of N points and M targets xt. Each of d_xc, d_yc and d_xt may be NULL. */
npzoo_status npzoo_vjp(const npzoo_model* model, int64_t tasks, int64_t points, const double* xc, const double* yc,
                       int64_t targets, const double* xt, const double* d_mean, const double* d_std, uint64_t seed,
                       int64_t samples, double* d_xc, double* d_yc, double* d_xt);

/* A table with gaps, in any units. */
typedef struct {
  int64_t rows, inputs, values;
  const double* x;        /* (rows, inputs), finite */
  const double* y;        /* (values, rows): column by column, NaN where a value is missing */
  const uint32_t* groups; /* (rows), from 0 on: each group is a series by itself; NULL: all rows are of one */
  int64_t targets;        /* places to predict at; 0: the rows of the table */
  const double* target_x; /* (targets, inputs) */
  const uint32_t* target_groups; /* (targets), NULL if groups is */
  int64_t quantiles;
  const double* probabilities; /* (quantiles), each above 0 and below 1 */
} npzoo_table;

/* Predicts each value column at each place, P of them, in the units of the table: mean and std (values, P), quantiles
 * (values, P, quantiles) or NULL. model NULL: the weights for tables of as many inputs. Figures that are not finite are
 * NaN. */
npzoo_status npzoo_fill(const npzoo_model* model, const npzoo_table* table, double* mean, double* std,
                        double* quantiles);

#ifdef __cplusplus
}
#endif

#endif
