/* Makes the n-th file operation below a folder, or the n-th large allocation, fail.
 *
 * Loaded with LD_PRELOAD; the driver arms it by ctypes. Only paths below the folder count, and
 * descriptors that were opened there. Allocations count where numpy or Python ask for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, SHORT = 4, STAYS = 8, MEMORY = 16, REMOVES = 32 };
#define DESCRIPTORS 65536

static char folder[4096];
static size_t folder_length;
static atomic_char marked[DESCRIPTORS];
static atomic_long count, target;
static atomic_int armed, kinds, code, fired, paused;
static char last[64];

void faults_below(const char *path) {
    folder_length = strlen(path);
    memcpy(folder, path, folder_length + 1);
}
void faults_arm(long number, int which, int error) {
    count = fired = 0;
    target = number;
    kinds = which;
    code = error;
    last[0] = 0;
    armed = 1;
}
long faults_disarm(void) { armed = 0; return count; }
void faults_pause(int on) { paused = on; }
int faults_fired(void) { return fired; }
const char *faults_last(void) { return last; }

static int is_due(int kind, const char *name) {
    if (!armed || !(kinds & kind)) return 0;
    long number = ++count;
    if (number != target && !((kinds & STAYS) && target && number > target)) return 0;
    if (!fired) strncpy(last, name, sizeof last - 1);
    fired = 1;
    return 1;
}
static int fails(int kind, const char *name) {
    if ((kinds & SHORT) || !is_due(kind, name)) return 0;
    errno = code;
    return 1;
}
static int is_below(const char *path) {
    return armed && path && folder_length && !strncmp(path, folder, folder_length);
}
static int is_marked(int fd) { return armed && fd >= 0 && fd < DESCRIPTORS && marked[fd]; }
static int mark(int fd, const char *path) {
    if (fd >= 0 && fd < DESCRIPTORS) marked[fd] = path && folder_length && !strncmp(path, folder, folder_length);
    return fd;
}
static size_t shorter(size_t size, int kind, const char *name) {
    return size > 1 && (kinds & SHORT) && is_due(kind, name) ? size / 2 : size;
}
#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, name)
#define WRITING(flags) ((flags) & (O_CREAT | O_WRONLY | O_RDWR))

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        va_list list; va_start(list, flags); mode_t mode = va_arg(list, int); va_end(list); \
        if (is_below(path) && fails(WRITING(flags) ? WRITES : READS, "open")) return -1; \
        return mark(real(path, flags, mode), path); \
    }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        REAL(int, #name, int, const char *, int, ...); \
        va_list list; va_start(list, flags); mode_t mode = va_arg(list, int); va_end(list); \
        if (is_below(path) && fails(WRITING(flags) ? WRITES : READS, "openat")) return -1; \
        return mark(real(at, path, flags, mode), path); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)
int close(int fd) {
    REAL(int, "close", int);
    if (fd >= 0 && fd < DESCRIPTORS) marked[fd] = 0;
    return real(fd);
}
ssize_t read(int fd, void *data, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    if (is_marked(fd)) {
        if (fails(READS, "read")) return -1;
        size = shorter(size, READS, "read");
    }
    return real(fd, data, size);
}
#define PREADS(name) \
    ssize_t name(int fd, void *data, size_t size, off64_t at) { \
        REAL(ssize_t, #name, int, void *, size_t, off64_t); \
        if (is_marked(fd)) { \
            if (fails(READS, "pread")) return -1; \
            size = shorter(size, READS, "pread"); \
        } \
        return real(fd, data, size, at); \
    }
PREADS(pread)
PREADS(pread64)
ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (is_marked(fd)) {
        if (fails(WRITES, "write")) return -1;
        size = shorter(size, WRITES, "write");
    }
    return real(fd, data, size);
}
ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return is_marked(fd) && fails(WRITES, "writev") ? -1 : real(fd, parts, number);
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    return is_marked(fd) && fails(WRITES, "fsync") ? -1 : real(fd);
}
int ftruncate64(int fd, off64_t size) {
    REAL(int, "ftruncate64", int, off64_t);
    return is_marked(fd) && fails(WRITES, "ftruncate") ? -1 : real(fd, size);
}
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
    REAL(void *, "mmap64", void *, size_t, int, int, int, off64_t);
    return is_marked(fd) && fails(READS, "mmap") ? MAP_FAILED : real(at, size, protection, flags, fd, offset);
}
int rename(const char *old, const char *new) {
    REAL(int, "rename", const char *, const char *);
    return is_below(new) && fails(WRITES, "rename") ? -1 : real(old, new);
}
int link(const char *old, const char *new) {
    REAL(int, "link", const char *, const char *);
    return is_below(new) && fails(WRITES, "link") ? -1 : real(old, new);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    return is_below(new) && fails(WRITES, "link") ? -1 : real(from, old, to, new, flags);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return is_below(path) && fails(WRITES, "mkdir") ? -1 : real(path, mode);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return is_below(path) && fails(REMOVES, "unlink") ? -1 : real(path);
}

/* --- memory ------------------------------------------------------------------------------- */

#define LARGE 4096
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static int has_none(size_t size, void *caller) {
    if (!armed || paused || !(kinds & MEMORY) || size < LARGE) return 0;
    Dl_info found;
    if (!dladdr(caller, &found) || !found.dli_fname) return 0;
    if (!strstr(found.dli_fname, "python") || strstr(found.dli_fname, "kinetoscope")) return 0;
    if (strstr(found.dli_fname, "site-packages") && !strstr(found.dli_fname, "numpy")) return 0;
    return fails(MEMORY, "malloc");
}
void *malloc(size_t size) {
    return has_none(size, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
    return has_none(number * size, __builtin_return_address(0)) ? NULL : __libc_calloc(number, size);
}
void *realloc(void *old, size_t size) {
    return has_none(size, __builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
