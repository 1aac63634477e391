# SPDX-License-Identifier: Apache-2.0
"""What follows interleaved convolutions element by element, moved in front: graphs before and after."""
from __future__ import annotations

from passes import case, function, module, stays
from tap import done, equal
from tensor_compile.graph.absorb import absorb
from tensor_compile.graph.dce import dce
from tensor_compile.graph.interleaved import interleaved

X = '%0 "x" : f32[n,2,5,5]'
WINDOW = "stride=[1, 1], {}, dilation=[1, 1], groups=1"
ONE, TWO = (WINDOW.format(pads) for pads in ("low=[1, 1], high=[1, 1]", "low=[2, 2], high=[0, 0]"))
CONVOLUTIONS = f"""%1 = weight() {{name="conv"}} : f32[4,2,3,3]
%2 = convolution(%0, %1) {{{ONE}}} : f32[n,4,5,5]
%3 = convolution(%0, %1) {{{TWO}}} : f32[n,4,5,5]
"""
WHOLE = CONVOLUTIONS + """%4 = reshape(%2) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%5 = reshape(%3) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%6 = concat(%4, %5) {axis=4} : f32[n,4,5,5,2]
%7 = reshape(%6) {shape=[n, 4, 5, 10]} : f32[n,4,5,10]
%8 = weight() {name="v"} : f32[4]
%9 = broadcast(%8) {shape=[n, 4, 5, 10], axes=[1]} : f32[n,4,5,10]
"""


def moved(function):
    return dce(interleaved(function))


case(moved, "interleaved: a bias and a function", X, WHOLE + """%10 = add(%7, %9) : f32[n,4,5,10]
%11 = exp(%10) : f32[n,4,5,10]
%12 = neg(%11) : f32[n,4,5,10]
return "y" %11
return "z" %12""", CONVOLUTIONS + """%4 = weight() {name="v"} : f32[4]
%5 = broadcast(%4) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
%6 = add(%2, %5) : f32[n,4,5,5]
%7 = add(%3, %5) : f32[n,4,5,5]
%8 = exp(%6) : f32[n,4,5,5]
%9 = exp(%7) : f32[n,4,5,5]
%10 = reshape(%8) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%11 = reshape(%9) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%12 = concat(%10, %11) {axis=4} : f32[n,4,5,5,2]
%13 = reshape(%12) {shape=[n, 4, 5, 10]} : f32[n,4,5,10]
%14 = neg(%13) : f32[n,4,5,10]
return "y" %13
return "z" %14""")
case(moved, "interleaved: a function of two readings, another dtype, the last positions cut off", X, WHOLE + """
%10 = slice(%7) {start=[0, 0, 0, 0], size=[n, 4, 5, 9], stride=[1, 1, 1, 1]} : f32[n,4,5,9]
%11 = exp(%10) : f32[n,4,5,9]
%12 = mul(%10, %11) : f32[n,4,5,9]
%13 = cast(%12) {dtype=f16} : f16[n,4,5,9]
return "y" %13""", CONVOLUTIONS + """%4 = exp(%2) : f32[n,4,5,5]
%5 = exp(%3) : f32[n,4,5,5]
%6 = mul(%2, %4) : f32[n,4,5,5]
%7 = mul(%3, %5) : f32[n,4,5,5]
%8 = cast(%6) {dtype=f16} : f16[n,4,5,5]
%9 = cast(%7) {dtype=f16} : f16[n,4,5,5]
%10 = reshape(%8) {shape=[n, 4, 5, 5, 1]} : f16[n,4,5,5,1]
%11 = reshape(%9) {shape=[n, 4, 5, 5, 1]} : f16[n,4,5,5,1]
%12 = concat(%10, %11) {axis=4} : f16[n,4,5,5,2]
%13 = reshape(%12) {shape=[n, 4, 5, 10]} : f16[n,4,5,10]
%14 = slice(%13) {start=[0, 0, 0, 0], size=[n, 4, 5, 9], stride=[1, 1, 1, 1]} : f16[n,4,5,9]
return "y" %14""")
case(moved, "interleaved: a phase without taps, and a scalar", X, """%1 = weight() {name="conv"} : f32[4,2,3,3]
%2 = convolution(%0, %1) {WINDOW} : f32[n,4,5,5]
%3 = constant() {bits=0x0} : f32[]
%4 = broadcast(%3) {shape=[n, 4, 5, 5, 1], axes=[]} : f32[n,4,5,5,1]
%5 = reshape(%2) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%6 = concat(%5, %4) {axis=4} : f32[n,4,5,5,2]
%7 = reshape(%6) {shape=[n, 4, 5, 10]} : f32[n,4,5,10]
%8 = broadcast(%3) {shape=[n, 4, 5, 10], axes=[]} : f32[n,4,5,10]
%9 = maximum(%7, %8) : f32[n,4,5,10]""".replace("WINDOW", ONE), """%1 = weight() {name="conv"} : f32[4,2,3,3]
%2 = convolution(%0, %1) {WINDOW} : f32[n,4,5,5]
%3 = constant() {bits=0x0} : f32[]
%4 = broadcast(%3) {shape=[n, 4, 5, 5, 1], axes=[]} : f32[n,4,5,5,1]
%5 = broadcast(%3) {shape=[n, 4, 5, 5], axes=[]} : f32[n,4,5,5]
%6 = maximum(%2, %5) : f32[n,4,5,5]
%7 = maximum(%4, %4) : f32[n,4,5,5,1]
%8 = reshape(%6) {shape=[n, 4, 5, 5, 1]} : f32[n,4,5,5,1]
%9 = concat(%8, %7) {axis=4} : f32[n,4,5,5,2]
%10 = reshape(%9) {shape=[n, 4, 5, 10]} : f32[n,4,5,10]""".replace("WINDOW", ONE))
# a size that is no less than 0 by a guard alone
GUARDED = 'guard "m >= 2" m >= 2\n' + WHOLE.replace("low=[1, 1], high=[1, 1]", "low=[0, 1], high=[0, 1]").replace(
    "low=[2, 2], high=[0, 0]", "low=[0, 2], high=[0, 0]").replace(",5,5", ",m-1,5").replace(
    "4, 5, 5", "4, m - 1, 5").replace(",5,10]", ",m-1,10]").replace("4, 5, 10]", "4, m - 1, 10]")
made = module(function('%0 "x" : f32[n,2,m+1,5]', GUARDED + """%10 = add(%7, %9) : f32[n,4,m-1,10]
return "y" %10"""))
equal([str(n.types[0]) for n in moved(made.functions["f"]).nodes if n.op == "add"], ["f32[n,4,m-1,5]"] * 2,
      "interleaved: guards say that sizes are not negative")
for why, body in (
        ("something else reads it", '%10 = add(%7, %9) : f32[n,4,5,10]\nreturn "y" %7\nreturn "z" %10'),
        ("something else reads what moves", """%10 = add(%7, %9) : f32[n,4,5,10]
%11 = neg(%10) : f32[n,4,5,10]
%12 = reduce(%7) {op=max, axes=[1, 2, 3], order=free} : f32[n]
return "y" %11
return "z" %12"""),
        ("an operand differs from position to position", """%10 = weight() {name="w"} : f32[4,4]
%11 = reshape(%10) {shape=[16]} : f32[16]
%12 = slice(%11) {start=[0], size=[10], stride=[1]} : f32[10]
%13 = broadcast(%12) {shape=[n, 4, 5, 10], axes=[3]} : f32[n,4,5,10]
%14 = add(%7, %13) : f32[n,4,5,10]
return "y" %14
return "z" %9"""),
        ("one of the convolutions is read elsewhere",
         '%10 = add(%7, %9) : f32[n,4,5,10]\nreturn "y" %10\nreturn "z" %3')):
    stays(moved, f"interleaved: not where {why}", X, WHOLE + body)
stays(moved, "interleaved: not where channels lie behind channels", X, CONVOLUTIONS + """
%4 = concat(%2, %3) {axis=1} : f32[n,8,5,5]
%5 = exp(%4) : f32[n,8,5,5]""")

# a norm behind them is part of the weights
made = module(function(X, WHOLE + "%10 = mul(%7, %9) : f32[n,4,5,10]\n%11 = add(%10, %9) : f32[n,4,5,10]"))
equal([len(n.types[0].shape) for n in dce(absorb(interleaved(made.functions["f"]))).nodes if n.op in ("mul", "concat")],
      [4, 5], "interleaved: factors of channels are absorbed, once for both")
equal([str(n.types[0]) for n in absorb(interleaved(made.functions["f"])).nodes if n.op == "mul"], ["f32[4,2,3,3]"],
      "interleaved: by the weights")
made = module(function('%0 "x" : f32[n,2,m+1,5]', GUARDED + """%10 = mul(%7, %9) : f32[n,4,m-1,10]
%11 = add(%10, %9) : f32[n,4,m-1,10]"""))
equal([str(n.types[0]) for n in absorb(interleaved(made.functions["f"])).nodes if n.op == "mul"], ["f32[4,2,3,3]"],
      "absorb: guards say that sizes are not negative")
done()
