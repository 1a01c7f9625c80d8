/*
 * Filters in C: what a shared object has to export so that banyan_tree::reduce::Filters::load can load it.
 *
 * A filter makes one struct of the records of a wave. It says which fields it wants of a member's record, and gets every
 * record as that struct, whatever layout and byte order its sender has; fields that a record has not are zero. What it
 * makes is its second struct. At the nodes above, what nodes below made comes in again as that struct.
 *
 * The object exports one table:
 *
 *     const banyan_filter banyan_filter_table = { BANYAN_FILTER_VERSION, ... };
 *
 * Promises to the filter: a state is used by one thread at a time, not always the same. Records lie at multiples of 64, and
 * structs that want more are refused.
 * Promises of the filter: it does no input or output, does not block, does not keep pointers to records, does not unwind
 * (C++ exceptions) or jump out of its functions, and writes no more than it was given room for.
 */
#ifndef BANYAN_FILTER_H
#define BANYAN_FILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BANYAN_FILTER_VERSION 1u

/* Room for the text of an error, with its final zero. */
#define BANYAN_ERROR_SIZE 256

/* What a field is. */
enum { BANYAN_SIGNED = 0, BANYAN_UNSIGNED = 1, BANYAN_FLOAT = 2 };

/* A number in a struct, or a row of them. */
typedef struct {
    const char *name;
    uint32_t kind;   /* BANYAN_SIGNED, BANYAN_UNSIGNED or BANYAN_FLOAT */
    uint32_t offset; /* offsetof */
    uint32_t width;  /* bytes of one number: 1, 2, 4 or 8; 4 or 8 for floats */
    uint32_t count;  /* 1, or how many there are in a row */
} banyan_field;

/* A struct of the filter. */
typedef struct {
    const char *name;
    uint32_t size;
    uint32_t align;
    const banyan_field *fields;
    size_t field_count; /* at most 1024 */
} banyan_struct;

/* What one child contributes to a wave. */
typedef struct {
    uint32_t first_rank;   /* the lowest of its members */
    uint32_t is_partial;   /* 0: a member's record, as the input struct; 1: made by a filter below, as the output struct */
    uint64_t member_count; /* 1 for a member's record */
    const void *record;
} banyan_part;

/* Where a filter works. */
enum { BANYAN_MEMBER = 0, BANYAN_INNER = 1, BANYAN_ROOT = 2 };

/* What becomes of a filter's state when its node dies. */
enum {
    BANYAN_RECOMPUTED = 0, /* there is none beyond a wave */
    BANYAN_IDEMPOTENT = 1, /* taking a wave twice is the same as taking it once */
    BANYAN_LOST = 2        /* it is lost, which is reported */
};

typedef struct {
    uint32_t version; /* BANYAN_FILTER_VERSION */
    uint32_t recovery;
    banyan_struct input;
    banyan_struct output;
    /* Makes a state of the parameters, which are not terminated. Returns 0; otherwise says why not in `error`. */
    int (*create)(const char *parameters, size_t length, void **state, char *error);
    /* Makes `output`, which is zero before, of at least one part, in the order of their lowest ranks. Returns 0; otherwise
       says why not in `error`, and is ready for the next wave. */
    int (*wave)(void *state, const banyan_part *parts, size_t count, int place, void *output, char *error);
    /* Frees a state. */
    void (*destroy)(void *state);
} banyan_filter;

/* What the object exports. */
extern const banyan_filter banyan_filter_table;

#ifdef __cplusplus
}
#endif

#endif
