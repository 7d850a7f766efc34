/* The yardstick of a million look-ups: Kafka's warm-section search in C. INDEX TARGETS (int32, native): nanoseconds, and a sum of slots. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int32_t *whole(const char *path, size_t *count) {
  int fd = open(path, O_RDONLY);
  struct stat status;
  if (fd < 0 || fstat(fd, &status)) exit(1);
  int32_t *data = malloc(status.st_size);
  if (read(fd, data, status.st_size) != status.st_size) exit(1);
  close(fd);
  *count = status.st_size / sizeof *data;
  return data;
}

int main(int argc, char **argv) {
  size_t words, targets;
  if (argc < 3) return 2;
  const int32_t *index = whole(argv[1], &words), *wanted = whole(argv[2], &targets);
  int32_t entries = words / 2, first_warm = entries - 1 - 8192 / 8;
  int64_t sum = 0;
  struct timespec a, b;
  if (first_warm < 0) first_warm = 0;
#define KEY(slot) ((int32_t)__builtin_bswap32(index[2 * (slot)]))
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (size_t i = 0; i < targets; i++) {
    int32_t target = wanted[i], low = 0, high = first_warm;
    if (KEY(first_warm) < target) low = first_warm, high = entries - 1;
    else if (KEY(0) > target) { sum--; continue; }
    while (low < high) {
      int32_t middle = (low + high + 1) >> 1, key = KEY(middle);
      if (key > target) high = middle - 1;
      else if (key < target) low = middle;
      else { low = middle; break; }
    }
    sum += low;
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%lld %lld\n", (long long)(b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec, (long long)sum);
  return 0;
}
