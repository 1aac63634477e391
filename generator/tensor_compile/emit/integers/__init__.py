# SPDX-License-Identifier: Apache-2.0
"""Kernels of 8-bit integers beside contractions: by words, pairs or Helium's vectors; depthwise windows."""
