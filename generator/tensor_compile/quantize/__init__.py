# SPDX-License-Identifier: Apache-2.0
"""A float model as one of 8-bit integers (docs/quantize.md): layers.py finds what is computed in integers, observe.py
what the values are over data, weights.py makes the integers of weights, source.py the model.c."""
