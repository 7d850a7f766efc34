/* The yardstick of `kidx dump --format kafka`: an offset index as DumpLogSegments prints its entries, with snprintf. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t big_endian(const unsigned char *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

int main(int argc, char **argv) {
    static unsigned char entries[8 << 16];
    static char lines[1 << 20];
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!in) return 2;
    uint64_t base_offset = strtoull(argv[2], NULL, 10);
    size_t got, used = 0;
    while ((got = fread(entries, 8, sizeof entries / 8, in)) > 0)
        for (size_t i = 0; i < got; i++) {
            used += snprintf(lines + used, 64, "offset: %" PRIu64 " position: %" PRIu32 "\n",
                             base_offset + big_endian(entries + 8 * i), big_endian(entries + 8 * i + 4));
            if (used > sizeof lines - 64) {
                fwrite(lines, 1, used, stdout);
                used = 0;
            }
        }
    fwrite(lines, 1, used, stdout);
    return ferror(stdout) || fflush(stdout);
}
