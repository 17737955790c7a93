"""Ask the memory for a value before it is needed.

How numba lays out an array while it generates code is not documented and may change; checked with numba 0.68.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch", "prefetch_far"]

# Into which cache a line is fetched. The nearest waits for two dozen lines at a time, the second for twice as many.
NEAREST, SECOND = 3, 2


@intrinsic
def prefetch(typing_context, array, i, j):
    """Fetch the cache line of array[i, j], a two-dimensional array, without waiting for it."""
    return types.void(array, i, j), _generate(NEAREST)


@intrinsic
def prefetch_far(typing_context, array, place):
    """Fetch the line of array[place], a one-dimensional array, into the second cache: for many lines at once."""
    return types.void(array, place), _generate(SECOND)


def _generate(level):
    def generate(context, builder, signature, arguments):
        _fetch(context, builder, signature, arguments, level)
        return context.get_dummy_value()

    return generate


def _fetch(context, builder, signature, arguments, level):
    array_type, *place_types = signature.args
    values = context.make_array(array_type)(context, builder, arguments[0])
    offset = context.get_constant(types.intp, 0)
    for axis, (place_type, place) in enumerate(zip(place_types, arguments[1:], strict=True)):
        stride = builder.extract_value(values.strides, axis)
        offset = builder.add(offset, builder.mul(context.cast(builder, place, place_type, types.intp), stride))
    byte = ir.IntType(8).as_pointer()
    address = builder.gep(builder.bitcast(values.data, byte), [offset])
    flag = ir.IntType(32)
    instruction = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    to_read, data = flag(0), flag(1)
    builder.call(
        builder.module.declare_intrinsic("llvm.prefetch", (byte,), instruction), [address, to_read, flag(level), data]
    )
