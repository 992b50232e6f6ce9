//! Byte order as a type, so that the walk over records is compiled once for each order.

/// How numbers of several bytes lie in the file.
pub(super) trait Endian: Send {
    /// A 16-bit number.
    fn u16(bytes: [u8; 2]) -> u16;
    /// A 32-bit number.
    fn u32(bytes: [u8; 4]) -> u32;
    /// A 64-bit number.
    fn u64(bytes: [u8; 8]) -> u64;
}

/// Least significant byte first.
pub(super) struct Little;

/// Most significant byte first.
pub(super) struct Big;

impl Endian for Little {
    #[inline(always)]
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_le_bytes(bytes)
    }
    #[inline(always)]
    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_le_bytes(bytes)
    }
    #[inline(always)]
    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_le_bytes(bytes)
    }
}

impl Endian for Big {
    #[inline(always)]
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_be_bytes(bytes)
    }
    #[inline(always)]
    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_be_bytes(bytes)
    }
    #[inline(always)]
    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_be_bytes(bytes)
    }
}

/// The `N` bytes at `at`, or none where the slice is too short.
#[inline(always)]
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// The 16-bit number at `at`.
#[inline(always)]
pub(super) fn u16_at<E: Endian>(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(|number| E::u16(*number))
}

/// The 32-bit number at `at`.
#[inline(always)]
pub(super) fn u32_at<E: Endian>(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(|number| E::u32(*number))
}

/// The 64-bit number at `at`.
#[inline(always)]
pub(super) fn u64_at<E: Endian>(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(|number| E::u64(*number))
}
