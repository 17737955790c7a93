"""Ask the memory for a value before it is needed."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def prefetch(typing_context, array, i, j):
    """Fetch the cache line of array[i, j], a two-dimensional array, without waiting for it."""

    def generate(context, builder, signature, arguments):
        array_type, i_type, j_type = signature.args
        values = context.make_array(array_type)(context, builder, arguments[0])
        strides = cgutils.unpack_tuple(builder, values.strides, 2)
        row = builder.mul(context.cast(builder, arguments[1], i_type, types.intp), strides[0])
        column = builder.mul(context.cast(builder, arguments[2], j_type, types.intp), strides[1])
        byte = ir.IntType(8).as_pointer()
        address = builder.gep(builder.bitcast(values.data, byte), [builder.add(row, column)])
        flag = ir.IntType(32)
        signature_of_prefetch = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, signature_of_prefetch, "llvm.prefetch.p0")
        to_read, keep, data = flag(0), flag(3), flag(1)
        builder.call(function, [address, to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, i, j), generate
