# SPDX-License-Identifier: Apache-2.0
"""What runs beside a training loop and needs no torch: how records of ranks meet, what they tell,
and the analysis in a process of its own."""
