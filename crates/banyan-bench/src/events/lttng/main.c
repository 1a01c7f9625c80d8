/* Prints the CPU time of one tracepoint in nanoseconds, a line for each batch.
 * Arguments: number of batches, events in a batch. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "step.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double thread_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    long batches = atol(arguments[1]), events = atol(arguments[2]);
    for (long batch = 0; batch < batches; batch++) {
        double start = thread_nanoseconds();
        for (long number = 0; number < events; number++)
            lttng_ust_tracepoint(banyan_bench, step, (unsigned long)number, 0.5);
        printf("%.4f\n", (thread_nanoseconds() - start) / (double)events);
    }
    return 0;
}
