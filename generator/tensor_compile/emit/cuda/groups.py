# SPDX-License-Identifier: Apache-2.0
"""Functions of a kernel by which a group of four warps multiplies (wgmma)."""
from __future__ import annotations


def wgmma(symbol: str, columns: int, turned: int, dtype: str) -> str:
    """The function that adds the product of 64 rows and so many columns, of 16 terms. turned: lines of the second
    operand are terms."""
    return group_product(f"{symbol}_wgmma_{columns}_{turned}", columns, turned, dtype)


def group_product(name: str, columns: int, turned: int, dtype: str, *, fresh: bool = False,
                  held: bool = False) -> str:
    """The same under a name of its own. fresh: it is told whether to add. held: the first operand is in registers."""
    count = columns // 2
    registers, bound = (", ".join(text) for text in zip(*((f"%{i}", f'"+f"(c[{i // 4}][{i % 4}])')
                                                          for i in range(count))))
    first, given, words = ("uint64_t a", '"l"(a)', 1) if not held else (
        "const unsigned (&a)[4]", ", ".join(f'"r"(a[{i}])' for i in range(4)), 4)
    a = f"%{count}" if not held else "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
    b, add = f"%{count + words}", f"%{count + words + 1}" if fresh else "1"
    ends = f"1, 1, {turned}" if held else f"1, 1, 0, {turned}"
    told = ', "r"(add)' if fresh else ""
    head = f"__device__ inline void {name}(float (&c)[{columns // 8}][4], {first}, uint64_t b" \
           f"{', int add' if fresh else ''})"
    emulated = f"emulated_wgmma{'_held' if held else ''}<{columns}, {turned}>(c, a, b, tc_cast_{dtype}_f32);"
    return "\n".join([
        "#ifdef TC_WGMMA", head, "{", "#ifdef __CUDACC__",
        f'    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, {add}, 0;\\n'
        f'wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{dtype}.{dtype} "',
        f'                 "{{{registers}}}, "',
        f'                 "{a}, {b}, p, {ends};\\n}}\\n"',
        f"                 : {bound}", f'                 : {given}, "l"(b){told});',
        "#else", *(["    if (!add)", "        memset(c, 0, sizeof c);"] if fresh else []), f"    {emulated}", "#endif",
        "}", "#endif"])
