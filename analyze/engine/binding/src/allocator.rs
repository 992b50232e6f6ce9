//! Where memory comes from; where the system gives no more, the process ends with one line and status 1, not with a signal.

use std::alloc::{GlobalAlloc, Layout};

use mimalloc::MiMalloc;

const LINE: &[u8] =
    b"vmtrace: not enough memory: allow more (ulimit -v), read less (--filter), or use vmtrace corpus analyze\n";

/// Connections come and go by the thousand: an allocator that reuses memory at once is worth a fifth of the time.
pub(crate) struct Allocator;

// Only what implements this contract can see that there is no memory: the standard library aborts.
// SAFETY: each call goes to an allocator that keeps the contract, with what the caller has promised; its result is handed on, or the
// process ends.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is passed on.
        given(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is passed on.
        given(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: all that this allocator gives is of `MiMalloc`; the caller's promises are passed on.
        given(unsafe { MiMalloc.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: all that this allocator gives is of `MiMalloc`; the caller's promises are passed on.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}

#[inline(always)]
fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

#[cold]
#[allow(unsafe_code)]
fn end() -> ! {
    // Who closed standard error does not want to hear of it.
    let _ = rustix::io::write(rustix::stdio::stderr(), LINE);
    // SAFETY: it takes no memory and does not return. Other threads run: nothing of the process may be taken down under them.
    unsafe { libc::_exit(1) }
}
