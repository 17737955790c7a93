"""Ask the memory for a value before it is needed.

How numba lays out an array while it generates code is described nowhere and may change: this was seen to work with
numba 0.59 to 0.68 and llvmlite 0.42 to 0.50. Where it fails, nothing is fetched ahead: kernels are slower, not wrong.
"""

from contextlib import suppress

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]


@intrinsic
def prefetch(typing_context, array, i, j):
    """Fetch the cache line of array[i, j], a two-dimensional array, without waiting for it."""

    def generate(context, builder, signature, arguments):
        with suppress(AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
            _fetch(context, builder, signature, arguments)
        return context.get_dummy_value()

    return types.void(array, i, j), generate


def _fetch(context, builder, signature, arguments):
    array_type, i_type, j_type = signature.args
    values = context.make_array(array_type)(context, builder, arguments[0])
    row_stride, column_stride = (builder.extract_value(values.strides, axis) for axis in (0, 1))
    row = builder.mul(context.cast(builder, arguments[1], i_type, types.intp), row_stride)
    column = builder.mul(context.cast(builder, arguments[2], j_type, types.intp), column_stride)
    byte = ir.IntType(8).as_pointer()
    address = builder.gep(builder.bitcast(values.data, byte), [builder.add(row, column)])
    flag = ir.IntType(32)
    instruction = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    to_read, keep, data = flag(0), flag(3), flag(1)
    builder.call(
        builder.module.declare_intrinsic("llvm.prefetch", (byte,), instruction), [address, to_read, keep, data]
    )
