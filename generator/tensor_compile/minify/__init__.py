# SPDX-License-Identifier: Apache-2.0
"""`minify`: from a model that fails to a small one that fails in the same way, as source."""
