# SPDX-License-Identifier: GPL-2.0-only
"""64-bit products, shifts and quotients, and division by a reciprocal."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_int, as_long_bits
from schedpy.clock._types import shift_of, u32, u64

__all__ = [
    "Reciprocal",
    "ReciprocalAdv",
    "mul_u64_u32_div",
    "mul_u64_u32_shr",
    "mul_u64_u64_div_u64",
    "mul_u64_u64_shr",
    "reciprocal_divide",
    "reciprocal_scale",
    "reciprocal_value",
    "reciprocal_value_adv",
]


# By long_bits; the first with the largest shift.
_SHR_U32 = {64: (_core.mul_u64_u32_shr, 63), 32: (_core.mul_u64_u32_shr_32bit, 32)}
_SHR_U64 = {64: _core.mul_u64_u64_shr, 32: _core.mul_u64_u64_shr_32bit}


@dataclass(frozen=True)
class Reciprocal:
    """What `reciprocal_divide` needs of a divisor: uint32 each."""

    m: np.ndarray | np.uint32
    sh1: np.ndarray | np.uint32
    sh2: np.ndarray | np.uint32


@dataclass(frozen=True)
class ReciprocalAdv:
    """The shortest factor of a divisor: ``m`` (low 32 bits), shift, exponent, and whether m needs 33 bits."""

    m: np.ndarray | np.uint32
    sh: np.ndarray | np.uint32
    exp: np.ndarray | np.uint32
    is_wide_m: np.ndarray | np.bool_


def mul_u64_u32_shr(a, mul, shift, *, long_bits=64, **ufunc):
    """``(a * mul) >> shift`` from the full 96-bit product, reduced to 64 bit.

    Parameters
    ----------
    a : array_like of int
        Unsigned 64 bit.
    mul : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63; 0 .. 32 with ``long_bits=32``.
    long_bits : {64, 32}
        32: the form without 128-bit integers, two products added. It gives the same.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.mul_u64_u32_shr` tells where the result had more bits.

    Notes
    -----
    mul_u64_u32_shr() of include/linux/math64.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.mul_u64_u32_shr(2**63, 4202935002, 32))
    9025734190401847296
    """
    product, most = _SHR_U32[as_long_bits(long_bits)]
    return product(u64(a, "a"), u32(mul, "mul"), shift_of(shift, high=most), **ufunc)


def mul_u64_u64_shr(a, mul, shift, *, long_bits=64, **ufunc):
    """``(a * mul) >> shift`` from the full 128-bit product, reduced to 64 bit.

    Parameters
    ----------
    a, mul : array_like of int
        Unsigned 64 bit.
    shift : array_like of int
        0 .. 63.
    long_bits : {64, 32}
        32: the form without 128-bit integers, four products added in columns. It gives the same.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.mul_u64_u64_shr` tells where the result had more bits.

    Notes
    -----
    mul_u64_u64_shr() of include/linux/math64.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.mul_u64_u64_shr(2**63, 2**32, 63))
    4294967296
    """
    product = _SHR_U64[as_long_bits(long_bits)]
    return product(u64(a, "a"), u64(mul, "mul"), shift_of(shift), **ufunc)


def mul_u64_u32_div(a, mul, divisor, **ufunc):
    """``a * mul / divisor`` from the 96-bit product.

    Parameters
    ----------
    a : array_like of int
        Unsigned 64 bit.
    mul, divisor : array_like of int
        Unsigned 32 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        Exact where it fits; where not, which `wraps.mul_u64_u32_div` tells, the low 64 bits. A divisor of 0
        gives 0 and NumPy's division warning.

    Notes
    -----
    mul_u64_u32_div() of include/linux/math64.h, 6.1. All its known answers have quotients that fit.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.mul_u64_u32_div(10**19, 3, 4))
    7500000000000000000
    """
    return _core.mul_u64_u32_div(u64(a, "a"), u32(mul, "mul"), u32(divisor, "divisor"), **ufunc)


def mul_u64_u64_div_u64(a, b, c, *, kernel, **ufunc):
    """``a * b / c`` on 64 bit: approximately in 6.1, exactly in 6.19.

    Parameters
    ----------
    a, b, c : array_like of int
        Unsigned 64 bit.
    kernel : str
        ``"6.1"``: the C function drops low bits of ``b`` and ``c`` where the product gets too long, and can
        be wrong by all of the result. ``"6.19"``: exact, 2^64 - 1 where the quotient does not fit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.mul_u64_u64_div_u64` tells where the result had more than 64 bits. A ``c`` of 0 gives 0 and
        NumPy's division warning.

    Notes
    -----
    mul_u64_u64_div_u64() of lib/math/div64.c. x86-64 has an instruction instead, which traps where the
    quotient does not fit. Where ``a`` and ``b`` reach 2^63 and ``c`` is above ``b``, 6.1 shifts by all 64
    bits, which C does not define and no known answer shows; here that leaves 0.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.mul_u64_u64_div_u64(2**40 + 1, 2**40 - 1, 2**41 - 1, kernel="6.19"))
    549755813888
    >>> int(clock.mul_u64_u64_div_u64(2**40 + 1, 2**40 - 1, 2**41 - 1, kernel="6.1"))
    549755781120
    """
    quotient = {
        "v6.1": _core.mul_u64_u64_div_u64_v6_1,
        "v6.19": _core.mul_u64_u64_div_u64_v6_19,
    }[_kernel.form("clock.mul_u64_u64_div_u64", kernel)]
    return quotient(u64(a, "a"), u64(b, "b"), u64(c, "c"), **ufunc)


def reciprocal_value(d, **ufunc):
    """The factor and shifts that divide by ``d``.

    Parameters
    ----------
    d : array_like of int
        The divisor, unsigned 32 bit. 0 gives zeros and NumPy's division warning.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Reciprocal

    Notes
    -----
    reciprocal_value() of lib/math/reciprocal_div.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> r = clock.reciprocal_value(1000)
    >>> int(r.m), int(r.sh1), int(r.sh2)
    (103079216, 1, 9)
    """
    return Reciprocal(*_core.reciprocal_value(u32(d, "d"), **ufunc))


def reciprocal_divide(a, m, sh1, sh2, **ufunc):
    """``a / d`` by the factor and the shifts of `reciprocal_value`.

    Parameters
    ----------
    a, m : array_like of int
        Unsigned 32 bit.
    sh1, sh2 : array_like of int
        0 .. 31.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        The quotient, exact for every ``a`` if the other three belong to a divisor of 1 or more.

    Notes
    -----
    reciprocal_divide() of include/linux/reciprocal_div.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> r = clock.reciprocal_value(1000)
    >>> clock.reciprocal_divide([999, 1000, 2**32 - 1], r.m, r.sh1, r.sh2).tolist()
    [0, 1, 4294967]
    """
    return _core.reciprocal_divide(
        u32(a, "a"), u32(m, "m"), shift_of(sh1, "sh1", 31), shift_of(sh2, "sh2", 31), **ufunc
    )


def reciprocal_value_adv(d, prec, **ufunc):
    """The shortest factor that divides dividends of ``prec`` bits by ``d``.

    Parameters
    ----------
    d : array_like of int
        The divisor, 1 .. 2^31; 0 gives zeros and NumPy's division warning.
    prec : array_like of int
        Bits of the dividend, 1 .. 32.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    ReciprocalAdv

    Notes
    -----
    reciprocal_value_adv() of lib/math/reciprocal_div.c, 6.1. All its known answers have ``prec`` 32.

    Examples
    --------
    >>> from schedpy import clock
    >>> r = clock.reciprocal_value_adv(1000, 32)
    >>> int(r.m), int(r.sh), int(r.exp), bool(r.is_wide_m)
    (274877907, 6, 10, False)
    """
    divisor = as_int(d, "d", np.uint32, high=2**31)
    length = as_int(prec, "prec", np.uint32, low=1, high=32)
    return ReciprocalAdv(*_core.reciprocal_value_adv(divisor, length, **ufunc))


def reciprocal_scale(val, ep_ro, **ufunc):
    """Maps an evenly distributed u32 to 0 .. ``ep_ro`` - 1 without a division.

    Parameters
    ----------
    val, ep_ro : array_like of int
        Unsigned 32 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        ``val * ep_ro >> 32``.

    Notes
    -----
    reciprocal_scale() of include/linux/kernel.h, 6.1. No known answers: proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.reciprocal_scale([0, 2**31, 2**32 - 1], 6).tolist()
    [0, 3, 5]
    """
    return _core.reciprocal_scale(u32(val, "val"), u32(ep_ro, "ep_ro"), **ufunc)
