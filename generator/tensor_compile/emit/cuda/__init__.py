# SPDX-License-Identifier: Apache-2.0
"""Kernels as CUDA C, and the driver of a model for a device."""
