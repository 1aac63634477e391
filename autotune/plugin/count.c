/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin of QEMU's emulators of user programs: the number of instructions that have run, in the first eight bytes of
 * a file that the emulated program maps (clocks/emulator.c).
 *
 *   qemu-ARCH -plugin count.so,count=PATH PROGRAM
 *
 * The functions of the emulator that it uses are declared here, so that no header of it is needed. PLUGIN_VERSION: of
 * its interface; they are the same in all.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct qemu_plugin_tb;
typedef void block_made(uint64_t plugin, struct qemu_plugin_tb *block);
typedef void block_runs(unsigned processor, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, block_made *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, block_runs *call, int registers, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_VERSION;

static uint64_t *count;

static void add(unsigned processor, void *data)
{
    (void)processor;
    __atomic_fetch_add(count, (uintptr_t)data, __ATOMIC_RELAXED);
}

static void made(uint64_t plugin, struct qemu_plugin_tb *block)
{
    (void)plugin;
    qemu_plugin_register_vcpu_tb_exec_cb(block, add, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t plugin, const void *info, int argc, char **argv)
{
    (void)info;
    if (argc != 1 || strncmp(argv[0], "count=", 6) != 0)
        return 1;
    const int fd = open(argv[0] + 6, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *count) != 0)
        return 1;
    void *const at = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return 1;
    count = at;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, made);
    return 0;
}
