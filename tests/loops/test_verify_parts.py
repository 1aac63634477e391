# SPDX-License-Identifier: Apache-2.0
"""What the verifier of the loop IR says of kernels of several contractions: parts side by side, and one behind the
other."""
from tap import done, equal, raises
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.verify_loops import LoopError, verify

beside = '''tensor_compile.loops 1 program
buffer input "x" : f32[4,8]
buffer packed "c0" : f32[1,8,16]
buffer output "y" : f32[4,16]
buffer output "z" : f32[4,16]
grouped_contraction "one+two" {
  params ("x", "c0", "y", "z") dims ()
  contraction "one" batch () m (i0:4) n (i1:16) k (k0:8) panel 16 {
    params ("x", "c0", "y") dims ()
    a = load f32 ("x"[i0,k0])
    b = load f32 ("c0"[0,k0,i1])
    "y"[i0,i1] = acc f32
  }
  contraction "two" batch () m (i0:4) n (i1:16) k (k0:8) panel 16 {
    params ("x", "c0", "z") dims ()
    a = load f32 ("x"[i0,k0])
    b = load f32 ("c0"[0,k0,i1])
    "z"[i0,i1] = acc f32
  }
}
arena size=0
'''
verify(parse_unit(beside, "beside"))
equal(print_unit(parse_unit(beside, "beside")), beside, "siblings are printed as they were read")
for change, message in ((('"z"[i0,i1] = acc f32', '"y"[i0,i1] = acc f32'),
                         "one+two: two touches y, which one beside it stores"),
                        (('"z"[i0,i1] = acc f32', '"z"[i0,i1] = load f32 ("y"[i0,i1])'),
                         "one+two: two touches y, which one beside it stores"),
                        (('("x"[i0,k0])', '("x"[i0+1,k0])'), "one: x[i0 + 1, k0] is not proved to be within [4, 8]")):
    raises(LoopError, lambda: verify(parse_unit(beside.replace(*change), "beside")), message, message)
kept = beside.replace('output "y" : f32[4,16]', 'state "y" : f32[8,16]').replace(
    '"z"[i0,i1] = acc f32', '"z"[i0,i1] = load f32 ("y"[i0+4,i1])').replace('"c0", "z") dims', '"c0", "y", "z") dims')
verify(parse_unit(kept, "kept"))
raises(LoopError, lambda: verify(parse_unit(kept.replace("i0+4", "i0+3"), "kept")),
       "one+two: two touches y, which one beside it stores", "siblings load nothing but what others leave as it was")
behind = '''tensor_compile.loops 1 program
buffer input "x" : f32[1,8]
buffer packed "c0" : f32[2,8,16]
buffer temp "%1" : f32[1,32]
buffer output "z" : f32[1,32]
grouped_contraction "one+two" consecutive {
  params ("x", "c0", "%1", "z") dims ()
  contraction "one" batch () m () n (i0:32) k (k0:8) panel 16 {
    params ("x", "c0", "%1") dims ()
    a = load f32 ("x"[0,k0])
    b = load f32 ("c0"[floordiv(i0,16),k0,-16*floordiv(i0,16)+i0])
    "%1"[0,i0] = acc f32
  }
  contraction "two" batch () m () n (i1:32) k (k0:8) panel 16 {
    params ("x", "c0", "%1", "z") dims ()
    a = load f32 ("x"[0,k0])
    b = load f32 ("c0"[floordiv(i1,16),k0,-16*floordiv(i1,16)+i1])
    "z"[0,i1] = add f32 (acc f32, load f32 ("%1"[0,i1]))
  }
}
arena size=128 lower_bound=128
place "%1" offset=0
'''
verify(parse_unit(behind, "behind"))
equal(print_unit(parse_unit(behind, "behind")), behind, "parts one behind the other are printed as they were read")
for change, message in (((' consecutive', ''), "one+two: two touches %1, which one beside it stores"),
                        (('add f32 (acc f32, load f32 ("%1"[0,i1]))', 'add f32 (acc f32, load f32 ("%1"[0,-i1+31]))'),
                         "one+two: two touches %1, of which one before it may store other columns"),
                        (('params ("x", "c0", "%1", "z") dims ()\n    a = load f32 ("x"[0,k0])',
                          'params ("%1", "c0", "z") dims ()\n    a = load f32 ("%1"[0,k0])'),
                         "one+two: two touches %1, of which one before it may store other columns"),
                        (('"z"[0,i1] =', '"%1"[0,i1] ='),
                         "one+two: two touches %1, of which one before it may store other columns"),
                        (('n (i1:32)', 'n (i1:16)'), "one+two: two has other rows or columns than the parts before it"),
                        (('acc f32\n', 'add f32 (acc f32, load f32 ("%1"[0,i0]))\n'), "one: reads %1 before it is written")):
    raises(LoopError, lambda: verify(parse_unit(behind.replace(*change, 1), "behind")), message, message)
done()
