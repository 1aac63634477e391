/* SPDX-License-Identifier: Apache-2.0
 *
 * A processor with emulated tiles (amx_emulated.h) where there is AVX512_VNNI.
 */
#define tc_cpu_detect real_detect
#include "cpu.c"
#undef tc_cpu_detect

unsigned tc_cpu_detect(void)
{
    const unsigned found = real_detect();
    return found | (found >> TC_CPU_AVX512_VNNI & 1) << TC_CPU_AVX512_AMX;
}
