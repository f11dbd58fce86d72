# SPDX-License-Identifier: Apache-2.0
"""The parts that run next to a training loop and need no torch: how records of ranks meet, what they show, and the
analysis in a process of its own."""
