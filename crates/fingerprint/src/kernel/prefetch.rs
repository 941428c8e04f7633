//! Prefetching of cache lines.

/// Asks the CPU to fetch the cache line of `slice[index]` for reading.
///
/// This is a hint: it never faults, whatever the index, and does nothing on CPUs without a prefetch instruction.
#[inline(always)]
pub fn prefetch_read<T>(slice: &[T], index: usize) {
    let address = slice.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is not a memory access in the sense of the language, and it never faults, whatever the
    // address. The instruction is part of SSE, which every x86-64 CPU has.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch is not a memory access in the sense of the language, and it never faults, whatever the
    // address. The instruction changes no register and no flag.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
