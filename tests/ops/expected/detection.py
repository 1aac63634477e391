# SPDX-License-Identifier: Apache-2.0
"""What torchvision and ONNX's reference implementation give for detection.c."""
from __future__ import annotations

import torch
import torchvision.ops
from make_expected import Random
from onnx_reference import run

N, R, BOXES = 2, 5, 17


def padded(found: torch.Tensor, size: int) -> torch.Tensor:
    rest = torch.zeros(size, 3, dtype=torch.int64)
    rest[:len(found)] = found
    return rest


def nms(i: dict) -> dict:
    boxes, scores, t = i["boxes"].float(), i["scores"].float(), i["t"].float()
    corners, = run("NonMaxSuppression", boxes, scores, torch.tensor([R]), torch.tensor([0.0625]))
    limited, = run("NonMaxSuppression", boxes, scores, i["most"], t, torch.tensor([0.5]))
    centers, = run("NonMaxSuppression", boxes.abs(), scores, torch.tensor([5]), torch.tensor([0.125]), t,
                   center_point_box=1)
    assert 6 < len(limited) < len(corners) < 6 * R and 6 < len(centers) < 30
    return {"corners": padded(corners, 6 * R), "corners_count": torch.tensor(len(corners)),
            "limited": padded(limited, 6 * R),
            "limited_count": torch.tensor(len(limited)), "centers": padded(centers, 30)}


def roi_align(i: dict) -> dict:
    def of(**options: object) -> torch.Tensor:
        return run("RoiAlign", i["x"], i["rois"], i["images"], **options)[0]

    return {"fixed": of(output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5,
                        coordinate_transformation_mode="half_pixel"),
            "adaptive": of(output_height=2, output_width=3, spatial_scale=0.5,
                           coordinate_transformation_mode="output_half_pixel"),
            "most": of(output_height=2, output_width=2, sampling_ratio=2, mode="max",
                       coordinate_transformation_mode="output_half_pixel")}


def roi_pool(i: dict) -> dict:
    rois = torch.cat((i["images"][:, None].to(i["rois"].dtype), i["rois"]), 1)
    return {"pooled": torchvision.ops.roi_pool(i["x"], rois, (3, 2), 0.5)}


def deform(i: dict) -> dict:
    z = torch.nn.functional.pad(i["z"], (2, 1))
    return {"grouped": torchvision.ops.deform_conv2d(i["x"], i["offset"], i["w"], i["b"], padding=1, mask=i["mask"]),
            "plain": torchvision.ops.deform_conv2d(z, i["shift"], i["v"], dilation=(1, 2), stride=(1, 2)),
            "none": torch.zeros(R)}


def functions(rng: Random) -> dict:
    n = rng.normal
    size = f"n={N},r={R}"
    corner = rng.rand(R, 2) * 12 - 1
    rois = torch.cat((corner, corner + rng.rand(R, 2) * 14), 1)
    placed = {"x": n(N, 3, 9, 11), "rois": rois, "images": rng.randint(0, N, (R,))}
    centre = rng.rand(2, BOXES, 2) * 2
    boxes = torch.cat((centre, centre + rng.rand(2, BOXES, 2) * 3), 2)
    boxes[0, 3], boxes[1, 5, [0, 2]] = boxes[0, 8], boxes[1, 5, [2, 0]]
    taken = {"boxes": boxes, "scores": rng.rand(2, 3, BOXES), "most": torch.tensor([3]), "t": torch.tensor([0.375])}
    moved = {"x": n(N, 4, 6, 7), "w": n(6, 2, 3, 2), "b": n(6), "offset": n(N, 24, 6, 8) * 2, "mask": n(N, 12, 6, 8),
             "z": n(1, 1, N, 5), "v": n(2, 1, 1, 3), "shift": n(1, 6, N, 2)}
    return {"nms": (taken, nms, f"n={BOXES},r={R}"), "roi_align": (placed, roi_align, size),
            "roi_pool": (placed, roi_pool, size), "deform": (moved, deform, size)}
