/* SPDX-License-Identifier: Apache-2.0
 *
 * The float that the functions of a family are written in: f32, or another that test_floats.py and test_ops.py --floats name.
 */
#ifndef FLOAT
#define FLOAT TC_F32
#endif
