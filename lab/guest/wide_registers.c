/* Lets user-mode-linux run on processors whose register sets are larger than it knows (AMX: 11 kB).
 *
 * User-mode-linux before 6.13 sets a process's registers from 2,696 bytes; the host's kernel takes nothing but the whole
 * set (arch/x86/kernel/fpu/regset.c, xstateregs_set) and refuses, upon which the guest's first program dies. Loaded before
 * the C library (kernel.py), this gives the host the whole set: what user-mode-linux holds, and zero for the rest, which
 * is how registers begin that no program of the guest uses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(enum __ptrace_request, pid_t, void *, void *);

long ptrace(enum __ptrace_request request, ...)
{
    static char set[32768];
    static ptrace_function library;
    va_list words;
    va_start(words, request);
    pid_t process = va_arg(words, pid_t);
    void *address = va_arg(words, void *);
    void *data = va_arg(words, void *);
    va_end(words);
    if (!library)
        library = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
    if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        const struct iovec *known = data;
        struct iovec whole = {set, sizeof set};
        if (library(PTRACE_GETREGSET, process, address, &whole) == 0 && whole.iov_len > known->iov_len) {
            memcpy(set, known->iov_base, known->iov_len);
            memset(set + known->iov_len, 0, whole.iov_len - known->iov_len);
            return library(request, process, address, &whole);
        }
    }
    return library(request, process, address, data);
}
