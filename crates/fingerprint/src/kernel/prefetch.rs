//! Asking for a cache line before it is needed.

/// Asks the CPU to fetch the cache line of `slice[index]` for reading. A hint: it never faults, an index past
/// the end included, and does nothing where the CPU has no such instruction.
#[inline(always)]
pub fn prefetch_read<T>(slice: &[T], index: usize) {
    let at = slice.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not access memory in the language's sense and faults at no address; SSE, which
    // has it, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch does not access memory in the language's sense and faults at no address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}
