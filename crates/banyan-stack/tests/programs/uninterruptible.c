/* A process that nothing can interrupt: it waits for a child that borrows its memory, which ends with standard input. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));

static int child(void *unused) {
    char byte;
    (void)unused;
    if (write(1, "ready\n", 6) != 6)
        return 1;
    return read(0, &byte, 1) == 0 ? 0 : 1;
}

int main(void) {
    return clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) == -1;
}
