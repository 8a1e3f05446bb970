"""Modules by the names that earlier versions gave them.

Scripts that the app wrote, code that its pages showed and generators that people made import them.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from types import MappingProxyType

EARLIER_NAMES = MappingProxyType(
    {
        "attnlab.changes": "attnlab.training.changes",
        "attnlab.experiment": "attnlab.training.experiment",
        "attnlab.geometry": "attnlab.lessons.geometry",
        "attnlab.kernel_regression": "attnlab.lessons.kernel_regression",
        "attnlab.learned_kernel": "attnlab.lessons.learned_kernel",
        "attnlab.number_text": "attnlab.configuration.number_text",
        "attnlab.options": "attnlab.configuration.options",
        "attnlab.regression_data": "attnlab.lessons.regression_data",
        "attnlab.saturation": "attnlab.lessons.saturation",
        "attnlab.scores": "attnlab.attention.scores",
        "attnlab.stages": "attnlab.lessons.stages",
        "attnlab.sweep": "attnlab.lessons.sweep",
        "attnlab.vocabulary": "attnlab.generators.vocabulary",
    }
)


class EarlierNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module under an earlier name: the very same module, imported when asked for."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in EARLIER_NAMES else None

    def exec_module(self, module):
        # What stands here after a module was executed is what an import gives.
        sys.modules[module.__name__] = importlib.import_module(EARLIER_NAMES[module.__name__])
