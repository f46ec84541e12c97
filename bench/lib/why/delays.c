/* Preloaded into one server: each sync, each sync but those of the log, or each read of a page, takes so many microseconds longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void delay(const char *name) {
    const char *text = getenv(name);
    long us = text ? atol(text) : 0;
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&time, 0);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void delay_sync(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    delay("SYNC_US");
    if (!strstr(path, "/ib_logfile"))
        delay("DATA_SYNC_US");
}

int fsync(int file) {
    REAL(fsync);
    delay_sync(file);
    return real(file);
}

int fdatasync(int file) {
    REAL(fdatasync);
    delay_sync(file);
    return real(file);
}

ssize_t pread64(int file, void *to, size_t size, off_t at) {
    REAL(pread64);
    delay("READ_US");
    return real(file, to, size, at);
}

ssize_t pread(int file, void *to, size_t size, off_t at) {
    return pread64(file, to, size, at);
}
