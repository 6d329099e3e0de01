/* The functions that R calls. Handles of the library are external pointers, so an error of R frees them as well. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Utils.h>
#include <Rinternals.h>
#include <npzoo/npzoo.h>

enum kind { kNumbers = 0, kTimes = 1, kMoments = 2, kTexts = 3 };

static void check_status(npzoo_status status) {
  if (status != NPZOO_OK && status != NPZOO_INTERRUPTED) Rf_error("%s", npzoo_last_error());
}

static void free_frame(SEXP pointer) {
  npzoo_free_frame(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}
static void free_question(SEXP pointer) {
  npzoo_free_question(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}
static void free_answer(SEXP pointer) {
  npzoo_free_answer(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* A pointer that will own a handle: made first, since its allocation may fail. */
static SEXP owner(R_CFinalizer_t finalizer) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalizer, TRUE);
  UNPROTECT(1);
  return pointer;
}

static void add_column(npzoo_frame* frame, const char* name, int kind, SEXP column) {
  if (kind == kNumbers) {
    check_status(npzoo_add_numbers(frame, name, REAL(column)));
  } else if (kind == kTexts) {
    const R_xlen_t rows = XLENGTH(column);
    const char** texts = (const char**)R_alloc(rows, sizeof(const char*));
    for (R_xlen_t i = 0; i < rows; ++i) {
      SEXP text = STRING_ELT(column, i);
      texts[i] = text == NA_STRING ? NULL : Rf_translateCharUTF8(text);
    }
    check_status(npzoo_add_texts(frame, name, texts));
  } else {
    check_status(npzoo_add_times(frame, name, REAL(column), kind == kMoments));
  }
}

/* A table of columns (doubles, or texts) with their names and kinds. */
static SEXP frame_of(SEXP name, SEXP rows, SEXP columns, SEXP names, SEXP kinds) {
  SEXP pointer = PROTECT(owner(free_frame));
  npzoo_frame* frame = NULL;
  check_status(npzoo_new_frame(CHAR(STRING_ELT(name, 0)), (int64_t)Rf_asReal(rows), &frame));
  R_SetExternalPtrAddr(pointer, frame);
  for (int i = 0; i < LENGTH(columns); ++i) {
    const void* before = vmaxget();
    add_column(frame, Rf_translateCharUTF8(STRING_ELT(names, i)), INTEGER(kinds)[i], VECTOR_ELT(columns, i));
    vmaxset(before);
  }
  UNPROTECT(1);
  return pointer;
}

static void look_for_interrupt(void* unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

/* R_CheckUserInterrupt leaves by a jump, which must not cross the library. */
static int32_t interrupted(void* unused) { return R_ToplevelExec(look_for_interrupt, unused) == FALSE; }

static SEXP texts_of(const npzoo_answer* answer, npzoo_texts kind) {
  const int64_t count = npzoo_count(answer, kind);
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, count));
  for (int64_t i = 0; i < count; ++i) SET_STRING_ELT(texts, i, Rf_mkCharCE(npzoo_text(answer, kind, i), CE_UTF8));
  UNPROTECT(1);
  return texts;
}

/* A list with the figures of each value column, `each` for a place. */
static SEXP figures_of(const npzoo_answer* answer, npzoo_figures kind, int64_t each) {
  const int64_t values = npzoo_count(answer, NPZOO_VALUE_NAMES), places = npzoo_places(answer);
  SEXP all = PROTECT(Rf_allocVector(VECSXP, values));
  for (int64_t v = 0; v < values; ++v) {
    SEXP figures = Rf_allocVector(REALSXP, places * each);
    SET_VECTOR_ELT(all, v, figures);
    if (places * each > 0) check_status(npzoo_get_figures(answer, kind, v, REAL(figures)));
  }
  UNPROTECT(1);
  return all;
}

static SEXP inputs_of(const npzoo_answer* answer, SEXP are_times) {
  const int64_t inputs = npzoo_count(answer, NPZOO_INPUT_NAMES), places = npzoo_places(answer);
  SEXP all = PROTECT(Rf_allocVector(VECSXP, inputs));
  for (int64_t i = 0; i < inputs; ++i) {
    SEXP x = Rf_allocVector(REALSXP, places);
    SET_VECTOR_ELT(all, i, x);
    int32_t is_time = 0;
    check_status(npzoo_get_places(answer, i, REAL(x), &is_time));
    LOGICAL(are_times)[i] = is_time;
  }
  UNPROTECT(1);
  return all;
}

static SEXP groups_of(const npzoo_answer* answer) {
  const int64_t places = npzoo_places(answer);
  int64_t* numbers = (int64_t*)R_alloc(places > 0 ? places : 1, sizeof(int64_t));
  check_status(npzoo_get_groups(answer, numbers));
  SEXP groups = PROTECT(Rf_allocVector(INTSXP, places));
  for (int64_t i = 0; i < places; ++i) INTEGER(groups)[i] = (int)numbers[i] + 1;
  UNPROTECT(1);
  return groups;
}

static SEXP result_of(const npzoo_answer* answer, int64_t quantiles, int64_t samples) {
  const char* names[] = {"inputs",    "values",  "groups",    "covariates", "warnings", "facts",    "weights", "mean",
                         "std",       "quantiles", "samples", "is_time",    "places",   "group",    ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  int at = 0;
  const npzoo_texts texts[] = {NPZOO_INPUT_NAMES, NPZOO_VALUE_NAMES, NPZOO_GROUP_NAMES, NPZOO_COVARIATE_NAMES,
                               NPZOO_WARNINGS,    NPZOO_FACTS,       NPZOO_WEIGHTS};
  for (int i = 0; i < 7; ++i) SET_VECTOR_ELT(result, at++, texts_of(answer, texts[i]));
  SET_VECTOR_ELT(result, at++, figures_of(answer, NPZOO_MEANS, 1));
  SET_VECTOR_ELT(result, at++, figures_of(answer, NPZOO_STDS, 1));
  SET_VECTOR_ELT(result, at++, figures_of(answer, NPZOO_QUANTILES, quantiles));
  SET_VECTOR_ELT(result, at++, figures_of(answer, NPZOO_SAMPLES, samples));
  SEXP are_times = Rf_allocVector(LGLSXP, npzoo_count(answer, NPZOO_INPUT_NAMES));
  SET_VECTOR_ELT(result, at++, are_times);
  SET_VECTOR_ELT(result, at++, inputs_of(answer, are_times));
  SET_VECTOR_ELT(result, at++, groups_of(answer));
  UNPROTECT(1);
  return result;
}

/* Asks about a table with options (name, value, …) and returns a list; NULL after an interrupt. */
static SEXP ask(SEXP table, SEXP targets, SEXP options, SEXP values, SEXP quantiles, SEXP samples) {
  SEXP question_owner = PROTECT(owner(free_question)), answer_owner = PROTECT(owner(free_answer));
  npzoo_question* question = NULL;
  check_status(npzoo_new_question(R_ExternalPtrAddr(table), &question));
  R_SetExternalPtrAddr(question_owner, question);
  if (targets != R_NilValue) check_status(npzoo_set_targets(question, R_ExternalPtrAddr(targets)));
  for (int i = 0; i < LENGTH(options); ++i)
    check_status(npzoo_set(question, CHAR(STRING_ELT(options, i)), Rf_translateCharUTF8(STRING_ELT(values, i))));
  npzoo_answer* answer = NULL;
  const npzoo_status status = npzoo_ask(question, interrupted, NULL, &answer);
  R_SetExternalPtrAddr(answer_owner, answer);
  check_status(status);
  SEXP result = PROTECT(status == NPZOO_INTERRUPTED
                            ? R_NilValue
                            : result_of(answer, Rf_asInteger(quantiles), Rf_asInteger(samples)));
  free_question(question_owner);
  free_answer(answer_owner);
  UNPROTECT(3);
  return result;
}

static SEXP set_threads(SEXP threads) {
  check_status(npzoo_set_threads(Rf_asInteger(threads)));
  return R_NilValue;
}

static SEXP version(void) { return Rf_mkString(npzoo_version()); }

static const R_CallMethodDef kCalls[] = {{"frame_of", (DL_FUNC)&frame_of, 5},
                                         {"ask", (DL_FUNC)&ask, 6},
                                         {"set_threads", (DL_FUNC)&set_threads, 1},
                                         {"version", (DL_FUNC)&version, 0},
                                         {NULL, NULL, 0}};

void R_init_npzoo(DllInfo* dll) {
  R_registerRoutines(dll, NULL, kCalls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
