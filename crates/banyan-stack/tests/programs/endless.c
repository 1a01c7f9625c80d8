/* A process whose unwinding tables are a trap: the expression that tells where the caller's frame is jumps to itself for
 * ever. It waits until standard input ends, having said "ready". */
#include <unistd.h>

__attribute__((noinline)) static void in_the_trap(void) {
    char byte;
    /* DW_CFA_def_cfa_expression, 3 bytes: DW_OP_skip -3. */
    __asm__ volatile(".cfi_escape 0x0f, 0x03, 0x2f, 0xfd, 0xff");
    while (read(0, &byte, 1) == 1) {
    }
    __asm__ volatile("");
}

int main(void) {
    if (write(1, "ready\n", 6) != 6)
        return 2;
    in_the_trap();
    return 0;
}
