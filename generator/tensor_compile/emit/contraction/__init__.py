# SPDX-License-Identifier: Apache-2.0
"""Contractions: which schedules are legal, the cost model that chooses, how a team shares tiles, and the C source."""
