# SPDX-License-Identifier: GPL-2.0-only
"""What every elementwise function promises: broadcasting, out, where, strides, byte order, empty, pickling.

`FACES` says for each ufunc of the core which public call reaches it and with
which arguments; a ufunc without a face in it fails the first test.
"""

import dataclasses
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from array_faces import FACES

from schedpy import _core, paths

RNG = np.random.default_rng(20161204)


def ufuncs():
    return {
        name for name, value in vars(_core).items() if isinstance(value, np.ufunc) and value.signature is None
    }


def outputs(result):
    """The arrays of a result: itself, or the fields of a result object."""
    if dataclasses.is_dataclass(result):
        values = [getattr(result, field.name) for field in dataclasses.fields(result)]
        return [value for value in values if value is not None]
    return [result]


def same(ours, theirs):
    for mine, other in zip(outputs(ours), outputs(theirs), strict=True):
        np.testing.assert_array_equal(mine, other)
        assert np.asarray(mine).dtype == np.asarray(other).dtype


def operands(face, shape=(97,)):
    """Random operands of the face, drawn evenly over the bit lengths."""
    drawn = []
    for low, high, dtype in face.operands:
        bits = RNG.integers(0, 65, shape)
        raw = RNG.integers(0, 2**64, shape, dtype=np.uint64) >> np.minimum(64 - bits, 63).astype(np.uint64)
        span = high - low + 1
        values = [low + int(r) % span for r in raw.flat]
        drawn.append(np.array(values, dtype=dtype).reshape(shape))
    return drawn


every_face = pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)


def test_every_ufunc_has_a_face_here():
    assert ufuncs() == {face.ufunc for face in FACES}


@every_face
def test_one_by_one_equals_all_at_once(face):
    args = operands(face)
    whole = outputs(face.call(*args))
    for i in range(len(args[0])):
        single = outputs(face.call(*(int(a[i]) if face.typeless else a[i] for a in args)))
        for mine, all_of_them in zip(single, whole, strict=True):
            assert np.shape(mine) == ()
            assert mine == all_of_them[i]


@every_face
def test_every_path_gives_the_same(face):
    args = operands(face, (1003,))
    expected = face.call(*args)
    for path in paths.names():
        with paths.using(path):
            same(face.call(*args), expected)
            same(
                face.call(args[0], *(a[0] for a in args[1:])), face.call(args[0], *(a[:1] for a in args[1:]))
            )


@every_face
def test_any_strides(face):
    args = operands(face, (6, 8, 4))
    expected = face.call(*args)
    same(face.call(*(np.asfortranarray(a) for a in args)), expected)
    spaced = [np.repeat(a, 3, axis=1)[:, ::3] for a in args]
    same(face.call(*spaced), expected)
    turned = face.call(*(a[::-1, :, ::-1] for a in args))
    for mine, theirs in zip(outputs(turned), outputs(expected), strict=True):
        np.testing.assert_array_equal(mine, theirs[::-1, :, ::-1])


@every_face
def test_broadcasting_reads_a_stride_of_zero(face):
    args = operands(face, (5, 7))
    for position in range(len(args)):
        mixed = [a if i == position else a[0, 0] for i, a in enumerate(args)]
        full = [np.broadcast_to(a, (5, 7)).copy() for a in mixed]
        same(face.call(*mixed), face.call(*full))
        row = [a if i == position else a[:, :1] for i, a in enumerate(args)]
        same(face.call(*row), face.call(*(np.broadcast_to(a, (5, 7)).copy() for a in row)))


@every_face
def test_other_byte_order_and_misaligned_memory(face):
    args = operands(face)
    expected = face.call(*args)
    same(face.call(*(a.astype(a.dtype.newbyteorder(">")) for a in args)), expected)
    misaligned = []
    for a in args:
        memory = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype)
        memory[:] = a
        misaligned.append(memory)
    same(face.call(*misaligned), expected)


@every_face
def test_out_is_filled_and_returned(face):
    args = operands(face)
    expected = outputs(face.call(*args))
    targets = tuple(np.zeros_like(e) for e in expected)
    given = targets if len(targets) > 1 else targets[0]
    returned = outputs(face.call(*args, out=given))
    for target, mine, theirs in zip(targets, returned, expected, strict=True):
        assert mine is target
        np.testing.assert_array_equal(target, theirs)


@every_face
def test_where_leaves_the_rest_alone(face):
    args = operands(face)
    expected = outputs(face.call(*args))
    mask = np.arange(len(args[0])) % 3 == 0
    targets = tuple(np.ones_like(e) for e in expected)
    face.call(*args, out=targets if len(targets) > 1 else targets[0], where=mask)
    for target, theirs in zip(targets, expected, strict=True):
        np.testing.assert_array_equal(target[mask], theirs[mask])
        assert (target[~mask] == 1).all()


@every_face
def test_empty_gives_empty(face):
    for shape in [(0,), (3, 0), (0, 5)]:
        args = [np.zeros(shape, dtype=dtype) for _, _, dtype in face.operands]
        for mine in outputs(face.call(*args)):
            assert mine.shape == shape
    for mine in outputs(face.call(*([] for _ in face.operands))):
        assert mine.shape == (0,)


@every_face
def test_the_input_is_not_modified_and_overlap_is_safe(face):
    args = operands(face)
    before = [a.copy() for a in args]
    expected = outputs(face.call(*args))
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)
    if expected[0].dtype == args[0].dtype and len(expected) == 1:
        buffer = args[0].copy()
        face.call(buffer, *args[1:], out=buffer)
        np.testing.assert_array_equal(buffer, expected[0])


@every_face
def test_a_read_only_input_is_read(face):
    args = operands(face)
    expected = face.call(*args)
    for a in args:
        a.flags.writeable = False
    same(face.call(*args), expected)


@every_face
def test_floats_and_values_out_of_range_are_refused_by_name(face):
    args = operands(face, (3,))
    for position, (low, high, _) in enumerate(face.operands):
        for bad, error in [
            (np.array([0.0, 1.0, 2.0]), TypeError),
            (np.nan, TypeError),
            ("7", TypeError),
            (None, TypeError),
            ([0, 2**64, 0], ValueError),
            ([low, min(low, 0) - 1, low], ValueError),
            ([high, high + 1, high], ValueError),
        ]:
            if (
                face.typeless
                and error is ValueError
                and bad[1] in (high + 1, low - 1)
                and -(2**63) <= bad[1] < 2**64
            ):
                continue
            wrong = [bad if i == position else a for i, a in enumerate(args)]
            with pytest.raises(error, match=rf"^{face.arguments[position]}\b"):
                face.call(*wrong)


@every_face
def test_faces_and_ufuncs_pickle_by_name(face):
    function = face.call.func if isinstance(face.call, partial) else face.call
    assert pickle.loads(pickle.dumps(function)) is function
    ufunc = getattr(_core, face.ufunc)
    assert pickle.loads(pickle.dumps(ufunc)) is ufunc


def test_a_ufunc_pickles_into_a_fresh_process():
    code = (
        "import pickle, sys; f = pickle.load(sys.stdin.buffer); "
        "assert f(3_000_000_000) == 3_000_000, f(3_000_000_000)"
    )
    from schedpy import clock

    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(clock.ktime_to_us), check=True)
