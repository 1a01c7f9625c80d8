/* A process of a small parallel program, one rank of which may hang: ranks RANK HANGING [THREADS].
 *
 * Every rank waits in a barrier, the one that hangs for its neighbour; both until standard input ends, and then the program
 * ends with status 0. It says "ready" before; SIGUSR1 makes it say "signal". */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* What is done behind each call, so that no call is a jump; differently, so that no two functions become one. */
static volatile int after;

__attribute__((noinline)) static void until_the_end(void) {
    char byte;
    while (read(0, &byte, 1) == -1 && errno == EINTR) {
    }
    after++;
}

__attribute__((noinline)) static void wait_in_barrier(void) {
    until_the_end();
    after++;
}

__attribute__((noinline)) static void wait_for_neighbour(void) {
    until_the_end();
    after += 2;
}

__attribute__((noinline)) static void solve(void) {
    wait_in_barrier();
    after++;
}

__attribute__((noinline)) static void exchange(void) {
    wait_for_neighbour();
    after += 2;
}

static void *wait_for_work(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void told(int signal) {
    (void)signal;
    if (write(1, "signal\n", 7) != 7)
        abort();
}

int main(int count, char **words) {
    int threads = count > 3 ? atoi(words[3]) : 0;
    signal(SIGUSR1, told);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_work, NULL) != 0)
            return 2;
    }
    if (count < 3 || write(1, "ready\n", 6) != 6)
        return 2;
    if (atoi(words[1]) == atoi(words[2]))
        exchange();
    else
        solve();
    return 0;
}
