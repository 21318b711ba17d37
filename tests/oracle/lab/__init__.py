# SPDX-License-Identifier: MIT
"""lab - hosts, wires, packets and the recorder."""
