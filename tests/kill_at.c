/* A preloaded library that kills the process by SIGKILL at its n-th call that changes files.
 *
 * Calls that are counted: writes to regular files, creation, truncation, renaming, linking and deletion of files and directories, and syncs.
 * KILL_AT=n      the process is killed before call n; counted from 1
 * KILL_TORN=1    if call n writes bytes, half of them are written first
 * KILL_COUNT=f   at the end of the process the number of calls is written to the file f
 * Calls that bypass the C library are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long kill_at;
static int torn;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("KILL_AT");
    kill_at = at ? atol(at) : 0;
    torn = getenv("KILL_TORN") != NULL;
}

__attribute__((destructor)) static void end(void) {
    const char *name = getenv("KILL_COUNT");
    if (!name) return;
    int fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
    syscall(SYS_write, fd, text, length);
    syscall(SYS_close, fd);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a call and returns whether it is the last one. */
static int is_last(void) { return atomic_fetch_add(&calls, 1) + 1 == kill_at; }

static void count(void) {
    if (is_last()) die();
}

static int is_file(int fd) {
    struct stat s;
    return fd > 2 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define CHANGES(result, name, parameters, arguments) \
    result name parameters { \
        NEXT(name); \
        count(); \
        return next arguments; \
    }

CHANGES(int, rename, (const char *a, const char *b), (a, b))
CHANGES(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
CHANGES(int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e))
CHANGES(int, link, (const char *a, const char *b), (a, b))
CHANGES(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
CHANGES(int, symlink, (const char *a, const char *b), (a, b))
CHANGES(int, unlink, (const char *a), (a))
CHANGES(int, unlinkat, (int a, const char *b, int c), (a, b, c))
CHANGES(int, rmdir, (const char *a), (a))
CHANGES(int, mkdir, (const char *a, mode_t b), (a, b))
CHANGES(int, mkdirat, (int a, const char *b, mode_t c), (a, b, c))
CHANGES(int, truncate64, (const char *a, off64_t b), (a, b))
CHANGES(int, ftruncate, (int a, off_t b), (a, b))
CHANGES(int, ftruncate64, (int a, off64_t b), (a, b))
CHANGES(int, posix_fallocate64, (int a, off64_t b, off64_t c), (a, b, c))
CHANGES(int, fallocate64, (int a, int b, off64_t c, off64_t d), (a, b, c, d))
CHANGES(int, fsync, (int a), (a))
CHANGES(int, fdatasync, (int a), (a))
CHANGES(ssize_t, copy_file_range, (int a, off64_t *b, int c, off64_t *d, size_t e, unsigned f), (a, b, c, d, e, f))

#define OPENS(name, parameters, arguments) \
    int name parameters { \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        } \
        NEXT(name); \
        if (flags & (O_CREAT | O_TRUNC)) count(); \
        return next arguments; \
    }

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
OPENS(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

#define WRITES(name, parameters, arguments, halves) \
    ssize_t name parameters { \
        NEXT(name); \
        if (is_file(fd) && is_last()) { \
            if (torn) halves; \
            die(); \
        } \
        return next arguments; \
    }

WRITES(write, (int fd, const void *bytes, size_t n), (fd, bytes, n), (void)!next(fd, bytes, n / 2))
WRITES(pwrite, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at), (void)!next(fd, bytes, n / 2, at))
WRITES(pwrite64, (int fd, const void *bytes, size_t n, off64_t at), (fd, bytes, n, at), (void)!next(fd, bytes, n / 2, at))
WRITES(writev, (int fd, const struct iovec *v, int n), (fd, v, n), (void)!next(fd, v, n / 2))
WRITES(pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), (void)!next(fd, v, n / 2, at))
