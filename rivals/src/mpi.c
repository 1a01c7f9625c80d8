/* Open MPI's MPI_Pack and MPI_Unpack of the plain record, as a described struct type and as external32.
 * Prints one line a figure: OP BYTES NANOSECONDS (thread CPU time, best of the batches, then the median). */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int id, material;
    double coord[3], disp[3];
    float stress[6];
    double energy;
    short flags, node_count;
    float temp;
} elem;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static MPI_Datatype elem_type(void) {
    int lengths[9] = {1, 1, 3, 3, 6, 1, 1, 1, 1};
    MPI_Aint places[9] = {offsetof(elem, id), offsetof(elem, material), offsetof(elem, coord),
                          offsetof(elem, disp), offsetof(elem, stress), offsetof(elem, energy),
                          offsetof(elem, flags), offsetof(elem, node_count), offsetof(elem, temp)};
    MPI_Datatype types[9] = {MPI_INT, MPI_INT, MPI_DOUBLE, MPI_DOUBLE, MPI_FLOAT,
                             MPI_DOUBLE, MPI_SHORT, MPI_SHORT, MPI_FLOAT};
    MPI_Datatype type;
    MPI_Type_create_struct(9, lengths, places, types, &type);
    MPI_Type_commit(&type);
    return type;
}

enum { PACK, UNPACK, PACK_EXTERNAL, UNPACK_EXTERNAL };
static const char *NAMES[] = {"encode", "decode_same", "encode_external32", "decode_external32"};

static void once(int what, elem *elems, int count, MPI_Datatype type, char *packed, int room) {
    int at = 0;
    MPI_Aint far = 0;
    switch (what) {
    case PACK: MPI_Pack(elems, count, type, packed, room, &at, MPI_COMM_WORLD); break;
    case UNPACK: MPI_Unpack(packed, room, &at, elems, count, type, MPI_COMM_WORLD); break;
    case PACK_EXTERNAL: MPI_Pack_external("external32", elems, count, type, packed, room, &far); break;
    default: MPI_Unpack_external("external32", packed, room, &far, elems, count, type); break;
    }
}

int main(int argc, char **argv) {
    int batches = argc > 1 ? atoi(argv[1]) : 60;
    const int counts[] = {1, 10, 104, 1040};
    const int bytes[] = {96, 992, 10016, 99872};
    MPI_Init(&argc, &argv);
    MPI_Datatype type = elem_type();
    double *times = malloc(batches * sizeof *times);
    for (int size = 0; size < 4; size++) {
        int count = counts[size], room = count * 128 + 1024, repeat = 400000 / (count * 100 + 100) + 1;
        elem *elems = calloc(count, sizeof *elems);
        char *packed = calloc(room, 1);
        for (int what = PACK; what <= UNPACK_EXTERNAL; what++) {
            for (int batch = 0; batch < batches; batch++) {
                double start = now();
                for (int i = 0; i < repeat; i++) once(what, elems, count, type, packed, room);
                times[batch] = (now() - start) / repeat;
            }
            qsort(times, batches, sizeof *times, by_value);
            printf("%s %d %f %f\n", NAMES[what], bytes[size], times[0], times[batches / 2]);
        }
        free(elems);
        free(packed);
    }
    MPI_Finalize();
    return 0;
}
