/* The tracepoint that `banyan bench events` measures beside its own events: 16 bytes of payload. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER banyan_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./step.h"

#if !defined(STEP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define STEP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    banyan_bench, step,
    LTTNG_UST_TP_ARGS(unsigned long, number, double, residual),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(unsigned long, number, number)
        lttng_ust_field_float(double, residual, residual)
    )
)

#endif

#include <lttng/tracepoint-event.h>
