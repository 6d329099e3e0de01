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

#define NPZOO_API_VERSION 2

typedef enum {
  NPZOO_OK = 0,
  NPZOO_INVALID_INPUT = 1, /* an argument, a file or data that npzoo cannot use */
  NPZOO_OUT_OF_MEMORY = 2,
  NPZOO_INTERRUPTED = 3, /* the caller's function asked to stop (from version 2 on) */
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
/* Sets the number of threads that calls use; 0: one for each processor (from version 2 on). */
npzoo_status npzoo_set_threads(int32_t threads);

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

/* From version 2 on: tables with names, dates and text, by the rules of `npzoo predict`. */

typedef struct npzoo_frame npzoo_frame;       /* a table of named columns */
typedef struct npzoo_question npzoo_question; /* a table, and what to predict of it */
typedef struct npzoo_answer npzoo_answer;

/* Makes a table without columns. Messages call it `name` and count its rows from 1. */
npzoo_status npzoo_new_frame(const char* name, int64_t rows, npzoo_frame** frame);
void npzoo_free_frame(npzoo_frame* frame);
/* Add a column of `rows` cells. Numbers are never read as dates, and NaN is missing. Times are seconds since
 * 1970-01-01T00:00, of UTC if `zoned` is not 0, else as a clock on the wall shows them; years 1 to 9999, to the
 * microsecond. Texts are UTF-8, NULL is missing, and they are read as the cells of a file: dates in any notation are
 * dates, and numbers are numbers. */
npzoo_status npzoo_add_numbers(npzoo_frame* frame, const char* name, const double* numbers);
npzoo_status npzoo_add_times(npzoo_frame* frame, const char* name, const double* seconds, int32_t zoned);
npzoo_status npzoo_add_texts(npzoo_frame* frame, const char* name, const char* const* texts);

/* Asks about a table, which is copied. Fills its gaps unless npzoo_set or npzoo_set_targets name other rows. */
npzoo_status npzoo_new_question(const npzoo_frame* table, npzoo_question** question);
void npzoo_free_question(npzoo_question* question);
/* Sets an option, which has the name of a flag of `npzoo predict` without the hyphens in front:
 * - inputs, values, covariates, quantiles, missing, period: the value is added to a list;
 * - group, checkpoint, model, kernel, transform, bounds, dates, ends, horizon, grid, samples, neighbours: a text;
 * - lonlat, linear-mean, counts, columns-apart, autoregressive, add-rows, no-standardise, no-turn: "yes" or "no";
 * - seed: a number, of what is random (default: the seed of the training). */
npzoo_status npzoo_set(npzoo_question* question, const char* option, const char* value);
/* Predicts at the rows of this table, which is copied. */
npzoo_status npzoo_set_targets(npzoo_question* question, const npzoo_frame* targets);

/* Returns not 0 to stop a call. Called by the thread of the call, at most a hundred times a second. */
typedef int32_t (*npzoo_stop)(void* context);
/* Answers. `stop` may be NULL; after it has returned not 0 the status is NPZOO_INTERRUPTED. */
npzoo_status npzoo_ask(const npzoo_question* question, npzoo_stop stop, void* context, npzoo_answer** answer);
void npzoo_free_answer(npzoo_answer* answer);

/* Number of places that were predicted: rows of the table, of the targets, or added ones. */
int64_t npzoo_places(const npzoo_answer* answer);
typedef enum {
  NPZOO_INPUT_NAMES = 0,
  NPZOO_VALUE_NAMES = 1,
  NPZOO_GROUP_NAMES = 2, /* in the order of their numbers; none without groups */
  NPZOO_COVARIATE_NAMES = 3,
  NPZOO_WARNINGS = 4, /* reasons to doubt figures */
  NPZOO_FACTS = 5,    /* how the table was understood, and how figures were computed */
  NPZOO_WEIGHTS = 6   /* the name of the weights, or of the method */
} npzoo_texts;
int64_t npzoo_count(const npzoo_answer* answer, npzoo_texts kind);
/* NULL if there is no such text. Valid as long as the answer. */
const char* npzoo_text(const npzoo_answer* answer, npzoo_texts kind, int64_t index);
typedef enum { NPZOO_MEANS = 0, NPZOO_STDS = 1, NPZOO_QUANTILES = 2, NPZOO_SAMPLES = 3 } npzoo_figures;
/* Numbers of each place for one value column: one, or as many as there are quantiles or samples, place by place. They
 * are NaN at places without a finite prediction. */
npzoo_status npzoo_get_figures(const npzoo_answer* answer, npzoo_figures kind, int64_t value, double* figures);
/* An input at each place: numbers or, if `*is_time` is set to 1, seconds as in npzoo_add_times. */
npzoo_status npzoo_get_places(const npzoo_answer* answer, int64_t input, double* places, int32_t* is_time);
/* The number of the group of each place, 0 without groups. */
npzoo_status npzoo_get_groups(const npzoo_answer* answer, int64_t* groups);

#ifdef __cplusplus
}
#endif

#endif
