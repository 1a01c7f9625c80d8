/* An MPI job in which rank 2 does not come to the barrier. Each rank says "ready" before. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static volatile int after;
__attribute__((noinline)) static void wait_for_neighbour(void) { for (;;) { pause(); after++; } }
__attribute__((noinline)) static void exchange(void) { wait_for_neighbour(); after++; }
int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    puts("ready");
    fflush(stdout);
    if (rank == 2) exchange(); else MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
