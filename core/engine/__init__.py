"""The model and its passes. See docs/ARCHITECTURE.md.

This file stays tiny and imports no torch: the settings below are read once, when torch is first imported.
"""

import os

# Waiting OpenMP threads must sleep, not spin: on busy cores spinning cost pauses of a second and more.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
