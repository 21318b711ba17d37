# SPDX-License-Identifier: MIT
"""scenarios - one file per topic; importing this package registers them all."""
import importlib
import pkgutil

for _, name, _ in sorted(pkgutil.iter_modules(__path__), key=lambda m: m[1]):
    importlib.import_module('scenarios.' + name)
