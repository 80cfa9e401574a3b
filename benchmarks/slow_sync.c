/* Makes every sync of a process slower, to see that group commit holds: cc -shared -fPIC -o slow_sync.so slow_sync.c -ldl
   LD_PRELOAD it; HASHRANGE_BENCH_SYNC_US says how many microseconds each fsync and fdatasync takes longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void delay(void) {
  const char *text = getenv("HASHRANGE_BENCH_SYNC_US");
  if (text) usleep((useconds_t)atoi(text));
}

int fdatasync(int descriptor) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  delay();
  return real(descriptor);
}

int fsync(int descriptor) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  delay();
  return real(descriptor);
}
