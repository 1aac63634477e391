# SPDX-License-Identifier: Apache-2.0
"""Weights in files of torch.save, as older archives have them: read without unpickling; one clear error for what is
no table of plain tensors. The pickles are written here, operation by operation."""
from __future__ import annotations

import struct
import tempfile
import zipfile
from pathlib import Path

import tap
from archives import WHOLE, called, members, old_members, pickled, pickled_tensor, save, torch_save, word
from tensor_compile.errors import UserError
from tensor_compile.importer.pytorch import pickled as machine
from tensor_compile.importer.pytorch import reader
from tensor_compile.importer.problems import Malformed, Unsupported


def whole(folder: Path) -> None:
    newest = reader.import_file(save(folder / "m.pt2", members()), "m.pt2")
    want = newest.text, b"".join(newest.blocks())
    packed = {n: called("torch._utils _rebuild_parameter", v + b"\x88" + called("collections OrderedDict", b""))
              for n, v in WHOLE.items()}
    for name, content in (
            ("PyTorch 2.8", old_members(torch_save(pickled(**WHOLE)))),
            ("PyTorch 2.7", old_members(torch_save(pickled(**WHOLE)), True)),
            ("parameters", old_members(torch_save(pickled(**packed)))),
            ("a compressed file", old_members(torch_save(pickled(**WHOLE), zipfile.ZIP_DEFLATED)))):
        made = reader.import_file(save(folder / "m.pt2", content), "m.pt2")
        tap.ok((made.text, b"".join(made.blocks())) == want, f"{name}: the model of a new archive")
    with zipfile.ZipFile(folder / "m.pt2", "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in content.items():
            z.writestr(name, data)
    made = reader.import_file(folder / "m.pt2", "m.pt2")
    tap.ok((made.text, b"".join(made.blocks())) == want, "an archive that is compressed as a whole")


def refused(folder: Path, file: bytes, message: str, name: str) -> None:
    path = save(folder / "m.pt2", old_members(file))
    tap.raises(UserError, lambda: list(reader.import_file(path, "m.pt2").blocks()), message, name)


def broken(folder: Path) -> None:
    file = torch_save(pickled(**WHOLE))
    at = "m/data/weights/model.pt cannot be read"
    refused(folder, file[:-40], at, "a file that ends early")
    refused(folder, b"no archive", at, "a file that is no archive")
    refused(folder, torch_save(pickled(fc__weight=WHOLE["fc__weight"])), "the archive has no weight 'fc.bias'",
            "a weight that is missing")
    refused(folder, torch_save(pickled(**WHOLE), **{"data/1": b"12345678"}),
            "the tensor 'fc.bias' needs 12 bytes, archive/data/1 has 8", "a storage that is too small")
    refused(folder, torch_save(pickled(**WHOLE, ) .replace(word("1"), word("7"))),
            "the archive has no member archive/data/7 for 'fc.bias'", "a storage that is missing")
    refused(folder, torch_save(pickled(**{**WHOLE, "fc__bias": pickled_tensor("1", 3, offset=-1)})),
            "the tensor 'fc.bias' has the sizes [3]", "an offset before the storage")
    refused(folder, torch_save(pickled(**WHOLE), byteorder=b"big"), "numbers whose first byte is the highest",
            "a file of another byte order")
    refused(folder, torch_save(pickled(**{**WHOLE, "fc__bias": word("three")})), "the tensor 'fc.bias' is pickled",
            "a weight that is text")
    damaged = bytearray(save(folder / "m.pt2", old_members(file)).read_bytes())
    damaged[damaged.index(struct.pack("<6f", 1, 2, 3, 4, 5, 6))] ^= 1
    (folder / "m.pt2").write_bytes(damaged)
    tap.raises(UserError, lambda: list(reader.import_file(folder / "m.pt2", "m.pt2").blocks()),
               "the member archive/data/0 cannot be read (Bad CRC-32", "elements with another checksum")


def operations() -> None:
    tap.equal(machine.tensors(pickled(x=pickled_tensor("0", 2, 3, storage="torch.storage UntypedStorage"))),
              {"x": machine.Tensor(machine.Storage("0", 0), 0, 0, (2, 3), (3, 1))}, "a storage of bytes")
    cases = [
        (b"", Malformed, "cannot be read", "nothing"),
        (b"\x80\x02}(", Malformed, "cannot be read", "a pickle that ends early"),
        (b"\x80\x02].", Malformed, "is no table", "a list"),
        (b"\x80\x02}(X\xff\xff\xff\xffab", Malformed, "cannot be read", "a text longer than the pickle"),
        (b"\x80\x02t.", Malformed, "takes more than it has", "a tuple without its mark"),
        (b"\x80\x02h\x07.", Malformed, "what it has not kept", "a value that was not kept"),
        (b"\x80\x02}K\x01K\x02K\x03s.", Malformed, "a table of another form", "an entry of a number"),
        (b"\x80\x02}(K\x01u.", Malformed, "a table of another form", "a key without its value"),
        (b"\x80\x02}]K\x01s.", Malformed, "a table of another form", "a list as a key"),
        (b"\x80\x02K\x01K\x01a.", Malformed, "a list of another form", "an entry of what is no list"),
        (b"\x80\x02K\x01)R.", Malformed, "calls what is no function", "a call of a number"),
        (b"\x80\x02" + called("os system", word("ls")) + b".", Unsupported, "a tensor that os.system makes",
         "a call of another function"),
        (b"\x80\x04" + word("os") + word("system") + b"\x93" + word("ls") + b"\x85R.", Unsupported,
         "a tensor that os.system makes", "the same in a newer protocol"),
        (b"\x80\x02cos\nsystem\n)\x81.", Unsupported, "the operation NEWOBJ of a pickle", "an object of a class"),
        (b"\x80\x02(cos\nsystem\no.", Unsupported, "the operation OBJ of a pickle", "an object in the old way"),
        (b"\x80\x02(ios\nsystem\n.", Unsupported, "the operation INST of a pickle", "an instance in the old way"),
        (b"\x80\x02" + called("torch._utils _rebuild_tensor_v2", b"") + b".", Malformed, "a tensor of another form",
         "a tensor of nothing"),
        (b"\x80\x02" + called("torch._utils _rebuild_parameter", b"") + b".", Malformed, "a parameter of another form",
         "a parameter of nothing"),
        (pickled(x=pickled_tensor("0", 3, storage="torch QInt8Storage")), Unsupported, "tensors of torch.QInt8Storage",
         "a storage that nobody knows"),
        (b"\x80\x02(" + word("storage") + b"tQ.", Malformed, "a storage of another form", "a storage of nothing"),
        (b"x" * (machine.MOST_BYTES + 1), Malformed, "its pickle has", "a pickle that is too long"),
    ]
    for content, kind, message, name in cases:
        tap.raises(kind, lambda: machine.tensors(content), message, name)


with tempfile.TemporaryDirectory() as temporary:
    whole(Path(temporary))
    broken(Path(temporary))
operations()
tap.done()
